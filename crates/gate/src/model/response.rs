//! Reads an answer while it passes.
//!
//! Decision: the same reading for an answer in one piece and bit by bit, in whatever pieces its
//! bytes come; nothing is held back for it, and no more is kept than one event and the facts.

use super::answer::{Answer, Gathered};
use super::answers;
use super::documents::Documents;
use super::provider::Api;
use super::sse::Sse;
use super::tree::{Budget, Tree};

/// How the values of an answer are told apart.
#[derive(Debug)]
enum Framing {
    /// Not known before its first byte.
    Unknown,
    Events(Sse),
    Documents(Documents),
}

/// Reads an answer.
#[derive(Debug)]
pub(crate) struct Reader {
    api: Api,
    framing: Framing,
    gathered: Gathered,
}

impl Reader {
    /// Begins to read an answer; the header says which form it has, or its first byte does.
    pub(crate) fn new(api: Api, content_type: Option<&str>) -> Self {
        let essence = content_type.unwrap_or_default().split(';').next();
        let essence = essence.unwrap_or_default().trim().to_ascii_lowercase();
        let framing = match essence.as_str() {
            "text/event-stream" => Framing::Events(Sse::default()),
            "application/x-ndjson" | "application/ndjson" | "application/jsonl" => {
                Framing::Documents(Documents::default())
            }
            json if json == "application/json" || json.ends_with("+json") => {
                Framing::Documents(Documents::default())
            }
            _ => Framing::Unknown,
        };
        Self {
            api,
            framing,
            gathered: Gathered::default(),
        }
    }

    /// Reads on.
    pub(crate) fn feed(&mut self, mut bytes: &[u8]) {
        let Self {
            api,
            framing,
            gathered,
        } = self;
        if matches!(framing, Framing::Unknown) {
            let space = bytes.iter().take_while(|b| b.is_ascii_whitespace());
            bytes = &bytes[space.count()..];
            *framing = match bytes.first() {
                None => return,
                Some(b'{' | b'[') => Framing::Documents(Documents::default()),
                Some(_) => Framing::Events(Sse::default()),
            };
        }
        match framing {
            Framing::Unknown => {}
            Framing::Events(sse) => {
                sse.feed(bytes, |event| take_event(*api, gathered, &event.data));
            }
            Framing::Documents(documents) => {
                documents.feed(bytes, |document| take(*api, gathered, document));
            }
        }
    }

    /// Bytes that it keeps.
    pub(crate) fn size(&self) -> usize {
        let framing = match &self.framing {
            Framing::Unknown => 0,
            Framing::Events(sse) => sse.size(),
            Framing::Documents(documents) => documents.size(),
        };
        framing + self.gathered.size()
    }

    /// Whether something that the model wrote has come. Of an answer in one piece all comes at
    /// once.
    pub(crate) fn has_begun(&self) -> bool {
        self.gathered.begun
    }

    /// What the answer said.
    pub(crate) fn finish(self) -> Answer {
        let mut gathered = self.gathered;
        match self.framing {
            Framing::Unknown => {}
            Framing::Events(sse) => gathered.malformed |= sse.dropped(),
            Framing::Documents(documents) => {
                gathered.malformed |= documents.dropped();
                gathered.over |= documents.is_open();
            }
        }
        gathered.into_answer()
    }
}

fn take_event(api: Api, gathered: &mut Gathered, data: &str) {
    match data.trim() {
        // An event without data keeps a connection open.
        "" => {}
        "[DONE]" => gathered.ended = true,
        _ => take(api, gathered, data.as_bytes()),
    }
}

fn take(api: Api, gathered: &mut Gathered, document: &[u8]) {
    let mut budget = Budget::default();
    match Tree::read(document, &mut budget) {
        Some(value) => answers::take(api, gathered, &value),
        None => gathered.malformed = true,
    }
    gathered.malformed |= budget.twice;
    gathered.over |= budget.over;
}

#[cfg(test)]
#[path = "response_tests.rs"]
mod tests;
