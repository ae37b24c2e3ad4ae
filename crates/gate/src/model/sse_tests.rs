use super::*;
use proptest::prelude::*;

fn read(pieces: &[&[u8]]) -> Vec<(String, String)> {
    let mut sse = Sse::default();
    let mut events = Vec::new();
    for piece in pieces {
        sse.feed(piece, |event| events.push((event.name, event.data)));
    }
    events
}

fn data(stream: &str) -> Vec<String> {
    let events = read(&[stream.as_bytes()]);
    events.into_iter().map(|(_, data)| data).collect()
}

#[test]
fn the_standards_examples_are_read() {
    assert_eq!(
        data("data: YHOO\ndata: +2\ndata: 10\n\n"),
        ["YHOO\n+2\n10"],
        "lines of data are joined"
    );
    let stream =
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event";
    assert_eq!(
        data(stream),
        ["first event", "second event"],
        "without an empty line behind it the third is none"
    );
    assert_eq!(data("data\n\ndata\ndata\n\ndata:"), ["", "\n"]);
    assert_eq!(data("data:test\n\ndata: test\n\n"), ["test", "test"]);
}

#[test]
fn each_line_ending_ends_a_line_once() {
    for stream in [
        "data: a\n\ndata: b\n\n",
        "data: a\r\n\r\ndata: b\r\n\r\n",
        "data: a\r\rdata: b\r\r",
        "data: a\r\n\ndata: b\n\r\n",
    ] {
        assert_eq!(data(stream), ["a", "b"], "{stream:?}");
    }
    assert_eq!(data("data: a\r\ndata: b\r\n\r\n"), ["a\nb"]);
}

#[test]
fn an_event_has_the_name_that_was_given_last() {
    let stream = b"event: a\nevent:b\ndata: 1\n\ndata: 2\n\nevent: c\n\ndata: 3\n\nretry: 5\nevent\ndata: 4\n\n";
    let names: Vec<_> = read(&[stream]).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["b", "message", "message", "message"]);
}

#[test]
fn a_byte_order_mark_counts_at_the_start_alone() {
    assert_eq!(data("\u{feff}data: a\n\n\u{feff}data: b\n\n"), ["a"]);
    assert_eq!(data("\u{feff}\ndata: a\n\n"), ["a"]);
}

#[test]
fn fields_of_other_names_and_comments_are_nothing() {
    assert_eq!(
        data(" data: a\nDATA: b\n: data: c\ndatax: d\ndata : e\n\n"),
        [""; 0]
    );
    assert_eq!(data(": OPENROUTER PROCESSING\n\ndata: {}\n\n"), ["{}"]);
}

#[test]
fn what_is_no_text_is_replaced() {
    let events = read(&[b"event: \xff\ndata: a\xc3\n\n"]);
    assert_eq!(events, [("\u{fffd}".to_owned(), "a\u{fffd}".to_owned())]);
}

#[test]
fn too_large_an_event_is_left_out_and_the_next_one_read() {
    let piece = [b'x'; 64 * 1024];
    for (start, lines) in [("data: ", false), ("", false), ("data:", true)] {
        let mut sse = Sse::default();
        let mut events = Vec::new();
        let mut feed = |bytes: &[u8]| {
            sse.feed(bytes, |event| events.push(event.data));
            let kept = sse.line.capacity() + sse.data.capacity() + sse.name.capacity();
            assert!(kept <= 4 * MAX_EVENT, "{kept} bytes");
        };
        feed(start.as_bytes());
        for _ in 0..MAX_EVENT / piece.len() + 8 {
            feed(&piece);
            if lines {
                feed(b"\ndata:");
            }
        }
        feed(b"\ndata: more\n\ndata: next\n\n");
        assert_eq!(events, ["next"]);
        assert!(sse.dropped());
    }
}

#[test]
fn the_largest_event_is_read_and_a_long_comment_costs_nothing() {
    let mut sse = Sse::default();
    let mut lengths = Vec::new();
    let largest = "x".repeat(MAX_EVENT - "data:".len());
    sse.feed(format!("data:{largest}\n\n").as_bytes(), |e| {
        lengths.push(e.data.len())
    });
    sse.feed(format!("data:{largest}y\n\n").as_bytes(), |e| {
        lengths.push(e.data.len())
    });
    assert!(sse.dropped());
    let mut sse = Sse::default();
    let comment = format!(":{}\ndata: a\n\n", "x".repeat(2 * MAX_EVENT));
    sse.feed(comment.as_bytes(), |e| lengths.push(e.data.len()));
    assert!(!sse.dropped());
    assert_eq!(lengths, [largest.len(), 1]);
}

/// The standard's steps, on the whole stream.
fn slowly(stream: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(stream);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let mut lines: Vec<&str> = text.split('\n').collect();
    lines.pop();
    let (mut name, mut data, mut events) = (String::new(), String::new(), Vec::new());
    for line in lines {
        if line.is_empty() {
            let kind = std::mem::take(&mut name);
            if let Some(data) = std::mem::take(&mut data).strip_suffix('\n') {
                let kind = if kind.is_empty() {
                    "message".to_owned()
                } else {
                    kind
                };
                events.push((kind, data.to_owned()));
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value.to_owned(),
            "data" => data += &format!("{value}\n"),
            _ => {}
        }
    }
    events
}

proptest! {
    #[test]
    fn any_pieces_give_what_the_standards_steps_give(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("data"), Just("event"), Just(":"), Just(" "), Just("\r"), Just("\n"),
                Just("\r\n"), Just("\u{feff}"), Just("x"), Just("é"), Just("id"),
            ],
            0..60,
        ),
        sizes in proptest::collection::vec(1usize..7, 1..9),
    ) {
        let stream = parts.concat().into_bytes();
        let (mut rest, mut pieces) = (stream.as_slice(), Vec::new());
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, after) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = after;
        }
        prop_assert_eq!(read(&pieces), slowly(&stream));
    }
}
