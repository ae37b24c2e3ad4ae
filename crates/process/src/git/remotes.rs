//! Addresses of remotes: what git would connect to, and which folder it would fetch from or push to.

use super::content::Site;
use super::{config, leads};
use crate::paths;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Protocols that git itself speaks; for any other it runs a program of that name.
const PROTOCOLS: [&[u8]; 9] = [
    b"http", b"https", b"ftp", b"ftps", b"ssh", b"git", b"git+ssh", b"ssh+git", b"file",
];

/// What git takes an address for.
#[derive(Debug, PartialEq, Eq)]
enum Address<'a> {
    /// Another machine.
    Machine,
    /// A folder of this one.
    Folder(&'a Path),
    /// What git reads otherwise than it looks, or gives to a program.
    Unclear,
}

impl<'a> Address<'a> {
    fn of(url: &'a [u8]) -> Self {
        let path = match url.windows(3).position(|w| w == b"://") {
            Some(at) if &url[..at] == b"file" => &url[at + 3..],
            Some(at) if PROTOCOLS.contains(&&url[..at]) => return Self::Machine,
            Some(_) => return Self::Unclear,
            None => url,
        };
        let is_url = path.len() < url.len();
        // Git takes what stands before the first slash away, and decodes the rest.
        if is_url && (!path.starts_with(b"/") || path.contains(&b'%')) {
            return Self::Unclear;
        }
        let slash = path.iter().position(|&b| b == b'/').unwrap_or(path.len());
        match !is_url && path[..slash].contains(&b':') {
            true => Self::Machine,
            false => Self::Folder(Path::new(OsStr::from_bytes(path))),
        }
    }
}

/// Whether an address runs no program: a transport `name::` does, and a leading dash is an option to whoever is
/// given the address.
pub(super) fn is_harmless(url: &[u8]) -> bool {
    let host = url
        .windows(3)
        .position(|w| w == b"://")
        .map_or(url, |at| &url[at + 3..]);
    !url.starts_with(b"-")
        && !host.starts_with(b"-")
        && !url.windows(2).any(|w| w == b"::")
        && !url.iter().any(|b| b.is_ascii_control())
        && Address::of(url) != Address::Unclear
}

/// Whether addresses may be taken for folders by a variable `url.BASE.insteadOf`.
pub(super) fn may_be_folder(key: &config::Key) -> bool {
    let base = key.subsection.as_deref().unwrap_or_default();
    Address::of(base) != Address::Machine
}

/// Whether an address that is a path leads to a folder that the sandbox sees itself: what the user fetches from
/// anywhere else it could read afterwards, and what he pushes there it could have chosen. Where there is no
/// index yet git is making the repository, maybe from a temporary one, which is the sandbox's own.
pub(super) fn may_be_fetched(url: &[u8], site: &Site<'_>) -> bool {
    if site.rewritten.iter().any(|begin| url.starts_with(begin)) {
        return false;
    }
    let path = match Address::of(url) {
        Address::Machine => return true,
        Address::Folder(path) => path,
        Address::Unclear => return false,
    };
    // The home directory, of whoever runs git; and what each linked working tree reads from its own top.
    let leaves = |path: &Path| path.components().any(|part| part.as_os_str() == "..");
    if path.as_os_str().as_bytes().starts_with(b"~") || !path.is_absolute() && leaves(path) {
        return false;
    }
    let plain = leads::plain(&leads::tree_around(site).join(path));
    let temporary = paths::is_temporary(&plain);
    let is_new = !config::has_index(site);
    places(&plain).into_iter().all(|place| {
        let below = paths::below(site.root, &place);
        let real = bailiwick_policy::resolve_existing(&below);
        let own = site.own;
        if !own.as_os_str().is_empty() && (place.starts_with(own) || real.starts_with(own)) {
            return false;
        }
        let mut folders = site.seen.iter();
        let seen = real == below && folders.any(|folder| place.starts_with(folder));
        if seen {
            // A link could stand there later.
            site.leads_to(&place);
        }
        // Where the folder itself is all that is seen, git looks beside it if it is no repository.
        let beside =
            place != plain && site.seen.contains(&plain) && below_is_repository(&plain, site);
        seen || beside || temporary && is_new
    })
}

/// Where git looks for a repository: at a path, and at the same with `.git` behind it.
fn places(path: &Path) -> [PathBuf; 2] {
    let mut longer = path.as_os_str().to_owned();
    longer.push(".git");
    [path.to_path_buf(), PathBuf::from(longer)]
}

fn below_is_repository(folder: &Path, site: &Site<'_>) -> bool {
    let inside = paths::below(site.root, folder);
    inside.join(".git").exists() || super::is_repository_at(&inside)
}

/// Whether a configuration has another address, or another branch that is merged, where there was one: the user
/// asks for what he knows by that name.
pub(crate) fn turns_elsewhere(old: &[u8], new: &[u8]) -> bool {
    let (Ok(old), Ok(new)) = (config::variables(old), config::variables(new)) else {
        return false;
    };
    let leads = |key: &config::Key| match key.section.as_str() {
        "remote" => matches!(key.name.as_str(), "url" | "pushurl" | "pushdefault"),
        "branch" => matches!(key.name.as_str(), "remote" | "pushremote" | "merge"),
        _ => false,
    };
    let turned = |(key, before): (&config::Key, &Vec<Vec<u8>>)| {
        leads(key) && new.get(key).is_some_and(|after| after != before)
    };
    old.iter().any(turned)
}

