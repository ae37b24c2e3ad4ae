use super::*;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const BEFORE: &str = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = https://a.test/x\n\
    \tfetch = +refs/heads/*:refs/remotes/origin/*\n[alias]\n\tst = status\n";

fn accepted(old: &[u8], new: &[u8], path: &str) -> Result<(), Objection> {
    let kept = [PathBuf::from("/ws")];
    let site = Site::of_test(Path::new(path), Path::new("/"), &kept);
    accept(Content::Config, old, new, &site)
}

const TOP: &str = "/ws/.git/config";

fn change(after: &str) -> Result<(), Objection> {
    accepted(BEFORE.as_bytes(), after.as_bytes(), TOP)
}

fn adding(text: &str) -> Result<(), Objection> {
    change(&format!("{BEFORE}{text}"))
}

#[test]
fn a_long_name_of_a_section_is_not_kept_for_each_of_its_variables() {
    let variables: String = (0..4000).map(|number| format!("v{number}\n")).collect();
    let long = "a".repeat(64 << 10);
    for head in [format!("[remote \"{long}\"]"), format!("[{long}]")] {
        let read = super::variables(format!("{head}\n{variables}").as_bytes());
        assert!(matches!(read, Err(Objection::Unreadable(_))));
        assert!(super::variables(format!("{head}\nv1\nv2\n").as_bytes()).is_ok());
    }
    assert!(super::variables(format!("[core]\n{variables}").as_bytes()).is_ok());
}

#[test]
fn what_git_writes_for_everyday_commands_is_accepted() {
    for text in [
        "[remote \"up\"]\n\turl = git@host.test:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/up/*\n",
        "[branch \"main\"]\n\tremote = origin\n\tmerge = refs/heads/main\n",
        "[branch \"a.b/c\"]\n\tremote = .\n",
        "[submodule \"lib\"]\n\tactive = true\n\turl = ../lib\n",
        "[user]\n\tname = \"A \\\"B\\\" C\"\n\temail = a@b.test\n",
        "[core]\n\tfileMode = true\n",
        "# a remark\n; another\n",
    ] {
        assert_eq!(adding(text), Ok(()), "{text}");
    }
    assert_eq!(change(&BEFORE.replace("a.test", "b.test")), Ok(()));
    assert_eq!(change(BEFORE), Ok(()));
}

#[test]
fn what_runs_a_program_is_refused_by_name() {
    for (text, key) in [
        ("[core]\n\tfsmonitor = ./evil\n", "core.fsmonitor"),
        ("[core]\n\thooksPath = x\n", "core.hookspath"),
        ("[CORE]\n\tSSHCommand = x\n", "core.sshcommand"),
        ("[core] pager = x\n", "core.pager"),
        ("[core]\n\teditor\n", "core.editor"),
        ("[filter \"x\"]\n\tclean = x\n", "filter.x.clean"),
        ("[diff \"x\"]\n\tcommand = x\n", "diff.x.command"),
        ("[merge \"x\"]\n\tdriver = x\n", "merge.x.driver"),
        ("[alias]\n\tci = !x\n", "alias.ci"),
        ("[include]\n\tpath = x\n", "include.path"),
        (
            "[includeIf \"gitdir:/\"]\n\tpath = x\n",
            "includeif.gitdir:/.path",
        ),
        ("[credential]\n\thelper = x\n", "credential.helper"),
        ("[gpg]\n\tprogram = x\n", "gpg.program"),
        ("[remote \"o\"]\n\turl = ext::sh -c x\n", "remote.o.url"),
        ("[remote \"o\"]\n\turl = --upload-pack=x\n", "remote.o.url"),
        (
            "[remote \"o\"]\n\turl = ssh://-oProxyCommand=x/y\n",
            "remote.o.url",
        ),
        ("[remote \"o\"]\n\tuploadpack = x\n", "remote.o.uploadpack"),
        ("[remote \"o\"]\n\tvcs = x\n", "remote.o.vcs"),
        (
            "[branch \"b\"]\n\tremote = ext::sh -c x\n",
            "branch.b.remote",
        ),
        (
            "[branch \"b\"]\n\tpushRemote = --exec=x\n",
            "branch.b.pushremote",
        ),
        (
            "[extensions]\n\tpartialClone = ext::x\n",
            "extensions.partialclone",
        ),
        ("[submodule \"s\"]\n\tupdate = !x\n", "submodule.s.update"),
        ("[core]\n\tworktree = /\n", "core.worktree"),
        (
            "[submodule \"a/refs/heads\"]\n\turl = x\n",
            "submodule.a/refs/heads.url",
        ),
        ("[url \"x\"]\n\tinsteadOf = y\n", "url.x.insteadof"),
        ("[core]\n\\\n\tfsmonitor = x\n", ""),
        (
            "[core]\n\tbare = true \\\n\tfsmonitor = x\n\tpager = x\n",
            "core.bare",
        ),
        ("[no.such]\n\tkey = 1\n", "no.such.key"),
    ] {
        match adding(text) {
            Err(Objection::Key(found) | Objection::Value(found, _)) => {
                assert_eq!(found, key, "{text}")
            }
            Err(Objection::Unreadable(_)) => assert_eq!(key, "", "{text}"),
            Ok(()) => panic!("{text}: accepted"),
        }
    }
}

#[test]
fn what_the_user_has_set_cannot_be_taken_away() {
    let tree = b"[core]\n\tworktree = ../\n";
    assert!(
        accepted(tree, b"", "/ws/.git/config").is_ok(),
        "back to where it is made"
    );
    let without = BEFORE.split("[alias]").next().unwrap();
    assert_eq!(change(without), Err(Objection::Key("alias.st".into())));
    assert!(change("").is_err());
    let renamed = BEFORE.replace("st = status", "st = !x");
    assert_eq!(change(&renamed), Err(Objection::Key("alias.st".into())));
}

#[test]
fn a_short_file_takes_little_memory() {
    let many = "a = b\n".repeat(20_000);
    let long = "s".repeat(50_000);
    assert!(variables(format!("[a \"{long}\"]\n{many}").as_bytes()).is_err());
    assert!(variables(format!("[a]\n{many}").as_bytes()).is_err());
    assert!(variables(format!("[a]\n{}", "a = b\n".repeat(5000)).as_bytes()).is_ok());
}

#[test]
fn what_cannot_be_read_is_neither_replaced_nor_written() {
    let unreadable = |old: &[u8], new: &[u8]| {
        let accepted = accepted(old, new, TOP);
        assert!(matches!(accepted, Err(Objection::Unreadable(_))));
    };
    unreadable(b"[alias]\n\tst = a\0b\n", b"");
    unreadable(b"", b"\x0c[core]\n");
}

#[test]
fn a_submodule_may_name_its_working_tree_and_no_other() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    for (tree, back) in [
        ("lib", "../.git/modules/lib"),
        ("a/b", "../../.git/modules/lib"),
        ("other", "../.git/modules/x"),
    ] {
        std::fs::create_dir_all(top.join(tree)).unwrap();
        std::fs::write(top.join(tree).join(".git"), format!("gitdir: {back}\n")).unwrap();
    }
    let kept = [top.clone()];
    let takes = |to: &str, path: &str| {
        let text = format!("[core]\n\tworktree = {to}\n");
        let path = top.join(path);
        let site = Site::of_test(&path, Path::new("/"), &kept);
        accept(Content::Config, b"", text.as_bytes(), &site).is_ok()
    };
    let module = ".git/modules/lib/config";
    assert!(takes("../../../lib", module));
    assert!(takes("../../../a/b", module));
    assert!(!takes("../../../lib", ".git/config"));
    for outside in [
        "../../../other",
        "../../../absent",
        "../../../li\\\\b",
        "\"../../../li\\nb\"",
        "/etc",
        "../../..",
        "../../../..",
        "../../../../home",
        "../..",
        "../../../.git/x",
        "x",
    ] {
        assert!(!takes(outside, module), "{outside}");
    }
    let name = |name: &str| {
        let text = format!("[submodule \"{name}\"]\n\turl = ../x\n");
        accepted(b"", text.as_bytes(), TOP).is_ok()
    };
    assert!(name("lib") && name("a/b") && name("my.lib"));
    assert!(!name("a/refs/heads") && !name("../x") && !name("/x"));
}

#[test]
fn values_are_read_as_git_reads_them() {
    let read = |text: &str| {
        let all = variables(format!("[a \"B\\\"c\"]\n{text}").as_bytes()).unwrap();
        let value = all.values().next().unwrap()[0].clone();
        String::from_utf8(value).unwrap()
    };
    assert_eq!(read("k = a  b  # c\n"), "a  b");
    assert_eq!(read("k = \"a # b \" ; c\n"), "a # b ");
    assert_eq!(read("k = a\\\n  b\\tc\n"), "a  b\tc");
    assert_eq!(read("k = a \\\n\n"), "a ");
    assert_eq!(read("k\n"), "true");
    assert_eq!(read("k =\r\n"), "");
}

/// What git itself reads, where it is installed.
fn by_git(text: &[u8]) -> Option<Vec<(String, String)>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text).unwrap();
    let out = std::process::Command::new("git")
        .args(["config", "--no-includes", "--null", "--list", "--file"])
        .arg(file.path())
        .output()
        .expect("git is installed");
    out.status.success().then(|| {
        out.stdout
            .split(|&b| b == 0)
            .filter(|entry| !entry.is_empty())
            .map(|entry| {
                let entry = String::from_utf8_lossy(entry).into_owned();
                match entry.split_once('\n') {
                    Some((key, value)) => (key.to_owned(), value.to_owned()),
                    None => (entry, "true".to_owned()),
                }
            })
            .collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// The variables that git finds are a part of those that are found here: otherwise one could
    /// be set that was never looked at.
    #[test]
    fn no_variable_of_git_is_missed(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "[core]", "[core \"x y\"]", "[a.b]", "[A \"q\\\"\\\\\"]", "[bad", "key = value",
                "key", "fsmonitor = ./x", "k = \"a b\" c ; d", "k = a \\", "  more # x", "# remark",
                "k = \\\"", "k = \"open", "k=\\t\\n", "[core] pager = x", "\u{feff}[core]", "-k = 1",
                "k-1 = 2", "k.x = 2", "k = v\r", "[x]k=v", "= v", "]", "\u{b}k = v", "k = a\u{0}b",
            ]),
            0..8,
        ),
    ) {
        let text = lines.join("\n");
        if let Some(found) = by_git(text.as_bytes()) {
            let Ok(ours) = variables(text.as_bytes()) else { return Ok(()) };
            for (key, value) in found {
                // Versions of git differ in the white space that they keep.
                let bare = |text: &str| text.split_whitespace().collect::<String>();
                let known = ours.iter().any(|(ours, values)| {
                    ours.to_string().eq_ignore_ascii_case(&key)
                        && values.iter().any(|v| bare(&String::from_utf8_lossy(v)) == bare(&value))
                });
                prop_assert!(known, "{key:?} = {value:?} of {text:?}: {ours:?}");
            }
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = accepted(b"", &bytes, TOP);
    }
}
