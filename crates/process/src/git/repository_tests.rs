use super::super::content::{Site, check};
use super::*;
use std::path::PathBuf;

/// A folder with these files, and what is asked about a path in it.
struct Tree(tempfile::TempDir);

impl Tree {
    fn of(files: &[&str]) -> Self {
        let tree = Self(tempfile::tempdir().unwrap());
        for file in files {
            let path = tree.at(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            match file.ends_with('/') {
                true => fs::create_dir_all(path).unwrap(),
                false => fs::write(path, "").unwrap(),
            }
        }
        tree
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }
}

#[test]
fn a_folder_git_is_judged_by_what_git_keeps_there() {
    let tree = Tree::of(&[]);
    let of = |path: &str| meaning(&tree.at(path));
    assert_eq!(of("a/.git"), Meaning::Obeyed(Content::GitFile));
    assert_eq!(of(".git/config"), Meaning::Obeyed(Content::Config));
    assert_eq!(of(".git/HEAD"), Meaning::Obeyed(Content::Reference));
    assert_eq!(of(".git/evil"), Meaning::Never(UNKNOWN));
    assert_eq!(of(".gitmodules"), Meaning::Obeyed(Content::Modules));
    assert_eq!(of("sub/commondir"), Meaning::Never(ELSEWHERE));
    assert!(matches!(of(".git/worktrees/w/hooks/x"), Meaning::Never(_)));
    assert_eq!(folder(&tree.at(".git/objects/ab")), Meaning::Plain);
    assert!(matches!(
        folder(&tree.at(".git/worktrees/w/hooks")),
        Meaning::Never(_)
    ));
    assert_eq!(folder(&tree.at("src/hooks")), Meaning::Plain);
}

#[test]
fn files_of_working_trees_beside_a_repository_are_not_of_git() {
    let tree = Tree::of(&[
        "p/HEAD",
        "p/objects/",
        "p/refs/heads/",
        "p/main/",
        "half/HEAD",
    ]);
    let of_git = |path: &str| is_of_git(&tree.at(path));
    let own = [
        ".git/x.lock",
        "p/HEAD.lock",
        "p/packed-refs.lock",
        "p/refs/heads/x.lock",
    ];
    assert!(own.into_iter().all(of_git));
    let others = [
        "p/main/Cargo.lock",
        "p/Cargo.lock",
        "half/HEAD.lock",
        "x/Cargo.lock",
    ];
    assert!(!others.into_iter().any(of_git));
}

#[test]
fn another_folder_is_judged_where_it_is_a_repository() {
    let tree = Tree::of(&[
        "bare/HEAD",
        "bare/objects/",
        "bare/refs/",
        "src/config",
        "half/objects/x",
        "two/HEAD",
    ]);
    let of = |path: &str| meaning(&tree.at(path));
    assert_eq!(of("bare/config"), Meaning::Obeyed(Content::Config));
    assert_eq!(of("bare/index"), Meaning::Obeyed(Content::Index));
    assert_eq!(of("bare/notes"), Meaning::Plain);
    assert!(matches!(of("bare/hooks/post-receive"), Meaning::Never(_)));
    assert!(matches!(of("bare/remotes/origin"), Meaning::Never(_)));
    assert_eq!(of("bare/hooks/x.sample"), Meaning::Plain);
    assert_eq!(of("src/config"), Meaning::Plain);
    assert_eq!(of("src/hooks/useThing.ts"), Meaning::Plain);
    assert_eq!(of("new/HEAD"), Meaning::Completes);
    assert_eq!(folder(&tree.at("half/refs")), Meaning::Completes);
    assert_eq!(folder(&tree.at("src/refs")), Meaning::Plain);
    assert!(
        is_hook(&tree.at("bare/hooks/a/b"))
            && !is_hook(&tree.at("bare/hooks"))
            && !is_hook(&tree.at("src/hooks/x"))
    );
    assert!(
        may_be_link(&tree.at("src/config"))
            && !may_be_link(&tree.at("bare/hooks"))
            && !may_be_link(&tree.at(".git/x"))
    );
    let probed = |path: &str, target: &[u8]| finds_out_about_links(&tree.at(path), target);
    assert!(probed(".git/tAb12cd", b"testing") && probed("bare/tAb12cd", b"testing"));
    assert!(
        !probed(".git/tAb12cd", b"/etc") && !probed(".git/logs/refs/heads/tmaster", b"testing")
    );
}

#[test]
fn hooks_are_samples_or_are_told() {
    let tree = Tree::of(&["a/x.sample", "b/x.sample", "b/x"]);
    assert!(
        holds_only_samples(&tree.at("a"))
            && !holds_only_samples(&tree.at("b"))
            && holds_only_samples(&tree.at("c"))
    );
}

#[test]
fn what_lies_beside_a_head_is_found() {
    let tree = Tree::of(&[
        "r/config",
        "r/index",
        "r/objects/ab/cd",
        "r/objects/info/alternates",
        "r/src/main.c",
        "e/hooks/x",
    ]);
    let mut found: Vec<_> = obeyed_in(&tree.at("r"), 100)
        .unwrap()
        .into_iter()
        .map(|(_, content)| format!("{content:?}"))
        .collect();
    found.sort();
    assert_eq!(found, ["Alternates", "Config", "Index"]);
    assert!(obeyed_in(&tree.at("e"), 100).is_err());
    assert!(obeyed_in(&tree.at("r"), 2).is_err());
}

#[test]
fn folders_keep_the_names_by_which_their_files_lead() {
    let may = |from: &str, to: &str| may_move(Path::new(from), Path::new(to));
    assert!(
        may("/ws/a", "/ws/b")
            && may("/ws/a/.git", "/ws/b/.git")
            && may("/ws/.git/refs/heads/a", "/ws/.git/refs/heads/b")
    );
    assert!(
        !may("/ws/a/.git", "/ws/g")
            && !may("/ws/.git/modules/a", "/ws/x")
            && !may("/ws/.git/worktrees/a", "/ws/x")
    );
    assert!(
        !may("/ws/x", "/ws/.git/worktrees/w")
            && !may("/ws/x", "/ws/.git/hooks")
            && !may("/ws/.git/objects/a", "/ws/.git/hooks")
    );
    assert!(!may("/ws/evil", "/ws/.git/.bailiwick-1-2"));
    assert!(!may("/ws/.git/.bailiwick-1-2", "/ws/.git/hooks"));
}

#[test]
fn a_file_that_leads_elsewhere_leads_to_what_is_looked_after() {
    let tree = Tree::of(&[
        "ws/.git/worktrees/tree/",
        "ws/.git/modules/lib/sub/",
        "ws/.git/modules/lib/refs/heads/",
        "ws/evil/",
        "ws/tree/",
        "out/",
    ]);
    std::os::unix::fs::symlink("../../../evil", tree.at("ws/.git/modules/link")).unwrap();
    let kept = [tree.at("ws")];
    let says = |content: Content, at: &str, text: &str| {
        let path = tree.at(at);
        let site = Site::of_test(&path, Path::new("/"), &kept);
        check(content, b"", text.as_bytes(), &site).is_ok()
    };
    let well = |text: &str| says(Content::GitFile, "ws/tree/.git", text);
    assert!(well(&format!(
        "gitdir: {}\n",
        tree.at("ws/.git/worktrees/tree").display()
    )));
    for good in [
        "gitdir: ../.git/worktrees/tree\n",
        "gitdir: ../.git/modules/lib\n",
        "gitdir: ../.git/modules/lib/sub",
        "gitdir: ../.git/modules/yet/to/come\n",
    ] {
        assert!(well(good), "{good:?}");
    }
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
        assert!(!well(bad), "{bad:?}");
    }
    let common = |text: &str| says(Content::CommonDir, "ws/.git/worktrees/tree/commondir", text);
    assert!(common("../..\n") && !common("../../evil\n"));
    let tree_at = |text: &str| says(Content::GitDir, "ws/.git/worktrees/tree/gitdir", text);
    assert!(tree_at(&format!("{}\n", tree.at("ws/tree/.git").display())));
    for bad in [
        tree.at("out/.git"),
        tree.at("ws/tree/x"),
        tree.at("ws/.git/x/.git"),
    ] {
        assert!(!tree_at(&format!("{}\n", bad.display())), "{bad:?}");
    }
    let alternates =
        |text: &str| says(Content::Alternates, "ws/.git/objects/info/alternates", text);
    for folder in ["ws/other/.git/objects", "ws/.git/objects/info"] {
        fs::create_dir_all(tree.at(folder)).unwrap();
    }
    assert!(alternates(&format!(
        "{}\n",
        tree.at("ws/other/.git/objects").display()
    )));
    assert!(
        alternates("../../other/.git/objects\n")
            && !alternates("/var/objects\n")
            && !alternates("../../evil\n")
    );
}

