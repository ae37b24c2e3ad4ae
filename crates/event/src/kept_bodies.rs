use serde::{Deserialize, Serialize};

/// The bodies of a request and its answer that were kept beside the record.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBodies {
    /// The request's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request: Option<KeptBody>,
    /// The answer's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response: Option<KeptBody>,
}

/// A body that was kept.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptBody {
    /// Its name: the BLAKE3 of what was kept, in hex.
    pub hash: String,
    /// Bytes that were kept, without the coding in which they were sent.
    pub bytes: u64,
    /// Whether there was more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}
