//! What a build needs of the machine. All of it is looked for before anything is done, so that
//! nobody waits for minutes to be told of one more package.

use super::log::{PATH, first_line};
use bailiwick_event::{Failure, Text};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What must be there, and the Debian package that has it.
const NEEDED: [(Need, &str); 13] = [
    (Need::Program("mmdebstrap"), "mmdebstrap"),
    (Need::Program("mkfs.erofs"), "erofs-utils"),
    (Need::Program("make"), "make"),
    (Need::Program("gcc"), "gcc"),
    (Need::Program("ld"), "binutils"),
    (Need::Program("flex"), "flex"),
    (Need::Program("bison"), "bison"),
    (Need::Program("bc"), "bc"),
    (Need::Program("patch"), "patch"),
    (Need::Program("xz"), "xz-utils"),
    (Need::File("/usr/include/libelf.h"), "libelf-dev"),
    (Need::File("/usr/include/stdio.h"), "libc6-dev"),
    (
        Need::File("/usr/share/keyrings/debian-archive-keyring.gpg"),
        "debian-archive-keyring",
    ),
];

enum Need {
    Program(&'static str),
    File(&'static str),
}

impl Need {
    fn is_there(&self) -> bool {
        match self {
            Self::Program(name) => has_program(name),
            Self::File(path) => Path::new(path).exists(),
        }
    }
}

fn has_program(name: &str) -> bool {
    path_of_program(name).is_some()
}

/// Where this machine has a program of its system's.
pub(crate) fn path_of_program(name: &str) -> Option<PathBuf> {
    let mut places = PATH.split(':').map(|folder| Path::new(folder).join(name));
    places.find(|path| path.exists())
}

/// Looks for everything that a build needs.
///
/// # Errors
/// A fault that names every missing package, or what a user's account lacks.
pub(super) fn check() -> Result<(), Failure> {
    let root = rustix::process::geteuid().is_root();
    let missing = missing(root, Need::is_there);
    if !missing.is_empty() {
        let list = missing.join(" ");
        return Err(Failure::fault(format!(
            "an image cannot be built: this machine lacks the packages {list}\n  remedy: \
             `scripts/setup --for image`, or `sudo apt-get install {list}`"
        )));
    }
    if root { Ok(()) } else { check_ids() }
}

/// The packages that are not there, by what can be said of each need.
fn missing(root: bool, is_there: impl Fn(&Need) -> bool) -> Vec<&'static str> {
    let maps = (Need::Program("newuidmap"), "uidmap");
    NEEDED
        .iter()
        .chain((!root).then_some(&maps))
        .filter(|(need, _)| !is_there(need))
        .map(|(_, package)| *package)
        .collect()
}

/// A user makes files of many owners in a user namespace, for which the system must have given him
/// numbers.
fn check_ids() -> Result<(), Failure> {
    let mut id = Command::new("id");
    id.arg("-un");
    let user = first_line(id)?;
    let number = rustix::process::getuid().as_raw().to_string();
    let has = |path: &str| {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().any(|line| {
            let mut words = line.split(':');
            let owner = words.next().unwrap_or_default();
            let count = words
                .nth(1)
                .and_then(|count| count.trim().parse::<u32>().ok());
            (owner == user || owner == number) && count.is_some_and(|count| count >= 65_536)
        })
    };
    if has("/etc/subuid") && has("/etc/subgid") {
        return Ok(());
    }
    let user = Text::from(user);
    Err(Failure::fault(format!(
        "an image cannot be built by {user}: /etc/subuid and /etc/subgid give this user no 65536 \
         numbers\n  remedy: `sudo usermod --add-subuids 100000-165535 --add-subgids 100000-165535 {user}`"
    )))
}

/// The programs that decide what comes out, and their versions.
pub(super) fn versions() -> Result<BTreeMap<String, String>, Failure> {
    let mut versions = BTreeMap::new();
    for (name, arguments) in [
        ("mmdebstrap", &["--version"][..]),
        ("mkfs.erofs", &["-V"]),
        ("gcc", &["--version"]),
        ("ld", &["--version"]),
    ] {
        let mut command = Command::new(name);
        command.args(arguments);
        versions.insert(name.to_owned(), first_line(command)?);
    }
    Ok(versions)
}

#[cfg(test)]
#[path = "tools_tests.rs"]
mod tests;
