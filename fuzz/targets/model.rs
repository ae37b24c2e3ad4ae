//! Calls to language models (a letter for the API, one for the form, a byte that says where the
//! bytes are cut, and a body): an answer is the same in any pieces, and says nothing that is not in
//! it; the beginning of a request says nothing that the whole does not.
#![no_main]

#[path = "../reference/pieces.rs"]
mod pieces;

use bailiwick_gate::fuzzing::{Answer, Question, answer, question};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

/// The most text, in bytes.
const MAX_TEXT: usize = 8 * 1024;
/// The most calls, results or tools.
const MAX_LIST: usize = 1024;
/// The most tokens that are believed.
const MOST_TOKENS: u64 = 1 << 40;

fuzz_target!(|data: &[u8]| {
    let [api, form, seed, body @ ..] = data else {
        return;
    };
    let path = match api {
        b'M' => "/v1/messages",
        b'C' => "/v1/chat/completions",
        b'R' => "/v1/responses",
        b'G' => "/v1beta/models/gemini-2.5-pro:generateContent",
        _ => "/api/chat",
    };
    let header = match form {
        b'q' => return check_question(path, *seed, body),
        b's' => Some("text/event-stream"),
        b'j' => Some("application/json"),
        _ => None,
    };
    let priced_as = match api {
        b'M' => ("anthropic", "claude-sonnet-4-5"),
        b'G' => ("google", "gemini-2.5-pro"),
        _ => ("openai", "gpt-4o"),
    };
    let read = |pieces: &[&[u8]]| answer(path, header, pieces, priced_as).expect("a call");
    let whole = read(&[body]);
    assert_eq!(read(&pieces::pieces(*seed, body)), whole, "in pieces");
    check_answer(&whole, body);
    if *form == b'j' {
        compare_answer(*api, &whole, body);
    }
});

/// An answer says nothing that is not in its bytes.
fn check_answer(answer: &Answer, body: &[u8]) {
    let text = String::from_utf8_lossy(body);
    let says = |name: &Option<String>| {
        let name = name.as_deref().unwrap_or_default();
        assert!(text.contains('\\') || text.contains(name), "{name:?}");
        assert!(name.len() <= 512);
    };
    says(&answer.model);
    says(&answer.stop);
    if answer.error.as_deref() != Some("error") {
        says(&answer.error);
    }
    let objects = body.iter().filter(|byte| **byte == b'{').count();
    assert!(answer.calls.len() <= objects.min(MAX_LIST));
    for (id, name) in &answer.calls {
        says(id);
        says(name);
    }
    assert!(
        answer
            .text
            .as_ref()
            .is_none_or(|text| text.len() <= MAX_TEXT)
    );
    assert!(answer.begun || answer.text.is_none() && answer.calls.is_empty());

    let numbers = numbers(&text);
    let told = |figure: Option<u64>, most_terms: u32| {
        let Some(figure) = figure else { return };
        assert!(figure <= 3 * MOST_TOKENS);
        assert!(
            is_sum(figure, &numbers, most_terms),
            "{figure} was not told"
        );
    };
    // What was read from a cache and written to it may be apart, and thoughts may be.
    told(answer.input, 3);
    // No tokens are written where all that there are were read.
    told(answer.output.filter(|output| *output > 0), 2);
    told(answer.cached, 1);
    told(answer.written, 1);
    told(answer.written_hour, 1);
    let part = answer.cached.unwrap_or(0) + answer.written.unwrap_or(0);
    assert!(answer.input.is_none_or(|input| part <= input));
    if let (Some(written), Some(hour)) = (answer.written, answer.written_hour) {
        assert!(hour <= written);
    }
    if let Some(cost) = answer.cost {
        let tokens = answer.input.expect("a figure") + answer.output.expect("a figure");
        assert!((0.0..=tokens as f64).contains(&cost), "{cost}");
    }
}

