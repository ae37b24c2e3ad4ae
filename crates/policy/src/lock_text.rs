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

    /// BLAKE3 of [`Effective::to_lock`], in hex.
    #[must_use]
    pub fn hash(&self) -> String {
        blake3::hash(self.to_lock().as_bytes()).to_hex().to_string()
    }
}
