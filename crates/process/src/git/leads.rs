//! Files that lead git from one folder to another: `.git`, `commondir`, `gitdir`, `objects/info/alternates`,
//! and the working tree that a configuration names. Each may lead only to where somebody looks after what git
//! obeys: below a folder `.git`, or into a folder that the sandbox may write and git is asked about.

use super::config::{Key, Variables};
use super::configurations::Configurations;
use super::content::{Content, Site};
use super::followed;
use super::layout::is_name_of_module;
use super::repository::below_worktrees;
use crate::paths;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

/// What a file that leads to a folder may not say.
const ELSEWHERE: &str = "it leads to a repository that is not protected";

/// Whether a file that leads to a folder leads to where everything is protected by its name.
pub(super) fn check(
    content: Content,
    old: &[u8],
    text: &[u8],
    site: &Site<'_>,
) -> Result<(), String> {
    // Git writes the file of a submodule that it has moved anew, before the configuration names the new place.
    if content == Content::GitFile && !old.is_empty() && old == text {
        return Ok(());
    }
    let line = text.strip_suffix(b"\n").unwrap_or(text);
    let plain = !line.iter().any(u8::is_ascii_control);
    let well = plain
        && match content {
            Content::CommonDir => line == b"../..",
            Content::GitDir => is_git_file_of_tree(line, site),
            _ => line
                .strip_prefix(b"gitdir: ")
                .is_some_and(|target| leads_to_git(target, site)),
        };
    match well {
        true => Ok(()),
        false => Err(ELSEWHERE.to_owned()),
    }
}

/// Whether a file `.git` leads to the folder of a linked working tree or of a submodule, in a folder that the
/// sandbox may write, and that has no other working tree.
fn leads_to_git(target: &[u8], site: &Site<'_>) -> bool {
    let Some(real) = straight_path(target, site.folder(), site).filter(|real| is_kept(real, site))
    else {
        return false;
    };
    let named = match below_repository(&real, site).as_deref() {
        Some([b"worktrees", name]) => is_name_of_module(name),
        Some([b"modules", names @ ..]) => is_folder_of_module(names),
        Some([b"worktrees", name, b"modules", names @ ..]) => {
            is_name_of_module(name) && is_folder_of_module(names)
        }
        _ => false,
    };
    // A submodule that is moved gets this file before its configuration says where it is.
    let left = |tree: &Path| !paths::may_be_there(&paths::below(site.root, &tree.join(".git")));
    let well = named
        && tree_of(&real, site).is_none_or(|tree| tree == site.folder() || left(&tree))
        && !holds_what_is_followed(&real, site);
    if well {
        site.leads_to(&real);
    }
    well
}

/// Whether a folder holds a file that git would obey once its `.git` leads to a git folder: a configuration of the
/// user's names it, and nobody has looked after it here.
fn holds_what_is_followed(git: &Path, site: &Site<'_>) -> bool {
    let inside = |path: &Path| paths::below(site.root, path);
    let kept: Vec<PathBuf> = site.kept.iter().map(|folder| inside(folder)).collect();
    let git = followed::with_common(inside(git));
    let tree = inside(site.folder());
    let is_new = followed::line(&inside(site.path), "gitdir: ").is_none();
    let followed = followed::followed_in(
        &tree,
        git,
        &kept,
        Path::new("/"),
        &Configurations::default(),
    );
    let mut there = followed.iter().filter(|led| led.path.starts_with(&tree));
    is_new && there.any(|led| paths::may_be_there(&led.path))
}

/// The working tree that the configuration of a git folder names.
fn tree_of(folder: &Path, site: &Site<'_>) -> Option<PathBuf> {
    let config = paths::below(site.root, &folder.join("config"));
    let tree = names_tree(&*Configurations::default().of(&config)?)?;
    Some(plain(&folder.join(tree)))
}

/// The working tree that the index at `site` is of; none where it has none, or none that is known.
pub(crate) fn tree_of_index(site: &Site<'_>) -> Option<PathBuf> {
    let folder = site.folder();
    let linked = tree_of_linked(folder, site).or_else(|| tree_of(folder, site));
    let plain = folder.file_name().is_some_and(|name| name == ".git");
    linked.or_else(|| folder.parent().filter(|_| plain).map(Path::to_path_buf))
}

/// The working tree that a configuration names.
pub(super) fn names_tree(config: &Variables) -> Option<PathBuf> {
    let of = |key: &Key| key.section == "core" && key.name == "worktree";
    let (_, values) = config.iter().find(|(key, _)| of(key))?;
    Some(PathBuf::from(OsStr::from_bytes(values.last()?)))
}

/// A path without `.` and `..`, whatever links there are.
pub(crate) fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// The components below the folder of the repository that keeps `path`: a `.git`, or any that has linked working
/// trees.
fn below_repository<'a>(path: &'a Path, site: &Site<'_>) -> Option<Vec<&'a [u8]>> {
    below_git(path).or_else(|| below_worktrees(path, site.root))
}

