use crate::Access;
use crate::fixture::{Machine, access};
use std::path::Path;

fn with_path(machine: Machine, folders: &[&str]) -> Machine {
    let paths: Vec<_> = folders.iter().map(|f| machine.path(f)).collect();
    let joined = std::env::join_paths(paths).unwrap().into_string().unwrap();
    machine.variable("PATH", &joined)
}

fn assert_access(machine: &Machine, expected: &[(&str, Access)]) {
    let loaded = machine.load();
    for (path, access_expected) in expected {
        let found = loaded.effective.explain_path(&machine.path(path));
        assert_eq!(found.access, *access_expected, "{path}: {found}");
    }
}

#[test]
fn cargo_is_visible_without_its_credentials() {
    let machine = Machine::new()
        .file("~/.cargo/bin/cargo", "")
        .file("~/.cargo/config.toml", "")
        .file("~/.cargo/credentials.toml", "")
        .file("~/.cargo/registry/index/x", "")
        .file("~/.rustup/toolchains/stable/bin/cargo", "");
    let machine = with_path(machine, &["~/.cargo/bin"]);
    assert_access(
        &machine,
        &[
            ("~/.cargo/bin/cargo", Access::Read),
            ("~/.cargo/config.toml", Access::Read),
            ("~/.cargo/credentials.toml", Access::Hidden),
            ("~/.cargo/credentials", Access::Hidden),
            ("~/.cargo/registry/index/x", Access::Private),
            ("~/.rustup/toolchains/stable/bin/cargo", Access::Read),
            ("~/.cargo/env", Access::Hidden),
        ],
    );
    let loaded = machine.load();
    let rule = loaded
        .effective
        .explain_path(&machine.path("~/.cargo/bin"))
        .rule;
    assert_eq!(rule.origin.to_string(), "toolchain:cargo");
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
}

#[test]
fn a_root_that_a_variable_moves_is_found_there() {
    let machine = Machine::new()
        .file("~/tools/cargo/bin/cargo", "")
        .file("~/tools/cargo/credentials.toml", "");
    let moved = machine.path("~/tools/cargo").to_str().unwrap().to_owned();
    let machine = with_path(machine, &["~/tools/cargo/bin"]).variable("CARGO_HOME", &moved);
    assert_access(
        &machine,
        &[
            ("~/tools/cargo/bin/cargo", Access::Read),
            ("~/tools/cargo/credentials.toml", Access::Hidden),
            ("~/tools/cargo/registry/x", Access::Private),
        ],
    );
}

#[test]
fn a_variable_cannot_make_the_whole_home_visible() {
    let machine = Machine::new().file("~/bin/tool", "").file("~/secret", "");
    let home = machine.request.home.to_str().unwrap().to_owned();
    let root = machine.root().to_str().unwrap().to_owned();
    let mut machine = with_path(machine, &["~/bin"])
        .variable("PYENV_ROOT", &home)
        .variable("NVM_DIR", &root);
    std::fs::create_dir(machine.path("~/lib")).unwrap();
    assert_access(&machine, &[("~/secret", Access::Hidden)]);
    machine = machine
        .variable("RUSTUP_HOME", &home)
        .file("~/.cargo/bin/cargo", "");
    machine = with_path(machine, &["~/.cargo/bin"]);
    assert_access(&machine, &[("~/secret", Access::Hidden)]);
}

#[test]
fn local_programs_bring_what_their_links_lead_to_and_nothing_else() {
    let machine = Machine::new()
        .file("~/.local/share/tool/app/run", "")
        .file("~/.local/share/keyrings/login", "")
        .file("~/.local/lib/x", "")
        .file("~/.local/bin/own", "");
    std::os::unix::fs::symlink("../share/tool/app/run", machine.path("~/.local/bin/tool")).unwrap();
    let machine = with_path(machine, &["~/.local/bin"]);
    assert_access(
        &machine,
        &[
            ("~/.local/bin/own", Access::Read),
            ("~/.local/share/tool/app/run", Access::Read),
            ("~/.local/share/keyrings/login", Access::Hidden),
            ("~/.local/lib/x", Access::Hidden),
        ],
    );
}

#[test]
fn conda_and_virtual_environments_and_prefixes_are_visible() {
    let machine = Machine::new()
        .file("~/miniconda3/conda-meta/history", "")
        .file("~/miniconda3/bin/python", "")
        .file("~/venvs/a/pyvenv.cfg", "")
        .file("~/venvs/a/bin/x", "")
        .file("~/node-22/bin/node", "")
        .file("~/node-22/lib/x", "");
    std::os::unix::fs::symlink(
        machine.path("~/python/bin/python"),
        machine.path("~/venvs/a/bin/python"),
    )
    .unwrap();
    let machine = machine
        .file("~/python/bin/python", "")
        .file("~/python/lib/os.py", "");
    let machine = with_path(
        machine,
        &["~/miniconda3/bin", "~/venvs/a/bin", "~/node-22/bin"],
    );
    assert_access(
        &machine,
        &[
            ("~/miniconda3/bin/python", Access::Read),
            ("~/venvs/a/bin/x", Access::Read),
            ("~/python/lib/os.py", Access::Read),
            ("~/node-22/lib/x", Access::Read),
            ("~/.npm/x", Access::Private),
        ],
    );
}

