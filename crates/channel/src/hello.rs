//! The first frame: both sides are of one build of the protocol, or nothing else is said.

/// A number that changes with every line of the schema, of the frames and of the windows, so that two
/// builds that differ in them never take each other's bytes for something else (FNV-1a, 64 bits, of the
/// text).
pub const SCHEMA: u64 = {
    let hash = hash(0xcbf2_9ce4_8422_2325, include_bytes!("schema.rs"));
    let hash = self::hash(hash, include_bytes!("frame.rs"));
    self::hash(hash, include_bytes!("mux/window.rs"))
};

/// What a first frame says: who speaks and which schema.
pub(crate) const LENGTH: usize = 16;
const MAGIC: [u8; 7] = *b"bailiw1";

const fn hash(mut hash: u64, text: &[u8]) -> u64 {
    let mut at = 0;
    while at < text.len() {
        hash = (hash ^ text[at] as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// Which side of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The host's.
    Host,
    /// The guest's.
    Guest,
}

impl Role {
    /// The other side.
    #[must_use]
    pub fn peer(self) -> Self {
        match self {
            Self::Host => Self::Guest,
            Self::Guest => Self::Host,
        }
    }

    /// What it says first.
    pub(crate) fn hello(self) -> [u8; LENGTH] {
        let mut bytes = [0; LENGTH];
        bytes[..7].copy_from_slice(&MAGIC);
        bytes[7] = match self {
            Self::Host => b'h',
            Self::Guest => b'g',
        };
        bytes[8..].copy_from_slice(&SCHEMA.to_le_bytes());
        bytes
    }
}