/// Whether these names, below `modules`, are those of a submodule's folder, or of one of its linked working trees.
fn is_folder_of_module(names: &[&[u8]]) -> bool {
    let is_module = |names: &[&[u8]]| !names.is_empty() && is_name_of_module(&names.join(&b'/'));
    is_module(names) || is_worktree_of_module(names)
}

/// `modules/NAME/worktrees/TREE`.
fn is_worktree_of_module(names: &[&[u8]]) -> bool {
    match names {
        [module @ .., b"worktrees", tree] if !module.is_empty() => {
            is_name_of_module(&module.join(&b'/')) && is_name_of_module(tree)
        }
        _ => false,
    }
}

/// Whether `gitdir` names the file `.git` of a folder that the sandbox may write: `git worktree` moves,
/// mends and removes that folder.
fn is_git_file_of_tree(line: &[u8], site: &Site<'_>) -> bool {
    // Git takes away just these letters.
    let Some(tree) = line.strip_suffix(b"/.git") else {
        return false;
    };
    let real = straight_path(tree, site.folder(), site);
    let real = real.filter(|tree| is_kept(tree, site) && below_git(tree).is_none());
    if let Some(real) = &real {
        site.leads_to(real);
    }
    real.is_some()
}

/// Whether each line of `alternates` was there before, or leads to objects of a repository that the sandbox
/// may write.
pub(super) fn check_alternates(old: &[u8], text: &[u8], site: &Site<'_>) -> Result<(), String> {
    let before: BTreeSet<&[u8]> = old.split(|&b| b == b'\n').collect();
    // What begins with a quote may end behind its line, and then another begins within one; and git reads
    // nothing behind a NUL.
    let lines_up = |line: &&[u8]| !line.starts_with(b"\"") && !line.contains(&0);
    if old != text && !before.iter().all(lines_up) {
        return Err("the list has a path in quotes or a NUL, and so is not changed".to_owned());
    }
    // The lines of `objects/info/alternates` begin at `objects`.
    let objects = site.folder().parent().unwrap_or(site.folder());
    let leads_well = |line: &&[u8]| {
        let plain = !line.starts_with(b"\"") && !line.iter().any(u8::is_ascii_control);
        let real = straight_path(line, objects, site)
            .filter(|real| plain && real.ends_with("objects") && is_kept(real, site));
        if let Some(real) = &real {
            site.leads_to(real);
        }
        real.is_some()
    };
    let lines = text
        .split(|&b| b == b'\n')
        .filter(|line| !line.is_empty() && !line.starts_with(b"#"));
    match lines
        .filter(|line| !before.contains(*line))
        .all(|line| leads_well(&line))
    {
        true => Ok(()),
        false => Err("it leads to objects in a folder that the sandbox may not write".to_owned()),
    }
}

/// Whether a configuration may name this working tree: that of a submodule lies in the repository that the
/// submodule is of, or in a linked one of it, and leads back to it; any other is a whole folder that the sandbox may
/// write, of a git folder that lies elsewhere.
pub(super) fn is_tree(value: &[u8], site: &Site<'_>) -> bool {
    // Git writes none that it would have to quote.
    if value.iter().any(|b| b.is_ascii_control() || *b == b'\\') {
        return false;
    }
    let value = Path::new(OsStr::from_bytes(value));
    match below_repository(site.path, site) {
        Some(_) => {
            place_of_module(value, site).is_some_and(|tree| leads_back_to_module(&tree, site))
        }
        None => {
            // Any other folder could be taken away for a link afterwards.
            let tree = plain(&site.folder().join(value));
            let whole = site.kept.contains(&tree) && !site.path.starts_with(&tree);
            // One that is relative would be another when the folder is moved.
            let whole = whole && value.is_absolute();
            whole && below_git(&tree).is_none()
        }
    }
}

/// Whether a configuration, which is a submodule's, could name this working tree once the file `.git` were made that
/// leads back, and `gitdir` for a linked one.
pub(super) fn may_be_place_of_module(value: &[u8], site: &Site<'_>) -> bool {
    let value = Path::new(OsStr::from_bytes(value));
    let of_linked = |below: Vec<&[u8]>| matches!(below[..], [b"worktrees", _, b"modules", ..]);
    let linked = below_repository(site.path, site).is_some_and(of_linked);
    linked && !value.is_absolute() || place_of_module(value, site).is_some()
}

/// The folder that a submodule's configuration names, in the working tree of the repository that the submodule is
/// of, or in a linked one.
fn place_of_module(value: &Path, site: &Site<'_>) -> Option<PathBuf> {
    let top = match below_repository(site.path, site)?.as_slice() {
        [b"modules", ..] => {
            let git = |path: &&Path| path.file_name().is_some_and(|name| name == ".git");
            let git = site.folder().ancestors().filter(git).last();
            git?.parent()?.to_path_buf()
        }
        [b"worktrees", _, b"modules", below @ ..] => {
            tree_of_linked(site.path.ancestors().nth(below.len() + 1)?, site)?
        }
        _ => return None,
    };
    let tree = plain(&site.folder().join(value));
    let inside = !value.is_absolute() && tree != top && tree.starts_with(top);
    let of_git = tree.components().any(|part| part.as_os_str() == ".git");
    (inside && !of_git).then_some(tree)
}

