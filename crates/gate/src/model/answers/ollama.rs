//! Ollama's `chat` and `generate`. The last line has the figures.

use crate::model::answer::{Gathered, Key};
use crate::model::tree::Tree;

pub(super) fn take(gathered: &mut Gathered, line: &Tree) {
    if let Some(error) = line.get("error") {
        // It is a sentence, or an object in some versions.
        gathered.error(error, &["type"]);
        return;
    }
    gathered.model(line, "model");
    gathered.thought(line.text("thinking"));
    gathered.text(0, line.text("response").unwrap_or_default());
    if let Some(message) = line.get("message") {
        gathered.thought(message.text("thinking"));
        gathered.text(0, message.text("content").unwrap_or_default());
        for call in message.list("tool_calls") {
            let name = call
                .get("function")
                .and_then(|function| function.name("name"));
            gathered.call(Key::Alone, call.name("id"), name);
        }
    }
    if line.flag("done") == Some(true) {
        gathered.usage.ollama(line);
        gathered.stop(line.name("done_reason"));
        gathered.ended = true;
    }
}
