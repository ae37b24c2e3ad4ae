//! OpenAI's Chat Completions. In a stream the tokens come last, in a chunk without choices, and
//! only where the request asked for them.

use crate::model::answer::{Gathered, Key};
use crate::model::tree::Tree;

pub(super) fn take(gathered: &mut Gathered, chunk: &Tree) {
    if let Some(error) = chunk.get("error") {
        gathered.error(error, &["type", "code"]);
    }
    gathered.model(chunk, "model");
    gathered.usage.served(chunk);
    let groq = chunk.get("x_groq").and_then(|groq| groq.get("usage"));
    match chunk.get("usage").or(groq) {
        Some(usage) => gathered.usage.chat(usage),
        None if !chunk.list("choices").is_empty() => gathered.usage.more_written(),
        None => {}
    }
    for (place, choice) in (0..).zip(chunk.list("choices")) {
        let choice_index = choice.number("index").unwrap_or(place);
        if let Some(message) = choice.get("delta").or(choice.get("message")) {
            take_message(gathered, choice_index, message);
        }
        // Of several alternatives the first one is the answer.
        if choice_index == 0 {
            gathered.stop(choice.name("finish_reason"));
        }
    }
}

fn take_message(gathered: &mut Gathered, choice: u64, message: &Tree) {
    for thought in ["reasoning_content", "reasoning", "refusal"] {
        gathered.thought(message.text(thought));
    }
    match message.get("content") {
        Some(Tree::List(parts)) if choice == 0 => {
            for (place, part) in (0..).zip(parts) {
                gathered.text(place, part.text("text").unwrap_or_default());
            }
        }
        Some(content) if choice == 0 => {
            gathered.text(0, content.as_text().unwrap_or_default());
        }
        other => gathered.thought(other.and_then(Tree::as_text)),
    }
    for (place, call) in (0..).zip(message.list("tool_calls")) {
        let function = call.get("function").or(call.get("custom"));
        let key = match (call.number("index"), call.name("id")) {
            (Some(index), _) => Key::Place(choice, index),
            (None, Some(id)) => Key::Id(id.to_owned()),
            (None, None) => Key::Place(choice, place),
        };
        let name = function.and_then(|function| function.name("name"));
        gathered.call(key, call.name("id"), name);
    }
    if let Some(call) = message.get("function_call") {
        gathered.call(Key::Place(choice, u64::MAX), None, call.name("name"));
    }
}
