//! The shipped templates as what reading them gives. Reading `default` was a tenth of a whole
//! start.
//!
//! Decision: what stands in `policies/parsed` is made from the texts by this file's test, which
//! fails where the two differ. The texts stay what people read, and what every message shows.

use crate::document::Document;
use crate::entry::{Entry, Value};
use crate::keys::KEYS;
use crate::source_text::SourceText;
use crate::templates;
use bailiwick_event::Origin;
use bailiwick_rules::Memory;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::Arc;

/// A line and a column, from 1.
type Place = (u32, u32);

/// A document without its text.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Parsed {
    /// Of the text that was read, and of the keys of that time.
    digest: u64,
    entries: Vec<ParsedEntry>,
    network: Option<Place>,
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct ParsedEntry {
    /// The key's place in the table of keys.
    key: usize,
    value: Value,
    span: Range<usize>,
    at: Place,
}

/// What a text and the table of keys are told from others by: FNV-1a, computed when the program is
/// compiled. It finds what was forgotten, and nobody who means harm: all of it is the program's own.
pub(crate) const fn digest(text: &str) -> u64 {
    const fn add(mut hash: u64, text: &str) -> u64 {
        let bytes = text.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            hash = (hash ^ bytes[at] as u64).wrapping_mul(0x0100_0000_01b3);
            at += 1;
        }
        hash
    }
    let mut hash = add(0xcbf2_9ce4_8422_2325, text);
    let mut key = 0;
    while key < KEYS.len() {
        hash = add(hash, KEYS[key].path);
        key += 1;
    }
    hash
}

/// The document of a template's text; none where the text is no template's.
pub(crate) fn of(source: &Arc<SourceText>) -> Option<Document> {
    let name = source.shown.strip_prefix("template:")?;
    let template = templates::named(name)?;
    if source.path.is_some() || source.text != template.text {
        return None;
    }
    let Parsed {
        digest,
        entries,
        network,
    } = postcard::from_bytes(template.parsed).ok()?;
    // Of another text, or for other keys: it is read instead.
    if digest != template.digest {
        return None;
    }
    let origin = |(line, column): Place| Origin::new(Arc::clone(&source.shown), line, column);
    let entry = |entry: ParsedEntry| {
        Some(Entry {
            key: KEYS.get(entry.key)?,
            value: entry.value,
            span: entry.span,
            origin: origin(entry.at),
        })
    };
    Some(Document {
        source: Arc::clone(source),
        entries: entries.into_iter().map(entry).collect::<Option<_>>()?,
        network: network.map(origin),
        warnings: Vec::new(),
        memory: Memory::default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// What reading a template's text gives.
    fn read(name: &str, text: &str) -> Parsed {
        let source = SourceText::new("a text like any other", None, text.to_owned());
        let document = Document::parse(source).expect("a template has no mistakes");
        assert!(document.warnings.is_empty(), "{name}");
        let place = |origin: &Origin| (origin.line, origin.column);
        let entries = document.entries.iter().map(|entry| ParsedEntry {
            key: entry.key.id as usize,
            value: entry.value.clone(),
            span: entry.span.clone(),
            at: place(&entry.origin),
        });
        Parsed {
            digest: digest(text),
            entries: entries.collect(),
            network: document.network.as_ref().map(place),
        }
    }

    #[test]
    fn what_stands_beside_a_template_is_what_reading_it_gives() {
        let folder = Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../policies/parsed"
        ));
        for template in templates::all() {
            let meant = postcard::to_allocvec(&read(template.name, template.text)).unwrap();
            if std::env::var_os("BLESS").is_some() {
                std::fs::create_dir_all(folder).unwrap();
                std::fs::write(folder.join(template.name), &meant).unwrap();
                continue;
            }
            assert!(
                meant == template.parsed,
                "policies/parsed/{} is not what policies/{0}.toml says; make it anew with \
                 `BLESS=1 cargo test -p bailiwick-policy parsed`",
                template.name
            );
        }
    }

    #[test]
    fn a_template_is_the_same_document_either_way() {
        for template in templates::all() {
            let text = template.text.to_owned();
            let shown = format!("template:{}", template.name);
            let source = Arc::new(SourceText::new(&shown, None, text));
            let quick = of(&source).expect(template.name);
            let slow = Document::read(Arc::clone(&source)).unwrap();
            assert_eq!(
                format!("{:?}", quick.entries),
                format!("{:?}", slow.entries)
            );
            assert_eq!(quick.network, slow.network);
        }
    }

    #[test]
    fn a_text_that_only_has_a_templates_name_is_read() {
        let source = SourceText::new("template:default", None, "unknown = 1".to_owned());
        assert!(of(&Arc::new(source)).is_none());
    }
}
