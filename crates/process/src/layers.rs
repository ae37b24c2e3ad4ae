//! What each layer stops, and what to do where it cannot be had. A sandbox with a layer missing
//! is not started: a user who believes in a layer that is not there is worse off than one who
//! reads why.

use crate::knobs::Knobs;
use crate::{abi, kernel};
use bailiwick_event::Failure;
use std::io;

/// A layer, what would get through without it, and how to get it.
struct Layer {
    stage: &'static str,
    name: &'static str,
    stops: &'static str,
    remedy: Remedy,
}

/// What to do about a missing layer.
enum Remedy {
    Known(&'static str),
    /// It depends on what the machine is set to.
    Namespaces,
}
use Remedy::{Known, Namespaces};

/// What to do where a path that is to be mounted leads through a link.
const LINK: &str = "a part of this path is a symbolic link: write in the policy the path that it \
    leads to, without the link";

const LAYERS: &[Layer] = &[
    Layer {
        stage: "user",
        name: "the user namespace",
        stops: "the program acting with the caller's identity on the host",
        remedy: Namespaces,
    },
    Layer {
        stage: "network",
        name: "the private network",
        stops: "connections that no policy decided",
        remedy: Known("load the kernel modules: `sudo modprobe nf_tables nft_tproxy`"),
    },
    Layer {
        stage: "mount: /proc",
        name: "a private /proc",
        stops: "the program seeing and signalling other processes",
        remedy: Known("in a container, start it with `--security-opt systempaths=unconfined`"),
    },
    Layer {
        stage: "mount: ",
        name: "the private root",
        stops: "reading and writing files that the policy does not name",
        remedy: Namespaces,
    },
    Layer {
        stage: "landlock",
        name: "Landlock",
        stops: "writes that get around the mounts",
        remedy: Known("use a kernel >= 5.13 with `landlock` in its `lsm=` boot parameter"),
    },
    Layer {
        stage: "seccomp",
        name: "the system-call filter",
        stops: "attacks on the kernel",
        remedy: Known("use a kernel with CONFIG_SECCOMP_FILTER"),
    },
    Layer {
        stage: "keyring",
        name: "a session keyring of its own, which it needs without the system-call filter,",
        stops: "the use of the caller's keys in the kernel",
        remedy: Known(
            "end other runs: each takes one of the user's keys (/proc/key-users has their number and limit)",
        ),
    },
    Layer {
        stage: "broker",
        name: "the write broker",
        stops: "the making of protected names that do not exist yet",
        remedy: Known("use a kernel >= 5.14, or set protect_absent = \"sweep\" under [filesystem]"),
    },
    Layer {
        stage: "capabilities",
        name: "dropping capabilities",
        stops: "administration of the machine",
        remedy: Known("report this with the output of `bailiwick doctor`"),
    },
];

/// What nothing stops where there are no namespaces, each in a sentence. The tests of escapes try
/// each, and hold nothing else to be open.
pub const WITHOUT_NAMESPACES: [&str; 7] = [NAMES, WATCHING, SEEN, SLOWED, TOGETHER, DEVICES, ROOT];

const NAMES: &str =
    "names, sizes and extended attributes of files outside the policy can be asked for";
const WATCHING: &str = "what changes in folders outside the policy can be watched, by name";
const SEEN: &str = "the processes of the user can be seen, and how they were started";
const SLOWED: &str = "they can be slowed down";
const TOGETHER: &str =
    "limits on processes, on shared memory and on the memory of several processes are not kept";
const DEVICES: &str = "a device that lies in a folder of the policy is opened as its mode allows";
const ROOT: &str = "a run that root starts stays root's, though without the rights of root";

/// The version of Landlock that stops signals to processes outside.
pub const LANDLOCK_OF_SIGNALS: i64 = 6;

/// The version of Landlock that the kernel has; 0 where it has none.
#[must_use]
pub fn landlock_version() -> i64 {
    crate::kernel::landlock_abi()
}

/// The layers that a sandbox has, in the order in which they are set up.
pub(crate) fn names(isolated: bool) -> Vec<String> {
    let landlock = abi::layer(kernel::landlock_abi(), isolated);
    let first = [
        "user",
        "mount",
        "pid",
        "network",
        "ipc",
        "uts",
        "cgroup",
        "capabilities",
    ];
    let first = if isolated {
        &first[..]
    } else {
        &["capabilities"][..]
    };
    let mut names: Vec<String> = first.iter().map(|name| (*name).to_owned()).collect();
    names.extend(landlock);
    names.push("seccomp".to_owned());
    names
}

/// Which of the layers that a policy can require a run did without, by the layers that its record
/// names.
#[must_use]
pub fn done_without(layers: &[String]) -> Vec<&'static str> {
    // The user namespace is the first of all of them, or there is none.
    let stands_for = |layer| if layer == "namespaces" { "user" } else { layer };
    let has = |first: &str| {
        let mut words = layers.iter().map(|l| l.split(' ').next());
        words.any(|word| word == Some(first))
    };
    let mut all = bailiwick_policy::LAYERS.to_vec();
    all.retain(|layer| !has(stands_for(layer)));
    all
}

