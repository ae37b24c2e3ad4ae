use super::*;
use crate::{Act, Via};
use std::borrow::Cow;

#[test]
fn a_fields_number_is_its_place_in_the_table() {
    for (place, info) in Field::ALL.iter().enumerate() {
        assert_eq!(info.field as usize, place);
        assert_eq!(Field::named(info.path), Some(info.field));
        assert_eq!(info.field.info().path, info.path);
    }
}

#[test]
fn no_field_is_also_the_way_to_another() {
    for a in Field::ALL {
        for b in Field::ALL {
            assert!(
                !b.path.starts_with(&format!("{}.", a.path)),
                "{} {}",
                a.path,
                b.path
            );
        }
    }
}

#[test]
fn every_event_type_is_found_by_its_name() {
    for ty in EventType::ALL {
        assert_eq!(EventType::named(ty.name()), Some(ty));
    }
    assert_eq!(EventType::named("http"), None);
}

#[test]
fn a_line_is_read_as_it_was_written() {
    let mut record = Record::new(EventType::HttpRequest);
    record.http_request.host = Some(Cow::Borrowed("a.test"));
    record.http_request.port = Some(8080);
    record.http_request.headers = Some(Headers(vec![("X-A".into(), "\"1\"\n".into())]));
    record.common.labels = Some(vec![("team".into(), "é".into())]);
    record.common.time = Some(table::Time(1_795_174_367_000_000_001));
    let line = record.to_line();
    assert_eq!(Record::read(&line).unwrap(), record, "{line}");
}

