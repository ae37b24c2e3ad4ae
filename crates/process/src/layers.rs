//! What each layer stops, and what to do where it cannot be had. A sandbox with a layer missing
//! is not started: a user who believes in a layer that is not there is worse off than one who
//! reads why.

use bailiwick_event::Failure;
use std::io;

/// A layer, what would get through without it, and how to get it.
struct Layer {
    stage: &'static str,
    name: &'static str,
    stops: &'static str,
    remedy: &'static str,
}

const USER_NAMESPACES: &str = "allow user namespaces: `sudo sysctl -w \
    kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu, `sudo sysctl -w \
    user.max_user_namespaces=15000` elsewhere; in a container, start it with \
    `--security-opt seccomp=unconfined`";

const LAYERS: &[Layer] = &[
    Layer {
        stage: "user",
        name: "the user namespace",
        stops: "the program acting with the caller's identity on the host",
        remedy: USER_NAMESPACES,
    },
    Layer {
        stage: "network",
        name: "the private network",
        stops: "connections that no policy decided",
        remedy: "load the kernel modules: `sudo modprobe nf_tables nft_tproxy`",
    },
    Layer {
        stage: "mount: /proc",
        name: "a private /proc",
        stops: "the program seeing and signalling other processes",
        remedy: "in a container, start it with `--security-opt systempaths=unconfined`",
    },
    Layer {
        stage: "mount: ",
        name: "the private root",
        stops: "reading and writing files that the policy does not name",
        remedy: USER_NAMESPACES,
    },
    Layer {
        stage: "landlock",
        name: "Landlock",
        stops: "writes that get around the mounts",
        remedy: "use a kernel >= 5.13 with `landlock` in its `lsm=` boot parameter",
    },
    Layer {
        stage: "seccomp",
        name: "the system-call filter",
        stops: "attacks on the kernel",
        remedy: "use a kernel with CONFIG_SECCOMP_FILTER",
    },
    Layer {
        stage: "capabilities",
        name: "dropping capabilities",
        stops: "administration of the machine",
        remedy: "report this with the output of `bailiwick doctor`",
    },
];

/// The layers that every sandbox has, in the order in which they are set up.
pub(crate) fn names() -> Vec<String> {
    let landlock = format!("landlock (ABI {})", crate::kernel::landlock_abi());
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
    let mut names: Vec<String> = first.map(str::to_owned).to_vec();
    names.extend([landlock, "seccomp".to_owned()]);
    names
}

/// The failure for a stage that pid 1 reported.
pub(crate) fn missing(stage: &str, errno: i32) -> Failure {
    let reason = match errno {
        0 => String::new(),
        errno => format!(": {}", io::Error::from_raw_os_error(errno)),
    };
    let detail = stage
        .strip_prefix("mount: ")
        .map(|what| format!(" at {what}"))
        .unwrap_or_default();
    match LAYERS.iter().find(|layer| stage.starts_with(layer.stage)) {
        Some(layer) => Failure::fault(format!(
            "not started: {} cannot be had{detail}{reason}\n  without it nothing stops {}\n  \
             remedy: {}",
            layer.name, layer.stops, layer.remedy
        )),
        None => Failure::fault(format!(
            "not started: setting up the {stage} failed{reason}"
        )),
    }
}

/// The failure where the kernel makes no namespaces at all.
pub(crate) fn no_namespaces(error: &io::Error) -> Failure {
    if std::env::var_os("BAILIWICK").is_some() {
        return Failure::fault(
            "not started: this is a sandbox already, and a sandbox inside another is not supported \
             yet\n  remedy: run the command without `bailiwick run`; what holds here holds for it",
        );
    }
    match error.raw_os_error() {
        Some(libc::ENOSPC | libc::EUSERS) => Failure::fault(
            "not started: the limit of user namespaces is reached\n  remedy: `sudo sysctl -w \
             user.max_user_namespaces=15000`",
        ),
        errno => missing("user", errno.unwrap_or(0)),
    }
}
