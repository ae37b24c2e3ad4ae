use super::*;
use proptest::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A repository with files, as git makes it.
struct Repository(tempfile::TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        repository.git(&["init", "-q"]);
        for name in ["a", "b/c", "b/d/e", "b/d/f", "b.x", "z/z/z"] {
            let path = repository.at(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        repository.git(&["add", "."]);
        repository.git(&[
            "-c",
            "user.name=t",
            "-c",
            "user.email=t@t.test",
            "commit",
            "-qm",
            "one",
        ]);
        repository
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn git(&self, words: &[&str]) {
        let out = Command::new("git")
            .current_dir(self.0.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .args(words)
            .output()
            .expect("git is installed");
        assert!(
            out.status.success(),
            "{words:?}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
    }

    fn index(&self) -> Vec<u8> {
        std::fs::read(self.at(".git/index")).unwrap()
    }

    fn check(&self, bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
        self.check_as(Content::Index, bytes)
    }

    fn check_as(&self, content: Content, bytes: &[u8]) -> Result<Option<Vec<u8>>, String> {
        self.check_at(".git/index", content, bytes)
    }

    fn check_at(
        &self,
        path: &str,
        content: Content,
        bytes: &[u8],
    ) -> Result<Option<Vec<u8>>, String> {
        let path = self.at(path);
        check(content, bytes, &Site::of_test(&path, Path::new("/"), &[]))
    }
}

/// The same with a checksum that is right.
fn signed(mut bytes: Vec<u8>) -> Vec<u8> {
    let end = bytes.len() - 20;
    let sum = Sha1::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&sum);
    bytes
}

/// An index of one entry, made by hand.
fn forged(mode: u32, path: &[u8]) -> Vec<u8> {
    made(&[(mode, 0, 0, path)], &[])
}

/// An index made by hand: of each entry the mode, the stage, further flags and the path; and its extensions.
fn made(entries: &[(u32, u16, u16, &[u8])], extensions: &[(&[u8; 4], &[u8])]) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x03".to_vec();
    bytes.extend(u32::try_from(entries.len()).unwrap().to_be_bytes());
    for (mode, stage, more, path) in entries {
        let start = bytes.len();
        bytes.extend([0; 24]);
        bytes.extend(mode.to_be_bytes());
        bytes.extend([0; 12]);
        bytes.extend([7; 20]);
        let flags = u16::try_from(path.len()).unwrap() | stage << 12;
        match more {
            0 => bytes.extend(flags.to_be_bytes()),
            more => {
                bytes.extend((flags | EXTENDED).to_be_bytes());
                bytes.extend(more.to_be_bytes());
            }
        }
        bytes.extend(*path);
        bytes.push(0);
        while !(bytes.len() - start).is_multiple_of(8) {
            bytes.push(0);
        }
    }
    for (name, body) in extensions {
        bytes.extend(*name);
        bytes.extend(u32::try_from(body.len()).unwrap().to_be_bytes());
        bytes.extend(*body);
    }
    bytes.extend([0; 20]);
    signed(bytes)
}

/// What an index that is a change of another says of that: its id, no entry removed, so many replaced.
fn change(id: u8, replaced: u32) -> Vec<u8> {
    let bitmap = |ones: u64, bits: u32| {
        [
            &bits.to_be_bytes()[..],
            &2_u32.to_be_bytes(),
            &(1_u64 << 33).to_be_bytes(),
            &ones.to_be_bytes(),
            &[0; 4],
        ]
        .concat()
    };
    let ones = (1_u64 << replaced) - 1;
    [vec![id; 20], bitmap(0, 0), bitmap(ones, replaced)].concat()
}

#[test]
fn every_index_that_git_writes_is_taken_as_it_is() {
    let repository = Repository::new();
    assert_eq!(
        repository.check(&repository.index()),
        Ok(None),
        "with trees"
    );
    std::fs::write(repository.at("b/new"), "").unwrap();
    repository.git(&["add", "b/new"]);
    assert_eq!(
        repository.check(&repository.index()),
        Ok(None),
        "with trees that are out of date"
    );
    for version in ["2", "3", "4"] {
        repository.git(&["update-index", "--index-version", version]);
        assert_eq!(
            repository.check(&repository.index()),
            Ok(None),
            "version {version}"
        );
    }
    std::fs::write(repository.at("later"), "").unwrap();
    repository.git(&["add", "-N", "later"]);
    repository.git(&["update-index", "--skip-worktree", "a"]);
    assert_eq!(
        repository.check(&repository.index()),
        Ok(None),
        "with further flags"
    );
    repository.git(&["rm", "-q", "--cached", "later"]);
    repository.git(&[
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@t.test",
        "commit",
        "-qm",
        "two",
    ]);
    repository.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "z"]);
    assert_eq!(
        repository.check(&repository.index()),
        Ok(None),
        "with folders that are not checked out"
    );
}

