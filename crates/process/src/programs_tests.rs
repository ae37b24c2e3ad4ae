use super::*;
use bailiwick_event::Origin;
use bailiwick_policy::{FilesystemPolicy, PathPattern};
use std::os::unix::fs::{PermissionsExt, symlink};
use tempfile::TempDir;

/// A tree that may be read, with a workspace.
struct Tree {
    dir: TempDir,
    policy: Effective,
}

impl Tree {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let top = dir.path().canonicalize().unwrap();
        let entry = |path: &str, line| PathEntry {
            pattern: PathPattern::Path(top.join(path)),
            origin: Origin::new("policy.toml", line, 9),
        };
        let filesystem = FilesystemPolicy {
            read: vec![entry("usr", 2)],
            write: vec![entry("ws", 3)],
            deny: vec![entry("usr/bin/hidden", 4), entry("ws/hidden", 5)],
            ..FilesystemPolicy::default()
        };
        let policy = Effective {
            filesystem,
            ..Effective::empty(top.join("ws"), top.join("home"))
        };
        let tree = Self { dir, policy };
        tree.file("usr/bin/tool", b"\x7fELF\x02", 0o755)
            .file("usr/lib/library", b"\x7fELF\x02", 0o644)
            .file("ws/source", b"text", 0o644)
    }

    fn top(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap()
    }

    fn file(self, path: &str, content: &[u8], mode: u32) -> Self {
        let path = self.top().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, content).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        self
    }

    /// What may not be executed as a whole, and what may in there.
    fn programs(&self) -> Result<[Vec<String>; 2], Failure> {
        let plan = Plan::new(&self.policy, &self.top().join("private"), false, None)?;
        let Programs { parted, beside } = Programs::of(&plan, &self.policy)?;
        Ok([parted, beside].map(|paths| {
            let names = paths
                .iter()
                .map(|path| path.strip_prefix(self.top()).unwrap());
            let mut names: Vec<String> = names.map(|name| name.display().to_string()).collect();
            names.sort();
            names
        }))
    }
}

#[test]
fn what_lies_beside_a_denied_program_may_be_executed() {
    let tree = Tree::new().file("usr/bin/hidden", b"\x7fELF\x02", 0o711);
    let bin = tree.top().join("usr/bin");
    symlink("hidden", bin.join("link")).unwrap();
    fs::hard_link(bin.join("hidden"), bin.join("second")).unwrap();
    let [parted, beside] = tree.programs().unwrap();
    assert_eq!(parted, ["usr", "usr/bin", "usr/bin/hidden"]);
    assert_eq!(beside, ["usr/bin/tool", "usr/lib"]);
}

#[test]
fn a_program_in_a_denied_folder_takes_the_folder_away() {
    let tree = Tree::new()
        .file("usr/bin/hidden/deep/er", b"\x7fELF\x02", 0o755)
        .file("usr/bin/hidden/beside", b"\x7fELF\x02", 0o755);
    let [parted, beside] = tree.programs().unwrap();
    assert_eq!(parted, ["usr", "usr/bin", "usr/bin/hidden"]);
    assert_eq!(beside, ["usr/bin/tool", "usr/lib"]);
}

#[test]
fn what_is_no_program_takes_nothing_away() {
    for (content, mode) in [
        (&b"\x7fELF\x02"[..], 0o644),
        (b"#!/bin/sh\n", 0o755),
        (b"KEY=value\n", 0o755),
        (b"", 0o755),
    ] {
        let tree =
            Tree::new()
                .file("usr/bin/hidden", content, mode)
                .file("ws/hidden", content, mode);
        assert_eq!(
            tree.programs().unwrap(),
            [const { Vec::<String>::new() }; 2]
        );
    }
}

#[test]
fn a_denied_program_where_programs_are_built_is_refused_with_its_line() {
    for path in ["ws/hidden", "ws/hidden/deep/er"] {
        let tree = Tree::new().file(path, b"\x7fELF\x02", 0o755);
        let Err(Failure::Refused(refused)) = tree.programs() else {
            panic!("not refused")
        };
        assert_eq!(
            refused.rule.to_string(),
            "filesystem.deny (policy.toml:5:9)"
        );
        assert!(refused.resource.contains(path), "{}", refused.resource);
        assert!(refused.remedy.contains("chmod a-x"), "{}", refused.remedy);
    }
}
