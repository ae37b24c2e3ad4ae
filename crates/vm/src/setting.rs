//! What a guest is told of its session before the first command.

use bailiwick_channel::schema::{Bounds, Setting, Share, Shown};
use bailiwick_event::Failure;
use bailiwick_gate::NAMESERVER_V4;
use bailiwick_policy::network::loopback_ports;
use bailiwick_process::guest::{Granted, preferences_of_git};
use bailiwick_sandbox::Launch;
use bailiwick_sandbox::trust::BUNDLE;
use std::ffi::OsStr;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where a guest keeps its authorities.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// Bytes of randomness that a guest is given.
const ENTROPY: usize = 64;

fn bytes(path: impl AsRef<OsStr>) -> Vec<u8> {
    path.as_ref().as_bytes().to_vec()
}

fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    std::fs::File::open("/dev/urandom")
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|e| Failure::fault(format!("/dev/urandom: {e}")))?;
    Ok(bytes)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A name that nothing has.
pub(crate) fn random_name() -> Result<String, Failure> {
    Ok(hex(&random::<16>()?))
}

/// Where the guest finds what it is granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// On the host.
    Shared,
    /// On a disk of its own.
    Disk,
    /// Where it was: the session goes on.
    There,
}

/// The setting of one session.
pub(crate) fn of(launch: &Launch<'_>, granted: &Granted, place: Place) -> Result<Setting, Failure> {
    let machine: [u8; 16] = random()?;
    let entropy: [u8; ENTROPY] = random()?;
    let machine = format!("{}\n", hex(&machine)).into_bytes();
    Ok(as_machine(
        launch,
        granted,
        place,
        machine,
        entropy.to_vec(),
    ))
}

/// The setting of one session, in the machine that another one is for.
pub(crate) fn same_machine(launch: &Launch<'_>, granted: &Granted, other: &Setting) -> Setting {
    let (machine, entropy) = (other.machine.clone(), other.entropy.clone());
    let place = match other.share {
        Share::Disk => Place::Disk,
        _ => Place::Shared,
    };
    Setting {
        now: other.now,
        ..as_machine(launch, granted, place, machine, entropy)
    }
}

fn as_machine(
    launch: &Launch<'_>,
    granted: &Granted,
    place: Place,
    machine: Vec<u8>,
    entropy: Vec<u8>,
) -> Setting {
    let id = String::from_utf8_lossy(&machine);
    let hostname = format!("bailiwick-{}", id.get(..8).unwrap_or_default());
    let limits = &launch.policy.limits;
    Setting {
        now: now(),
        entropy,
        machine,
        shown: granted
            .paths
            .iter()
            .map(|(path, folder)| Shown {
                path: bytes(path),
                folder: *folder,
            })
            .collect(),
        share: match place {
            Place::Shared if !granted.paths.is_empty() => Share::Fuse,
            Place::Disk => Share::Disk,
            Place::Shared | Place::There => Share::None,
        },
        again: place == Place::There,
        links: granted
            .links
            .iter()
            .map(|(from, to)| (bytes(from), bytes(to)))
            .collect(),
        files: files(launch, &hostname),
        hostname: hostname.into_bytes(),
        loopback: loopback_ports(&launch.policy.network),
        bounds: Bounds {
            processes: limits.processes.as_ref().map(|limit| limit.value),
            file_size: limits.file_size.as_ref().map(|limit| limit.value),
            open_files: limits.open_files.as_ref().map(|limit| limit.value),
        },
    }
}

/// Nanoseconds since 1970. What is told is true when it is sent, not when it is made.
pub(crate) fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}

/// Files of the guest that depend on the session.
fn files(launch: &Launch<'_>, hostname: &str) -> Vec<(Vec<u8>, Vec<u8>)> {
    let mut files = vec![
        (bytes("/etc/hostname"), format!("{hostname}\n").into_bytes()),
        (
            bytes("/etc/hosts"),
            format!("127.0.0.1\tlocalhost {hostname}\n").into_bytes(),
        ),
        (
            bytes("/etc/resolv.conf"),
            format!("nameserver {NAMESERVER_V4}\noptions timeout:2 attempts:2\n").into_bytes(),
        ),
    ];
    if let Some(trust) = launch.trust {
        for path in [BUNDLE, AUTHORITIES] {
            files.push((bytes(path), trust.bundle.clone()));
        }
    }
    let home: &Path = &launch.policy.home;
    if let Some(config) = preferences_of_git(home) {
        files.push((bytes(home.join(".gitconfig")), config));
    }
    files
}
