//! What runs the guest's instructions: the processor, or QEMU in its place.

use std::fmt;

/// How a machine runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accelerator {
    /// The processor's own virtualisation.
    Kvm,
    /// QEMU translates every instruction.
    Tcg,
}

impl Accelerator {
    /// What was found to run a guest here.
    #[must_use]
    pub fn here() -> Self {
        Self::Tcg
    }
}

impl fmt::Display for Accelerator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        })
    }
}
