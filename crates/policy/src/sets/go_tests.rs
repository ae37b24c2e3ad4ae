use super::*;
use crate::fixture::Machine;
use crate::sets::trial::{trusted, untrusted};

fn search(machine: &Machine) -> (Vec<String>, Vec<String>) {
    untrusted(machine, find)
}

#[test]
fn the_toolchains_defaults_hold_until_the_user_or_the_environment_says_otherwise() {
    let machine = Machine::new().file("~/go1/bin/go", "").file(
        "~/go1/go.env",
        "# x\nGOPROXY=https://proxy.test,direct\nGOSUMDB=sum.test\n",
    );
    let path = machine.path("~/go1/bin").to_str().unwrap().to_owned();
    let machine = machine.variable("PATH", &path);
    let (hosts, notices) = search(&machine);
    assert_eq!(hosts, ["proxy.test:443", "sum.test:443"]);
    assert!(notices[0].contains("directly"), "{notices:?}");
    let machine = machine.file(
        "~/.config/go/env",
        "GOPROXY=https://a.test|https://b.test:8443\n",
    );
    assert_eq!(
        search(&machine).0,
        ["a.test:443", "b.test:8443", "sum.test:443"]
    );
    let machine = machine
        .variable("GOPROXY", "off")
        .variable("GOSUMDB", "sum.test+key https://mirror.test/sum");
    assert!(search(&machine).0.is_empty());
    let machine = machine.variable("GOPROXY", "https://c.test");
    assert_eq!(search(&machine).0, ["c.test:443", "mirror.test:443"]);
}

#[test]
fn the_workspace_does_not_choose_the_proxy_unless_it_was_trusted() {
    let machine = Machine::new()
        .file("~/go1/bin/go", "")
        .file("~/go1/go.env", "GOPROXY=https://proxy.test\nGOSUMDB=off\n")
        .file("go.env", "GOPROXY=https://evil.test|direct\n");
    let path = machine.path("~/go1/bin").to_str().unwrap().to_owned();
    let file = machine.path("go.env").to_str().unwrap().to_owned();
    let machine = machine.variable("PATH", &path).variable("GOENV", &file);
    let (hosts, notices) = search(&machine);
    assert_eq!(hosts, ["proxy.test:443"]);
    assert!(notices.is_empty(), "{notices:?}");
    assert_eq!(trusted(&machine, find), ["evil.test:443"]);
}
