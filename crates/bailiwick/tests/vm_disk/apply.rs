//! `bailiwick apply`.

use crate::{Sandbox, exec, read, sandbox, start};
use std::fs;
use std::path::Path;

#[test]
fn what_a_session_changed_gets_into_the_workspace_once_it_is_asked_for() {
    let sandbox = sandbox()
        .file("changed", "before")
        .file("removed", "before")
        .file("folder/inside", "before")
        .file("same", "same");
    let ran = sandbox.run(
        "echo after > changed; rm -r removed folder; mkdir -p new/deep; echo new > new/deep/file; \
         ln -s new/deep link; chmod 755 same",
    );
    let id = ran.code(0).session().unwrap().to_owned();
    let listed = sandbox.bailiwick(["apply", "--dry-run", &id]);
    listed.code(0).stdout_is(
        "M changed\nD folder\nD folder/inside\nA link\nA new\nA new/deep\nA new/deep/file\nD \
         removed\nM same\n",
    );
    assert_eq!(read(&sandbox, "changed"), "before");
    sandbox.bailiwick(["apply", &id]).code(0);
    assert_eq!(read(&sandbox, "changed"), "after\n");
    assert_eq!(read(&sandbox, "link/file"), "new\n");
    assert!(!sandbox.workspace().join("folder").exists());
    assert!(!sandbox.workspace().join("removed").exists());
    sandbox
        .bailiwick(["apply", &id])
        .code(0)
        .stdout_is("nothing was changed\n");
}

#[test]
fn a_session_that_runs_is_applied_again_and_again() {
    let sandbox = sandbox().file("one", "1");
    sandbox
        .host("git init -q . && git add -A && git -c user.name=a -c user.email=a@b commit -qm 1");
    let _run = start(&sandbox, "box", "echo up; cat");
    for text in ["2", "3"] {
        let commit =
            format!("echo {text} > one; git -c user.name=a -c user.email=a@b commit -qam {text}");
        exec(&sandbox, "box", &commit).code(0);
        sandbox
            .bailiwick(["apply", "box"])
            .code(0)
            .stdout_has("M one\n");
        assert_eq!(read(&sandbox, "one"), format!("{text}\n"));
        assert_eq!(sandbox.host("git log -1 --format=%s").trim(), text);
    }
}

#[test]
fn what_was_changed_on_both_sides_is_left_and_told() {
    let sandbox = sandbox().file("both", "before").file("gone", "before");
    let ran = sandbox.run("echo there > both; echo there > new; rm gone");
    let id = ran.code(0).session().unwrap().to_owned();
    for name in ["both", "new", "gone"] {
        fs::write(sandbox.workspace().join(name), "here").unwrap();
    }
    let applied = sandbox.bailiwick(["apply", &id]);
    applied.code(1).stdout_is("");
    for line in [
        "M both: left as it is",
        "A new: left as it is",
        "D gone: left as it is",
    ] {
        applied.stderr_has(line);
    }
    for name in ["both", "new", "gone"] {
        assert_eq!(read(&sandbox, name), "here");
    }
}

#[test]
fn what_the_policy_keeps_from_commands_is_kept_from_what_they_left() {
    let policy = "extends = [\"default\"]\n[filesystem]\nprotect = [\"workspace/kept\"]\ndeny = [\"workspace/denied\"]\n";
    let sandbox = sandbox()
        .policy(policy)
        .file("kept", "kept")
        .file("denied", "denied")
        .file("free", "free");
    sandbox.host("git init -q .");
    let ran = sandbox.run(
        "echo bad > kept; echo bad > denied; echo good > free; echo bad > .git/hooks/post-commit; \
         git config core.fsmonitor bad; rm -rf .git/HEAD",
    );
    let id = ran.code(0).session().unwrap().to_owned();
    let applied = sandbox.bailiwick(["apply", "--yes", &id]);
    applied
        .code(126)
        .stdout_has("M free\n")
        .stderr_has("M kept: not written: ")
        .stderr_lacks("denied: left")
        .stderr_has("protected by filesystem.protect")
        .stderr_has(".git/hooks/post-commit: not written: ")
        .stderr_has(".git/config: not written: ");
    assert_eq!(read(&sandbox, "kept"), "kept");
    assert_eq!(read(&sandbox, "denied"), "denied");
    assert_eq!(read(&sandbox, "free"), "good\n");
    assert!(!Path::new(&sandbox.workspace().join(".git/hooks/post-commit")).exists());
    assert!(!read(&sandbox, ".git/config").contains("fsmonitor"));
}

#[test]
fn a_session_without_a_disk_has_nothing_to_apply_and_says_so() {
    let sandbox = Sandbox::new();
    let ran = sandbox.run("true");
    let id = ran.code(0).session().unwrap().to_owned();
    sandbox
        .bailiwick(["apply", &id])
        .code(2)
        .stderr_has("in its workspace already")
        .stderr_has("--disk");
}
