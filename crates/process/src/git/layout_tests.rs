use super::*;

fn of(path: &str) -> Part {
    let below: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
    file(&below)
}

fn folder(path: &str) -> bool {
    let below: Vec<&[u8]> = path.split('/').map(str::as_bytes).collect();
    is_folder(&below)
}

#[test]
fn references_are_decided_by_where_they_lead() {
    for path in [
        "HEAD",
        "ORIG_HEAD",
        "MERGE_HEAD",
        "refs/heads/main",
        "refs/heads/a/b",
        "refs/heads/config",
        "refs/stash",
        "refs/remotes/origin/HEAD",
        "refs/tags/v1",
        "refs/jj/keep/x",
        "worktrees/w/HEAD",
        "worktrees/w/refs/bisect/bad",
        "modules/a/HEAD",
        "modules/src/modules/x/refs/heads/m",
        "worktrees/w/modules/lib/HEAD",
        "refs/heads/x.bak",
    ] {
        assert_eq!(of(path), Part::Obeyed(Content::Reference), "{path}");
    }
    // What would make a repository of them.
    for path in [
        "refs/HEAD",
        "refs/config",
        "refs/hooks/pre-push",
        "refs/objects/x",
        "refs/commondir",
        "logs/config",
        "logs/objects/x",
        "logs/refs/HEAD",
        "logs/refs/config",
        "logs/refs/objects/x",
        "logs/refs/refs/x",
        "worktrees/w/refs/HEAD",
        "worktrees/w/logs/refs/config",
        "refs/remotes/origin/objects/x",
    ] {
        let of = of(path);
        assert!(
            matches!(of, Part::Unknown | Part::Refused(_)),
            "{path}: {of:?}"
        );
    }
    let folders: [&[&[u8]]; 6] = [
        &[b"refs", b"objects"],
        &[b"refs", b"refs"],
        &[b"logs", b"objects"],
        &[b"logs", b"refs", b"refs"],
        &[b"logs", b"refs", b"hooks"],
        &[b"worktrees", b"w", b"refs", b"objects"],
    ];
    assert!(folders.iter().all(|folder| !is_folder(folder)));
    assert!(is_folder(&[b"logs", b"refs"]) && is_folder(&[b"refs", b"heads"]));
}

#[test]
fn what_git_keeps_is_known() {
    for path in [
        "FETCH_HEAD",
        "COMMIT_EDITMSG",
        "MERGE_MSG",
        "description",
        "shallow",
        "gc.log",
        "gc.pid",
        "info/exclude",
        "info/attributes",
        "info/sparse-checkout",
        "objects/ab/0123456789",
        "objects/pack/pack-1.idx",
        "objects/pack/tmp_pack_x",
        "objects/info/packs",
        "objects/info/commit-graphs/graph-1.graph",
        "objects/tmp_objdir-incoming-x/ab/0",
        "logs/HEAD",
        "logs/refs/heads/a/b",
        "logs/refs/remotes/origin/HEAD",
        "logs/refs/heads/config",
        "rr-cache/0/preimage",
        "rr-cache/0/postimage.1",
        "rebase-merge/message",
        "rebase-merge/done",
        "rebase-apply/0001",
        "sequencer/head",
        "BISECT_LOG",
        "worktrees/w/locked",
        "worktrees/w/logs/HEAD",
        "modules/a/b/objects/ab/01",
        "lfs/objects/a/b/c",
        "opencode",
    ] {
        assert_eq!(of(path), Part::Data, "{path}");
    }
    for path in [
        "index.lock",
        "config.lock",
        "HEAD.lock",
        "refs/heads/main.lock",
        "packed-refs.lock",
        "packed-refs.new",
        "index.stash.12",
        "index.stash.12.lock",
        "next-index-12.lock",
        "sharedindex_Ab12",
        "tAb12cd",
        "rebase-merge/git-rebase-todo.lock",
        "sequencer/todo.lock",
        "MERGE_RR.lock",
        "shallow.lock",
        "config.worktree.lock",
        "rebase-merge/sedAb12Cd",
        ".COMMIT_EDITMSG.swp",
        "COMMIT_EDITMSG~",
        "worktrees/w/index.lock",
        "modules/a/config.lock",
        "gc.pid.lock",
        ".HEAD.a1B2c3",
        "worktrees/w/.index.a1B2c3",
        ".bailiwick-1-2",
        "objects/ab/.bailiwick-1-2",
        "info/sparse-checkout.lock",
    ] {
        assert_eq!(of(path), Part::Draft, "{path}");
    }
}

