//! From bytes to a manifest that was checked.
//!
//! Decision: this only gives shape to what is there; whether it makes sense is asked of the whole
//! afterwards, by the same check that a manifest goes through when it is built.

use super::value::{Record, Value};
use super::wrong::short;
use super::{
    BINARIES, Binary, CAPS, Cap, Init, Invalid, Manifest, Restart, SERVICES, SIZE, Service, Source,
    Wrong, check,
};
use crate::interfaces::KernelSource;
use crate::message::{Message, Struct};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

pub(super) fn decode(bytes: &[u8]) -> Result<Manifest<'_>, Invalid> {
    if bytes.is_empty() || bytes.len() > SIZE {
        return Err(Wrong::Size(bytes.len()).at(""));
    }
    let message = Message::parse(bytes).map_err(|error| Wrong::Message(error).at(""))?;
    let root = message
        .root()
        .map_err(|error| Wrong::Message(error).at(""))?;
    if root.u32(0) != 1 {
        return Err(Wrong::Version(root.u32(0)).at("schemaVersion"));
    }
    let binaries = binaries(root)?;
    for (index, name) in [(2, "kernelParams"), (3, "extensionPoints")] {
        if root.has(index) {
            return Err(Wrong::Unknown(short(name)).at(""));
        }
    }
    if !root.has(1) {
        return Err(Wrong::Missing("initConfig").at(""));
    }
    let at = root
        .child(1)
        .map_err(|error| Wrong::Message(error).at("initConfig"))?;
    let mut config = Value {
        at,
        place: String::new(),
    }
    .record()?;
    let manifest = Manifest {
        binaries,
        init: init(config.need("init")?)?,
        services: match config.take("services") {
            Some(services) => services.list(SERVICES, service)?,
            None => Vec::new(),
        },
        exit_when_service_exits: config
            .take("exitWhenServiceExits")
            .map(|name| name.text())
            .transpose()?,
    };
    config.end()?;
    check::check(&manifest)?;
    Ok(manifest)
}

fn binaries<'a>(root: Struct<'_, 'a>) -> Result<Vec<Binary<'a>>, Invalid> {
    let list = root
        .list(0)
        .map_err(|error| Wrong::Message(error).at("binaries"))?;
    let (count, limit) = (list.len(), BINARIES);
    if count > limit {
        return Err(Wrong::TooMany { count, limit }.at("binaries"));
    }
    let mut binaries = Vec::with_capacity(count);
    for (number, binary) in list.iter().enumerate() {
        let wrong = |error| Wrong::Message(error).at(format!("binaries[{number}]"));
        binaries.push(Binary {
            name: binary.text(0).map_err(wrong)?,
            data: binary.data(1).map_err(wrong)?,
        });
    }
    Ok(binaries)
}

fn init<'a>(value: Value<'_, 'a>) -> Result<Init<'a>, Invalid> {
    let mut record = value.record()?;
    let init = Init {
        binary: record.need("binary")?.text()?,
        caps: caps(&mut record)?,
    };
    record.end()?;
    Ok(init)
}

fn service<'a>(value: Value<'_, 'a>) -> Result<Service<'a>, Invalid> {
    let mut record = value.record()?;
    let service = Service {
        name: record.need("name")?.text()?,
        binary: record.need("binary")?.text()?,
        restart: record
            .take("restart")
            .map(restart)
            .transpose()?
            .unwrap_or_default(),
        caps: caps(&mut record)?,
        exports: match record.take("exports") {
            Some(exports) => exports.list(CAPS, |export| export.text())?,
            None => Vec::new(),
        },
    };
    record.end()?;
    Ok(service)
}

fn restart(value: Value<'_, '_>) -> Result<Restart, Invalid> {
    let name = value.text()?;
    [Restart::Never, Restart::OnFailure, Restart::Always]
        .into_iter()
        .find(|restart| restart.name() == name)
        .ok_or_else(|| Wrong::NoRestart(short(name)).at(value.place))
}

fn caps<'a>(record: &mut Record<'_, 'a>) -> Result<Vec<Cap<'a>>, Invalid> {
    match record.take("caps") {
        Some(caps) => caps.list(CAPS, cap),
        None => Ok(Vec::new()),
    }
}

fn cap<'a>(value: Value<'_, 'a>) -> Result<Cap<'a>, Invalid> {
    let mut record = value.record()?;
    let source = source(record.need("source")?)?;
    let implied = match source {
        Source::Kernel(source) => source.interface().id,
        Source::Service { .. } => 0,
    };
    let number = |value: Option<Value<'_, 'a>>| value.map(|value| value.number()).transpose();
    let cap = Cap {
        name: record.need("name")?.text()?,
        source,
        badge: number(record.take("badge"))?.unwrap_or(0),
        interface: number(record.take("expectedInterfaceId"))?.unwrap_or(implied),
    };
    record.end()?;
    Ok(cap)
}

fn source<'a>(value: Value<'_, 'a>) -> Result<Source<'a>, Invalid> {
    let mut record = value.record()?;
    let source = if let Some(kernel) = record.take("kernel") {
        let name = kernel.text()?;
        let source = KernelSource::of_name(name);
        Source::Kernel(source.ok_or_else(|| Wrong::NoSource(short(name)).at(kernel.place))?)
    } else {
        let mut service = record.need("service")?.record()?;
        let source = Source::Service {
            service: service.need("service")?.text()?,
            export: service.need("export")?.text()?,
        };
        service.end()?;
        source
    };
    // A source that is both has the other left over.
    record.end()?;
    Ok(source)
}
