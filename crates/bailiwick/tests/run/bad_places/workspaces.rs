//! A workspace that cannot be used is named; what a repository has planted in one leads nowhere.

use super::not_started;
use crate::support::{Sandbox, host_command};
use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

#[test]
fn a_workspace_that_cannot_be_used_is_named() {
    let sandbox = Sandbox::new();
    let root = sandbox.scratch().root();
    fs::write(root.join("file"), "").unwrap();
    symlink("nowhere", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    for (name, why) in [
        ("missing", "there is no such folder"),
        ("file", "it is not a folder"),
        ("dangling", "there is no such folder"),
        // The C libraries have different words for ELOOP.
        ("loop", ""),
    ] {
        let path = root.join(name);
        let words = [
            "run",
            "--workspace",
            path.to_str().unwrap(),
            "--",
            "touch",
            "began",
        ];
        let outcome = sandbox.bailiwick(words);
        not_started(&sandbox, &outcome, 2).stderr_has(&format!("{name} cannot be used: {why}"));
        outcome.stderr_has("help: give an existing folder");
    }
}

#[test]
fn a_workspace_behind_a_link_is_the_folder_that_it_leads_to() {
    let sandbox = Sandbox::new();
    let link = sandbox.scratch().root().join("link");
    symlink(sandbox.workspace(), &link).unwrap();
    let words = [
        "run",
        "--workspace",
        link.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "pwd; touch began",
    ];
    let real = format!("{}\n", sandbox.workspace().display());
    sandbox.bailiwick(words).success().stdout_is(&real);
    assert!(sandbox.workspace().join("began").exists());
    sandbox
        .bailiwick(["sessions", "show"])
        .success()
        .stdout_has(real.trim());
    // What the link leads to is judged, not the link.
    let top = sandbox.scratch().root().join("top");
    symlink("/", &top).unwrap();
    let words = ["run", "--workspace", top.to_str().unwrap(), "--", "true"];
    sandbox
        .bailiwick(words)
        .not_started_by("workspace.too-wide");
}

#[test]
fn a_current_folder_that_is_gone_is_told_and_not_taken_for_the_root() {
    let sandbox = Sandbox::new();
    let gone = sandbox.scratch().root().join("gone");
    fs::create_dir(&gone).unwrap();
    let script = r#"cd "$1" && rmdir "$1" && exec "$2" run -- touch began"#;
    let mut command = host_command("sh");
    let like = sandbox.command();
    command.envs(like.get_envs().filter_map(|(k, v)| Some((k, v?))));
    let output = command
        .args(["-c", script, "sh"])
        .args([gone.as_os_str(), crate::support::binary().as_os_str()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("the current folder cannot be used"), "{said}");
    assert!(said.contains("--workspace"), "{said}");
}

#[test]
fn a_workspace_that_its_mode_closes_is_named_with_the_remedy() {
    let sandbox = Sandbox::new();
    let workspace = sandbox.workspace();
    fs::set_permissions(&workspace, Permissions::from_mode(0o000)).unwrap();
    let words = [
        "run",
        "--workspace",
        workspace.to_str().unwrap(),
        "--",
        "true",
    ];
    let mut command = sandbox.command();
    let output = command.current_dir("/").args(words).output().unwrap();
    fs::set_permissions(sandbox.workspace(), Permissions::from_mode(0o755)).unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{said}");
    assert!(said.contains("cannot start in this folder"), "{said}");
    assert!(said.contains("chmod u+rwx"), "{said}");
    sandbox.bailiwick(["log", "verify"]).success();
}

#[test]
fn a_workspace_that_is_read_only_by_its_mode_stays_so() {
    let sandbox = Sandbox::new();
    fs::set_permissions(sandbox.workspace(), Permissions::from_mode(0o555)).unwrap();
    let outcome = sandbox.run("touch new 2>/dev/null || echo refused");
    fs::set_permissions(sandbox.workspace(), Permissions::from_mode(0o755)).unwrap();
    outcome.success().stdout_is("refused\n");
}

#[test]
fn links_that_a_repository_has_planted_lead_nowhere() {
    for (name, rule) in [
        (".git", true),
        (".vscode", false),
        (".mcp.json", false),
        (".claude", false),
        ("src", false),
        ("node_modules", false),
        (".cache", false),
    ] {
        let sandbox = Sandbox::new();
        let outside = sandbox.scratch().root().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("file"), "whole").unwrap();
        symlink(&outside, sandbox.workspace().join(name)).unwrap();
        let script = format!(
            "cat {name}/file; echo bad > {name}/file; touch {name}/new; rm -r {name}/; true"
        );
        let outcome = sandbox.run(&script);
        match rule {
            true => drop(
                outcome
                    .not_started_by("filesystem.protect")
                    .stderr_has("is a symbolic link"),
            ),
            false => drop(outcome.success().stdout_lacks("whole")),
        }
        assert_eq!(
            fs::read_to_string(outside.join("file")).unwrap(),
            "whole",
            "{name}"
        );
        assert_eq!(fs::read_dir(&outside).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn whatever_tmpdir_says_a_run_puts_nothing_there() {
    let sandbox = Sandbox::new();
    let open = sandbox.scratch().root().join("open");
    fs::create_dir(&open).unwrap();
    fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    let planted = sandbox.scratch().root().join("planted");
    symlink("/etc", &planted).unwrap();
    let long = "x".repeat(5000);
    let paths = [
        open.to_str().unwrap(),
        planted.to_str().unwrap(),
        "",
        ".",
        "/nowhere",
        "/proc",
        &long,
        "a\n\x1b[2J",
    ];
    for path in paths {
        let sandbox = Sandbox::new()
            .host_env("TMPDIR", path)
            .host_env("TMP", path);
        sandbox
            .run("case $(mktemp) in /tmp/*) ;; *) exit 1 ;; esac; echo ${TMPDIR-none}")
            .success()
            .stdout_is("none\n");
        assert_eq!(fs::read_dir(sandbox.workspace()).unwrap().count(), 0);
    }
    assert_eq!(fs::read_dir(&open).unwrap().count(), 0);
}
