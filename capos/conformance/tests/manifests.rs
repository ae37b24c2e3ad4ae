//! Manifests, compared with the published decoder and validators.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::manifest::build::Builder;
use bailiwick_capos_core::manifest::{Binary, Cap, Init, Manifest, Restart, Service, Source};
use capos_config::{
    CueField, CueValue, KernelBootstrapManifest, ManifestBootstrapPlan, NamedBlob, SystemManifest,
};
use proptest::prelude::*;
use proptest::sample::select;

fn record(fields: &[(&str, CueValue)]) -> CueValue {
    CueValue::Struct(
        fields
            .iter()
            .map(|(name, value)| CueField::new(*name, value.clone()))
            .collect(),
    )
}

fn cap(cap: &Cap<'_>) -> CueValue {
    let source = match cap.source {
        Source::Kernel(source) => record(&[("kernel", CueValue::text(source.name()))]),
        Source::Service { service, export } => {
            let named = [
                ("service", CueValue::text(service)),
                ("export", CueValue::text(export)),
            ];
            record(&[("service", record(&named))])
        }
    };
    record(&[
        ("name", CueValue::text(cap.name)),
        ("badge", CueValue::UInt(cap.badge)),
        ("expectedInterfaceId", CueValue::UInt(cap.interface)),
        ("source", source),
    ])
}

fn caps(list: &[Cap<'_>]) -> CueValue {
    CueValue::List(list.iter().map(cap).collect())
}

fn service(service: &Service<'_>) -> CueValue {
    let exports = service
        .exports
        .iter()
        .map(|export| CueValue::text(*export))
        .collect();
    record(&[
        ("name", CueValue::text(service.name)),
        ("binary", CueValue::text(service.binary)),
        ("restart", CueValue::text(service.restart.name())),
        ("caps", caps(&service.caps)),
        ("exports", CueValue::List(exports)),
    ])
}

/// The manifest's bytes as the published crate writes them, whether it makes sense or not.
fn published(manifest: &Manifest<'_>) -> Vec<u8> {
    let init = [
        ("binary", CueValue::text(manifest.init.binary)),
        ("caps", caps(&manifest.init.caps)),
    ];
    let services = manifest.services.iter().map(service).collect();
    let mut config = vec![
        ("init", record(&init)),
        ("services", CueValue::List(services)),
    ];
    if let Some(name) = manifest.exit_when_service_exits {
        config.push(("exitWhenServiceExits", CueValue::text(name)));
    }
    let binaries = manifest.binaries.iter();
    let binaries = binaries.map(|b| NamedBlob {
        name: b.name.into(),
        data: b.data.into(),
    });
    let manifest = SystemManifest {
        schema_version: 1,
        binaries: binaries.collect(),
        init_config: record(&config),
        kernel_params: None,
        extension_points: None,
    };
    manifest.to_capnp_bytes().unwrap()
}

/// What the published crates say of bytes: the kernel's part and init's.
fn judged(bytes: &[u8]) -> Result<ManifestBootstrapPlan, String> {
    let kernel = KernelBootstrapManifest::from_capnp_bytes(bytes).map_err(|e| e.to_string())?;
    kernel.validate_bootstrap().map_err(|e| e.to_string())?;
    let plan = ManifestBootstrapPlan::from_capnp_bytes(bytes).map_err(|e| e.to_string())?;
    plan.validate_bootstrap().map_err(|e| e.to_string())?;
    Ok(plan)
}

const NAMES: &[&str] = &["a", "b", "log", "init"];

fn some_caps() -> impl Strategy<Value = Vec<Cap<'static>>> {
    let kernel = select(KernelSource::ALL).prop_map(Source::Kernel);
    // Mostly what the first service often has.
    let named = prop_oneof![3 => Just(("a", "log")), 1 => (select(NAMES), select(NAMES))];
    let service = named.prop_map(|(service, export)| Source::Service { service, export });
    let source = prop_oneof![3 => kernel, 1 => service];
    let badge = prop_oneof![Just(0), any::<u64>()];
    let cap = (
        select(NAMES),
        source,
        badge,
        0u8..12,
        select(KernelSource::ALL),
    )
        .prop_map(|(name, source, badge, other, interface)| {
            let interface = match source {
                _ if other == 0 => interface.interface().id,
                Source::Kernel(source) => source.interface().id,
                Source::Service { .. } => 0,
            };
            Cap {
                name,
                source,
                badge,
                interface,
            }
        });
    proptest::collection::vec(cap, 0..4)
}