#[test]
fn an_index_that_is_a_change_of_another_is_followed() {
    let repository = Repository::new();
    repository.git(&["update-index", "--split-index"]);
    std::fs::write(repository.at("a"), "changed").unwrap();
    std::fs::write(repository.at("0"), "new").unwrap();
    repository.git(&["add", "a", "0"]);
    let checked = repository.check(&repository.index());
    assert!(checked.is_ok(), "{checked:?}");
    let shared = std::fs::read_dir(repository.at(".git"))
        .unwrap()
        .flatten()
        .map(|entry| entry.path());
    let shared: Vec<_> = shared
        .filter(|path| path.to_string_lossy().contains("sharedindex."))
        .collect();
    assert!(!shared.is_empty());
    for path in shared {
        let bytes = std::fs::read(path).unwrap();
        assert!(repository.check_as(Content::SharedIndex, &bytes).is_ok());
    }
}

#[test]
fn a_change_of_no_index_or_of_two_or_without_bitmaps_is_refused() {
    let repository = Repository::new();
    let replaces = [(0o100_644, 0, 0, &b""[..])];
    let index = |links: &[(&[u8; 4], &[u8])]| repository.check(&made(&replaces, links));
    let of = |id: u8| change(id, 1);
    assert_eq!(index(&[(b"link", &of(7))]), Ok(None));
    // Git takes an id of zeros for none, and the last of two parts of a kind.
    assert!(index(&[(b"link", &of(0))]).is_err());
    assert!(index(&[(b"link", &of(7)), (b"link", &[0; 20])]).is_err());
    assert!(index(&[(b"link", &[&of(7)[..], b"more"].concat())]).is_err());
    // Without its bitmaps git dies of it.
    assert!(index(&[(b"link", &[7; 20])]).is_err());
    assert!(index(&[(b"link", &change(7, 2))]).is_err());
}

#[test]
fn a_repository_of_longer_ids_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let repository = Repository(dir);
    repository.git(&["init", "-q", "--object-format=sha256"]);
    std::fs::create_dir(repository.at("d")).unwrap();
    std::fs::write(repository.at("d/a"), "a").unwrap();
    repository.git(&["add", "."]);
    repository.git(&["write-tree"]);
    let index = repository.index();
    assert_eq!(repository.check(&index), Ok(None));
    // Git takes the length from the configuration: what is right for another length is not looked at as that.
    let other = Repository::new();
    assert!(other.check(&index).is_err());
    assert!(repository.check(&other.index()).is_err());
}

#[test]
fn a_path_that_git_would_refuse_is_refused() {
    let repository = Repository::new();
    assert_eq!(repository.check(&forged(0o100_644, b"a/b")), Ok(None));
    for path in [
        ".git/hooks/post-checkout",
        "a/.GIT/config",
        "../x",
        "/etc/x",
        "a//b",
        "a/./b",
        "a/",
        "",
        "git~1/config",
        ".git./x",
        ".git /x",
        ".git::$INDEX_ALLOCATION/x",
        ".g\u{200c}it/config",
        "a/..",
    ] {
        assert!(
            repository
                .check(&forged(0o100_644, path.as_bytes()))
                .is_err(),
            "{path}"
        );
    }
    for mode in [0o100_666, 0o104_755, 0o040_000, 0o020_666, 0] {
        assert!(repository.check(&forged(mode, b"a")).is_err(), "{mode:o}");
    }
    assert!(
        repository
            .check(&forged(0o120_000, b".gitmodules"))
            .is_err()
    );
    for path in [".gitignore", "a/.github/x", "é/ü"] {
        let index = forged(0o100_644, path.as_bytes());
        assert_eq!(repository.check(&index), Ok(None), "{path}");
    }
}

