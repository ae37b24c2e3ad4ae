//! Files of recorded events, one line of JSON each.

use super::CorpusError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Bytes of the longest line.
pub const MAX_LINE: usize = 16 << 20;

/// Files of recorded events.
#[derive(Clone, Debug, Default)]
pub struct Corpus {
    pub(super) files: Vec<(PathBuf, Arc<str>)>,
    bytes: u64,
}

impl Corpus {
    /// A corpus of these files, which are read one after the other.
    ///
    /// # Errors
    /// [`CorpusError::Io`] where one is no file that can be read.
    pub fn open<P: AsRef<Path>>(paths: impl IntoIterator<Item = P>) -> Result<Self, CorpusError> {
        let mut corpus = Self::default();
        for path in paths {
            let path = path.as_ref();
            let file: Arc<str> = bailiwick_event::Text::from(path.as_os_str())
                .to_string()
                .into();
            let failed = |why: String| CorpusError::Io {
                file: Arc::clone(&file),
                why,
            };
            let found = std::fs::metadata(path).map_err(|e| failed(e.to_string()))?;
            if found.is_dir() {
                return Err(failed("it is a folder; name the files in it".to_owned()));
            }
            corpus.bytes = corpus.bytes.saturating_add(found.len());
            corpus.files.push((path.to_owned(), file));
        }
        Ok(corpus)
    }

    /// The bytes of all files; those of a pipe are not known.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }
}