/// All that could be a number.
fn numbers(text: &str) -> Vec<u64> {
    let runs = text.split(|c: char| !c.is_ascii_digit());
    let mut numbers: Vec<u64> = runs.filter_map(|run| run.parse().ok()).collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

/// Whether a figure is one of the numbers, or a sum of some.
fn is_sum(figure: u64, numbers: &[u64], most_terms: u32) -> bool {
    // A longer search would cost more than it finds.
    if most_terms > 1 && numbers.len() > 64 {
        return true;
    }
    numbers.binary_search(&figure).is_ok()
        || most_terms > 1
            && numbers
                .iter()
                .filter_map(|number| figure.checked_sub(*number))
                .any(|rest| is_sum(rest, numbers, most_terms - 1))
}

/// What another reader of JSON finds in an answer in one piece.
fn compare_answer(api: u8, answer: &Answer, body: &[u8]) {
    let Some(value) = whole(body) else { return };
    if answer.malformed || !value.is_object() {
        return;
    }
    let input = match api {
        b'C' if !value["usage"].is_null() => figure(&value["usage"]["prompt_tokens"]),
        b'M' if value["type"] == "message" => {
            let usage = &value["usage"];
            let parts = ["cache_read_input_tokens", "cache_creation_input_tokens"];
            let rest = parts.iter().try_fold(0, |sum, part| match &usage[part] {
                Value::Null => Some(sum),
                part => figure(part).map(|part| part + sum),
            });
            figure(&usage["input_tokens"]).and_then(|input| Some(input + rest?))
        }
        _ => return,
    };
    assert_eq!(answer.input, input);
    assert_eq!(answer.model, name(&value["model"]));
}

/// The beginning of a request says what the whole says, or less.
fn check_question(path: &str, seed: u8, body: &[u8]) {
    let read = |body: &[u8]| question(path, body).expect("a call");
    let whole: Question = read(body);
    assert!(whole.tools.len() <= MAX_LIST && whole.results.len() <= MAX_LIST);
    assert!(
        whole
            .text
            .as_ref()
            .is_none_or(|text| text.len() <= MAX_TEXT)
    );
    let text = String::from_utf8_lossy(body);
    if !text.contains('\\') {
        for name in &whole.tools {
            let own = matches!(
                name.as_str(),
                "google_search" | "code_execution" | "url_context"
            );
            assert!(own || text.contains(name.as_str()), "{name:?}");
        }
    }
    if whole.malformed || whole.cut {
        return;
    }
    if let Some(value) = self::whole(body).filter(|_| !path.contains("gemini")) {
        assert_eq!(whole.model, name(&value["model"]));
        if !value["stream"].is_null() {
            assert_eq!(whole.streaming, value["stream"].as_bool());
        }
        if path.ends_with("messages") {
            assert_eq!(whole.most_tokens, value["max_tokens"].as_u64());
        }
    }
    let pieces = pieces::pieces(seed, body);
    let ends = pieces.iter().scan(0, |end, piece| {
        *end += piece.len();
        Some(*end)
    });
    // A number that is cut is another number.
    let in_numbers = (1..body.len()).filter(|at| body[at - 1..=*at].iter().all(u8::is_ascii_digit));
    for at in ends.take(16).chain(in_numbers.take(16)) {
        let part = read(&body[..at]);
        assert!(!part.malformed, "cut at {at}");
        let less = part.model.is_none() || part.model == whole.model;
        assert!(less, "model, cut at {at}");
        let less = part.most_tokens.is_none() || part.most_tokens == whole.most_tokens;
        assert!(less, "tokens, cut at {at}");
        let less = part.streaming.is_none() || part.streaming == whole.streaming;
        assert!(less, "streaming, cut at {at}");
        assert!(whole.tools.starts_with(&part.tools), "tools, cut at {at}");
        assert!(
            part.text.is_none() || part.text == whole.text,
            "text, cut at {at}"
        );
        let less = part.results.is_empty() || part.results == whole.results;
        assert!(less, "results, cut at {at}");
    }
}

fn whole(body: &[u8]) -> Option<Value> {
    serde_json::from_slice(body).ok()
}

fn figure(value: &Value) -> Option<u64> {
    value.as_u64().filter(|figure| *figure <= MOST_TOKENS)
}

fn name(value: &Value) -> Option<String> {
    let name = value
        .as_str()
        .filter(|name| (1..=512).contains(&name.len()));
    name.map(str::to_owned)
}