#[test]
fn a_folder_of_path_that_stays_hidden_is_named_with_the_remedy() {
    let machine = with_path(
        Machine::new().file("~/scripts/x", ""),
        &["~/scripts", "~/absent", "src"],
    );
    let loaded = machine.load();
    assert_eq!(
        loaded.notices,
        [
            "~/scripts is on PATH but not visible in the sandbox; add it to [filesystem] read if its programs are needed"
        ]
    );
    assert_eq!(access(&loaded, Path::new("~/scripts/x")), Access::Hidden);
    let machine = machine.user("[filesystem]\nread = [\"~/scripts\"]");
    assert!(
        machine.load().notices.is_empty(),
        "what the policy grants is not complained about"
    );
}

/// A tool in `~/.local/bin` that is a link into the workspace, where a sandbox has left another.
fn led_astray() -> Machine {
    let machine = Machine::new()
        .file("~/.local/share/keyrings/login", "")
        .link("~/.local/bin/tool", "bin/tool")
        .link("bin/tool", "~/.local/share/keyrings/login");
    with_path(machine, &["~/.local/bin"])
}

#[test]
fn what_a_link_of_a_sandbox_leads_to_is_left_out_and_one_notice_says_so() {
    let machine = led_astray();
    assert_access(&machine, &[("~/.local/share/keyrings", Access::Hidden)]);
    let notices = machine.load().notices;
    let at = |path: &str| machine.path(path).display().to_string();
    let expected = format!(
        "{} is a symbolic link in a folder that a sandbox may write, and leads to {keyrings}: programs \
         on PATH are not shown through it; if they are needed, add \"{keyrings}\" to [filesystem] read",
        at("bin/tool"),
        keyrings = at("~/.local/share/keyrings"),
    );
    assert_eq!(notices, [expected]);
    // The remedy works, and then there is nothing to say.
    let keyrings = at("~/.local/share/keyrings");
    let machine = machine.user(&format!("[filesystem]\nread = [\"{keyrings}\"]"));
    assert_access(&machine, &[("~/.local/share/keyrings", Access::Read)]);
    assert!(machine.load().notices.is_empty());
}

#[test]
fn a_link_in_the_workspace_of_an_earlier_run_is_a_sandboxs_too() {
    let mut machine = led_astray().file("~/other/x", "");
    let old = machine.request.workspace.clone();
    machine.request.workspace = machine.path("~/other");
    assert_access(&machine, &[("~/.local/share/keyrings", Access::Read)]);
    crate::Written::remember(&machine.request.written_file, &[old]).unwrap();
    assert_access(&machine, &[("~/.local/share/keyrings", Access::Hidden)]);
    let notices = machine.load().notices;
    assert!(notices[0].contains("an earlier sandbox could write"));
}

#[test]
fn a_virtual_environment_of_a_sandbox_brings_no_folder_along_and_a_users_does() {
    let machine = Machine::new()
        .file("~/old/venv/pyvenv.cfg", "")
        .file("~/private/bin/notes", "")
        .file("~/private/lib/notes", "")
        .link("~/old/venv/bin/python", "~/private/bin/notes");
    let machine = with_path(machine, &["~/old/venv/bin"]);
    let expected = |private| {
        [
            ("~/private/lib/notes", private),
            ("~/old/venv/bin/x", Access::Read),
        ]
    };
    assert_access(&machine, &expected(Access::Read));
    assert_access(&machine.written("~/old"), &expected(Access::Hidden));
}

#[test]
fn a_folder_of_path_that_became_a_link_shows_nothing_and_a_clean_way_to_the_same_folder_does() {
    let machine = Machine::new()
        .file("~/private/bin/x", "")
        .file("~/private/lib/x", "")
        .link("~/old/tools", "~/private")
        .written("~/old");
    let machine = with_path(machine, &["~/old/tools/bin"]);
    let loaded = machine.load();
    assert_eq!(
        access(&loaded, &machine.path("~/private/x")),
        Access::Hidden
    );
    assert_eq!(
        access(&loaded, &machine.path("~/old/tools/x")),
        Access::Hidden
    );
    assert!(loaded.notices[0].contains("/old/tools is a symbolic link"));
    let machine = with_path(machine, &["~/old/tools/bin", "~/private/bin"]);
    let loaded = machine.load();
    assert_eq!(access(&loaded, &machine.path("~/private/x")), Access::Read);
    assert!(loaded.notices.is_empty(), "{:?}", loaded.notices);
}
