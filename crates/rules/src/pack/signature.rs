//! Signatures of packs, in the format of minisign: who may put rules into force is decided by
//! whoever holds a key, not by whoever can write a file.

use minisign_verify::{PublicKey, Signature};
use std::fmt;

/// Why a pack's signature does not stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// A key that is none.
    Key(String),
    /// A signature that is none.
    Malformed(String),
    /// No key of those that are trusted made it for this text.
    NotTrusted,
}

impl fmt::Display for SignatureError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(
                f,
                "{key:?} is no public key of minisign; write the line that begins with RW"
            ),
            Self::Malformed(why) => write!(f, "the signature cannot be read: {why}"),
            Self::NotTrusted => f.write_str(
                "no trusted key signed this pack as it is; sign it anew with `minisign -S`, or add the key",
            ),
        }
    }
}
impl std::error::Error for SignatureError {}

/// Whether a text is a public key.
#[must_use]
pub fn is_public_key(text: &str) -> bool {
    PublicKey::from_base64(text).is_ok()
}

/// Whether one of some public keys signed a text (`minisign -Sm FILE`).
///
/// # Errors
/// [`SignatureError`] where none did.
pub fn verify(text: &[u8], signature: &str, keys: &[String]) -> Result<(), SignatureError> {
    let signature =
        Signature::decode(signature).map_err(|e| SignatureError::Malformed(e.to_string()))?;
    for key in keys {
        let key = PublicKey::from_base64(key).map_err(|_| SignatureError::Key(key.clone()))?;
        // Signatures of the text itself, which minisign made until 2021, are not taken.
        if key.verify(text, &signature, false).is_ok() {
            return Ok(());
        }
    }
    Err(SignatureError::NotTrusted)
}
