use super::*;
use crate::fixture::Machine;

fn hosts(machine: &Machine, trusted: bool) -> Vec<String> {
    let mut search = Search::new(&machine.request, &machine.request.workspace, trusted);
    find(&mut search);
    search.hosts()
}

#[test]
fn the_configured_index_and_its_extras_are_the_set() {
    let machine = Machine::new().file(
        "~/.config/pip/pip.conf",
        "[global]\nindex-url = https://user:token@mirror.test:8443/simple\nextra-index-url =\n    https://extra.test/simple\n    http://plain.test/simple\n",
    );
    assert_eq!(
        hosts(&machine, false),
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
    assert_eq!(hosts(&machine, false), ["links.test:443", "new.test:443"]);
}

#[test]
fn without_a_configuration_pips_own_module_says_what_it_uses() {
    let module = "class PackageIndex: ...\n\nPyPI = PackageIndex(\n    \"https://index.test/\", file_storage_domain=\"files.test\"\n)\nTestPyPI = PackageIndex(\"https://other.test/\", file_storage_domain=\"x.test\")\n";
    let machine = Machine::new().file(
        "~/.pyenv/versions/3.12.1/lib/python3.12/site-packages/pip/_internal/models/index.py",
        module,
    );
    assert_eq!(hosts(&machine, false), ["index.test:443", "files.test:443"]);
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
    assert!(hosts(&machine, false).is_empty());
    assert_eq!(hosts(&machine, true), ["evil.test:443"]);
}