/// The working tree of a folder `worktrees/ID`, where the sandbox may write it.
fn tree_of_linked(folder: &Path, site: &Site<'_>) -> Option<PathBuf> {
    let file = paths::below(site.root, &folder.join("gitdir"));
    let text = followed::read(&file)?;
    let line = text.strip_suffix(b"\n").unwrap_or(&text);
    let tree = plain(&folder.join(OsStr::from_bytes(line.strip_suffix(b"/.git")?)));
    is_kept(&tree, site).then_some(tree)
}

/// Whether the file `.git` of a folder leads back to the submodule that `site` is of.
fn leads_back_to_module(tree: &Path, site: &Site<'_>) -> bool {
    // Through a link it would be another folder as soon as the link is another.
    let real = paths::resolve_in(site.root, tree).map(|found| found.real);
    if real.as_deref() != Some(tree) {
        return false;
    }
    let text = std::fs::read(paths::below(site.root, &tree.join(".git"))).unwrap_or_default();
    let line = text.strip_suffix(b"\n").unwrap_or(&text);
    let back = line.strip_prefix(b"gitdir: ");
    let leads_back =
        back.is_some_and(|back| plain(&tree.join(OsStr::from_bytes(back))) == site.folder());
    if leads_back {
        site.leads_to(tree);
    }
    leads_back
}

/// The folder at which relative paths of a repository's configuration begin: its working tree, where it has one.
pub(super) fn tree_around<'a>(site: &Site<'a>) -> &'a Path {
    let git = |path: &&Path| path.file_name().is_some_and(|name| name == ".git");
    let top = site.path.ancestors().filter(git).last();
    top.and_then(Path::parent)
        .unwrap_or(site.path.parent().unwrap_or(site.path))
}

fn is_kept(path: &Path, site: &Site<'_>) -> bool {
    site.kept.iter().any(|folder| path.starts_with(folder))
}

/// Whether what a file leads to is still what it may lead to, at another place: a path in it may be relative.
pub(crate) fn leads_as_well(content: Content, text: &[u8], site: &Site<'_>) -> bool {
    match content {
        Content::GitFile | Content::CommonDir | Content::GitDir => {
            check(content, b"", text, site).is_ok()
        }
        Content::Alternates => check_alternates(b"", text, site).is_ok(),
        Content::Config | Content::ConfigOfTree => {
            super::config::variables(text).is_ok_and(|all| {
                let of = |key: &super::config::Key| key.section == "core" && key.name == "worktree";
                let mut values = all
                    .iter()
                    .filter(|(key, _)| of(key))
                    .flat_map(|(_, values)| values);
                values.all(|value| value.starts_with(b"/") || is_tree(value, site))
            })
        }
        _ => true,
    }
}

/// The components below the first `.git`.
pub(crate) fn below_git(path: &Path) -> Option<Vec<&[u8]>> {
    let mut parts = path
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .map(|part| part.as_os_str().as_bytes());
    parts.find(|part| part.eq_ignore_ascii_case(b".git"))?;
    Some(parts.collect())
}

/// The folder to which a path leads from `folder`, through no link and back over no name: both could lead somewhere
/// else later.
fn straight_path(text: &[u8], folder: &Path, site: &Site<'_>) -> Option<PathBuf> {
    let text = Path::new(OsStr::from_bytes(text));
    let mut up = text
        .components()
        .skip_while(|part| !matches!(part, Component::Normal(_)));
    if up.any(|part| part == Component::ParentDir) {
        return None;
    }
    let path = folder.join(text);
    real_path(&path, site.root).filter(|real| *real == plain(&path))
}

/// A path has at most so many bytes, as for the kernel, and so many parts of it need not exist.
const LONGEST: usize = 4096;
const ABSENT: usize = 16;

/// Where a path leads now, through every link, as it is seen from `root`; its last parts need not exist
/// yet, because git makes them later. What is made below a `.git` is no link.
fn real_path(path: &Path, root: &Path) -> Option<PathBuf> {
    if path.as_os_str().len() > LONGEST {
        return None;
    }
    let mut absent = Vec::new();
    let mut there = path;
    while absent.len() <= ABSENT {
        if let Some(found) = paths::resolve_in(root, there) {
            let absent: PathBuf = absent.iter().rev().collect();
            return Some(found.real.join(absent));
        }
        // A link that leads nowhere might lead somewhere later.
        if paths::is_there(root, there) {
            return None;
        }
        let Some(Component::Normal(name)) = there.components().next_back() else {
            return None;
        };
        absent.push(name);
        there = there.parent()?;
    }
    None
}

#[cfg(test)]
#[path = "leads_tests.rs"]
mod tests;
