//! Gemini's `generateContent`. Each part of a stream has the shape of a whole answer, and its
//! figures are those of all so far.

use crate::model::answer::{Gathered, Key};
use crate::model::tree::Tree;

pub(super) fn take(gathered: &mut Gathered, part: &Tree) {
    // Code Assist wraps it.
    let part = part.get("response").unwrap_or(part);
    if let Some(error) = part.get("error") {
        gathered.error(error, &["status", "code"]);
    }
    gathered.model(part, "model_version");
    match part.get("usage_metadata") {
        Some(usage) => gathered.usage.gemini(usage),
        None if !part.list("candidates").is_empty() => gathered.usage.more_written(),
        None => {}
    }
    for (place, candidate) in (0..).zip(part.list("candidates")) {
        let index = candidate.number("index").unwrap_or(place);
        if let Some(content) = candidate.get("content") {
            for part in content.list("parts") {
                take_part(gathered, index, part);
            }
        }
        // Of several alternatives the first one is the answer.
        if index == 0 {
            gathered.stop(candidate.name("finish_reason"));
        }
    }
    let feedback = part.get("prompt_feedback");
    gathered.stop(feedback.and_then(|feedback| feedback.name("block_reason")));
}

fn take_part(gathered: &mut Gathered, candidate: u64, part: &Tree) {
    let text = part.text("text");
    match candidate == 0 && part.flag("thought") != Some(true) {
        true => gathered.text(0, text.unwrap_or_default()),
        false => gathered.thought(text),
    }
    if let Some(call) = part.get("function_call") {
        gathered.call(Key::Alone, call.name("id"), call.name("name"));
    }
}
