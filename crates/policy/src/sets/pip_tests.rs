use super::*;
use crate::fixture::Machine;
use crate::sets::trial::{trusted, untrusted};

fn hosts(machine: &Machine) -> Vec<String> {
    untrusted(machine, find).0
}

#[test]
fn the_configured_index_and_its_extras_are_the_set() {
    let machine = Machine::new().file(
        "~/.config/pip/pip.conf",
        "[global]\nindex-url = https://user:token@mirror.test:8443/simple\nextra-index-url =\n    https://extra.test/simple\n    http://plain.test/simple\n",
    );
    assert_eq!(
        hosts(&machine),
        ["extra.test:443", "plain.test:80", "mirror.test:8443"]
    );
}

#[test]
fn the_environment_wins_over_the_files() {
    let machine = Machine::new()
        .file(
            "~/.config/pip/pip.conf",
            "[global]\nindex-url = https://old.test/simple\n",
        )
        .variable("PIP_INDEX_URL", "https://new.test/simple")
        .variable("PIP_FIND_LINKS", "https://links.test/x /srv/wheels");
    assert_eq!(hosts(&machine), ["links.test:443", "new.test:443"]);
}

#[test]
fn without_a_configuration_pips_own_module_says_what_it_uses() {
    let module = "class PackageIndex: ...\n\nPyPI = PackageIndex(\n    \"https://index.test/\", file_storage_domain=\"files.test\"\n)\nTestPyPI = PackageIndex(\"https://other.test/\", file_storage_domain=\"x.test\")\n";
    let machine = Machine::new().file(
        "~/.pyenv/versions/3.12.1/lib/python3.12/site-packages/pip/_internal/models/index.py",
        module,
    );
    assert_eq!(hosts(&machine), ["index.test:443", "files.test:443"]);
}

#[test]
fn the_workspace_does_not_choose_the_index_unless_it_is_trusted() {
    let machine = Machine::new().file(
        "venv/pip.conf",
        "[global]\nindex-url = https://evil.test/simple\n",
    );
    let venv = machine.path("venv").to_str().unwrap().to_owned();
    let machine = machine
        .variable("VIRTUAL_ENV", &venv)
        .variable("PATH", &format!("{venv}/bin"));
    let machine = machine.file("venv/bin/python3", "").file(
        "venv/lib/python3.12/site-packages/pip/_internal/models/index.py",
        "PyPI = PackageIndex(\"https://evil.test/\", file_storage_domain=\"evil.test\")",
    );
    assert!(hosts(&machine).is_empty());
    assert_eq!(trusted(&machine, find), ["evil.test:443"]);
}

#[test]
fn an_index_of_the_workspace_that_was_not_trusted_does_not_hide_the_users() {
    let machine = Machine::new()
        .file(
            "~/.config/pip/pip.conf",
            "[global]\nindex-url = https://mirror.test/simple\n",
        )
        .file(
            "venv/pip.conf",
            "[global]\nindex-url = https://evil.test/simple\nno-index = true\n",
        );
    let venv = machine.path("venv").to_str().unwrap().to_owned();
    let machine = machine.variable("VIRTUAL_ENV", &venv);
    assert_eq!(hosts(&machine), ["mirror.test:443"]);
    assert_eq!(trusted(&machine, find), ["evil.test:443"]);
}
