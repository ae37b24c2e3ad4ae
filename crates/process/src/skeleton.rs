//! What the root holds that is not the host's: empty scratch folders, a name service that leads
//! to the gate, and a git configuration without anything that could run or log in.

use crate::git_config;
use crate::identity::{INSIDE, Identity};
use bailiwick_policy::Effective;
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};

/// The parts of a root.
pub(crate) struct Skeleton {
    /// Folders, their modes, and whether the sandboxed program owns them.
    pub(crate) folders: Vec<(PathBuf, u32, bool)>,
    /// Files in those folders.
    pub(crate) files: Vec<(PathBuf, Vec<u8>)>,
    /// Files that cover one of the host.
    pub(crate) covered: Vec<(PathBuf, Vec<u8>)>,
    /// Mount options of the root.
    pub(crate) tmpfs_options: CString,
    /// The home directory.
    pub(crate) home: PathBuf,
}

/// Folders that every program may write to.
pub(crate) fn scratch(policy: &Effective, identity: Identity) -> Vec<PathBuf> {
    let (uid, _) = identity.inside();
    vec![
        "/tmp".into(),
        "/var/tmp".into(),
        "/dev/shm".into(),
        "/run/lock".into(),
        PathBuf::from(format!("/run/user/{uid}")),
        policy.home.clone(),
    ]
}

impl Skeleton {
    /// The skeleton for a policy.
    pub(crate) fn new(policy: &Effective, identity: Identity) -> Self {
        let (uid, _) = identity.inside();
        let mut folders: Vec<(PathBuf, u32, bool)> = [
            ("/dev", 0o755),
            ("/dev/pts", 0o755),
            ("/proc", 0o555),
            ("/run", 0o755),
            ("/run/user", 0o755),
            ("/var", 0o755),
            ("/var/lib", 0o755),
            ("/var/cache", 0o755),
        ]
        .map(|(path, mode)| (path.into(), mode, false))
        .to_vec();
        for path in ["/tmp", "/var/tmp", "/dev/shm", "/run/lock"] {
            folders.push((path.into(), 0o1777, false));
        }
        folders.push((format!("/run/user/{uid}").into(), 0o700, true));
        folders.push((policy.home.clone(), 0o755, true));
        let mut files = Vec::new();
        if let Some(config) = git_config::of_home(&policy.home) {
            files.push((policy.home.join(".gitconfig"), config));
        }
        let mut covered = vec![
            (name_service(), resolv_conf().into_bytes()),
            ("/etc/hosts".into(), hosts_file().into_bytes()),
        ];
        if identity == Identity::Root {
            covered.push((
                "/etc/passwd".into(),
                with_line("/etc/passwd", &passwd_line(policy)),
            ));
            covered.push(("/etc/group".into(), with_line("/etc/group", &group_line())));
        }
        let size = policy
            .limits
            .memory
            .as_ref()
            .map_or("25%".to_owned(), |m| m.value.to_string());
        let options = format!("mode=0755,size={size}");
        Self {
            folders,
            files,
            covered,
            tmpfs_options: CString::new(options).unwrap_or_default(),
            home: policy.home.clone(),
        }
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
