use super::*;
use http_body_util::{Empty, Full};
use hyper::body::{Bytes, Frame};
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

fn shaped<B: hyper::body::Body>(method: &str, headers: &[(&str, &str)], body: B) -> HeaderMap {
    let mut builder = Request::builder().method(method).uri("https://a.test/x");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    let mut request = builder.body(body).unwrap();
    shape(&mut request);
    assert_eq!(request.uri(), "/x");
    request.into_parts().0.headers
}

/// A body whose length nobody says.
struct Unsaid;

impl hyper::body::Body for Unsaid {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(None)
    }
}

#[test]
fn a_body_whose_length_nobody_says_comes_in_chunks() {
    for method in ["GET", "HEAD", "POST"] {
        let headers = shaped(method, &[], Unsaid);
        assert_eq!(headers[TRANSFER_ENCODING], "chunked", "{method}");
    }
    let headers = shaped("GET", &[("content-length", "5")], Unsaid);
    assert!(!headers.contains_key(TRANSFER_ENCODING));
    let headers = shaped("GET", &[], Full::<Bytes>::from("hello"));
    assert!(!headers.contains_key(TRANSFER_ENCODING));
    let headers = shaped("GET", &[], Empty::<Bytes>::new());
    assert!(!headers.contains_key(TRANSFER_ENCODING));
}

#[test]
fn the_parts_of_a_cookie_are_one_header() {
    let cookies = [("cookie", "a=1"), ("x-a", "1"), ("cookie", "b=2")];
    let headers = shaped("GET", &cookies, Empty::<Bytes>::new());
    let all: Vec<_> = headers.get_all(COOKIE).iter().collect();
    assert_eq!(all, ["a=1; b=2"]);
    assert_eq!(headers["x-a"], "1");
}
