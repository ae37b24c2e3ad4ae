//! Calls to language models, read from bytes alone.

use crate::model;

/// What a call asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The model.
    pub model: Option<String>,
    /// Whether the answer is to come bit by bit.
    pub streaming: Option<bool>,
    /// The names of the tools that are offered.
    pub tools: Vec<String>,
    /// The most tokens that may be written.
    pub most_tokens: Option<u64>,
    /// The texts of the last turn.
    pub text: Option<String>,
    /// Id, name and failure of the results in the last turn.
    pub results: Vec<(Option<String>, Option<String>, Option<bool>)>,
    /// There may be more.
    pub cut: bool,
    /// It cannot be read in one way.
    pub malformed: bool,
}

/// What an answer says.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The model.
    pub model: Option<String>,
    /// Why it ended.
    pub stop: Option<String>,
    /// The type of the error.
    pub error: Option<String>,
    /// The text.
    pub text: Option<String>,
    /// Id and name of the calls.
    pub calls: Vec<(Option<String>, Option<String>)>,
    /// Tokens that were read.
    pub input: Option<u64>,
    /// Tokens that were written.
    pub output: Option<u64>,
    /// Tokens from a cache.
    pub cached: Option<u64>,
    /// Tokens to a cache.
    pub written: Option<u64>,
    /// Tokens to a cache for an hour.
    pub written_hour: Option<u64>,
    /// What it cost, were it the model of that provider.
    pub cost: Option<f64>,
    /// There may be more.
    pub truncated: bool,
    /// A part of it cannot be read in one way.
    pub malformed: bool,
    /// Something that the model wrote has come.
    pub begun: bool,
}

/// Reads the body of a call by its path; none where the path is none of a call.
#[must_use]
pub fn question(path: &str, body: &[u8]) -> Option<Question> {
    let call = model::recognise("mock.test", "POST", path)?;
    let question = model::read(&call, body);
    let results = question.results.into_iter();
    Some(Question {
        model: question.model,
        streaming: question.streaming,
        tools: question.tools,
        most_tokens: question.most_tokens,
        text: question.text,
        results: results.map(|r| (r.id, r.name, r.is_error)).collect(),
        cut: question.cut,
        malformed: question.malformed,
    })
}

/// Reads an answer to a call, in pieces; none where the path is none of a call.
#[must_use]
pub fn answer(
    path: &str,
    content_type: Option<&str>,
    pieces: &[&[u8]],
    priced_as: (&str, &str),
) -> Option<Answer> {
    let call = model::recognise("mock.test", "POST", path)?;
    let mut reader = model::Reader::new(call.api, content_type);
    for piece in pieces {
        reader.feed(piece);
    }
    let begun = reader.has_begun();
    let answer = reader.finish();
    let calls = answer.calls.into_iter();
    Some(Answer {
        model: answer.model,
        stop: answer.stop,
        error: answer.error,
        text: answer.text,
        calls: calls.map(|c| (c.id, c.name)).collect(),
        input: answer.usage.input,
        output: answer.usage.output,
        cached: answer.usage.cached,
        written: answer.usage.written,
        written_hour: answer.usage.written_hour,
        cost: model::cost(priced_as.0, priced_as.1, &answer.usage),
        truncated: answer.truncated,
        malformed: answer.malformed,
        begun,
    })
}

/// Reads server-sent events in pieces: the type and the data of each, and whether one was left
/// out.
#[must_use]
pub fn sse(pieces: &[&[u8]]) -> (Vec<(String, String)>, bool) {
    let mut sse = model::Sse::default();
    let mut events = Vec::new();
    for piece in pieces {
        sse.feed(piece, |model::Event { name, data }| {
            events.push((name, data))
        });
    }
    (events, sse.dropped())
}
