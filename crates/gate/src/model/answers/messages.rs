//! Anthropic's Messages. A stream begins with the tokens that were read; the count of those that
//! were written is true only in `message_delta`, at the end.

use crate::model::answer::{Gathered, Key};
use crate::model::tree::Tree;

pub(super) fn take(gathered: &mut Gathered, event: &Tree) {
    match event.text("type") {
        Some("message_start") => {
            if let Some(message) = event.get("message") {
                gathered.model(message, "model");
                usage(gathered, message, false);
            }
        }
        Some("content_block_start") => {
            if let Some(block) = event.get("content_block") {
                take_block(gathered, index(event), block);
            }
        }
        Some("content_block_delta") => {
            if let Some(delta) = event.get("delta") {
                take_delta(gathered, index(event), delta);
            }
        }
        Some("message_delta") => {
            usage(gathered, event, true);
            gathered.stop(event.get("delta").and_then(|d| d.name("stop_reason")));
        }
        Some("message_stop") => gathered.ended = true,
        Some("message") => {
            gathered.model(event, "model");
            usage(gathered, event, true);
            for (place, block) in (0..).zip(event.list("content")) {
                take_block(gathered, place, block);
            }
            gathered.stop(event.name("stop_reason"));
            gathered.ended = true;
        }
        kind => match event.get("error") {
            Some(error) => gathered.error(error, &["type"]),
            None if kind == Some("error") => gathered.error(&Tree::Null, &[]),
            None => {}
        },
    }
}

fn index(event: &Tree) -> u64 {
    event.number("index").unwrap_or_default()
}

fn usage(gathered: &mut Gathered, message: &Tree, with_output: bool) {
    if let Some(usage) = message.get("usage") {
        gathered.usage.anthropic(usage, with_output);
    }
}

fn take_block(gathered: &mut Gathered, place: u64, block: &Tree) {
    match block.text("type") {
        Some("text") => gathered.text(place, block.text("text").unwrap_or_default()),
        Some("tool_use") => {
            gathered.call(Key::Place(0, place), block.name("id"), block.name("name"));
        }
        Some("thinking") => gathered.thought(block.text("thinking")),
        _ => {}
    }
}

fn take_delta(gathered: &mut Gathered, place: u64, delta: &Tree) {
    match delta.text("type") {
        Some("text_delta") => gathered.text(place, delta.text("text").unwrap_or_default()),
        Some("thinking_delta") => gathered.thought(delta.text("thinking")),
        _ => {}
    }
}
