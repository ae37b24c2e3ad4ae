//! Whether a manifest makes sense as a whole.
//!
//! Decision: built and read manifests go through this one function, so that what our tool builds is
//! what our kernel takes.

use super::wrong::short;
use super::{
    BINARIES, CAPS, Cap, INIT, Invalid, Manifest, NAME, SERVICES, Service, Source, Wrong,
    serves_any,
};
use alloc::format;

pub(super) fn check(manifest: &Manifest<'_>) -> Result<(), Invalid> {
    binaries(manifest)?;
    if manifest.init.binary != INIT {
        binary(manifest, manifest.init.binary, "init.binary")?;
    }
    init(&manifest.init.caps)?;
    within(manifest.services.len(), SERVICES, "services")?;
    for (number, service) in manifest.services.iter().enumerate() {
        let place = format!("services[{number}]");
        name(service.name, &format!("{place}.name"))?;
        if manifest.services[..number]
            .iter()
            .any(|other| other.name == service.name)
        {
            return Err(Wrong::Twice(short(service.name)).at(format!("{place}.name")));
        }
        binary(manifest, service.binary, &format!("{place}.binary"))?;
        names(&service.caps, &place)?;
        exports(service, &place)?;
    }
    for (number, service) in manifest.services.iter().enumerate() {
        for (index, cap) in service.caps.iter().enumerate() {
            let place = format!("services[{number}].caps[{index}]");
            let given = given(manifest, cap, &place)?;
            let free = matches!(cap.source, Source::Service { .. })
                && (cap.interface == 0 || serves_any(given));
            if cap.interface != given && !free {
                return Err(mismatch(cap, given, &place));
            }
        }
    }
    match manifest.exit_when_service_exits {
        Some(name) if !manifest.services.iter().any(|service| service.name == name) => {
            Err(Wrong::NoService(short(name)).at("exitWhenServiceExits"))
        }
        _ => Ok(()),
    }
}

fn binaries(manifest: &Manifest<'_>) -> Result<(), Invalid> {
    within(manifest.binaries.len(), BINARIES, "binaries")?;
    for (number, binary) in manifest.binaries.iter().enumerate() {
        let place = format!("binaries[{number}].name");
        name(binary.name, &place)?;
        if binary.name == INIT {
            return Err(Wrong::Reserved.at(place));
        }
        if manifest.binaries[..number]
            .iter()
            .any(|other| other.name == binary.name)
        {
            return Err(Wrong::Twice(short(binary.name)).at(place));
        }
    }
    Ok(())
}

/// Init's capabilities: the kernel's, and none that only measures.
fn init(caps: &[Cap<'_>]) -> Result<(), Invalid> {
    names(caps, "init")?;
    for (index, cap) in caps.iter().enumerate() {
        let place = format!("init.caps[{index}]");
        let Source::Kernel(source) = cap.source else {
            return Err(Wrong::FromService.at(format!("{place}.source")));
        };
        if source.only_measures() {
            return Err(Wrong::OnlyMeasures(source).at(format!("{place}.source")));
        }
        if cap.interface != source.interface().id {
            return Err(mismatch(cap, source.interface().id, &place));
        }
    }
    Ok(())
}

/// Number and names of what init or a service is given.
fn names(caps: &[Cap<'_>], place: &str) -> Result<(), Invalid> {
    within(caps.len(), CAPS, &format!("{place}.caps"))?;
    for (index, cap) in caps.iter().enumerate() {
        let place = format!("{place}.caps[{index}].name");
        name(cap.name, &place)?;
        if caps[..index].iter().any(|other| other.name == cap.name) {
            return Err(Wrong::Twice(short(cap.name)).at(place));
        }
    }
    Ok(())
}

fn exports(service: &Service<'_>, place: &str) -> Result<(), Invalid> {
    within(service.exports.len(), CAPS, &format!("{place}.exports"))?;
    for (index, export) in service.exports.iter().enumerate() {
        let wrong = |wrong: fn(_) -> Wrong| {
            Err(wrong(short(export)).at(format!("{place}.exports[{index}]")))
        };
        if service.exports[..index].contains(export) {
            return wrong(Wrong::Twice);
        }
        match service
            .caps
            .iter()
            .find(|cap| cap.name == *export)
            .map(|cap| cap.source)
        {
            None => return wrong(Wrong::NoCap),
            Some(Source::Service { .. }) => return wrong(Wrong::Reexport),
            Some(Source::Kernel(source)) if source.bound_to_address_space() => {
                return wrong(Wrong::Bound);
            }
            Some(Source::Kernel(_)) => {}
        }
    }
    Ok(())
}

/// The interface of what a capability's source gives.
fn given(manifest: &Manifest<'_>, cap: &Cap<'_>, place: &str) -> Result<u64, Invalid> {
    let (service, export) = match cap.source {
        Source::Kernel(source) => return Ok(source.interface().id),
        Source::Service { service, export } => (service, export),
    };
    let Some(target) = manifest.services.iter().find(|other| other.name == service) else {
        return Err(Wrong::NoService(short(service)).at(format!("{place}.source.service")));
    };
    let exported = target.exports.contains(&export);
    match target
        .caps
        .iter()
        .find(|cap| exported && cap.name == export)
    {
        Some(cap) => Ok(cap.interface),
        None => Err(Wrong::NoExport(short(export)).at(format!("{place}.source.service"))),
    }
}

/// A binary that something runs: it is there and is not empty.
fn binary(manifest: &Manifest<'_>, name: &str, place: &str) -> Result<(), Invalid> {
    match manifest.binary(name) {
        None => Err(Wrong::NoBinary(short(name)).at(place)),
        Some([]) => Err(Wrong::EmptyBinary(short(name)).at(place)),
        Some(_) => Ok(()),
    }
}

fn mismatch(cap: &Cap<'_>, given: u64, place: &str) -> Invalid {
    Wrong::Interface {
        expected: cap.interface,
        given,
    }
    .at(format!("{place}.expectedInterfaceId"))
}

fn within(count: usize, limit: usize, place: &str) -> Result<(), Invalid> {
    if count <= limit {
        Ok(())
    } else {
        Err(Wrong::TooMany { count, limit }.at(place))
    }
}

fn name(name: &str, place: &str) -> Result<(), Invalid> {
    let fits = (1..=NAME).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_graphic());
    if fits {
        Ok(())
    } else {
        Err(Wrong::Name(short(name)).at(place))
    }
}
