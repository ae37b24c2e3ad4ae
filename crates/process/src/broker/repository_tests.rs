use super::*;

fn meaning_of(path: &str, beside: &[&str]) -> Meaning {
    meaning(Path::new(path), &|name| beside.contains(&name))
}

#[test]
fn every_file_that_steers_git_is_known() {
    use super::Leads::{CommonDir, GitFile};
    use super::Meaning::{Configuration, Head, Leads, Plain};
    for (path, beside, expected) in [
        ("/ws/a/.git", &[][..], Leads(GitFile)),
        ("/ws/.GIT", &[], Leads(GitFile)),
        ("/ws/.git/config", &[], Configuration),
        ("/ws/.git/config.worktree", &[], Configuration),
        ("/ws/.git/worktrees/w/config.worktree", &[], Configuration),
        ("/ws/.git/modules/a/b/config", &[], Configuration),
        ("/ws/.git/modules/refs/config", &[], Configuration),
        ("/ws/.git/refs/heads/config", &[], Plain),
        ("/ws/.git/logs/refs/heads/config", &[], Plain),
        ("/ws/.git/refs/remotes/origin/config", &[], Plain),
        ("/ws/.git/worktrees/w/commondir", &[], Leads(CommonDir)),
        (
            "/ws/.git/modules/m/worktrees/w/commondir",
            &[],
            Leads(CommonDir),
        ),
        ("/ws/.git/HEAD", &["config"], Plain),
        ("/ws/.gitmodules", &[], Configuration),
        ("/ws/a/config", &[], Plain),
        ("/ws/a/config", &["HEAD"], Configuration),
        ("/ws/a/HEAD", &[], Plain),
        ("/ws/a/HEAD", &["config"], Head),
        ("/ws/a/HEAD", &["hooks"], Head),
        ("/ws/a/objects", &["config"], Plain),
        ("/ws/a/objects", &["config", "refs"], Head),
        ("/ws/a/refs", &["config", "objects"], Head),
        ("/ws/a/config", &["objects"], Plain),
        ("/ws/a/config", &["objects", "refs"], Configuration),
        ("/ws/a/file", &["HEAD", "config"], Plain),
        ("/ws/a/hooks", &[], Plain),
    ] {
        assert_eq!(meaning_of(path, beside), expected, "{path} {beside:?}");
    }
    for path in [
        "/ws/.git/commondir",
        "/ws/a/commondir",
        "/ws/.git/modules/m/commondir",
    ] {
        assert!(matches!(meaning_of(path, &[]), Meaning::Never(_)), "{path}");
    }
}

#[test]
fn a_file_that_leads_elsewhere_leads_below_a_real_folder_of_git() {
    let top = tempfile::tempdir().unwrap();
    let top = top.path().canonicalize().unwrap();
    for folder in [
        "ws/.git/worktrees/tree",
        "ws/.git/modules/lib/sub",
        "ws/.git/modules/lib/refs/heads",
        "ws/evil",
        "ws/tree",
    ] {
        fs::create_dir_all(top.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink("../../../evil", top.join("ws/.git/modules/link")).unwrap();
    let folder = top.join("ws/tree");
    let well =
        |content: String| leads_well(Leads::GitFile, content.as_bytes(), &folder, Path::new("/"));
    let absolute = top.display();
    assert!(well(format!("gitdir: {absolute}/ws/.git/worktrees/tree\n")));
    assert!(well("gitdir: ../.git/worktrees/tree\n".into()));
    assert!(well("gitdir: ../.git/modules/lib\n".into()));
    assert!(well("gitdir: ../.git/modules/lib/sub".into()));
    assert!(well("gitdir: ../.git/modules/yet/to/come\n".into()));
    for bad in [
        "gitdir: ../evil\n",
        "gitdir: ../.git\n",
        "gitdir: ../.git/modules\n",
        "gitdir: ../.git/modules/lib/refs/heads\n",
        "gitdir: ../.git/modules/link\n",
        "gitdir: ../absent/../evil\n",
        "gitdir:../.git/worktrees/tree\n",
        "gitdir: ../.git/worktrees/tree\nmore\n",
        "",
        "\n",
    ] {
        assert!(!well(bad.into()), "{bad:?}");
    }
    assert!(leads_well(
        Leads::CommonDir,
        b"../..\n",
        &folder,
        Path::new("/")
    ));
    assert!(!leads_well(
        Leads::CommonDir,
        b"../../evil\n",
        &folder,
        Path::new("/")
    ));
}

#[test]
fn hooks_are_those_of_a_folder_with_a_head() {
    let top = tempfile::tempdir().unwrap();
    let at = |name: &str| top.path().join(name);
    fs::create_dir_all(at("bare/hooks")).unwrap();
    fs::create_dir_all(at("src/hooks")).unwrap();
    fs::write(at("bare/HEAD"), "ref: refs/heads/main\n").unwrap();
    assert!(is_hook(&at("bare/hooks/post-receive")));
    assert!(is_hook(&at("bare/hooks/a/b")));
    assert!(!is_hook(&at("src/hooks/useThing.ts")));
    assert!(!is_hook(&at("bare/hooks")));
    fs::write(at("bare/hooks/x.sample"), "").unwrap();
    assert!(holds_only_samples(&at("bare/hooks")));
    fs::write(at("bare/hooks/x"), "").unwrap();
    assert!(!holds_only_samples(&at("bare/hooks")));
    assert!(holds_only_samples(&at("bare/absent")));
}
