//! The other sandboxes and the exact command lines that make them do the same work: the file system
//! read-only, the workspace writable, no network. A peer that has to be configured more loosely
//! than that to run at all fails its in-force check and shows no figure.

use crate::program::{self, Program};
use crate::runc_bundle;
use crate::workload::Job;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// What a command line is made from.
pub(crate) struct Place {
    /// The workspace.
    pub workspace: PathBuf,
    /// A folder of the peer's own for settings and state.
    pub settings: PathBuf,
}

type Form = fn(&Place, &Program, &Job, bare: bool) -> io::Result<Vec<OsString>>;

/// Another sandbox.
pub(crate) struct Peer {
    /// The name of its program.
    pub name: &'static str,
    /// How it prints its version.
    pub version: &'static str,
    /// Command lines, the newest version's first; the first that starts is used.
    pub forms: &'static [Form],
    /// Why it has no row for a named server on the host's loopback.
    pub no_network: &'static str,
}

const ALL_OR_NOTHING: &str =
    "it gives a command the host's whole network or none, and cannot grant one name";
const NOT_LOOPBACK: &str =
    "it filters names, but cannot give a name to a server on the host's loopback";

/// Every peer that the bench knows.
pub(crate) static PEERS: &[Peer] = &[
    Peer {
        name: "bwrap",
        version: "--version",
        forms: &[bwrap],
        no_network: ALL_OR_NOTHING,
    },
    Peer {
        name: "fence",
        version: "--version",
        forms: &[fence],
        no_network: NOT_LOOPBACK,
    },
    Peer {
        name: "srt",
        version: "--version",
        forms: &[srt],
        no_network: NOT_LOOPBACK,
    },
    Peer {
        name: "firejail",
        version: "--version",
        forms: &[firejail],
        no_network: ALL_OR_NOTHING,
    },
    Peer {
        name: "nsjail",
        version: "--help",
        forms: &[nsjail],
        no_network: ALL_OR_NOTHING,
    },
    Peer {
        name: "minijail0",
        version: "-H",
        forms: &[minijail0],
        no_network: ALL_OR_NOTHING,
    },
    Peer {
        name: "landrun",
        version: "--version",
        forms: &[landrun],
        no_network: "it grants ports of every machine, and cannot grant one name",
    },
    Peer {
        name: "nono",
        version: "--version",
        forms: &[nono_block_net, nono_net_block],
        no_network: NOT_LOOPBACK,
    },
    Peer {
        name: "codex",
        version: "--version",
        forms: &[codex, codex_linux],
        no_network: ALL_OR_NOTHING,
    },
    Peer {
        name: "runc",
        version: "--version",
        forms: &[runc],
        no_network: ALL_OR_NOTHING,
    },
];

/// The peer of that name.
pub(crate) fn by_name(name: &str) -> Option<&'static Peer> {
    PEERS.iter().find(|peer| peer.name == name)
}

impl Peer {
    /// Its program, where it is installed.
    pub(crate) fn program(&self) -> Option<Program> {
        program::find(self.name)
    }
}

/// Words of a command line.
fn words(program: &Program, parts: &[&[&dyn AsRef<std::ffi::OsStr>]], job: &Job) -> Vec<OsString> {
    let mut argv = vec![program.word.clone()];
    for part in parts {
        argv.extend(part.iter().map(|word| word.as_ref().to_owned()));
    }
    argv.extend(job.argv.iter().cloned());
    argv
}

fn bwrap(place: &Place, program: &Program, job: &Job, bare: bool) -> io::Result<Vec<OsString>> {
    let root: [&dyn AsRef<_>; 4] = [&"--unshare-all", &"--ro-bind", &"/", &"/"];
    if bare {
        return Ok(words(program, &[&root], job));
    }
    let ws = &place.workspace;
    let mounts: [&dyn AsRef<_>; 9] = [
        &"--dev", &"/dev", &"--proc", &"/proc", &"--bind", ws, ws, &"--chdir", ws,
    ];
    Ok(words(program, &[&root, &mounts], job))
}

fn fence(place: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    let settings = settings(
        place,
        "fence.json",
        &serde_json::json!({
            "network": {"allowedDomains": []},
            "filesystem": {"allowWrite": [place.workspace]},
        }),
    )?;
    Ok(shell(program, &settings, job))
}

fn srt(place: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    let settings = settings(
        place,
        "srt.json",
        &serde_json::json!({
            "network": {"allowedDomains": [], "deniedDomains": []},
            "filesystem": {"denyRead": [], "allowWrite": [place.workspace], "denyWrite": []},
        }),
    )?;
    Ok(shell(program, &settings, job))
}

