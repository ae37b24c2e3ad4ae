//! Which layers are left out, so that a test can show that each of them is what stops an escape: an
//! escape that fails for another reason proves nothing.
//!
//! Decision: the product has no such switch. Without the feature `layer-switches` and debug assertions every question
//! here is answered at compile time, and nothing of the variables' names is in the binary.

/// What can be left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(all(feature = "layer-switches", debug_assertions)),
    allow(dead_code, reason = "each layer has its name in the test build only")
)]
pub(crate) enum Layer {
    /// The private root, with all of its mounts.
    Mounts,
    /// Read-only mounts over protected names, masks over denied ones, pinned folders.
    Protection,
    /// That what may be read is mounted read-only.
    ReadOnly,
    /// That mounts hold no devices and no set-user-id programs.
    NoSuid,
    /// The pid namespace and its /proc.
    Pid,
    /// The network namespace and the gate.
    Network,
    /// The IPC namespace.
    Ipc,
    /// The UTS namespace.
    Uts,
    /// That host root is another user inside.
    Identity,
    /// That capabilities are given up.
    Capabilities,
    /// `no_new_privs`.
    NoNewPrivs,
    /// That pid 1 cannot be looked into.
    Dumpable,
    /// Landlock.
    Landlock,
    /// The system-call filter.
    Seccomp,
    /// The write broker.
    Broker,
    /// Every limit.
    Limits,
    /// The allow list of variables.
    Environment,
    /// That the caller's descriptors are closed.
    Descriptors,
    /// The terminal of the sandbox's own.
    Terminal,
    /// The session keyring of the sandbox's own.
    Keyring,
}

/// Whether a layer is left out.
#[cfg(not(all(feature = "layer-switches", debug_assertions)))]
pub(crate) const fn without(_: Layer) -> bool {
    false
}

/// The newest version of Landlock that may be used, if there is such a bound.
#[cfg(not(all(feature = "layer-switches", debug_assertions)))]
pub(crate) const fn landlock_abi() -> Option<i64> {
    None
}

/// Whether a layer is left out: `BAILIWICK_TEST_WITHOUT=seccomp,landlock`. Read once: who asks may not
/// allocate.
#[cfg(all(feature = "layer-switches", debug_assertions))]
pub(crate) fn without(layer: Layer) -> bool {
    static LIST: std::sync::OnceLock<String> = std::sync::OnceLock::new();
    let list = LIST.get_or_init(|| std::env::var("BAILIWICK_TEST_WITHOUT").unwrap_or_default());
    list.split(',').any(|word| {
        use std::fmt::Write as _;
        let mut rest = Rest(word);
        write!(rest, "{layer:?}").is_ok() && rest.0.is_empty()
    })
}

/// What is left of a word when what is written has been taken from its beginning.
#[cfg(all(feature = "layer-switches", debug_assertions))]
struct Rest<'a>(&'a str);

#[cfg(all(feature = "layer-switches", debug_assertions))]
impl std::fmt::Write for Rest<'_> {
    fn write_str(&mut self, begin: &str) -> std::fmt::Result {
        let (is, rest) = self
            .0
            .split_at_checked(begin.len())
            .ok_or(std::fmt::Error)?;
        self.0 = rest;
        match is.eq_ignore_ascii_case(begin) {
            true => Ok(()),
            false => Err(std::fmt::Error),
        }
    }
}

/// The newest version of Landlock that may be used: `BAILIWICK_TEST_LANDLOCK_ABI=3`.
#[cfg(all(feature = "layer-switches", debug_assertions))]
pub(crate) fn landlock_abi() -> Option<i64> {
    std::env::var("BAILIWICK_TEST_LANDLOCK_ABI")
        .ok()?
        .parse()
        .ok()
}
