use super::super::config::{accept, check_removal};
use super::*;
use std::path::{Path, PathBuf};

fn adds(old: &str, new: &str, path: &str, content: Content) -> bool {
    let kept = [PathBuf::from("/ws"), PathBuf::from("/state")];
    let site = Site::of_test(Path::new(path), Path::new("/"), &kept);
    accept(content, old.as_bytes(), new.as_bytes(), &site).is_ok()
}

fn may_add(new: &str) -> bool {
    adds(
        "[core]\n\trepositoryformatversion = 0\n",
        &format!("[core]\n\trepositoryformatversion = 0\n{new}"),
        "/ws/.git/config",
        Content::Config,
    )
}

#[test]
fn harmless_values_pass() {
    for text in [
        "[core]\nautocrlf = false",
        "[core]\nautocrlf = input",
        "[core]\nquotepath = off",
        "[core]\nfsmonitor = false",
        "[core]\nsharedRepository = umask",
        "[gc]\nauto = 0",
        "[commit]\ngpgsign = false",
        "[core]\nsparseCheckout = true\nsparseCheckoutCone = true",
        "[extensions]\nworktreeConfig = true",
        "[color \"branch\"]\ncurrent = red",
        "[advice]\ndetachedHead = false",
        "[pull]\nrebase = true",
        "[branch \"b\"]\nremote = .\nmerge = refs/heads/main\nrebase = true",
        "[remote \"o\"]\nurl = git@host.test:a/b\nfetch = +refs/heads/*:refs/remotes/o/*\n[branch \"b\"]\nremote = o",
        "[submodule \"lib\"]\nurl = ../lib\nactive = true\nupdate = rebase",
        "[branch \"b\"]\ndescription = \"two\\nlines\"",
        "[checkout]\nworkers = 8\n[pack]\nthreads = 0\n[index]\nthreads = true",
    ] {
        assert!(may_add(text), "{text}");
    }
}

#[test]
fn values_that_execute_connect_or_widen_are_refused() {
    for text in [
        "[core]\nfsmonitor = true",
        "[core]\nfsmonitor",
        "[checkout]\nworkers = 6000",
        "[remote \"o\"]\nurl = ~/private",
        "[remote \"o\"]\nurl = ~u/private",
        "[remote \"o\"]\npushurl = file://~/private",
        "[remote \"o\"]\nurl = ../private",
        "[remote \"o\"]\nurl = /home/u/private",
        "[pack]\nthreads = 1k",
        "[core]\nsharedRepository = 0666",
        "[core]\nsharedRepository = world",
        "[core]\nprotectNTFS = false",
        "[core]\nhooksPath = x",
        "[commit]\ngpgsign = true",
        "[extensions]\npartialClone = evil",
        "[remote \"evil\"]\npromisor = true\nurl = http://host.test/x",
        "[remote \"evil\"]\nurl = http://host.test/x\npartialclonefilter = blob:none",
        "[remote \"o\"]\nfetch = +refs/heads/*:refs/heads/*",
        "[remote \"o\"]\nmirror = true",
        "[remote \"../x\"]\nurl = x",
        "[branch \"b\"]\nremote = http://host.test/x",
        "[branch \"b\"]\nmergeOptions = -s x",
        "[rebase]\ninstructionFormat = \"%s%nexec x\"",
        "[submodule \"lib\"]\nupdate = !x",
        "[extensions]\nobjectFormat = sha256",
        "[extensions]\nrefStorage = files:///x",
        "[push]\ndefault = matching",
        "[url \"x\"]\ninsteadOf = y",
        "[uploadpack]\npackObjectsHook = x",
        "[core]\nworktree = /ws",
        "[branch \"b\"]\ngh-merge-base = \"a\\nb\"",
    ] {
        assert!(!may_add(text), "{text}");
    }
}

#[test]
fn a_remote_that_git_fetches_from_without_being_asked_keeps_its_address() {
    let partial =
        "[remote \"o\"]\npromisor = true\nurl = https://a.test/x\n[remote \"p\"]\nurl = x\n";
    let changed = |from: &str, to: &str| {
        adds(
            partial,
            &partial.replace(from, to),
            "/ws/.git/config",
            Content::Config,
        )
    };
    assert!(!changed("https://a.test", "https://b.test"));
    assert!(!changed("promisor = true\n", ""));
    assert!(changed("url = x", "url = y"));
    let named = "[extensions]\npartialClone = o\n[remote \"o\"]\nurl = https://a.test/x\n";
    assert!(!adds(
        named,
        &named.replace("a.test", "b.test"),
        "/ws/.git/config",
        Content::Config
    ));
}

