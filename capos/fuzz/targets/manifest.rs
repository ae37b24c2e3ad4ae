//! Manifests: what is accepted can be carried out, gives nobody what nobody has, and is the same
//! when it is built again; what is refused says why in words.
#![no_main]

use bailiwick_capos_core::interfaces::{ENDPOINT, KernelSource};
use bailiwick_capos_core::manifest::build::Builder;
use bailiwick_capos_core::manifest::{Cap, INIT, Manifest, Source, Wrong};
use libfuzzer_sys::fuzz_target;
use std::collections::{HashMap, HashSet};

fuzz_target!(|bytes: &[u8]| {
    let manifest = match Manifest::decode(bytes) {
        Ok(manifest) => manifest,
        Err(error) => {
            let text = error.to_string();
            assert!(text.starts_with("manifest: ") && !text.chars().any(char::is_control));
            return;
        }
    };
    let names: HashSet<&str> = manifest.binaries.iter().map(|binary| binary.name).collect();
    assert_eq!(
        names.len(),
        manifest.binaries.len(),
        "a binary is there twice"
    );
    assert!(!names.contains(INIT));
    let runs = |name: &str| manifest.binary(name).is_some_and(|image| !image.is_empty());
    assert!(manifest.init.binary == INIT || runs(manifest.init.binary));
    unique(&manifest.init.caps);
    for cap in &manifest.init.caps {
        let Source::Kernel(source) = cap.source else {
            panic!("init is given what a service has");
        };
        assert!(!matches!(
            source,
            KernelSource::Null | KernelSource::ParkBench
        ));
        assert_eq!(cap.interface, source.interface().id);
    }
    // What each service may pass on.
    let mut exported: HashMap<(&str, &str), KernelSource> = HashMap::new();
    let mut services = HashSet::new();
    for service in &manifest.services {
        assert!(services.insert(service.name), "a service is there twice");
        assert!(runs(service.binary));
        unique(&service.caps);
        for export in &service.exports {
            let cap = service
                .caps
                .iter()
                .find(|cap| cap.name == *export)
                .expect("a capability");
            let Source::Kernel(source) = cap.source else {
                panic!("what comes from another service is passed on");
            };
            assert!(!matches!(
                source,
                KernelSource::VirtualMemory
                    | KernelSource::ParkSpace
                    | KernelSource::SharedParkSpace
            ));
            assert!(exported.insert((service.name, export), source).is_none());
        }
    }
    for cap in manifest.services.iter().flat_map(|service| &service.caps) {
        let source = match cap.source {
            Source::Kernel(source) => source,
            Source::Service { service, export } => exported[&(service, export)],
        };
        let given = source.interface().id;
        let served = given == ENDPOINT.id && matches!(cap.source, Source::Service { .. });
        assert!(
            manifest.interface(cap) == given || served,
            "another interface"
        );
    }
    assert!(
        manifest
            .exit_when_service_exits
            .is_none_or(|name| services.contains(name))
    );
    match Builder::from(manifest.clone()).finish() {
        Ok(built) => assert_eq!(Manifest::decode(&built), Ok(manifest)),
        // Several binaries may share their bytes in what was read, and do not in what is built.
        Err(error) => assert!(matches!(error.what, Wrong::Size(_)), "{error}"),
    }
});

/// Names that the receiver can tell apart, and that its page can hold.
fn unique(caps: &[Cap<'_>]) {
    let names: HashSet<&str> = caps.iter().map(|cap| cap.name).collect();
    assert!(names.len() == caps.len() && caps.len() <= 85);
    assert!(names.iter().all(|name| (1..=32).contains(&name.len())));
}