/// Whether a configuration does not sign any more, names another author than it did, or hides files that nobody has
/// added: the user's next commands would not show it. Where the configuration is the user's (`of_user`), his name may
/// stand in another one until now.
pub(crate) fn misleads(old: &[u8], new: &[u8], of_user: bool) -> bool {
    let (Ok(old), Ok(new)) = (config::variables(old), config::variables(new)) else {
        return false;
    };
    let names = |key: &config::Key| matches!(&*key.section, "user" | "author" | "committer");
    let forgets = old.keys().any(|key| names(key) && !new.contains_key(key));
    let mut all = new.iter();
    forgets
        || all.any(|(key, after)| {
            let before = old.get(key);
            let is = |words: &[&str]| {
                let last = after.last().map(Vec::as_slice).unwrap_or_default();
                words
                    .iter()
                    .any(|word| last.eq_ignore_ascii_case(word.as_bytes()))
            };
            before != Some(after)
                && match (key.section.as_str(), key.name.as_str()) {
                    ("commit" | "tag" | "push", "gpgsign") => is(&["false", "no", "off", "0", ""]),
                    ("status", "showuntrackedfiles") => is(&["no", "false"]),
                    _ => {
                        let new = of_user && matches!(&*key.name, "name" | "email");
                        names(key) && (new || before.is_some())
                    }
                }
        })
}

/// The temporary folders that a configuration has for remotes.
fn temporary(config: &[u8]) -> Vec<PathBuf> {
    let all = config::variables(config).unwrap_or_default();
    let addresses = all.iter().filter(|(key, _)| is_address(key));
    let folder = |value: &Vec<u8>| match Address::of(value) {
        Address::Folder(path) if paths::is_temporary(path) => Some(leads::plain(path)),
        _ => None,
    };
    addresses
        .flat_map(|(_, values)| values)
        .filter_map(folder)
        .collect()
}

/// Whether a remote of a configuration is a temporary folder that the sandbox does not see as it is outside: another
/// may have its path there.
pub(crate) fn has_temporary(config: &[u8], site: &Site<'_>) -> bool {
    let seen = |path: &PathBuf| site.seen.iter().any(|folder| path.starts_with(folder));
    !temporary(config).iter().all(seen)
}

/// Whether any such folder of a configuration is there, for whoever git will ask.
pub(crate) fn reaches_temporary(config: &Path) -> bool {
    let text = super::followed::read(config).unwrap_or_default();
    let mut folders = temporary(&text).into_iter();
    folders.any(|folder| places(&folder).iter().any(|place| place.exists()))
}

fn is_address(key: &config::Key) -> bool {
    key.section == "remote" && matches!(key.name.as_str(), "url" | "pushurl")
}

/// Whether a configuration has remotes that were not there, and a timer of the user's fetches from all (git-maintenance(1)).
pub(crate) fn has_others(old: &[u8], new: &[u8]) -> bool {
    let (Ok(old), Ok(new)) = (config::variables(old), config::variables(new)) else {
        return false;
    };
    let is_remote = |key: &&config::Key| key.section == "remote" && key.subsection.is_some();
    let mut kept = old.keys();
    if !kept.any(|key| key.section == "maintenance") {
        return false;
    }
    let mut added = new.keys().filter(is_remote);
    added.any(|key| {
        let mut known = old.keys().filter(is_remote);
        !known.any(|old| old.subsection == key.subsection)
    })
}

/// The folders that a configuration names as remotes, for a working tree.
pub(super) fn at(tree: &Path, config: &config::Variables) -> Vec<PathBuf> {
    let values = config.iter().filter(|(key, _)| is_address(key));
    let folder = |value: &[u8]| match Address::of(value) {
        Address::Folder(path) => Some(leads::plain(&tree.join(path))),
        _ => None,
    };
    let folders = values
        .flat_map(|(_, values)| values)
        .filter_map(|value| folder(value));
    folders.flat_map(|path| places(&path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_what_git_takes_it_for() {
        let folder = |path| Address::Folder(Path::new(path));
        for (url, expected) in [
            ("https://host.test/x", Address::Machine),
            ("git@host.test:x/y", Address::Machine),
            ("host:x", Address::Machine),
            ("ssh://host.test/%7Eu/x", Address::Machine),
            ("../x", folder("../x")),
            ("./a:b", folder("./a:b")),
            ("file:///a/b", folder("/a/b")),
            ("file://localhost/a", Address::Unclear),
            ("file:///a/%2e%2e/b", Address::Unclear),
            ("FILE:///a", Address::Unclear),
            ("ext://sh", Address::Unclear),
        ] {
            assert_eq!(Address::of(url.as_bytes()), expected, "{url}");
        }
    }

    #[test]
    fn git_looks_beside_a_path_as_well() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("ws/up/.git")).unwrap();
        std::os::unix::fs::symlink("../elsewhere", dir.path().join("ws/link.git")).unwrap();
        let kept = [PathBuf::from("/ws")];
        let site = Site::of_test(Path::new("/ws/.git/config"), dir.path(), &kept);
        let may = |url: &str| may_be_fetched(url.as_bytes(), &site);
        assert!(may("/ws/up") && may("up") && may("file:///ws/none"));
        assert!(!may("/ws/link") && !may("link") && !may("sub/../../up") && !may("/elsewhere"));
        assert!(!may("/ws"));
    }
}
