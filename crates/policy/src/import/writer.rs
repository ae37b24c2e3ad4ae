//! The draft as a file. What is written is read back by the loader's own parser: an entry that
//! another one takes away again would be a mistake there, so it is taken out here and told.

use super::Imported;
use super::draft::{Draft, Line};
use super::left_out::LeftOut;
use crate::Severity;
use crate::document::Document;
use crate::error::PolicyError;
use crate::keys::{self, Effect, KeyId, SECTIONS};
use crate::show::quote;
use crate::source_text::SourceText;
use bailiwick_event::Text;
use std::fmt::Write;
use std::ops::Range;

/// Writes the policy and reads it back.
pub(super) fn write(mut draft: Draft, title: &str) -> Result<Imported, PolicyError> {
    loop {
        let page = render(&draft, title);
        let source = SourceText::new("the imported policy", None, page.text.clone());
        let found = match Document::parse(source) {
            Ok(_) => {
                return Ok(Imported {
                    policy: page.text,
                    left_out: draft.left,
                });
            }
            Err(found) => found,
        };
        let mut taken: Vec<usize> = Vec::new();
        for diagnostic in found.iter().filter(|d| d.severity == Severity::Error) {
            let at = diagnostic.span.start;
            match page.spans.iter().position(|span| span.contains(&at)) {
                Some(line) => taken.push(line),
                None => return Err(PolicyError::Invalid(found)),
            }
        }
        if taken.is_empty() {
            return Err(PolicyError::Invalid(found));
        }
        taken.sort_unstable();
        taken.dedup();
        for line in taken.into_iter().rev() {
            let line = draft.lines.remove(line);
            // What narrows and has no effect is said by a wider entry.
            if keys::of(line.key).effect != Effect::Narrows {
                draft.left.push(LeftOut {
                    origin: line.origin,
                    key: line.from,
                    why: format!(
                        "\"{}\" is denied or protected by another entry, so it is not granted",
                        line.value
                    ),
                    instead: "remove that entry from the policy if this one is meant".to_owned(),
                });
            }
        }
        draft.settle();
    }
}

struct Page {
    text: String,
    /// Where each line of the draft stands.
    spans: Vec<Range<usize>>,
}

fn comment(text: &str) -> String {
    Text::from(text).to_string()
}

fn render(draft: &Draft, title: &str) -> Page {
    let mut page = Page {
        text: format!(
            "# {}\n# An entry's comment is the key that it comes from. Paths with ** begin at the workspace.\n",
            comment(title)
        ),
        spans: Vec::new(),
    };
    let text = &mut page.text;
    let (base, from) = draft.base();
    let from = match (from, base) {
        (Some(key), _) => comment(key),
        (None, _) => "nothing makes the workspace writable".to_owned(),
    };
    let _ = writeln!(text, "extends = [\"{base}\"] # {from}");
    for (section, _) in SECTIONS {
        let mut open = None;
        let lines = draft.lines.iter();
        for line in lines.filter(|l| keys::of(l.key).section() == *section) {
            if open.is_none() {
                let _ = writeln!(text, "\n[{section}]");
            }
            if open != Some(line.key) {
                close(text, open);
                if line.name.is_none() {
                    let _ = writeln!(text, "{} = [", keys::of(line.key).name());
                }
                open = Some(line.key);
            }
            let start = text.len();
            entry(text, line);
            page.spans.push(start..text.len());
        }
        close(text, open);
    }
    page
}

/// Ends a list.
fn close(text: &mut String, open: Option<KeyId>) {
    if open.is_some_and(|key| key != KeyId::Set) {
        text.push_str("]\n");
    }
}

fn entry(text: &mut String, line: &Line) {
    let (value, from) = (quote(&line.value), comment(&line.from));
    let _ = match &line.name {
        Some(name) => {
            let key = keys::of(line.key).name();
            writeln!(text, "{key}.{} = {value} # {from}", quote(name))
        }
        None => writeln!(text, "    {value}, # {from}"),
    };
}
