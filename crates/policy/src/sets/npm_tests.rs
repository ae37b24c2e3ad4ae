use super::*;
use crate::Effective;
use crate::fixture::Machine;
use crate::sets::Accepted;
use crate::sets::trial::{found, texts, trusted, untrusted};
use std::time::Duration;

fn hosts(machine: &Machine) -> Vec<String> {
    untrusted(machine, find).0
}

#[test]
fn the_registry_and_scoped_registries_are_the_set() {
    let machine = Machine::new()
        .file("~/.npmrc", "registry=https://mirror.test/npm/\n@team:registry = \"http://team.test:4873\"\n//mirror.test/:_authToken=s3cret\n")
        .variable("npm_config_registry", "https://env.test/");
    assert_eq!(
        hosts(&machine),
        ["mirror.test:443", "team.test:4873", "env.test:443"]
    );
}

#[test]
fn without_a_configuration_npms_own_files_say_what_it_uses() {
    let definitions = "  'rebuild-bundle': new Definition('rebuild-bundle', {\n    default: true,\n  }),\n  registry: new Definition('registry', {\n    default: 'https://registry.test/',\n    type: url,\n";
    let machine = Machine::new()
        .file("~/node/lib/node_modules/npm/bin/npm-cli.js", "")
        .file("~/node/lib/node_modules/npm/node_modules/@npmcli/config/lib/definitions/definitions.js", definitions)
        .file("~/node/bin/x", "");
    std::os::unix::fs::symlink(
        "../lib/node_modules/npm/bin/npm-cli.js",
        machine.path("~/node/bin/npm"),
    )
    .unwrap();
    let path = machine.path("~/node/bin").to_str().unwrap().to_owned();
    assert_eq!(
        hosts(&machine.variable("PATH", &path)),
        ["registry.test:443"]
    );
}

#[test]
fn the_workspace_does_not_choose_the_registry_unless_it_is_trusted() {
    let machine = Machine::new().file(".npmrc", "registry=https://evil.test/\n");
    assert!(hosts(&machine).is_empty());
    let left_out = found(&machine, Accepted::These(&[]), find).left_out;
    assert_eq!(texts(&left_out), ["evil.test:443"]);
    assert_eq!(left_out[0].1, ".npmrc");
    assert_eq!(trusted(&machine, find), ["evil.test:443"]);
}

#[test]
fn a_client_that_lies_in_the_workspace_is_never_started() {
    let machine = Machine::new().program(
        "node_modules/.bin/npm",
        "#!/bin/sh\ntouch \"$HOME/started\"\necho https://evil.test/\n",
    );
    let program = machine.path("node_modules/.bin/npm");
    let path = program.parent().unwrap().to_str().unwrap().to_owned();
    let home = machine.request.home.to_str().unwrap().to_owned();
    let machine = machine.variable("PATH", &path).variable("HOME", &home);
    assert!(trusted(&machine, find).is_empty());
    assert!(!machine.path("~/started").exists());
}

#[test]
fn a_client_that_an_earlier_sandbox_could_have_made_is_never_started() {
    let script = "#!/bin/sh\ntouch \"$HOME/started\"\necho https://evil.test/\n";
    let machine = || {
        Machine::new()
            .program("~/old/bin/npm", script)
            .written("~/old")
    };
    let linked = machine()
        .program("~/tools/npm", script)
        .link("~/old/more/npm", "~/tools/npm");
    for (machine, folder) in [(machine(), "~/old/bin"), (linked, "~/old/more")] {
        let path = format!("{}:/usr/bin:/bin", machine.path(folder).display());
        let home = machine.request.home.to_str().unwrap().to_owned();
        let machine = machine.variable("PATH", &path).variable("HOME", &home);
        assert!(!trusted(&machine, find).contains(&"evil.test:443".to_owned()));
        assert!(!machine.path("~/started").exists());
    }
}

#[test]
fn a_client_that_does_not_say_it_in_a_file_is_asked_and_not_waited_for() {
    // So that a busy machine does not keep one from answering.
    let long = Duration::from_secs(300);
    for (script, patience, expected) in [
        (
            "#!/bin/sh\nread line && exit 1\npwd >\"$HOME/at\"\necho https://said.test/\n",
            long,
            vec!["said.test:443"],
        ),
        ("#!/bin/sh\nexec sleep 600\n", client::PATIENCE, vec![]),
        (
            "#!/bin/sh\necho https://failed.test/\nexit 1\n",
            long,
            vec![],
        ),
    ] {
        let machine = Machine::new().program("~/bin/npm", script);
        let program = machine.path("~/bin/npm");
        let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
        let home = machine.request.home.to_str().unwrap().to_owned();
        let machine = machine.variable("PATH", &path).variable("HOME", &home);
        let request = &machine.request;
        let effective = Effective::empty(request.workspace.clone(), request.home.clone());
        let mut search = Search::new(request, &effective, Accepted::These(&[]));
        let words = ["config", "get", "registry"];
        let answer = client::ask_within(patience, &search, "npm", &words, &[]);
        if let Some(url) = answer {
            search.add_own(&url, "npm");
            assert_eq!(
                std::fs::read_to_string(machine.path("~/at")).unwrap(),
                "/\n"
            );
        }
        assert_eq!(texts(&search.finish().hosts()), expected, "{script}");
    }
}
