use super::*;
use bailiwick_event::Origin;
use proptest::prelude::*;

fn rules(names: &[&str]) -> Rules {
    let entry = |name: &&str| PathEntry {
        pattern: match name.contains(['*', '?']) {
            true => PathPattern::Glob {
                root: "/ws".into(),
                glob: (*name).to_owned(),
            },
            false => PathPattern::Path(Path::new("/ws").join(name)),
        },
        origin: Origin::built_in(),
    };
    let mut list = Vec::new();
    for (number, name) in names.iter().enumerate() {
        list.extend(protected(&entry(name), Path::new("/ws"), &[]).map(|n| (number as u32, n)));
    }
    let mut rules = Rules {
        names: list,
        host: vec!["/ws".into(), "/elsewhere".into()],
        ..Rules::default()
    }
    .compiled();
    rules.git = names
        .iter()
        .position(|n| *n == ".git/config")
        .map(|n| n as u32);
    rules
}

fn template() -> Rules {
    rules(&[
        ".git/hooks",
        ".git/config",
        ".git/modules/*/hooks",
        ".git/modules/*/config",
        ".gitmodules",
        ".mcp.json",
        ".vscode",
        "bailiwick.toml",
        "config/*.key",
    ])
}

fn decide(path: &str) -> Verdict {
    template().decide(Path::new(path))
}

#[test]
fn control_names_are_protected_at_any_depth() {
    use Verdict::{Allow, Git, Refuse};
    for (path, verdict) in [
        ("/ws/.git/hooks", Refuse(0)),
        ("/ws/.git/hooks/pre-commit", Refuse(0)),
        ("/ws/a/b/.git/hooks/pre-commit", Refuse(0)),
        ("/ws/a/.GIT/Hooks/x", Refuse(0)),
        ("/ws/.git/modules/a/hooks/x", Refuse(2)),
        ("/ws/.git/modules/a/b/hooks/x", Refuse(2)),
        ("/ws/.git/config", Git(1)),
        ("/ws/deep/.git/config", Git(1)),
        ("/ws/.git/modules/a/b/config", Git(1)),
        ("/ws/.gitmodules", Git(1)),
        ("/ws/.git/config.lock", Allow),
        ("/ws/.git/config/x", Refuse(1)),
        ("/ws/.git/index", Allow),
        ("/ws/a/.mcp.json", Refuse(5)),
        ("/ws/a/.vscode/tasks.json", Refuse(6)),
        ("/ws/a/vscode/tasks.json", Allow),
        ("/ws/bailiwick.toml", Refuse(7)),
        ("/ws/a/bailiwick.toml", Refuse(7)),
        ("/ws/config/tls.key", Refuse(8)),
        ("/ws/config/tls.key/x", Refuse(8)),
        ("/ws/config/a/tls.key", Allow),
        ("/elsewhere/.vscode/x", Allow),
        ("/elsewhere/.git/config", Git(1)),
        ("/tmp/.git/config", Allow),
        ("/ws", Allow),
    ] {
        assert_eq!(decide(path), verdict, "{path}");
    }
}

#[test]
fn a_folder_that_takes_a_control_name_must_not_hold_what_it_protects() {
    let rules = template();
    let entering = |from: &str, to: &str| -> Vec<String> {
        let found = rules.entering(Path::new(from), Path::new(to));
        found
            .into_iter()
            .map(|(_, p)| p.display().to_string())
            .collect()
    };
    assert!(entering("/ws/x", "/ws/.git").contains(&"hooks".to_owned()));
    assert!(entering("/ws/x", "/ws/.git").contains(&"config".to_owned()));
    assert!(entering("/ws/x", "/ws/.git").contains(&"modules/*/hooks".to_owned()));
    assert!(entering("/ws/x", "/ws/a/.git/modules").contains(&"*/hooks".to_owned()));
    assert!(entering("/ws/x", "/ws/y").is_empty());
    // A repository may move: what it holds was protected all along.
    assert!(
        entering("/ws/a/.git", "/ws/b/.git")
            .iter()
            .all(|tail| tail != "hooks")
    );
}

#[test]
fn a_link_above_a_protected_name_is_known() {
    let rules = template();
    for (path, known) in [
        ("/ws/.git", true),
        ("/ws/a/.git", true),
        ("/ws/.git/modules", true),
        ("/ws/.git/modules/x", true),
        ("/ws/a", false),
        ("/ws/git", false),
        ("/ws/config", true),
        ("/ws/config/x", false),
        ("/", true),
    ] {
        assert_eq!(rules.above(Path::new(path)).is_some(), known, "{path}");
    }
}

