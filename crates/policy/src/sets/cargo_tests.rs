use super::*;
use crate::fixture::Machine;
use crate::sets::trial::{trusted, untrusted};

fn search(machine: &Machine) -> (Vec<String>, Vec<String>) {
    untrusted(machine, find)
}

#[test]
fn a_replaced_source_and_further_registries_are_the_set() {
    let machine = Machine::new()
        .file("~/.cargo/config.toml", "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://mirror.test/index/\"\n[registries.team]\nindex = \"https://git.test/index.git\"\n")
        .variable("CARGO_REGISTRIES_OTHER_INDEX", "sparse+https://other.test/")
        .variable("CARGO_REGISTRIES_OTHER_TOKEN", "https://secret.test/");
    let (hosts, notices) = search(&machine);
    assert_eq!(hosts, ["mirror.test:443", "git.test:443", "other.test:443"]);
    assert!(notices.is_empty(), "{notices:?}");
}

#[test]
fn the_built_in_index_is_read_from_the_program_and_its_downloads_from_what_it_stored() {
    let program = "\0x+y\0sparse+https://itext\0git sparse+https://index.test/more text\0sparse+https://z.test/";
    let machine = Machine::new().file("~/.rustup/toolchains/stable/bin/cargo", program);
    let (hosts, notices) = search(&machine);
    assert_eq!(hosts, ["index.test:443"]);
    assert!(notices[0].contains("cargo fetch"), "{notices:?}");
    let machine = machine
        .file(
            "~/.cargo/registry/index/index.test-1949cf8c6b5b557f/config.json",
            "{\"dl\": \"https://static.test/crates\"}",
        )
        .file(
            "~/.cargo/registry/index/else.test-0000000000000000/config.json",
            "{\"dl\": \"https://else.test/\"}",
        );
    let (hosts, notices) = search(&machine);
    assert_eq!(hosts, ["index.test:443", "static.test:443"]);
    assert!(notices.is_empty(), "{notices:?}");
}

#[test]
fn the_workspace_does_not_choose_the_index_unless_it_is_trusted() {
    let machine = Machine::new().file(".cargo/config.toml", "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://evil.test/\"\n");
    assert!(search(&machine).0.is_empty());
    assert_eq!(trusted(&machine, find), ["evil.test:443"]);
}

#[test]
fn what_a_workspace_replaces_the_index_by_counts_only_once_it_was_trusted() {
    let machine = Machine::new()
        .file(
            "~/.rustup/toolchains/stable/bin/cargo",
            "\0sparse+https://index.test/more",
        )
        .file(
            ".cargo/config.toml",
            "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://evil.test/\"\n",
        );
    assert_eq!(search(&machine).0, ["index.test:443"]);
    assert_eq!(trusted(&machine, find), ["evil.test:443"]);
    // Vendored packages replace it by no host at all.
    let machine = machine.file(
        ".cargo/config.toml",
        "[source.crates-io]\nreplace-with = \"v\"\n[source.v]\ndirectory = \"vendor\"\n",
    );
    assert_eq!(search(&machine).0, ["index.test:443"]);
}

#[test]
fn a_relative_home_of_cargos_is_not_the_users() {
    let machine = Machine::new()
        .file(
            ".cargo/config.toml",
            "[registries.r]\nindex = \"https://evil.test/\"\n",
        )
        .variable("CARGO_HOME", ".cargo");
    assert!(search(&machine).0.is_empty());
}