#[test]
fn a_repository_of_any_name_keeps_folders_of_linked_trees() {
    let tree = Tree::of(&[
        "ws/bare/HEAD",
        "ws/bare/worktrees/x/",
        "ws/plain/worktrees/x/",
        "ws/x/sub/",
        "ws/evil/",
    ]);
    let of = |path: &str| meaning(&tree.at(path));
    let kept = "ws/bare/worktrees/x";
    for (name, content) in [
        ("commondir", Content::CommonDir),
        ("gitdir", Content::GitDir),
        ("HEAD", Content::Reference),
        ("index", Content::Index),
    ] {
        assert_eq!(of(&format!("{kept}/{name}")), Meaning::Obeyed(content));
    }
    assert!(matches!(of(&format!("{kept}/config")), Meaning::Never(_)));
    assert!(matches!(
        of("ws/plain/worktrees/x/commondir"),
        Meaning::Never(_)
    ));
    assert_eq!(of("ws/plain/worktrees/x/HEAD"), Meaning::Completes);

    let probe = tree.at(&format!("{kept}/modules/sub/tAb12Cd"));
    assert!(finds_out_about_links(&probe, b"testing"));
    assert!(!finds_out_about_links(&probe, b"../x"));

    let folders = [tree.at("ws")];
    let says = |content: Content, at: &str, text: &str| {
        let path = tree.at(at);
        let site = Site::of_test(&path, Path::new("/"), &folders);
        check(content, b"", text.as_bytes(), &site).is_ok()
    };
    let leads = |text: &str| says(Content::GitFile, "ws/x/.git", text);
    assert!(leads("gitdir: ../bare/worktrees/x\n"));
    assert!(leads("gitdir: ../bare/worktrees/x/modules/sub\n"));
    for bad in [
        "plain/worktrees/x",
        "bare",
        "bare/worktrees/x/refs",
        "bare/modules/x",
    ] {
        assert!(!leads(&format!("gitdir: ../{bad}\n")), "{bad}");
    }

    let module = "ws/bare/worktrees/x/modules/sub/config";
    let named = |at: &str| {
        says(
            Content::Config,
            module,
            &format!("[core]\nworktree = {at}\n"),
        )
    };
    let way = "../../../../../x/sub";
    assert!(!named(way));
    fs::write(tree.at(&format!("{kept}/gitdir")), "../../../x/.git\n").unwrap();
    fs::write(
        tree.at("ws/x/sub/.git"),
        "gitdir: ../../bare/worktrees/x/modules/sub\n",
    )
    .unwrap();
    assert!(named(way));
    assert!(!named("../../../../../x") && !named("../../../../../evil"));
    fs::write(tree.at(&format!("{kept}/gitdir")), "../../../evil/.git\n").unwrap();
    assert!(!named(way));
}