#[test]
fn what_is_found_out_when_a_repository_is_made_is_written_then() {
    let made =
        "[core]\nrepositoryformatversion = 1\nbare = false\n[extensions]\nrefstorage = reftable\n";
    assert!(adds("", made, "/ws/.git/config", Content::Config));
    assert!(!adds(
        made,
        &made.replace("reftable", "files"),
        "/ws/.git/config",
        Content::Config
    ));
}

#[test]
fn a_folder_that_stands_alone_may_name_a_tree_that_is_kept() {
    let takes = |tree: &str, path: &str| {
        adds(
            "",
            &format!("[core]\nworktree = {tree}\n"),
            path,
            Content::Config,
        )
    };
    let alone = "/state/snapshot/id/config";
    assert!(takes("/ws", alone) && !takes("/ws/sub", alone));
    assert!(
        !takes("/etc", alone)
            && !takes("/state", alone)
            && !takes("/ws/.git", alone)
            && !takes("/ws/sub/.git/x", alone)
    );
    assert!(!takes("/ws", "/ws/.git/config"));
}

#[test]
fn a_working_tree_has_no_remotes_of_its_own() {
    let of_tree = |text: &str| adds("", text, "/ws/.git/config.worktree", Content::ConfigOfTree);
    assert!(of_tree(
        "[core]\nsparseCheckout = true\n[index]\nsparse = true\n"
    ));
    assert!(!of_tree("[remote \"o\"]\nurl = x\n"));
    let modules = |text: &str| adds("", text, "/ws/.gitmodules", Content::Modules);
    assert!(modules("[submodule \"a\"]\npath = a\nurl = ../a\n"));
    assert!(!modules("[core]\nbare = true\n") && !modules("[submodule \"a\"]\npath = ../a\n"));
}

#[test]
fn a_name_of_a_remote_is_no_address() {
    for name in ["ext::sh -c x", "hg::x", "http://host.test/x", "host.test:x"] {
        let text = format!("[remote \"{name}\"]\nurl = x\n[branch \"b\"]\nremote = \"{name}\"");
        assert!(!may_add(&text), "{name}");
        let text = format!("[remote \"{name}\"]\nfetch = refs/heads/x");
        assert!(!may_add(&text), "{name}");
    }
}

#[test]
fn what_is_taken_away_may_weaken_as_well() {
    let takes_away = |text: &str| {
        adds(
            text,
            "[core]\nbare = false\n",
            "/ws/.git/config",
            Content::Config,
        )
    };
    assert!(!takes_away(
        "[core]\nbare = false\n[receive]\ndenyNonFastForwards = true\n"
    ));
    assert!(!takes_away(
        "[core]\nbare = false\n[extensions]\nobjectFormat = sha256\n"
    ));
    assert!(takes_away(
        "[core]\nbare = false\n[remote \"o\"]\nurl = x\n"
    ));
}

#[test]
fn a_repository_that_is_begun_gets_its_format() {
    let begun = "[core]\nrepositoryformatversion = 1\n";
    let with = format!("{begun}[extensions]\nobjectformat = sha256\n");
    assert!(adds(begun, &with, "/ws/.git/config", Content::Config));
    let made = format!("{begun}bare = false\n");
    let with = format!("{made}[extensions]\nobjectformat = sha256\n");
    assert!(!adds(&made, &with, "/ws/.git/config", Content::Config));
}

#[test]
fn what_is_fetched_is_kept_behind_the_last_colon() {
    for fetch in [
        "refs/heads/a:refs/remotes/o/a:refs/heads/main",
        "+refs/heads/*:refs/remotes/../heads/*",
    ] {
        assert!(
            !may_add(&format!("[remote \"o\"]\nfetch = {fetch}")),
            "{fetch}"
        );
    }
}

#[test]
fn what_would_hide_or_forget_is_refused() {
    assert!(!may_add("[core]\nlogAllRefUpdates = false"));
    assert!(may_add("[core]\nlogAllRefUpdates = always"));
    assert!(!may_add("[branch \"b\"]\ndescription = \"a\u{1b}[2Jb\""));
    assert!(!may_add("[completion]\ndescription = \"two\\nlines\""));
}

#[test]
fn a_format_stays_while_there_is_an_index_of_it() {
    let dir = tempfile::tempdir().unwrap();
    let config = dir.path().join("config");
    let begun = "[core]\nrepositoryformatversion = 1\n";
    let with = format!("{begun}[extensions]\nobjectformat = sha256\n");
    let may = || adds(begun, &with, config.to_str().unwrap(), Content::Config);
    assert!(may());
    let site = Site::of_test(&config, Path::new("/"), &[]);
    let removed = || check_removal(Content::Config, with.as_bytes(), &site);
    assert_eq!(removed(), Ok(()));
    std::fs::write(dir.path().join("index"), "").unwrap();
    assert!(!may() && removed().is_err());
    // The same that is there already, as when a repository is looked at as a whole.
    std::fs::write(&config, &with).unwrap();
    assert!(may());
}
