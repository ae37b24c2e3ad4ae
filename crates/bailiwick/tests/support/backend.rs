//! What a test runs on. A promise that does not depend on how a sandbox is isolated is one function of a
//! backend: `run` tries it on processes, `vm` the same on virtual machines.

use super::Scratch;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How the sandboxes of a test are isolated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Backend {
    Process,
    Vm,
}

/// A test that is a function of a backend.
pub(crate) struct Shared {
    pub(crate) name: &'static str,
    pub(crate) test: fn(Backend),
    /// Why it does not hold on virtual machines.
    pub(crate) gap: Option<&'static str>,
}

/// Makes tests of functions that take a backend: `files::name` becomes `files::name::on_process`, and in
/// the target `vm` `files::name`. What stands behind a name is why virtual machines do not keep that
/// promise; there it is left out, and listed as left out.
#[allow(
    unused_macros,
    reason = "every test binary has a copy of its own and uses only a part"
)]
macro_rules! on_every_backend {
    ($($name:ident $(: $gap:literal)?),* $(,)?) => {
        #[allow(dead_code, reason = "the target `run` has a test of each instead")]
        pub(crate) const SHARED: &[crate::support::Shared] = &[$(crate::support::Shared {
            name: stringify!($name),
            test: $name,
            gap: crate::support::backend::gap(&[$($gap)?]),
        }),*];
        $(mod $name {
            #[test]
            fn on_process() {
                super::$name(crate::support::Backend::Process);
            }
        })*
    };
}

pub(crate) const fn gap(reasons: &[&'static str]) -> Option<&'static str> {
    match reasons {
        [reason, ..] => Some(reason),
        [] => None,
    }
}

/// What `bailiwick` is called as where runs are virtual machines: every `run` is one, and every
/// `serve` is for them, however a test comes to write it, and everything else is as it is.
const ON_VM: &str = "#!/bin/sh
case $1 in
run|serve) word=$1; shift; exec \"$BAILIWICK\" $word --backend vm \"$@\" ;;
*) exec \"$BAILIWICK\" \"$@\" ;;
esac
";

/// Where an image has its programs.
const SYSTEM: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

impl Backend {
    /// How long a run may take at the most: a machine that is translated beside others takes its time.
    pub(super) fn patience(self) -> Duration {
        match self {
            Self::Process => Duration::from_secs(120),
            Self::Vm => Duration::from_secs(180),
        }
    }

    /// The program that a test calls.
    pub(super) fn binary(self, scratch: &Scratch) -> OsString {
        match self {
            Self::Process => super::binary(),
            Self::Vm => {
                let product = super::binary();
                let script = ON_VM.replace("$BAILIWICK", product.to_str().unwrap());
                let name = "bailiwick-on-vm";
                let path = scratch.root().join(name);
                // Once: it may be running.
                if !path.exists() {
                    scratch.program(name, script);
                }
                path.into()
            }
        }
    }

    /// Variables without which it finds neither images nor its own part of them: a test may have
    /// another home directory.
    pub(super) fn environment(self) -> Vec<(&'static str, OsString)> {
        if self == Self::Process {
            return Vec::new();
        }
        let home = || {
            Some(
                PathBuf::from(std::env::var_os("HOME")?)
                    .join(".cache")
                    .into(),
            )
        };
        let cache = std::env::var_os("XDG_CACHE_HOME").or_else(home);
        [
            // The image's own programs, whatever toolchains the user has on his path.
            ("PATH", Some(SYSTEM.into())),
            ("XDG_CACHE_HOME", cache),
            ("BAILIWICK_GUEST", std::env::var_os("BAILIWICK_GUEST")),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }
}