#[test]
fn what_is_no_field_is_an_error_that_names_it() {
    let error = |line: &str| Record::read(line).unwrap_err().message;
    let unknown = error(r#"{"common": {"type": "file"}, "file": {"pfad": "/a"}}"#);
    assert!(
        unknown.contains("\"pfad\"") && unknown.contains("path"),
        "{unknown}"
    );
    let wrong = error(r#"{"common": {"type": "file"}, "file": {"path": 1}}"#);
    assert!(
        wrong.contains("integer") && wrong.contains("string"),
        "{wrong}"
    );
    assert!(error(r#"{"file": {"path": "/a"}}"#).contains("no type"));
    assert!(error(r#"{"common": {"type": "films"}}"#).contains("films"));
    assert!(error("{").contains("EOF"));
}

#[test]
fn headers_are_found_whatever_their_case_and_joined_where_repeated() {
    let headers = Headers(vec![
        ("Accept".into(), "a".into()),
        ("ACCEPT".into(), "b".into()),
        ("X-Accept".into(), "c".into()),
    ]);
    assert_eq!(headers.find("accept").as_deref(), Some("a, b"));
    assert_eq!(headers.find("x-accept").as_deref(), Some("c"));
    assert!(!headers.has("acc"));
    assert_eq!(headers.names(), ["accept", "x-accept"]);
}

#[test]
fn fields_of_another_event_type_are_absent() {
    let mut record = Record::new(EventType::DnsRequest);
    record.file.path = Some("/etc/passwd".into());
    assert!(!record.subject().get(Field::FilePath).is_present());
}

#[test]
fn the_schema_has_a_place_for_every_field() {
    let schema = record_schema();
    for info in Field::ALL {
        let path: String = info
            .path
            .split('.')
            .map(|part| format!("/properties/{part}"))
            .collect();
        assert_eq!(
            schema.pointer(&path).unwrap()["description"],
            info.doc,
            "{path}"
        );
    }
}

#[test]
fn an_act_is_seen_as_its_fields() {
    use crate::{Act, Transport, Via};
    let act = Act::Http {
        method: "GET".into(),
        host: "A.Test.".into(),
        connected: "a.test".into(),
        port: 8080,
        path: "/x?y=1".into(),
        via: Via::Proxy,
        scheme: crate::Scheme::Http,
    };
    let projection = Projection::of(&act).unwrap();
    let text = |field| match projection.subject().get(field) {
        Slot::Text(text) => text.to_owned(),
        other => panic!("{other:?}"),
    };
    assert_eq!(text(Field::HttpUrl), "http://a.test:8080/x?y=1");
    assert_eq!(text(Field::HttpPath), "/x");
    assert_eq!(text(Field::HttpQuery), "y=1");
    let line = projection.to_line();
    let read = Record::read(&line).unwrap();
    assert_eq!(read.to_line(), line);

    let act = Act::Dns {
        qname: "Abcd.EXAMPLE.com.".into(),
        qtype: "TXT".into(),
        transport: Transport::Udp,
    };
    let projection = Projection::of(&act).unwrap();
    let subject = projection.subject();
    assert!(matches!(
        subject.get(Field::DnsName),
        Slot::Text("abcd.example.com")
    ));
    assert!(matches!(subject.get(Field::DnsLength), Slot::Int(7)));

    let act = Act::DnsResponse {
        qname: "Abcd.EXAMPLE.com.".into(),
        qtype: "TXT".into(),
        transport: Transport::Tcp,
        code: "NOERROR".into(),
        answers: vec!["v=spf1 -all".into(), b"\xff".to_vec().into()],
        ttl: Some(30),
    };
    let projection = Projection::of(&act).unwrap();
    let subject = projection.subject();
    assert_eq!(Projection::event_type(&act), Some(subject.event_type));
    assert!(matches!(
        subject.get(Field::DnsName),
        Slot::Text("abcd.example.com")
    ));
    assert!(matches!(subject.get(Field::DnsTtl), Slot::Int(30)));
    let line = projection.to_line();
    assert!(line.contains("\u{fffd}"), "{line}");
    assert_eq!(Record::read(&line).unwrap().to_line(), line);

    let act = Act::Write {
        operation: "open".into(),
        path: b"/w/\xffa.TXT".to_vec().into(),
    };
    let projection = Projection::of(&act).unwrap();
    let subject = projection.subject();
    assert_eq!(Projection::event_type(&act), Some(subject.event_type));
    assert!(matches!(subject.get(Field::FileExt), Slot::Text("txt")));
    assert!(matches!(
        subject.get(Field::FileName),
        Slot::Text("\u{fffd}a.TXT")
    ));
}

#[test]
fn a_field_of_another_event_type_is_an_error() {
    let error = Record::read(r#"{"common": {"type": "file"}, "dns": {"request": {"qname": "a"}}}"#);
    let message = error.unwrap_err().message;
    assert!(
        message.contains("no \"dns.request\"; it has common, file"),
        "{message}"
    );
    let both = r#"{"common": {"type": "dns.response"}, "dns": {"request": {"qname": "a"}}}"#;
    assert!(Record::read(both).is_ok());
}

#[test]
fn a_reader_keeps_nothing_of_the_line_before() {
    let mut first = Record::new(EventType::HttpRequest);
    first.http_request.host = Some("a.test".into());
    first.common.id = Some(1);
    let second = Record::new(EventType::File).to_line();
    let lines = [first.to_line(), "{\"common\": {\"id\": 5".into(), second];
    let mut reader = RecordReader::default();
    assert_eq!(reader.read(&lines[0]).unwrap(), &first);
    assert!(reader.read(&lines[1]).is_err());
    assert_eq!(
        reader.read(&lines[2]).unwrap(),
        &Record::new(EventType::File)
    );
}

#[test]
fn headers_are_read_as_pairs_and_as_a_map() {
    let line = |headers: &str| {
        format!(
            "{{\"common\":{{\"type\":\"http.request\"}},\"http\":{{\"request\":{{\"headers\":{headers}}}}}}}"
        )
    };
    let pairs = line(r#"[["Accept","a"],["Accept","b"]]"#);
    for map in [line(r#"{"Accept":["a","b"]}"#), pairs.clone()] {
        assert_eq!(Record::read(&map).unwrap(), Record::read(&pairs).unwrap());
    }
    let one = line(r#"{"Accept":"\u0061"}"#);
    let headers = Record::read(&one).unwrap().http_request.headers;
    assert_eq!(headers.unwrap().find("accept").as_deref(), Some("a"));
    let bad = line("1");
    assert!(
        Record::read(&bad)
            .unwrap_err()
            .message
            .contains("headers: [[")
    );
}

#[test]
fn a_number_is_read_as_the_one_that_was_written() {
    let line = r#"{"common":{"type":"mcp.request"},"mcp":{"request":{"arguments":{"a":555555551555555555884}}}}"#;
    let written = Record::read(line).unwrap().to_line();
    assert_eq!(Record::read(&written).unwrap().to_line(), written);
}

#[test]
fn what_a_boundary_tells_is_not_said_to_be_never_told() {
    let acts = [
        Act::Http {
            method: "GET".into(),
            host: "a.test".into(),
            connected: "a.test".into(),
            port: 80,
            path: "/a?b".into(),
            via: Via::Proxy,
            scheme: crate::Scheme::Http,
        },
        Act::ExecStart {
            argv: vec!["a".into()],
            cwd: "/w".into(),
        },
        Act::Write {
            operation: "open".into(),
            path: "/w/a.b".into(),
        },
    ];
    let mut asked = 0;
    for act in &acts {
        let seen = Projection::of(act).unwrap();
        let subject = seen.subject();
        for info in Field::ALL {
            let there = subject.get(info.field).is_present();
            asked += usize::from(there);
            let never = Projection::never_tells(subject.event_type, info.field);
            assert!(!(there && never), "{}", info.path);
        }
    }
    assert!(asked > 15, "{asked}");
    assert!(Projection::never_tells(
        EventType::HttpRequest,
        Field::CommonPid
    ));
    assert!(!Projection::never_tells(
        EventType::HttpRequest,
        Field::HttpBodyText
    ));
    assert!(!Projection::never_tells(
        EventType::McpRequest,
        Field::CommonPid
    ));
}