/// The failure for a stage that pid 1 reported.
pub(crate) fn missing(stage: &str, errno: i32) -> Failure {
    let limit = is_limit(&io::Error::from_raw_os_error(errno));
    let reason = match errno {
        0 => String::new(),
        _ if limit => ": the limit of namespaces is reached".to_owned(),
        errno => format!(": {}", io::Error::from_raw_os_error(errno)),
    };
    let detail = stage
        .strip_prefix("mount: ")
        .filter(|what| !what.is_empty())
        .map(|what| format!(" at {what}"))
        .unwrap_or_default();
    match LAYERS.iter().find(|layer| stage.starts_with(layer.stage)) {
        Some(layer) => Failure::fault(format!(
            "not started: {} cannot be had{detail}{reason}\n  without it nothing stops {}\n  \
             remedy: {}",
            layer.name,
            layer.stops,
            match layer.remedy {
                // Nothing is mounted through a link, whatever the machine gives.
                _ if errno == libc::ELOOP => LINK,
                Known(remedy) if !limit => remedy,
                _ => Knobs::read().remedy(limit),
            }
        )),
        None => Failure::fault(format!(
            "not started: setting up the {stage} failed{reason}"
        )),
    }
}

/// The failure where the caller has no `/proc`.
pub(crate) fn no_proc(error: &io::Error) -> Failure {
    Failure::fault(format!(
        "not started: there is no /proc here ({error}), by which a process sets up a sandbox\n  \
         remedy: mount it: `mount -t proc proc /proc`"
    ))
}

/// What the user is told where there are no namespaces and none are required.
pub(crate) fn without_namespaces(why: &Failure, network: bool) -> Vec<String> {
    let first = why.to_string();
    let first = first.lines().next().unwrap_or_default();
    let first = first.strip_prefix("not started: ").unwrap_or(first);
    let network = match network {
        true => "the network is TCP to what the policy grants, without UDP and without servers",
        false => "there is no network (what is tried is refused by the kernel and not recorded)",
    };
    let mut told = vec![format!(
        "no namespaces here ({first}); Landlock, seccomp and the write broker hold, and: {network}, \
             other processes can be seen, file names outside the policy can be seen but \
             not read"
    )];
    let abi = kernel::landlock_abi();
    told.extend(
        abi::consequences(abi)
            .iter()
            .map(|lacks| format!("Landlock is old here (ABI {abi}): {}", lacks.bare)),
    );
    told
}

/// The failure where the kernel makes no namespaces at all.
pub(crate) fn no_namespaces(error: &io::Error) -> Failure {
    if std::env::var_os("BAILIWICK").is_some() {
        return Failure::fault(
            "not started: this is a sandbox already, and a sandbox inside another is not supported \
             yet\n  remedy: run the command without `bailiwick run`; what holds here holds for it",
        );
    }
    match is_limit(error) {
        true => Failure::fault(format!(
            "not started: the limit of namespaces is reached\n  remedy: {}",
            Knobs::read().remedy(true)
        )),
        false => missing("user", error.raw_os_error().unwrap_or(0)),
    }
}

/// Whether the kernel says that there are as many namespaces as there may be, or may be none.
pub(crate) fn is_limit(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOSPC | libc::EUSERS))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_did_without_is_what_its_record_does_not_name() {
        let of = |layers: &[&str]| {
            let layers: Vec<String> = layers.iter().map(|l| (*l).to_owned()).collect();
            done_without(&layers)
        };
        let all = [
            "user",
            "mount",
            "landlock (ABI 6)",
            "seccomp",
            "limits (exact: cpu)",
        ];
        assert_eq!(of(&all), [""; 0]);
        assert_eq!(of(&all[2..]), ["namespaces"]);
        assert_eq!(of(&["user", "mount", "seccomp"]), ["landlock"]);
        assert_eq!(of(&["capabilities"]), bailiwick_policy::LAYERS);
    }
}
