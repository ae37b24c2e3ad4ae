use super::build::Builder;
use super::*;
use crate::interfaces::{CONSOLE, TIMER};
use crate::message;
use proptest::prelude::*;
use std::string::{String, ToString};
use std::vec;

const LOG: Cap<'_> = Cap {
    name: "log",
    source: Source::Kernel(KernelSource::Console),
    badge: 0,
    interface: CONSOLE.id,
};

/// A manifest with one of each.
fn example() -> Manifest<'static> {
    Manifest {
        binaries: vec![
            Binary {
                name: "one",
                data: b"1",
            },
            Binary {
                name: "two",
                data: b"22",
            },
        ],
        init: Init {
            binary: "one",
            caps: vec![LOG, Cap::kernel("spawner", KernelSource::ProcessSpawner)],
        },
        services: vec![
            Service {
                name: "server",
                binary: "two",
                restart: Restart::Always,
                caps: vec![LOG, Cap::kernel("ep", KernelSource::Endpoint)],
                exports: vec!["ep"],
            },
            Service {
                name: "client",
                binary: "two",
                restart: Restart::OnFailure,
                caps: vec![Cap::service("peer", "server", "ep").badge(7)],
                exports: vec![],
            },
        ],
        exit_when_service_exits: Some("client"),
    }
}

