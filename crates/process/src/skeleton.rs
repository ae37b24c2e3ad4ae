//! What the root holds that is not the host's: empty scratch folders, a name service that leads
//! to the gate, and a git configuration without anything that could run or log in.

use crate::git_config;
use crate::identity::{INSIDE, Identity};
use crate::setup::raw;
use bailiwick_policy::Effective;
use bailiwick_sandbox::TrustFiles;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// Folders of every root that nobody owns, with their modes.
pub(crate) const FOLDERS: [(&str, u32); 12] = [
    ("/dev", 0o755),
    ("/dev/pts", 0o755),
    ("/proc", 0o555),
    ("/run", 0o755),
    ("/run/user", 0o755),
    ("/var", 0o755),
    ("/var/lib", 0o755),
    ("/var/cache", 0o755),
    ("/tmp", 0o1777),
    ("/var/tmp", 0o1777),
    ("/dev/shm", 0o1777),
    ("/run/lock", 0o1777),
];

/// A file of the product.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Content {
    #[serde(with = "raw")]
    pub(crate) path: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

/// The parts of a root that depend on the policy.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Skeleton {
    /// Files in folders of the product.
    pub(crate) files: Vec<Content>,
    /// Files that cover one of the host.
    pub(crate) covered: Vec<Content>,
    /// What programs trust, where that is more than the machine's files say.
    pub(crate) trust: Option<TrustFiles>,
    /// The home directory.
    #[serde(with = "raw")]
    pub(crate) home: PathBuf,
}

/// The folder of a user's sockets, which belongs to the sandboxed program.
pub(crate) fn runtime_folder(identity: Identity) -> PathBuf {
    format!("/run/user/{}", identity.inside().0).into()
}

impl Skeleton {
    /// The skeleton for a policy.
    pub(crate) fn new(policy: &Effective, identity: Identity, trust: Option<&TrustFiles>) -> Self {
        let mut files = Vec::new();
        if let Some(config) = git_config::of_home(&policy.home) {
            files.push(Content {
                path: policy.home.join(".gitconfig"),
                bytes: config,
            });
        }
        let cover = |path: &Path, bytes: Vec<u8>| Content {
            path: path.to_path_buf(),
            bytes,
        };
        let mut covered = vec![
            cover(&name_service(), resolv_conf().into_bytes()),
            cover(Path::new("/etc/hosts"), hosts_file().into_bytes()),
        ];
        if identity.is_by_root() {
            for (path, line) in [
                ("/etc/passwd", passwd_line(policy)),
                ("/etc/group", group_line()),
            ] {
                covered.push(cover(Path::new(path), with_line(path, &line)));
            }
        }
        Self {
            files,
            covered,
            trust: trust.cloned(),
            home: policy.home.clone(),
        }
    }

    /// The skeleton of a monitor: what it needs besides it is given by name.
    pub(crate) fn of_monitor(identity: Identity) -> Self {
        Self {
            files: Vec::new(),
            covered: Vec::new(),
            trust: None,
            home: runtime_folder(identity),
        }
    }

    /// Folders that every program may write to.
    pub(crate) fn scratch(&self, identity: Identity) -> Vec<PathBuf> {
        let mut folders: Vec<PathBuf> = FOLDERS
            .iter()
            .filter(|(_, mode)| *mode == 0o1777)
            .map(|(path, _)| path.into())
            .collect();
        folders.push(runtime_folder(identity));
        folders.push(self.home.clone());
        folders
    }
}

/// Where `/etc/resolv.conf` really lies: often it is a link into `/run`.
fn name_service() -> PathBuf {
    let path = Path::new("/etc/resolv.conf");
    crate::paths::resolve(path).map_or_else(|| path.to_path_buf(), |r| r.real)
}

fn resolv_conf() -> String {
    format!(
        "nameserver {}\noptions timeout:2 attempts:2\n",
        bailiwick_gate::NAMESERVER_V4
    )
}

fn hosts_file() -> String {
    let name = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    let plain = name
        .bytes()
        .all(|b| b.is_ascii_alphanumeric() || b"-._".contains(&b));
    let name = if plain { name } else { String::new() };
    format!("127.0.0.1\tlocalhost {name}\n::1\tlocalhost ip6-localhost ip6-loopback\n")
}

fn passwd_line(policy: &Effective) -> String {
    let home = policy.home.to_string_lossy().replace([':', '\n'], "");
    format!("bailiwick:x:{INSIDE}:{INSIDE}:Bailiwick:{home}:/bin/sh\n")
}

fn group_line() -> String {
    format!("bailiwick:x:{INSIDE}:\n")
}

/// The host's file with a line of ours in front.
fn with_line(path: &str, line: &str) -> Vec<u8> {
    let mut content = line.as_bytes().to_vec();
    content.extend(fs::read(path).unwrap_or_default());
    content
}