#[test]
fn hooks_of_what_is_protected_as_a_whole_are_no_exception() {
    use Verdict::{Allow, Refuse};
    let rules = rules(&[".git", ".vscode"]);
    let folder = |path: &str| rules.decide_folder(Path::new(path));
    let file = |path: &str| rules.decide_file(Path::new(path));
    assert_eq!(folder("/ws/.git/hooks"), Refuse(0));
    assert_eq!(file("/ws/.git/hooks/a.sample"), Refuse(0));
    assert_eq!(folder("/ws/.vscode/.git/hooks"), Refuse(0));
    let rules = template();
    assert_eq!(rules.decide_folder(Path::new("/ws/a/.git/hooks")), Allow);
    assert_eq!(
        rules.decide_folder(Path::new("/ws/.git/x/.vscode/hooks")),
        Refuse(6)
    );
    // In a folder that ignores case, git makes the same.
    assert_eq!(rules.decide_folder(Path::new("/ws/a/.GIT/hooks")), Allow);
    for sample in ["/ws/a/.git/hooks/x.sample", "/ws/a/.Git/hooks/x.sample"] {
        assert_eq!(rules.decide_file(Path::new(sample)), Allow);
    }
}

#[test]
fn a_folder_from_elsewhere_is_asked_entry_by_entry() {
    let rules = rules(&[".vscode"]);
    let asks = |from: &str, to: &str| rules.must_look_through(Path::new(from), Path::new(to));
    assert!(asks("/elsewhere/x", "/ws/y"));
    assert!(!asks("/ws/x", "/ws/y"));
    assert!(!asks("/elsewhere/x", "/elsewhere/y"));
}

#[test]
fn a_pattern_for_every_name_does_not_protect_the_folder_itself() {
    let rules = rules(&["*"]);
    assert_eq!(rules.decide(Path::new("/ws")), Verdict::Allow);
    assert_eq!(rules.decide(Path::new("/ws/a")), Verdict::Refuse(0));
}

#[test]
fn a_class_of_a_pattern_protects_no_other_folder() {
    let rules = rules(&["config[!x]*.key", "b[+-9]*"]);
    for (path, verdict) in [
        ("/ws/config-tls.key", Verdict::Refuse(0)),
        ("/ws/config/tls.key", Verdict::Allow),
        ("/ws/b7", Verdict::Refuse(1)),
        ("/ws/b/7", Verdict::Allow),
    ] {
        assert_eq!(rules.decide(Path::new(path)), verdict, "{path}");
    }
}

#[test]
fn a_link_above_an_alternative_with_a_slash_is_known() {
    let rules = rules(&["x*/{a,b/c}/k"]);
    assert!(rules.above(Path::new("/ws/xy/b")).is_some());
}

#[test]
fn a_link_above_what_is_protected_at_any_depth_of_a_folder_is_known() {
    let rules = rules(&["conf?/**/k", "**/x", "**/o/x"]);
    for (path, known) in [
        ("/ws/conf1", true),
        ("/ws/conf1/a/b", true),
        ("/ws/conf", false),
        ("/ws/other", false),
        ("/ws/other/o", true),
        ("/ws/o/other", false),
    ] {
        assert_eq!(rules.above(Path::new(path)).is_some(), known, "{path}");
    }
}