#[test]
fn a_name_that_another_file_system_takes_for_gits_own_is_refused() {
    let repository = Repository::new();
    let file = |path: &[u8]| repository.check(&forged(0o100_644, path)).is_ok();
    let link = |path: &[u8]| repository.check(&forged(0o120_000, path)).is_ok();
    for path in [
        &b"a\\.git"[..],
        b"a\\git~1\\config",
        b"a/b\\.git. ",
        b".git\xff",
    ] {
        assert!(!file(path), "{path:?}");
    }
    for path in [
        &b"a/.gitmodules"[..],
        b".GITMODULES/x",
        b".gitmodules .",
        b".gitmodules:x",
        b"gitmod~1",
        b"gi7eba~1",
        b"gi7~1234",
        b"a\\.gitmodules",
        b".g\xe2\x80\x8citmodules",
    ] {
        assert!(!link(path), "{path:?}");
    }
    for path in [
        &b"a\\b"[..],
        b"gitmod~5",
        b"gi7eba~x",
        b"gi7ebb~1",
        b".gitmodules-x",
        b"\xff",
    ] {
        assert!(file(path) && link(path), "{path:?}");
    }
    assert!(file(b"a/.gitmodules"));
}

#[test]
fn a_repository_in_a_link_is_not_asked() {
    let repository = Repository::new();
    let gitlink = forged(0o160_000, b"sub");
    assert_eq!(repository.check(&gitlink), Ok(None));
    std::fs::create_dir(repository.at("sub")).unwrap();
    std::os::unix::fs::symlink("../z", repository.at("sub/.git")).unwrap();
    assert!(repository.check(&gitlink).is_err());
}

#[test]
fn trees_that_do_not_follow_from_the_entries_are_left_out() {
    let repository = Repository::new();
    let good = repository.index();
    let at = good.windows(4).rposition(|name| name == b"TREE").unwrap();
    let mut forged = good.clone();
    // The first byte of the id of the top folder, behind its name, its counts and a line's end.
    let id = at + 8 + good[at + 8..].iter().position(|&b| b == b'\n').unwrap() + 1;
    forged[id] ^= 1;
    let cleaned = repository
        .check(&signed(forged))
        .unwrap()
        .expect("it is changed");
    assert!(!cleaned.windows(4).any(|name| name == b"TREE"));
    assert_eq!(repository.check(&cleaned), Ok(None));
    std::fs::write(repository.at(".git/index"), cleaned).unwrap();
    repository.git(&["fsck"]);
    repository.git(&["diff", "--cached", "--exit-code"]);
}

#[test]
fn an_index_is_read_with_the_ids_of_its_repository() {
    let long = Repository(tempfile::tempdir().unwrap());
    long.git(&["init", "-q", "--object-format=sha256"]);
    std::fs::write(long.at("a"), "a").unwrap();
    long.git(&["add", "."]);
    let short = Repository::new();
    assert_eq!(long.check(&long.index()), Ok(None));
    // Git would not look at the checksum, and find other paths in it than somebody with other ids.
    assert!(short.check(&long.index()).is_err() && long.check(&short.index()).is_err());
    let tree = ".git/worktrees/tree";
    std::fs::create_dir_all(long.at(tree)).unwrap();
    std::fs::write(long.at(tree).join("commondir"), "../..\n").unwrap();
    for place in ["index", "rebase-apply/patch-merge-index"] {
        let place = format!("{tree}/{place}");
        assert_eq!(
            long.check_at(&place, Content::Index, &long.index()),
            Ok(None)
        );
        assert!(
            long.check_at(&place, Content::Index, &short.index())
                .is_err()
        );
    }
}