fn manifests() -> impl Strategy<Value = Manifest<'static>> {
    let data = prop_oneof![9 => Just(&b"elf"[..]), 1 => Just(&b""[..])];
    let binary = (select(NAMES), data).prop_map(|(name, data)| Binary { name, data });
    let exports = proptest::collection::vec(select(NAMES), 0..2);
    let restart = select(&[Restart::Never, Restart::OnFailure, Restart::Always][..]);
    let service = (
        select(NAMES),
        select(&NAMES[..2]),
        restart,
        some_caps(),
        exports,
    )
        .prop_map(|(name, binary, restart, caps, exports)| Service {
            name,
            binary,
            restart,
            caps,
            exports,
        });
    let init = (select(NAMES), some_caps()).prop_map(|(binary, caps)| Init { binary, caps });
    let fixed = Just(vec![
        Binary {
            name: "a",
            data: b"1",
        },
        Binary {
            name: "b",
            data: b"2",
        },
    ]);
    let binaries = prop_oneof![3 => fixed, 1 => proptest::collection::vec(binary, 0..4)];
    let first = Service {
        name: "a",
        binary: "a",
        restart: Restart::Never,
        caps: vec![
            Cap::kernel("log", KernelSource::Endpoint),
            Cap::kernel("b", KernelSource::Timer),
        ],
        exports: vec!["log", "b"],
    };
    let first = prop_oneof![1 => Just(vec![]), 3 => Just(vec![first])];
    let services = (first, proptest::collection::vec(service, 0..3))
        .prop_map(|(first, rest)| first.into_iter().chain(rest).collect::<Vec<_>>());
    let exit = proptest::option::weighted(0.2, select(NAMES));
    (binaries, init, services, exit).prop_map(|(binaries, init, services, exit)| Manifest {
        binaries,
        init,
        services,
        exit_when_service_exits: exit,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    /// Within what both know, we take exactly the manifests that the published validators take.
    #[test]
    fn a_manifest_is_judged_as_published(manifest in manifests()) {
        let bytes = published(&manifest);
        let ours = Manifest::decode(&bytes);
        let theirs = judged(&bytes);
        prop_assert_eq!(ours.is_ok(), theirs.is_ok(), "{:?} and {:?}", ours, theirs);
        if let Ok(ours) = ours {
            prop_assert_eq!(ours, manifest);
        }
    }

    #[test]
    fn what_we_build_is_taken(manifest in manifests()) {
        let built = Builder::from(manifest.clone()).finish();
        prop_assert_eq!(built.is_ok(), Manifest::decode(&published(&manifest)).is_ok());
        if let Ok(bytes) = built {
            let plan = judged(&bytes);
            prop_assert!(plan.is_ok(), "{:?}", plan);
            let plan = plan.unwrap();
            prop_assert_eq!(plan.services.len(), manifest.services.len());
            for (theirs, ours) in plan.services.iter().zip(&manifest.services) {
                prop_assert_eq!(&theirs.name, ours.name);
                prop_assert_eq!(&theirs.exports, &ours.exports);
                prop_assert_eq!(theirs.caps.len(), ours.caps.len());
                for (theirs, ours) in theirs.caps.iter().zip(&ours.caps) {
                    prop_assert_eq!((&*theirs.name, theirs.badge), (ours.name, ours.badge));
                    prop_assert_eq!(theirs.expected_interface_id, ours.interface);
                }
            }
        }
    }
}

/// A manifest with one of each, so that the properties above are seen to accept something.
#[test]
fn a_manifest_that_makes_sense_is_taken_by_both() {
    let bytes = Builder::new()
        .binary("one", b"1")
        .init(
            "one",
            [Cap::kernel("spawner", KernelSource::ProcessSpawner)],
        )
        .service(Service {
            name: "server",
            binary: "one",
            restart: Restart::Always,
            caps: vec![Cap::kernel("ep", KernelSource::Endpoint)],
            exports: vec!["ep"],
        })
        .service(Service {
            name: "client",
            binary: "one",
            restart: Restart::Never,
            caps: vec![Cap::service("peer", "server", "ep").badge(7)],
            exports: vec![],
        })
        .exit_when("client")
        .finish()
        .unwrap();
    let plan = judged(&bytes).unwrap();
    assert_eq!(plan.exit_when_service_exits.as_deref(), Some("client"));
    let again = published(&Manifest::decode(&bytes).unwrap());
    assert!(judged(&again).is_ok());
}
