use super::*;
use proptest::prelude::*;

#[test]
fn requests_are_http_however_they_are_dressed_up() {
    for bytes in [
        &b"GET / HTTP/1.1\r\n"[..],
        b"\r\n\r\nGET / HTTP/1.1\r\n",
        b" \tGET / HTTP/1.1\r\n",
        b"get / http/1.1\n",
        b"GET /\r\n",
        b"FROBNICATE /x HTTP/1.1\r\n",
        b"GET\thttp://evil.test/\tHTTP/1.1\r\n",
        b"GET /\0 HTTP/1.1\r\n",
        b"PRI / HTTP/1.1\r\n",
    ] {
        assert_eq!(
            read(bytes, Reading::Ordinary),
            Some(Opening::Http),
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn other_protocols_are_let_be() {
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        b"EHLO example.test\r\n",
        b"get key\r\n",
        b"*1\r\n$4\r\nPING\r\n",
        b"\0\0\0\x08\x04\xd2\x16\x2f",
        b"AMQP\0\0\x09\x01",
        b"0033git-upload-pack /p.git\0host=example.test\0",
        b"\x16\x02nothing",
    ] {
        assert_eq!(
            read(bytes, Reading::Ordinary),
            Some(Opening::Other),
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn half_a_request_line_waits_and_then_counts_as_http() {
    for bytes in [&b"G"[..], b"FO", b"GET /", b"\r\n", b"P", b"PRI * HT"] {
        assert_eq!(
            read(bytes, Reading::Ordinary),
            None,
            "{}",
            bytes.escape_ascii()
        );
        assert_eq!(
            read_late(bytes, Reading::Ordinary),
            Opening::Http,
            "{}",
            bytes.escape_ascii()
        );
    }
}

#[test]
fn http2_without_tls_is_known_by_its_preface() {
    assert_eq!(
        read(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Reading::Ordinary),
        Some(Opening::Http2)
    );
}

#[test]
fn a_hello_that_never_ends_is_no_hello() {
    assert_eq!(read(&[22, 3, 1], Reading::Ordinary), None);
    assert_eq!(read_late(&[22, 3, 1], Reading::Ordinary), Opening::BadTls);
    assert_eq!(
        read(&[22, 3, 1, 0, 0], Reading::Ordinary),
        Some(Opening::BadTls)
    );
}

proptest! {
    #[test]
    fn a_reading_does_not_depend_on_how_the_bytes_arrive(
        bytes in prop_oneof![
            proptest::collection::vec(any::<u8>(), 0..60),
            "[ \r\n]{0,3}[A-Za-z]{1,8}[ \t]{0,2}[/a-z*]{0,8} {0,2}(HTTP/1.1)?[\r\n]{0,2}"
                .prop_map(String::into_bytes),
            "(PRI \\* HTTP/2.0\r\n)[a-z]{0,4}".prop_map(String::into_bytes),
        ]
    ) {
        let first = (0..=bytes.len()).find_map(|n| read(&bytes[..n], Reading::Ordinary));
        prop_assert_eq!(read(&bytes, Reading::Ordinary), first);
    }

    #[test]
    fn a_request_of_any_method_is_never_passed_as_something_else(
        method in "[A-Za-z!#$%&'*+.^_`|~0-9-]{1,20}", target in "[!-~]{1,40}", cut: prop::sample::Index,
    ) {
        let line = format!("{method} {target} HTTP/1.1\r\n").into_bytes();
        prop_assert_eq!(read(&line, Reading::Ordinary), Some(Opening::Http));
        prop_assert!(read(&line[..cut.index(line.len())], Reading::Ordinary).is_none_or(|o| o == Opening::Http));
    }
}

#[test]
fn where_rules_are_about_requests_whatever_a_server_could_take_for_one_is_one() {
    let long = [&b"A"[..]; 200].concat();
    let mut long_method = long.clone();
    long_method.extend(b" / HTTP/1.1\r\n");
    for bytes in [
        &b"\x0bGET /secret HTTP/1.1\r\n"[..],
        b"GET\x0c/secret HTTP/1.1\r\n",
        b"\xa0GET /secret HTTP/1.1\r\n",
        b"\x1cGET\x1f/secret\r\n",
        b"GET secret\r\n",
        &long,
        &long_method,
        b"GET/ / HTTP/1.1\r\n",
        b"\r\n(GET / HTTP/1.1\r\n",
        b"G\xc9T / http/1.1\n",
        b"(x / HTTP/1.1\r\nHost: a.test\r\nContent-Length: 1\r\n\r\n\0GET /secret HTTP/1.1\r\n",
        b"\0(x / HTTP/1.1\r\n",
        b"FOO\0/ HTTP/1.1\r\n",
        b"GET\0secret\r\n",
    ] {
        assert_eq!(
            read(bytes, Reading::Strict),
            Some(Opening::Http),
            "{bytes:?}"
        );
        assert_ne!(
            read(bytes, Reading::Ordinary),
            Some(Opening::Http),
            "{bytes:?}"
        );
    }
    for bytes in [
        &b"SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"[..],
        b"\x00\x00\x00\x08\x04\xd2\x16\x2f",
        b"{\"method\": \"GET\"}\n",
        b"AMQP\0\0\x09\x01",
        b"\0\0\0A\0\x03\0\0user\0me\0\0",
        b"\x10\x0c\0\x04MQTT\x04\x02\0\x3c\0\0",
        b"\x3b\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0",
        b"\0\x1d\x12\x34\x01\0\0\x01\0\0\0\0\0\0\x01a",
        b"*1\r\n$4\r\nPING\r\n",
    ] {
        assert_eq!(
            read(bytes, Reading::Strict),
            Some(Opening::Other),
            "{bytes:?}"
        );
    }
}

#[test]
fn what_a_server_reads_behind_a_header_of_the_proxy_protocol_is_not_passed_on() {
    for header in [
        &b"PROXY TCP4 10.0.0.1 10.0.0.2 1 443\r\n"[..],
        b"PROXY UNKNOWN\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c",
    ] {
        for reading in [Reading::Ordinary, Reading::Strict] {
            assert_eq!(read(header, reading), Some(Opening::Proxied), "{header:?}");
            for cut in 1..header.len() {
                let early = read(&header[..cut], reading);
                assert!(
                    matches!(early, None | Some(Opening::Proxied)),
                    "{:?} is {early:?}",
                    &header[..cut]
                );
                let late = read_late(&header[..cut], reading);
                assert_ne!(late, Opening::Other, "{:?}", &header[..cut]);
            }
        }
    }
}

#[test]
fn a_hello_of_tls_in_the_frame_of_ssl_2_is_no_other_protocol() {
    let hello = b"\x80\x3e\x01\x03\x03\0\x15\0\0\0\x20";
    for reading in [Reading::Ordinary, Reading::Strict] {
        assert_eq!(read(hello, reading), Some(Opening::BadTls));
        for cut in 1..4 {
            assert_eq!(read(&hello[..cut], reading), None, "{cut}");
        }
        assert_eq!(
            read(b"\x80\x3e\x02\x03", reading).is_none(),
            reading == Reading::Strict
        );
    }
}
