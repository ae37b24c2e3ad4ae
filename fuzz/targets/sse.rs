//! Server-sent events (a byte that says where they are cut, and the stream): in any pieces they
//! are those that the standard's steps give on the whole stream.
#![no_main]

#[path = "../reference/pieces.rs"]
mod pieces;

use bailiwick_gate::fuzzing::sse;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((seed, stream)) = data.split_first() else {
        return;
    };
    let (events, dropped) = sse(&pieces::pieces(*seed, stream));
    assert!(!dropped, "an event of {} bytes is left out", stream.len());
    assert_eq!(events, standard(stream));
    let bytes: Vec<&[u8]> = stream.chunks(1).collect();
    assert_eq!(sse(&bytes).0, events, "byte by byte");
});

/// WHATWG HTML §9.2.6, step by step.
fn standard(stream: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(stream);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut events = Vec::new();
    let (mut name, mut data) = (String::new(), String::new());
    let mut lines: Vec<&str> = text.split('\n').collect();
    // What follows the last line's end is no line.
    lines.pop();
    for line in lines {
        let (field, value) = match line.split_once(':') {
            None if line.is_empty() => {
                let kind = std::mem::take(&mut name);
                let lines = std::mem::take(&mut data);
                if let Some(data) = lines.strip_suffix('\n') {
                    let kind = if kind.is_empty() { "message" } else { &kind };
                    events.push((kind.to_owned(), data.to_owned()));
                }
                continue;
            }
            None => (line, ""),
            Some((field, value)) => (field, value.strip_prefix(' ').unwrap_or(value)),
        };
        match field {
            "event" => name = value.to_owned(),
            "data" => data += &format!("{value}\n"),
            _ => {}
        }
    }
    events
}
