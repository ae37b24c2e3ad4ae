use super::*;

fn headers(list: &[(&'static str, &'static str)]) -> HeaderMap {
    let mut map = HeaderMap::new();
    for (name, value) in list {
        map.append(*name, HeaderValue::from_static(value));
    }
    map
}

#[test]
fn a_proxy_keeps_what_is_said_to_it() {
    let mut map = headers(&[
        ("host", "a.test"),
        ("connection", "close, X-Private, Host"),
        ("x-private", "1"),
        ("proxy-authorization", "Basic eA=="),
        ("proxy-connection", "keep-alive"),
        ("x-mine", "2"),
    ]);
    assert!(!clean_request(&mut map, true));
    assert_eq!(map, headers(&[("host", "a.test"), ("x-mine", "2")]));
}

#[test]
fn what_decides_about_a_request_is_not_named_as_what_may_be_taken_away() {
    let mut map = headers(&[
        ("connection", "close, Host"),
        ("connection", "CONTENT-LENGTH, X-Private"),
        ("content-length", "3"),
    ]);
    assert!(!clean_request(&mut map, false));
    let connection = ("connection", "close, x-private");
    assert_eq!(map, headers(&[connection, ("content-length", "3")]));
    let mut map = headers(&[("connection", "host"), ("host", "a.test")]);
    assert!(!clean_request(&mut map, false));
    assert_eq!(map, headers(&[("host", "a.test")]));
}

#[test]
fn a_websocket_may_be_opened_through_a_proxy() {
    let mut map = headers(&[
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
    ]);
    assert!(clean_request(&mut map, true));
    assert_eq!(
        map,
        headers(&[("connection", "upgrade"), ("upgrade", "websocket")])
    );
}

#[test]
fn no_request_changes_to_a_protocol_that_carries_undecided_requests() {
    for protocol in ["h2c", "H2C", "HTTP/2.0", "TLS/1.2"] {
        let mut map = headers(&[
            ("connection", "Upgrade, HTTP2-Settings"),
            ("http2-settings", "AA"),
        ]);
        map.insert(UPGRADE, HeaderValue::from_static(protocol));
        assert!(!clean_request(&mut map, false), "{protocol}");
        assert!(!map.contains_key(UPGRADE) && !map.contains_key("http2-settings"));
    }
    let mut map = headers(&[("connection", "upgrade"), ("upgrade", "h2c, websocket")]);
    assert!(clean_request(&mut map, false));
    assert_eq!(map[UPGRADE], "websocket");
}

#[test]
fn trailers_may_still_be_asked_for() {
    let mut map = headers(&[("te", "trailers, deflate"), ("connection", "TE")]);
    clean_request(&mut map, true);
    assert_eq!(map, headers(&[("te", "trailers"), ("connection", "te")]));
}