/// What is wrong with the example when it was changed, and where.
fn refused(change: impl FnOnce(&mut Manifest<'static>)) -> (String, Wrong) {
    let mut manifest = example();
    change(&mut manifest);
    let Invalid { place, what } = Builder::from(manifest).finish().unwrap_err();
    (place, what)
}

fn is(refused: (String, Wrong), place: &str, what: Wrong) {
    assert_eq!(refused, (place.to_string(), what));
}

#[test]
fn what_is_built_reads_back() {
    let bytes = Builder::from(example()).finish().unwrap();
    let manifest = Manifest::decode(&bytes).unwrap();
    assert_eq!(manifest, example());
    assert_eq!(manifest.binary("two"), Some(&b"22"[..]));
    assert_eq!(manifest.binary("init"), None);
    let peer = &manifest.services[1].caps[0];
    assert_eq!(manifest.interface(peer), ENDPOINT.id);
}

#[test]
fn it_is_built_step_by_step() {
    let image = [1, 2, 3];
    let bytes = Builder::new()
        .binary("one", &image)
        .init("one", [LOG])
        .service(Service {
            name: "a",
            binary: "one",
            restart: Restart::Never,
            caps: vec![],
            exports: vec![],
        })
        .exit_when("a")
        .finish()
        .unwrap();
    assert_eq!(Manifest::decode(&bytes).unwrap().init.caps, [LOG]);
    assert!(Builder::new().init("init", []).finish().is_ok());
    assert_eq!(Builder::new().finish().unwrap_err().place, "init.binary");
}

#[test]
fn names_are_short_visible_and_unique() {
    let long = "123456789012345678901234567890123";
    is(
        refused(|m| m.binaries[1].name = long),
        "binaries[1].name",
        Wrong::Name(long.into()),
    );
    is(
        refused(|m| m.services[0].name = ""),
        "services[0].name",
        Wrong::Name("".into()),
    );
    is(
        refused(|m| m.init.caps[0].name = "a\nb"),
        "init.caps[0].name",
        Wrong::Name("a\nb".into()),
    );
    is(
        refused(|m| m.binaries[1].name = "one"),
        "binaries[1].name",
        Wrong::Twice("one".into()),
    );
    is(
        refused(|m| m.init.caps[1].name = "log"),
        "init.caps[1].name",
        Wrong::Twice("log".into()),
    );
    is(
        refused(|m| m.services[1].name = "server"),
        "services[1].name",
        Wrong::Twice("server".into()),
    );
    is(
        refused(|m| m.services[0].caps[1].name = "log"),
        "services[0].caps[1].name",
        Wrong::Twice("log".into()),
    );
    is(
        refused(|m| m.binaries[0].name = "init"),
        "binaries[0].name",
        Wrong::Reserved,
    );
}

#[test]
fn numbers_are_limited() {
    let many = |count, limit| Wrong::TooMany { count, limit };
    let names: Vec<String> = (0..86).map(|number| number.to_string()).collect();
    let mut manifest = example();
    manifest
        .binaries
        .extend(names[..63].iter().map(|name| Binary { name, data: b"1" }));
    let error = Builder::from(manifest).finish().unwrap_err();
    assert_eq!((&*error.place, error.what), ("binaries", many(65, 64)));
    let mut manifest = example();
    manifest.init.caps = names.iter().map(|name| Cap { name, ..LOG }).collect();
    let error = Builder::from(manifest).finish().unwrap_err();
    assert_eq!((&*error.place, error.what), ("init.caps", many(86, 85)));
    let large = vec![0; SIZE];
    let error = Builder::new()
        .binary("a", &large)
        .init("a", [])
        .finish()
        .unwrap_err();
    assert!(matches!(error.what, Wrong::Size(size) if size > SIZE));
}

#[test]
fn binaries_are_there_and_not_empty() {
    is(
        refused(|m| m.init.binary = "no"),
        "init.binary",
        Wrong::NoBinary("no".into()),
    );
    is(
        refused(|m| m.services[1].binary = "init"),
        "services[1].binary",
        Wrong::NoBinary("init".into()),
    );
    is(
        refused(|m| m.binaries[1].data = b""),
        "services[0].binary",
        Wrong::EmptyBinary("two".into()),
    );
}

#[test]
fn init_gets_only_what_is_the_kernels() {
    is(
        refused(|m| m.init.caps[0] = Cap::service("log", "server", "ep")),
        "init.caps[0].source",
        Wrong::FromService,
    );
    for source in [KernelSource::Null, KernelSource::ParkBench] {
        is(
            refused(|m| m.init.caps[0] = Cap::kernel("log", source)),
            "init.caps[0].source",
            Wrong::OnlyMeasures(source),
        );
    }
}

#[test]
fn interfaces_match() {
    let wrong = Wrong::Interface {
        expected: TIMER.id,
        given: CONSOLE.id,
    };
    is(
        refused(|m| m.init.caps[0].interface = TIMER.id),
        "init.caps[0].expectedInterfaceId",
        wrong.clone(),
    );
    is(
        refused(|m| m.services[0].caps[0].interface = TIMER.id),
        "services[0].caps[0].expectedInterfaceId",
        wrong.clone(),
    );
    let through_service = refused(|m| {
        m.services[0].exports.push("log");
        m.services[1].caps[0] = Cap {
            interface: TIMER.id,
            ..Cap::service("x", "server", "log")
        };
    });
    is(
        through_service,
        "services[1].caps[0].expectedInterfaceId",
        wrong,
    );
    // Who serves an endpoint says what its calls mean.
    let mut manifest = example();
    manifest.services[1].caps[0].interface = TIMER.id;
    assert!(Builder::from(manifest).finish().is_ok());
}

#[test]
fn exports_are_ones_own_and_can_leave() {
    let place = "services[0].exports[1]";
    is(
        refused(|m| m.services[0].exports.push("no")),
        place,
        Wrong::NoCap("no".into()),
    );
    is(
        refused(|m| m.services[0].exports.push("ep")),
        place,
        Wrong::Twice("ep".into()),
    );
    is(
        refused(|m| m.services[1].exports.push("peer")),
        "services[1].exports[0]",
        Wrong::Reexport("peer".into()),
    );
    for source in [
        KernelSource::VirtualMemory,
        KernelSource::ParkSpace,
        KernelSource::SharedParkSpace,
    ] {
        let bound = refused(|m| {
            m.services[0].caps.push(Cap::kernel("mine", source));
            m.services[0].exports.push("mine");
        });
        is(bound, place, Wrong::Bound("mine".into()));
    }
}

#[test]
fn sources_and_services_exist() {
    let place = "services[1].caps[0].source.service";
    is(
        refused(|m| m.services[1].caps[0] = Cap::service("peer", "no", "ep")),
        place,
        Wrong::NoService("no".into()),
    );
    is(
        refused(|m| m.services[1].caps[0] = Cap::service("peer", "server", "log")),
        place,
        Wrong::NoExport("log".into()),
    );
    is(
        refused(|m| m.exit_when_service_exits = Some("no")),
        "exitWhenServiceExits",
        Wrong::NoService("no".into()),
    );
}

/// A manifest whose tree is a record of these texts.
fn tree(version: u32, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut builder = message::Builder::new(1, 4);
    let root = builder.root();
    builder.set_u32(root, 0, version);
    let config = builder.child(root, 1, 2, 1);
    builder.set_u16(config, 0, 7);
    let list = builder.list(config, 0, fields.len(), (0, 2));
    for (number, (name, text)) in fields.iter().enumerate() {
        builder.set_text(list.get(number), 0, name);
        let value = builder.child(list.get(number), 1, 2, 1);
        builder.set_u16(value, 0, 4);
        builder.set_text(value, 0, text);
    }
    builder.finish()
}

#[test]
fn what_is_not_known_is_refused() {
    let of = |bytes: &[u8]| Manifest::decode(bytes).unwrap_err();
    assert_eq!(of(&[]).what, Wrong::Size(0));
    assert_eq!(
        of(&[1; 9]).what,
        Wrong::Message(message::Malformed::Segments)
    );
    assert_eq!(of(&tree(2, &[])).what, Wrong::Version(2));
    assert_eq!(of(&tree(1, &[])).what, Wrong::Missing("init"));
    assert_eq!(
        of(&tree(1, &[("init", ""), ("init", "")])).what,
        Wrong::FieldTwice("init".into())
    );
    let long = "x".repeat(1 << 20);
    let named = of(&tree(1, &[(&long, ""), (&long, "")]));
    assert_eq!(named.what, Wrong::FieldTwice("x".repeat(40)));
    let kind = of(&tree(1, &[("init", "x")]));
    assert_eq!(
        kind.to_string(),
        "manifest: init: it is a text and has to be a record"
    );
    let mut builder = message::Builder::new(1, 4);
    builder.set_u32(builder.root(), 0, 1);
    assert_eq!(of(&builder.finish()).what, Wrong::Missing("initConfig"));
    let mut builder = message::Builder::new(1, 4);
    let root = builder.root();
    builder.set_u32(root, 0, 1);
    builder.child(root, 2, 1, 0);
    assert_eq!(
        of(&builder.finish()).what,
        Wrong::Unknown("kernelParams".into())
    );
}

proptest! {
    /// A byte that changes either changes nothing that is built again, or is refused.
    #[test]
    fn what_is_read_is_built_the_same(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4)
    ) {
        let mut bytes = Builder::from(example()).finish().unwrap();
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Ok(manifest) = Manifest::decode(&bytes) {
            let again = Builder::from(manifest.clone()).finish().unwrap();
            prop_assert_eq!(Manifest::decode(&again), Ok(manifest));
        }
    }
}
