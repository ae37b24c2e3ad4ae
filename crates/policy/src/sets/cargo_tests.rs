use super::*;
use crate::fixture::Machine;

fn search(machine: &Machine, trusted: bool) -> (Vec<String>, Vec<String>) {
    let mut search = Search::new(&machine.request, &machine.request.workspace, trusted);
    find(&mut search);
    (search.hosts(), search.notices)
}

#[test]
fn a_replaced_source_and_further_registries_are_the_set() {
    let machine = Machine::new()
        .file("~/.cargo/config.toml", "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://mirror.test/index/\"\n[registries.team]\nindex = \"https://git.test/index.git\"\n")
        .variable("CARGO_REGISTRIES_OTHER_INDEX", "sparse+https://other.test/")
        .variable("CARGO_REGISTRIES_OTHER_TOKEN", "https://secret.test/");
    let (hosts, notices) = search(&machine, false);
    assert_eq!(hosts, ["mirror.test:443", "git.test:443", "other.test:443"]);
    assert!(notices.is_empty(), "{notices:?}");
}

#[test]
fn the_built_in_index_is_read_from_the_program_and_its_downloads_from_what_it_stored() {
    let program = "\0x+y\0sparse+https://itext\0git sparse+https://index.test/more text\0sparse+https://z.test/";
    let machine = Machine::new().file("~/.rustup/toolchains/stable/bin/cargo", program);
    let (hosts, notices) = search(&machine, false);
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
    let (hosts, notices) = search(&machine, false);
    assert_eq!(hosts, ["index.test:443", "static.test:443"]);
    assert!(notices.is_empty(), "{notices:?}");
}

#[test]
fn the_workspace_does_not_choose_the_index_unless_it_is_trusted() {
    let machine = Machine::new().file(".cargo/config.toml", "[source.crates-io]\nreplace-with = \"m\"\n[source.m]\nregistry = \"sparse+https://evil.test/\"\n");
    assert!(search(&machine, false).0.is_empty());
    assert_eq!(search(&machine, true).0, ["evil.test:443"]);
}