/// `PROGRAM --settings FILE -c 'CMD'`: both tools take a command as one string for a shell.
fn shell(program: &Program, settings: &Path, job: &Job) -> Vec<OsString> {
    let quoted: Vec<String> = job
        .argv
        .iter()
        .map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")))
        .collect();
    vec![
        program.word.clone(),
        "--settings".into(),
        settings.into(),
        "-c".into(),
        quoted.join(" ").into(),
    ]
}

fn firejail(place: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    // For an ordinary user it mounts the home directory again, after and above the root.
    let home = std::env::var("HOME").unwrap_or_else(|_| "/".to_owned());
    let home = format!("--read-only={home}");
    let write = format!("--read-write={}", place.workspace.display());
    let flags: [&dyn AsRef<_>; 7] = [
        &"--quiet",
        &"--noprofile",
        &"--net=none",
        &"--read-only=/",
        &home,
        &write,
        &"--",
    ];
    Ok(words(program, &[&flags], job))
}

fn nsjail(place: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    let ws = &place.workspace;
    let flags: [&dyn AsRef<_>; 11] = [
        &"-Mo",
        &"--really_quiet",
        &"--chroot",
        &"/",
        &"--bindmount",
        ws,
        &"--cwd",
        ws,
        &"--keep_env",
        &"--disable_rlimits",
        &"--",
    ];
    Ok(words(program, &[&flags], &by_path(job)))
}

fn minijail0(place: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    let root = place.settings.join("root");
    std::fs::create_dir_all(&root)?;
    let write = format!("{0},{0},1", place.workspace.display());
    let flags: [&dyn AsRef<_>; 21] = [
        &"-U",
        &"-m",
        &"-M",
        &"-v",
        &"-p",
        &"-e",
        &"-l",
        &"-n",
        &"-P",
        &root,
        &"-b",
        &"/,/",
        &"-b",
        &"/dev,/dev,1",
        &"-b",
        &"/proc,/proc",
        &"-b",
        &write,
        &"-T",
        &"static",
        &"--",
    ];
    Ok(words(program, &[&flags], &by_path(job)))
}

/// For sandboxes that start a file and know no PATH.
fn by_path(job: &Job) -> Job {
    let mut job = job.clone();
    if let Some(word) = job.argv.first_mut() {
        *word = job.path.clone().into();
    }
    job
}

fn landrun(place: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    let flags: [&dyn AsRef<_>; 10] = [
        &"--rox",
        &"/",
        &"--rwx",
        &place.workspace,
        &"--rw",
        &"/dev",
        &"--env",
        &"PATH",
        &"--env",
        &"HOME",
    ];
    Ok(words(program, &[&flags], job))
}

fn nono_block_net(p: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    Ok(nono(p, program, job, "--block-net"))
}
fn nono_net_block(p: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    Ok(nono(p, program, job, "--net-block"))
}
fn nono(place: &Place, program: &Program, job: &Job, no_network: &str) -> Vec<OsString> {
    let flags: [&dyn AsRef<_>; 7] = [
        &"run",
        &"--read",
        &"/",
        &"--allow",
        &place.workspace,
        &no_network,
        &"--",
    ];
    words(program, &[&flags], job)
}

fn codex(_: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    let flags: [&dyn AsRef<_>; 4] = [&"sandbox", &"--sandbox", &"workspace-write", &"--"];
    Ok(words(program, &[&flags], job))
}
fn codex_linux(_: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    let flags: [&dyn AsRef<_>; 4] = [&"sandbox", &"linux", &"--full-auto", &"--"];
    Ok(words(program, &[&flags], job))
}

fn runc(place: &Place, program: &Program, job: &Job, _: bool) -> io::Result<Vec<OsString>> {
    let bundle = runc_bundle::write(&place.settings, &place.workspace, job)?;
    let flags: [&dyn AsRef<_>; 6] = [
        &"--root",
        &place.settings.join("state"),
        &"run",
        &"--bundle",
        &bundle,
        &"bailiwick-bench",
    ];
    // The command itself stands in the bundle.
    let nothing = Job {
        argv: Vec::new(),
        path: PathBuf::new(),
    };
    Ok(words(program, &[&flags], &nothing))
}

fn settings(place: &Place, name: &str, value: &serde_json::Value) -> io::Result<PathBuf> {
    std::fs::create_dir_all(&place.settings)?;
    let file = place.settings.join(name);
    std::fs::write(&file, serde_json::to_vec_pretty(value)?)?;
    Ok(file)
}

#[cfg(test)]
#[path = "peer_tests.rs"]
mod tests;