#[test]
fn what_git_obeys_is_decided_by_what_it_says() {
    for (path, content) in [
        ("config", Content::Config),
        ("config.worktree", Content::ConfigOfTree),
        ("worktrees/w/config.worktree", Content::ConfigOfTree),
        ("index", Content::Index),
        ("worktrees/w/index", Content::Index),
        ("modules/a/b/index", Content::Index),
        ("modules/a/b/config", Content::Config),
        ("modules/a/modules/b/config", Content::Config),
        ("sharedindex.0123", Content::SharedIndex),
        ("worktrees/w/commondir", Content::CommonDir),
        ("worktrees/w/gitdir", Content::GitDir),
        ("modules/m/worktrees/w/commondir", Content::CommonDir),
        ("objects/info/alternates", Content::Alternates),
        ("rebase-merge/git-rebase-todo", Content::Todo),
        ("sequencer/todo", Content::Todo),
        ("rebase-merge/msgnum", Content::Count),
        ("rebase-merge/onto", Content::CommitId),
        ("rebase-apply/last", Content::Count),
        ("rebase-merge/strategy", Content::Strategy),
        ("rebase-merge/refs-to-delete", Content::RefsToDelete),
        ("rebase-apply/gpg_sign_opt", Content::Signing),
        ("sequencer/opts", Content::PickOptions),
        ("BISECT_START", Content::BisectStart),
        ("MERGE_RR", Content::MergeRr),
        ("reftable/tables.list", Content::Tables),
    ] {
        assert_eq!(of(path), Part::Obeyed(content), "{path}");
    }
}

#[test]
fn what_git_does_not_keep_is_not_made() {
    for path in [
        "refs/replace/0123",
        "MERGE_AUTOSTASH",
        "rebase-merge/autostash",
        "hooks/post-checkout",
        "hooks/a/b.sample",
        "worktrees/w/hooks/post-index-change",
        "worktrees/w/objects/x",
        "worktrees/w/config",
        "modules/a/hooks/x",
        "commondir",
        "gitdir",
        "modules/m/commondir",
        "info/grafts",
        "objects/info/http-alternates",
        "remotes/origin",
        "branches/origin",
        "svn/.metadata",
        "fsmonitor--daemon.ipc",
        "objects/ab/config",
        "objects/x/HEAD",
        "lfs/x/hooks/y",
        "modules/a/worktrees/w/hooks/x",
    ] {
        assert!(
            matches!(of(path), Part::Refused(_)),
            "{path}: {:?}",
            of(path)
        );
    }
    for path in [
        "evil",
        "CONFIG",
        "Hooks/x",
        "refs/heads/x/HEAD",
        "refs/heads/x/commondir",
        "common/config",
        "x/config",
        "rebase-merge/evil",
        "worktrees/w",
        "a/.git/config",
        "objects/../config",
        "index/x",
        "modules/refs/config",
        "modules/a",
        "logs/refs/remotes/o/objects/x",
        "HEAD\n",
        "sub/.git",
        "evil.lock",
        "refs",
        "logs/config",
        "logs/objects",
        "NOTES_MERGE_WORKTREE/HEAD",
        "jj/x",
    ] {
        assert_eq!(of(path), Part::Unknown, "{path}");
    }
    assert_eq!(of("hooks/pre-commit.sample"), Part::Sample);
}

#[test]
fn only_folders_of_git_are_made() {
    for path in [
        "objects",
        "objects/ab",
        "objects/info/commit-graphs",
        "refs/heads/a",
        "logs/refs/heads/a",
        "hooks",
        "info",
        "branches",
        "worktrees/w",
        "worktrees/w/logs",
        "worktrees/w/refs/bisect",
        "modules/a/b",
        "modules/a/objects/ab",
        "modules/a/worktrees/w/refs",
        "rebase-merge",
        "worktrees/w/rebase-merge",
        "rr-cache/0",
        "lfs/objects/ab",
    ] {
        assert!(folder(path), "{path}");
    }
    for path in [
        "hooks/x",
        "worktrees/w/hooks",
        "worktrees/w/objects",
        "evil",
        "x/objects",
        "modules/a/hooks/x",
        "refs/remotes/o/objects",
        "remotes",
        "svn",
        ".git",
        "objects/.git",
        "rebase-merge/x",
    ] {
        assert!(!folder(path), "{path}");
    }
}

#[test]
fn a_submodule_has_no_name_that_means_something_else() {
    assert!(
        is_name_of_module(b"lib")
            && is_name_of_module(b"a/b")
            && is_name_of_module(b"src/modules/x")
    );
    for name in [
        "",
        "a//b",
        "../x",
        "a/refs/heads",
        "a/hooks",
        "a/config",
        ".git",
        "lfs",
    ] {
        assert!(!is_name_of_module(name.as_bytes()), "{name}");
    }
}
