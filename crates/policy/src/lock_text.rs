//! The effective policy as one stable text: what a session records, and what its hash is made of.
//! Lists keep their order and maps are sorted, so that the same policy is always the same bytes.

use crate::Effective;

impl Effective {
    /// The policy as TOML; stable, and complete enough to be read back.
    #[must_use]
    pub fn to_lock(&self) -> String {
        // A path that is not UTF-8 cannot be in a policy (its files are UTF-8, and so are the
        // workspace and the home directory), so serialisation has no way to fail; if it ever
        // does, the debug form is as complete and as stable.
        toml::to_string(self).unwrap_or_else(|_| format!("{self:#?}"))
    }

    /// Reads what [`Effective::to_lock`] wrote.
    ///
    /// # Errors
    /// What does not fit, in the parser's words.
    pub fn from_lock(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|e| e.to_string())
    }

    /// What names the policy: BLAKE3, in hex, of its short form (postcard), which the text is read
    /// back to. A start has no time for the text.
    #[must_use]
    pub fn hash(&self) -> String {
        // Serialisation into memory has no way to fail; if it ever does, the text is as stable.
        let bytes = postcard::to_allocvec(self).unwrap_or_else(|_| self.to_lock().into_bytes());
        blake3::hash(&bytes).to_hex().to_string()
    }
}