#[test]
fn a_folder_does_not_leave_with_what_is_protected_in_it() {
    let rules = rules(&[
        "src/prot",
        "a/b/key",
        "config/*.key",
        ".git/hooks",
        "x/*/k.key",
        "conf?/**",
        "lib/*/**/k",
        "deep/*/**/p/k",
        "**/o/k",
        "t?/{a/b,c/d}/k",
    ]);
    let leaving = |from: &str, to: &str| rules.leaving(Path::new(from), Path::new(to));
    for (from, to, rule) in [
        ("/ws/src", "/ws/src2", Some(0)),
        ("/ws/a", "/ws/c", Some(1)),
        ("/ws/a/b", "/ws/a/c", Some(1)),
        ("/ws/config", "/ws/c", Some(2)),
        ("/ws/x/y", "/ws/z", Some(4)),
        ("/ws/conf1", "/ws/y", Some(5)),
        ("/ws/conf1/a", "/ws/y", Some(5)),
        ("/ws/conf1", "/ws/conf2", None),
        ("/ws/lib/a/b", "/ws/lib", Some(6)),
        ("/ws/lib/a/b", "/ws/lib/b", None),
        ("/ws/deep/a/p", "/ws/deep/a/q", Some(7)),
        ("/ws/e/o", "/ws/e/f", Some(8)),
        ("/ws/e/o", "/ws/o/f", Some(8)),
        ("/ws/e/o", "/ws/o", None),
        ("/ws/e", "/ws/f", None),
        ("/ws/t1/a/b", "/ws/t1/e", Some(9)),
        ("/ws/t1/c", "/ws/t1/e", Some(9)),
        ("/ws/a/b/key", "/ws/k", None),
        ("/ws/other", "/ws/config2", None),
        // Protected at any depth, and so at its new place.
        ("/ws/sub", "/ws/sub2", None),
        ("/ws/.git", "/ws/git", None),
        ("/ws/sub", "/elsewhere/sub", Some(2)),
    ] {
        assert_eq!(leaving(from, to), rule, "{from} {to}");
    }
}

proptest! {
    /// The quick way to ask where a path lies says what the slow one does, however it is written.
    #[test]
    fn a_path_lies_where_its_components_say(
        path in "/{0,2}(a|b|\\.|\\.\\.|\\.a|/){0,6}(/(a|b|\\.|\\.\\.|\\.a|)){0,5}",
        folder in "(/(a|b|\\.\\.|\\.a)){0,4}",
    ) {
        let folder = Path::new(if folder.is_empty() { "/" } else { &folder });
        let path = Path::new(&path);
        let asked = Asked::new(path);
        prop_assert_eq!(asked.is_in(folder), path.starts_with(folder));
        let dotted = path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
        prop_assert!(asked.dotted || !dotted);
    }

    /// Whatever stands around a control name, what is below it is protected.
    #[test]
    fn nothing_hides_a_control_name(
        before in prop::collection::vec("[a-z.]{1,6}", 0..5),
        after in prop::collection::vec("[a-z.]{1,6}", 0..5),
        upper in any::<bool>(),
    ) {
        let dots = |part: &String| part.chars().all(|c| c == '.');
        prop_assume!(!before.iter().any(dots) && !after.iter().any(dots));
        let name = if upper { ".VSCODE" } else { ".vscode" };
        let path: PathBuf = ["/ws"].into_iter()
            .chain(before.iter().map(String::as_str))
            .chain([name])
            .chain(after.iter().map(String::as_str))
            .collect();
        prop_assert!(matches!(template().decide(&path), Verdict::Refuse(_)), "{path:?}");
    }
}

proptest! {
    #[test]
    fn below_a_share_the_rules_say_what_they_say_of_the_root(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "ws", "a", ".git", "config", "hooks", "modules", ".mcp.json", ".vscode", "x.key",
            ]),
            1..6,
        ),
    ) {
        let path: PathBuf = parts.iter().collect();
        let (path, share) = (Path::new("/").join(path), Path::new("/share"));
        let (plain, below) = (template(), template().below(share, Vec::new()));
        let shown = share.join(path.strip_prefix("/").unwrap());
        prop_assert_eq!(below.decide(&shown), plain.decide(&path));
        prop_assert_eq!(below.decide_folder(&shown), plain.decide_folder(&path));
        prop_assert_eq!(below.decide_file(&shown), plain.decide_file(&path));
        prop_assert_eq!(below.above(&shown), plain.above(&path));
        prop_assert_eq!(below.git(&shown), plain.git(&path));
        // Elsewhere a monitor has files of its own, whatever their names are.
        prop_assert_eq!(below.decide(&path), Verdict::Allow);
    }
}

#[test]
fn a_pattern_of_any_name_means_every_entry_of_an_index() {
    for (pattern, is_meant) in [
        ("kept/*", true),
        ("a/**", true),
        ("kept/*.key", false),
        ("*/{a/b,0}", true),
    ] {
        let rules = rules(&[pattern]);
        let parts = super::parts_of_names::Parts::of(&rules);
        assert_eq!(parts.may_be_in(b"0/0"), is_meant, "{pattern}");
        assert!(parts.may_be_in(b"kept/a.key") || pattern != "kept/*.key");
    }
}
