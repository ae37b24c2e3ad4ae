//! What is served, and what the servers of one test know together.

use super::Log;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// The words of a stream. The last is sent when the client has said that it saw the first: a stream
/// that somebody holds back until its end has another last word.
pub(crate) const EVENTS: [&str; 2] = ["first", "last"];
/// The headers of one answer, sorted; "long" stands for ten thousand digits.
pub(crate) const HEADERS: [(&str, &str); 6] = [
    ("set-cookie", "a=1; path=/"),
    ("set-cookie", "b=2, c=3"),
    ("x-empty", ""),
    ("x-long", "long"),
    ("x-spaces", "a  b"),
    ("x-word", "caf\u{e9}"),
];
const HELD_BACK: &str = "held-back";
/// How long the client has to say so, on the busiest machine. A gate that holds a body back for a rule refuses
/// it before that.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Served {
    pub(crate) log: Log,
    pub(crate) sites: PathBuf,
    pub(crate) large: Vec<u8>,
    pub(super) gzip: Vec<u8>,
    seen: Semaphore,
}

impl Served {
    pub(super) fn new(sites: &Path) -> Self {
        let large = large();
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&large).unwrap();
        Self {
            log: Log::default(),
            sites: sites.to_owned(),
            gzip: gzip.finish().unwrap(),
            large,
            seen: Semaphore::new(0),
        }
    }

    /// The client saw the first word of a stream.
    pub(super) fn saw(&self) {
        self.seen.add_permits(1);
    }

    /// The stream's last word, when it is time for it.
    pub(super) async fn last(&self) -> &'static str {
        match timeout(PATIENCE, self.seen.acquire()).await {
            Ok(Ok(permit)) => {
                permit.forget();
                EVENTS[1]
            }
            _ => HELD_BACK,
        }
    }
}

/// Two mebibytes in which nothing repeats in short, and which compress by half.
fn large() -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state & 0x0F0F_0F0F_0F0F_0F0F
    };
    (0..262_144).flat_map(|_| next().to_le_bytes()).collect()
}
