//! OpenAI's Responses. A stream's last event holds the whole answer once more; what came before
//! it is not counted twice.

use crate::model::answer::{Gathered, Key};
use crate::model::tree::Tree;

pub(super) fn take(gathered: &mut Gathered, event: &Tree) {
    let kind = event.text("type").unwrap_or_default();
    match kind {
        "response.completed" | "response.incomplete" | "response.failed" => {
            if let Some(answer) = event.get("response") {
                take_whole(gathered, answer);
            }
            gathered.ended = true;
        }
        "response.output_item.added" | "response.output_item.done" => {
            if let Some(item) = event.get("item") {
                take_call(gathered, place(event), item);
            }
        }
        "response.output_text.delta" => {
            gathered.text(place(event), event.text("delta").unwrap_or_default());
        }
        "error" => gathered.error(event.get("error").unwrap_or(event), &["code", "type"]),
        _ if kind.ends_with(".delta") => gathered.thought(event.text("delta")),
        _ if kind.starts_with("response.") => {
            if let Some(answer) = event.get("response") {
                gathered.model(answer, "model");
            }
        }
        // No event: an answer in one piece, or an error.
        _ => {
            take_whole(gathered, event);
            // One that goes on in the background is not at its end.
            let goes_on = matches!(event.text("status"), Some("queued" | "in_progress"));
            gathered.ended |= event.get("output").is_some() && !goes_on;
        }
    }
}

fn place(event: &Tree) -> u64 {
    event.number("output_index").unwrap_or_default()
}

fn take_whole(gathered: &mut Gathered, answer: &Tree) {
    gathered.model(answer, "model");
    gathered.usage.served(answer);
    if let Some(usage) = answer.get("usage") {
        gathered.usage.responses(usage);
    }
    let told = gathered.has_text();
    for (place, item) in (0..).zip(answer.list("output")) {
        if !told && item.text("type") == Some("message") {
            for part in item.list("content") {
                if part.text("type") == Some("output_text") {
                    gathered.text(place, part.text("text").unwrap_or_default());
                }
            }
        }
        take_call(gathered, place, item);
    }
    let reason = answer.get("incomplete_details");
    let reason = reason.and_then(|reason| reason.name("reason"));
    match reason.or(answer.name("status")) {
        None | Some("queued" | "in_progress") => {}
        stop => gathered.stop(stop),
    }
    if let Some(error) = answer.get("error") {
        gathered.error(error, &["code", "type"]);
    }
}

/// Takes an item that is a call of one of the program's tools.
fn take_call(gathered: &mut Gathered, place: u64, item: &Tree) {
    let kind = item.name("type");
    let name = match kind {
        Some("function_call" | "custom_tool_call") => item.name("name"),
        // Tools of the API's own that the program carries out.
        Some("local_shell_call" | "shell_call" | "apply_patch_call" | "computer_call") => kind,
        _ => return,
    };
    let id = item.name("call_id");
    let key = id.map_or(Key::Place(0, place), |id| Key::Id(id.to_owned()));
    gathered.call(key, id, name);
}