/// Whether an index of these entries keeps this extension `TREE`.
fn keeps_trees(entries: &[(u32, u16, u16, &[u8])], trees: &[u8]) -> bool {
    let repository = Repository::new();
    repository.check(&made(entries, &[(b"TREE", trees)])) == Ok(None)
}

#[test]
fn counts_of_trees_are_read_as_git_reads_them() {
    let name = [0x11; 20];
    let path = [&name[..], b"/x"].concat();
    let entries = [(0o100_644, 0, 0, &path[..])];
    let trees = |count: &str| [format!("\0{count} 1\n").as_bytes(), &name, b"\0-1 0\n"].concat();
    assert!(keeps_trees(&entries, &trees("-1")));
    // As a number of 32 bits it is 1, and so an id follows: that of any tree.
    assert!(!keeps_trees(&entries, &trees("-4294967295")));
    assert!(!keeps_trees(&entries, &trees("-2")));
    let twice = b"\0-1 2\na\0-1 0\na\0-1 0\n";
    assert!(!keeps_trees(&[(0o100_644, 0, 0, b"a/x")], twice));
}

#[test]
fn an_entry_that_git_does_not_write_is_refused() {
    let repository = Repository::new();
    let folder = |more, body: &[u8]| {
        let entries = [(FOLDER, 0, more, &b"a/"[..])];
        repository.check(&made(&entries, &[(b"sdir", body)]))
    };
    assert_eq!(folder(SKIP_WORKTREE, b""), Ok(None));
    assert!(folder(0, b"").is_err());
    // Without the part git would not read the folder.
    assert!(folder(SKIP_WORKTREE, b"x").is_err());
    let stages = |first| {
        let entries = [(0o100_644, first, 0, &b"a"[..]), (0o100_644, 2, 0, b"a")];
        repository.check(&made(&entries, &[]))
    };
    assert_eq!(stages(1), Ok(None));
    assert!(stages(0).is_err());
}

#[test]
fn a_part_that_only_makes_git_quicker_is_left_out() {
    let repository = Repository::new();
    repository.git(&["update-index", "--untracked-cache"]);
    repository.git(&[
        "-c",
        "index.threads=4",
        "update-index",
        "--force-write-index",
    ]);
    let index = repository.index();
    assert!(index.windows(4).any(|name| name == b"UNTR"));
    let cleaned = repository.check(&index).unwrap().expect("it is changed");
    assert!(
        ![b"UNTR", b"EOIE", b"IEOT"]
            .iter()
            .any(|part| cleaned.windows(4).any(|name| &name == part))
    );
    std::fs::write(repository.at(".git/index"), cleaned).unwrap();
    repository.git(&["status"]);
}

