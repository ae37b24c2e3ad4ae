//! The folders through which git goes from a file that leads elsewhere (`.git`, `gitdir`, `alternates`, a
//! configuration with a working tree) to where that leads. A link in the place of one would lead git somewhere else.

use super::configurations::Configurations;
use super::followed::{line, read};
use super::leads::plain;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// So many are remembered; then no link is made any more where git's files are protected.
const MOST: usize = 100_000;

/// Those that are known, as the policy writes paths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ways(RefCell<BTreeSet<PathBuf>>);

impl Ways {
    /// Adds the way to a place.
    pub(crate) fn add(&self, place: &Path) {
        let mut ways = self.0.borrow_mut();
        for folder in place.ancestors() {
            if ways.len() > MOST || !ways.insert(folder.to_path_buf()) {
                return;
            }
        }
    }

    /// Whether a path is on a way, or at its end.
    pub(crate) fn has(&self, path: &Path) -> bool {
        let ways = self.0.borrow();
        ways.len() > MOST || ways.contains(path)
    }

    /// What of the ways is below a folder, from there on.
    pub(crate) fn below(&self, folder: &Path) -> Vec<PathBuf> {
        let ways = self.0.borrow();
        let from = ways.range(folder.to_path_buf()..);
        from.map_while(|way| way.strip_prefix(folder).ok())
            .filter(|rest| !rest.as_os_str().is_empty())
            .map(Path::to_path_buf)
            .collect()
    }
}

/// Where the files of git lead that a folder keeps in its own git folder, or is one.
pub(super) fn led_from(tree: &Path, configurations: &Configurations) -> Vec<PathBuf> {
    let line = |file: &Path, head: &str| line(file, head).map(|path| plain(&path));
    let git = tree.join(".git");
    let mut led: Vec<PathBuf> = line(&git, "gitdir: ").into_iter().collect();
    let folder = match led.first() {
        Some(folder) => folder.clone(),
        None if git.is_dir() => git,
        None => tree.to_path_buf(),
    };
    let common = line(&folder.join("commondir"), "");
    let shared = common.as_ref().unwrap_or(&folder).join("config");
    let trees = fs::read_dir(folder.join("worktrees"));
    let trees = trees.into_iter().flatten().flatten();
    led.extend(trees.filter_map(|tree| line(&tree.path().join("gitdir"), "")));
    let objects = folder.join("objects");
    let alternates = read(&objects.join("info/alternates")).unwrap_or_default();
    let lines = alternates
        .split(|&b| b == b'\n')
        .filter(|line| !line.is_empty());
    led.extend(lines.map(|line| plain(&objects.join(OsStr::from_bytes(line)))));
    let config = configurations.of(&folder.join("config"));
    if let Some(tree) = config.and_then(|config| super::leads::names_tree(&config)) {
        led.push(plain(&folder.join(tree)));
    }
    led.extend(super::remotes::at(
        tree,
        &configurations.of(&shared).unwrap_or_default(),
    ));
    led.extend(common);
    led
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_folder_on_the_way_is_known() {
        let ways = Ways::default();
        ways.add(Path::new("/w/a/b/c"));
        ways.add(Path::new("/w/a-b"));
        assert!(
            ["/w/a", "/w/a/b", "/w/a/b/c"]
                .iter()
                .all(|way| ways.has(Path::new(way)))
        );
        assert!(!ways.has(Path::new("/w/a/b/c/d")) && !ways.has(Path::new("/w/x")));
        assert_eq!(
            ways.below(Path::new("/w/a")),
            [PathBuf::from("b"), "b/c".into()]
        );
        assert_eq!(ways.below(Path::new("/w/a/b/c")), [] as [PathBuf; 0]);
    }

    #[test]
    fn what_files_of_git_lead_to_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let put = |path: &str, text: &str| {
            let path = dir.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        put("t/.git", "gitdir: ../s/real\n");
        put("s/real/commondir", "../common\n");
        put("s/real/objects/info/alternates", "../../x/objects\n");
        let remotes =
            "[remote \"o\"]\nurl = ../up\nurl = https://x.test/u\npushurl = file:///far/up\n";
        put("s/real/config", "[core]\nworktree = ../../t\n");
        put("s/common/config", remotes);
        put("s/real/worktrees/w/gitdir", "/far/w/.git\n");
        let led = led_from(&dir.path().join("t"), &Configurations::default());
        let expected = [
            "s/real",
            "/far/w/.git",
            "s/x/objects",
            "t",
            "/far/up",
            "/far/up.git",
            "up",
            "up.git",
            "s/common",
        ];
        assert_eq!(led, expected.map(|path| dir.path().join(path)));
    }
}
