use super::*;
use crate::http_asked::Form;

fn asked(path: &str) -> Asked {
    Asked {
        form: Form::Origin,
        host: None,
        path: path.to_owned(),
    }
}

/// Changes a request without a body.
fn apply(rewrites: &[Rewrite], asked: &mut Asked, headers: &mut HeaderMap) -> Result<bool, String> {
    let mut message = Changed {
        headers,
        asked: Some(asked),
        body: None,
    };
    super::apply(rewrites, &mut message)
}

fn headers(pairs: &[(&'static str, &[u8])]) -> HeaderMap {
    let pair = |(name, value): &(&'static str, &[u8])| {
        (
            HeaderName::from_static(name),
            HeaderValue::from_bytes(value).unwrap(),
        )
    };
    pairs.iter().map(pair).collect()
}

fn url(with: &str) -> Rewrite {
    Rewrite::Replace {
        target: RewriteTarget::Url,
        header: String::new(),
        pattern: "token=[^&]*".into(),
        with: with.into(),
    }
}

#[test]
fn a_url_that_cannot_be_sent_is_an_error_and_not_the_old_one() {
    let mut request = asked("/x?token=secret");
    assert!(apply(&[url("token=<gone>")], &mut request, &mut HeaderMap::new()).is_err());
    let long = asked(&format!("/x?{}", "token=s&".repeat(9000)));
    assert!(apply(&[url("token=longer")], &mut { long }, &mut HeaderMap::new()).is_err());
    apply(&[url("token=gone")], &mut request, &mut HeaderMap::new()).unwrap();
    assert_eq!(request.path, "/x?token=gone");
}

#[test]
fn only_what_a_rule_names_is_changed() {
    let mut map = headers(&[("x-raw", b"caf\xe9"), ("cookie", b"a"), ("x-kept", b"one")]);
    let rewrites = [
        Rewrite::StripHeader("Cookie".into()),
        Rewrite::SetHeader {
            name: "X-New".into(),
            value: "1".into(),
        },
        Rewrite::Replace {
            target: RewriteTarget::Header,
            header: "X-Kept".into(),
            pattern: "one".into(),
            with: "two".into(),
        },
    ];
    apply(&rewrites, &mut asked("/"), &mut map).unwrap();
    let wanted = headers(&[("x-raw", b"caf\xe9"), ("x-new", b"1"), ("x-kept", b"two")]);
    assert_eq!(map, wanted);
}

#[test]
fn a_client_cannot_have_a_header_taken_away_that_a_rule_sets() {
    let mut map = headers(&[("connection", b"close, X-New")]);
    let set = Rewrite::SetHeader {
        name: "x-new".into(),
        value: "1".into(),
    };
    assert!(apply(&[set], &mut asked("/"), &mut map).is_err());
}

#[test]
fn a_body_is_changed_as_a_whole_and_says_nothing_of_how_it_was_sent() {
    let rewrite = Rewrite::Replace {
        target: RewriteTarget::Body,
        header: String::new(),
        pattern: "secret=[a-z]+".into(),
        with: "secret=gone".into(),
    };
    let sent: &[(&'static str, &[u8])] = &[
        ("content-length", b"14"),
        ("content-encoding", b"gzip"),
        ("content-type", b"text/plain"),
    ];
    let mut map = headers(sent);
    let mut body = "secret=abc&x=1".to_owned();
    let change = |map: &mut HeaderMap, body: Option<&mut String>| {
        let mut message = Changed {
            headers: map,
            asked: None,
            body,
        };
        super::apply(std::slice::from_ref(&rewrite), &mut message)
    };
    assert_eq!(change(&mut map, Some(&mut body)), Ok(true));
    assert_eq!(body, "secret=gone&x=1");
    assert_eq!(map, headers(&[("content-type", b"text/plain")]));
    let mut map = headers(sent);
    let mut other = "nothing".to_owned();
    assert_eq!(change(&mut map, Some(&mut other)), Ok(false));
    assert_eq!((map.len(), &*other), (3, "nothing"));
    assert!(change(&mut map, None).is_err());
}
