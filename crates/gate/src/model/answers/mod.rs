//! How each API tells its answers. Each reader takes one JSON value: an event of a stream, or a
//! whole answer.

mod chat;
mod gemini;
mod messages;
mod ollama;
mod responses;

use super::answer::Gathered;
use super::provider::Api;
use super::tree::Tree;

/// Takes the next value.
pub(super) fn take(api: Api, gathered: &mut Gathered, value: &Tree) {
    match api {
        Api::Messages => messages::take(gathered, value),
        Api::Responses => responses::take(gathered, value),
        Api::Chat => chat::take(gathered, value),
        Api::Gemini => gemini::take(gathered, value),
        Api::Ollama => ollama::take(gathered, value),
    }
}
