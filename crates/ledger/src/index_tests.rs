use super::*;
use proptest::prelude::*;

fn close(seconds: u64) -> Line {
    Line::Close(Close {
        id: SessionId::new(seconds, 1),
        ended_ns: 2,
        rows: 3,
        refusals: 1,
        lost: 0,
        exit: Some(0),
        head: "00".into(),
    })
}

fn bytes(line: &Line) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(line).unwrap();
    bytes.push(b'\n');
    bytes
}

#[test]
fn a_line_behind_one_that_was_cut_short_is_read() {
    let mut index = bytes(&close(1));
    index.extend_from_slice(b"{\"line\":\"start\",\"id\":\"2026");
    index.extend(bytes(&close(2)));
    assert_eq!(parse(&index), [close(1), close(2)]);
}

#[test]
fn a_name_cannot_forge_a_line() {
    let line = Line::Start {
        id: SessionId::new(1, 1),
        name: Some(format!("x\n{}", serde_json::to_string(&close(9)).unwrap())),
        started_ns: 1,
    };
    assert_eq!(parse(&bytes(&line)), [line]);
}

#[test]
fn there_are_no_lines_where_there_is_no_index() {
    assert_eq!(read(Path::new("/nonexistent/index")).unwrap(), []);
}

proptest! {
    #[test]
    fn no_bytes_make_the_reader_panic(noise: Vec<u8>) {
        let mut index = noise;
        index.push(b'\n');
        index.extend(bytes(&close(1)));
        prop_assert!(parse(&index).ends_with(&[close(1)]));
    }
}
