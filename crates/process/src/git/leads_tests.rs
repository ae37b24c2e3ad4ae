use super::*;
use std::fs;

/// Whether a file of a kind may say this, where `/ws` and `/state` may be written and `/elsewhere` may not.
fn may_lead(content: Content, old: &[u8], new: &[u8]) -> bool {
    let root = tempfile::tempdir().unwrap();
    for folder in [
        "ws/sub",
        "ws/.git/worktrees/one",
        "ws/.git/modules/lib",
        "ws/.git/objects/info",
        "state/tree",
        "elsewhere/.git/worktrees/one",
    ] {
        fs::create_dir_all(root.path().join(folder)).unwrap();
    }
    let path = match content {
        Content::GitFile => "/ws/sub/.git",
        Content::Alternates => "/ws/.git/objects/info/alternates",
        _ => "/ws/.git/worktrees/one/gitdir",
    };
    let kept = ["/ws".into(), "/state".into()];
    let site = Site::of_test(path.as_ref(), root.path(), &kept);
    match content {
        Content::Alternates => check_alternates(old, new, &site).is_ok(),
        _ => check(content, old, new, &site).is_ok(),
    }
}

#[test]
fn a_git_file_leads_to_where_somebody_looks_after_it() {
    let leads = |text: &str| may_lead(Content::GitFile, b"", text.as_bytes());
    for text in [
        "gitdir: /ws/.git/worktrees/one\n",
        "gitdir: ../.git/modules/lib",
        "gitdir: /ws/.git/modules/lib/worktrees/two\n",
    ] {
        assert!(leads(text), "{text}");
    }
    for text in [
        "gitdir: /elsewhere/.git/worktrees/one\n",
        "gitdir: /ws/sub\n",
        "gitdir: /ws/.git\n",
        "gitdir: /ws/.git/modules/lib/hooks\n",
        "gitdir: /ws/.git/worktrees/..\n",
        "/ws/.git/worktrees/one\n",
    ] {
        assert!(!leads(text), "{text}");
    }
    // What it said before it may go on to say, and what is new may not be called the old.
    let elsewhere = b"gitdir: /ws/sub\n";
    assert!(may_lead(Content::GitFile, elsewhere, elsewhere));
    assert!(!may_lead(
        Content::GitFile,
        b"gitdir: /ws/tree\n",
        elsewhere
    ));
    assert!(!may_lead(Content::GitFile, b"", b""));
}

#[test]
fn a_path_without_an_end_is_not_followed() {
    // It took an hour when each part was looked for again for each that comes behind it.
    let deep = "a/".repeat(200_000);
    let leads = |content, text: String| may_lead(content, b"", text.as_bytes());
    assert!(!leads(Content::GitFile, format!("gitdir: {deep}")));
    assert!(!leads(Content::GitDir, format!("/state/{deep}.git")));
    assert!(!leads(
        Content::Alternates,
        format!("/state/{deep}objects\n")
    ));
    let absent = "a/".repeat(17);
    assert!(!leads(
        Content::Alternates,
        format!("/state/{absent}objects\n")
    ));
}

#[test]
fn a_linked_tree_is_a_folder_that_may_be_written() {
    let leads = |text: &str| may_lead(Content::GitDir, b"", text.as_bytes());
    assert!(leads("/state/tree/.git\n") && leads("../../../sub/.git"));
    for text in [
        "/elsewhere/.git\n",
        "/state/tree/.git/.\n",
        "/state/tree/.git/\n",
        "/state/tree\n",
        ".git\n",
        "/ws/.git/.git\n",
    ] {
        assert!(!leads(text), "{text}");
    }
}

#[test]
fn objects_lie_where_the_sandbox_may_write_or_the_user_has_said() {
    let leads =
        |old: &str, new: &str| may_lead(Content::Alternates, old.as_bytes(), new.as_bytes());
    assert!(leads(
        "",
        "/state/a/objects\n# a remark\n../../sub/.git/objects\n"
    ));
    assert!(leads(
        "/elsewhere/objects\n",
        "/elsewhere/objects\n/state/a/objects\n"
    ));
    assert!(!leads("", "/elsewhere/objects\n") && !leads("", "\"/state/objects\"\n"));
    // Git reads nothing behind a NUL.
    assert!(!leads("a\0\n/elsewhere/objects\n", "/elsewhere/objects\n"));
    // A line in quotes may go on behind them, and over the end of the line.
    let quoted = "\"/state/a\n";
    assert!(leads(quoted, quoted));
    assert!(!leads(quoted, &format!("{quoted}/state/objects\n")));
}