/// What `git ls-files -s -v` says of an index.
fn listed(repository: &Repository) -> String {
    let out = Command::new("git")
        .current_dir(repository.0.path())
        .args(["ls-files", "-s", "-v"])
        .output()
        .unwrap();
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn git_takes_files_for_not_checked_out_that_are_marked_so() {
    for (version, format) in [
        ("2", "sha1"),
        ("4", "sha1"),
        ("3", "sha1"),
        ("2", "sha256"),
        ("4", "sha256"),
    ] {
        let repository = Repository::new();
        if format == "sha256" {
            std::fs::remove_dir_all(repository.at(".git")).unwrap();
            repository.git(&["init", "-q", "--object-format=sha256"]);
            repository.git(&["add", "."]);
        }
        if version == "3" {
            // Only an entry with such a flag has git write this version.
            std::fs::write(repository.at("later"), "later").unwrap();
            repository.git(&["add", "-N", "later"]);
        } else {
            repository.git(&["update-index", &format!("--index-version={version}")]);
        }
        let before = repository.index();
        let names: BTreeMap<Vec<u8>, Option<Seen>> = ["a", "b/d/e", "z/z/z", "nowhere"]
            .map(|name| (name.into(), None))
            .into();
        let path = repository.at(".git/index");
        let site = Site::of_test(&path, Path::new("/"), &[]);
        let marked = without_checkout(&before, &names, &site).unwrap();
        let marked = marked.expect("some of them are in it");
        let expected: String = listed(&repository)
            .lines()
            .map(
                |line| match names.contains_key(line.rsplit('\t').next().unwrap().as_bytes()) {
                    true => format!("S{}\n", &line[1..]),
                    false => format!("{line}\n"),
                },
            )
            .collect();
        repository
            .check(&marked)
            .unwrap_or_else(|reason| panic!("{version} {format}: {reason}"));
        assert_eq!(
            without_checkout(&marked, &names, &site),
            Ok(None),
            "once is enough"
        );
        let content = std::fs::read(repository.at("a")).unwrap();
        let seen = Seen::from(&rustix::fs::lstat(repository.at("a")).unwrap());
        let is_known =
            |index: &[u8], name: &[u8], text: &[u8]| records(index, name, (text, seen), &site);
        assert!(is_known(&before, b"a", &content));
        assert!(!is_known(&before, b"a", b"another"));
        assert!(!is_known(&before, b"nowhere", &content));
        // What was withheld before counts as long as nobody touches it.
        let names = BTreeMap::from([(b"a".to_vec(), Some(seen))]);
        let with_stat = without_checkout(&before, &names, &site).unwrap().unwrap();
        repository.check(&with_stat).unwrap();
        assert!(is_known(&with_stat, b"a", b"another"));
        std::fs::write(&path, &marked).unwrap();
        assert_eq!(listed(&repository), expected, "{version} {format}");
        for name in ["a", "b/d/e", "z/z/z"] {
            std::fs::remove_file(repository.at(name)).unwrap();
        }
        repository.git(&["diff", "--quiet", "--", "a", "b", "z"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_damaged_index_is_refused_or_read(at in any::<prop::sample::Index>(), byte: u8, cut in any::<prop::sample::Index>()) {
        let mut bytes = forged(0o100_644, b"some/path");
        let place = at.index(bytes.len() - 20);
        bytes[place] = byte;
        let repository = Path::new("/ws/.git/index");
        let site = Site::of_test(repository, Path::new("/"), &[]);
        let _ = check(Content::Index, &signed(bytes.clone()), &site);
        bytes.truncate(cut.index(bytes.len()).max(20));
        let _ = check(Content::Index, &signed(bytes), &site);
    }

    #[test]
    fn an_index_with_marks_holds_the_same_entries(
        entries in prop::collection::btree_map("[a-f]{1,9}(/[a-f]{1,9}){0,2}", (prop::sample::select(vec![0_u16, INTENT_TO_ADD, SKIP_WORKTREE]), any::<bool>()), 1..12),
        body in prop::collection::vec(any::<u8>(), 0..40),
    ) {
        let rows: Vec<(u32, u16, u16, &[u8])> =
            entries.iter().map(|(path, (more, _))| (0o100_644, 0, *more, path.as_bytes())).collect();
        let index = made(&rows, &[(b"REUC", &body)]);
        let site = Site::of_test(Path::new("/ws/.git/index"), Path::new("/"), &[]);
        let meant = |(path, (_, meant)): (&String, &(u16, bool))| meant.then(|| path.clone().into_bytes());
        let names: BTreeMap<Vec<u8>, Option<Seen>> = entries.iter().filter_map(meant).map(|name| (name, None)).collect();
        let marked = without_checkout(&index, &names, &site).unwrap();
        let is_new = entries.values().any(|(more, meant)| *meant && *more != SKIP_WORKTREE);
        prop_assert_eq!(marked.is_some(), is_new);
        let Some(marked) = marked else { return Ok(()) };
        let (old, new) = (read(&index, 20).unwrap(), read(&marked, 20).unwrap());
        prop_assert_eq!(&old.extensions, &new.extensions);
        for (old, new) in old.entries.iter().zip(&new.entries) {
            prop_assert_eq!((&old.path, old.mode, old.id, old.stage, old.intended), (&new.path, new.mode, new.id, new.stage, new.intended));
            prop_assert_eq!(new.skipped, old.skipped || names.contains_key(&*old.path));
        }
    }
}
