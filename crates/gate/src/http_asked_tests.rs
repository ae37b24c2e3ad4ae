use super::*;
use proptest::prelude::*;

fn request(method: &str, target: &str, headers: &[(&str, &str)]) -> Request<()> {
    let mut builder = Request::builder().method(method).uri(target);
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).unwrap()
}

/// Reads a request in the clear.
fn read<B>(request: &Request<B>) -> Result<Asked, Bad> {
    super::read(request, Scheme::Http)
}

fn named(host: &str, port: Option<u16>) -> Option<(Host, Option<u16>)> {
    Some((Host::parse(host).unwrap(), port))
}

#[test]
fn the_host_header_says_which_host() {
    let asked = read(&request("GET", "/a?b=c", &[("Host", "Example.ORG.:8080")])).unwrap();
    assert_eq!(asked.form, Form::Origin);
    assert_eq!(asked.host, named("example.org", Some(8080)));
    assert_eq!(asked.path, "/a?b=c");
    let asked = read(&request("GET", "/", &[("Host", "[::1]:81")])).unwrap();
    assert_eq!(asked.host, named("::1", Some(81)));
}

#[test]
fn a_uri_and_a_header_that_agree_are_one_name() {
    for (uri, host) in [
        ("http://example.org/x", "example.org"),
        ("http://example.org:80/x", "EXAMPLE.org"),
        ("http://example.org/x", "example.org.:80"),
        ("http://[::ffff:1.2.3.4]/x", "1.2.3.4"),
    ] {
        let asked = read(&request("GET", uri, &[("Host", host)])).unwrap();
        assert_eq!(
            (asked.form, asked.path.as_str()),
            (Form::Absolute, "/x"),
            "{uri}"
        );
    }
}

#[test]
fn a_uri_without_a_path_has_the_path_of_the_root() {
    let host = ("Host", "a.test");
    for (uri, path) in [
        ("http://a.test", "/"),
        ("http://a.test?q=/x", "/?q=/x"),
        ("http://a.test/?", "/?"),
        ("*", "*"),
    ] {
        let asked = read(&request("OPTIONS", uri, &[host])).unwrap();
        assert_eq!(asked.path, path, "{uri}");
    }
}

#[test]
fn whatever_can_be_read_in_two_ways_is_refused() {
    let host = ("Host", "example.org");
    for (method, target, headers, why) in [
        ("GET", "/", vec![], Bad::NoHost),
        ("GET", "/", vec![host, host], Bad::TwoHosts),
        ("GET", "/", vec![("Host", "")], Bad::Host(HostError::Empty)),
        (
            "GET",
            "/",
            vec![("Host", "u@example.org")],
            Bad::Host(HostError::Character('@')),
        ),
        (
            "GET",
            "/",
            vec![("Host", "a.test, b.test")],
            Bad::Host(HostError::Character(',')),
        ),
        ("GET", "/", vec![("Host", "a.test:0")], Bad::Port),
        ("GET", "/", vec![("Host", "a.test:80:80")], Bad::Port),
        ("GET", "/", vec![("Host", "a.test:+80")], Bad::Port),
        ("GET", "/", vec![("Host", "a.test:65536")], Bad::Port),
        ("GET", "http://evil.test/", vec![host], Bad::Disagree),
        ("GET", "http://example.org:81/", vec![host], Bad::Disagree),
        ("GET", "http://u:p@example.org/", vec![host], Bad::UserInfo),
        (
            "GET",
            "https://example.org/",
            vec![host],
            Bad::Scheme("https".into()),
        ),
        ("CONNECT", "evil.test:443", vec![host], Bad::Disagree),
        (
            "GET",
            "evil.test:443",
            vec![("Host", "evil.test:443")],
            Bad::Target,
        ),
        (
            "POST",
            "/",
            vec![host, ("Transfer-Encoding", "gzip, chunked")],
            Bad::Coding,
        ),
        (
            "POST",
            "/",
            vec![host, ("Content-Length", "4"), ("Content-Length", "4")],
            Bad::Length,
        ),
        ("POST", "/", vec![host, ("Content-Length", "")], Bad::Length),
        (
            "POST",
            "/",
            vec![host, ("Content-Length", "+4")],
            Bad::Length,
        ),
    ] {
        assert_eq!(
            read(&request(method, target, &headers)),
            Err(why),
            "{method} {target} {headers:?}"
        );
    }
}

#[test]
fn of_http2_nothing_is_taken_that_http_1_1_cannot_say() {
    let mut request = Request::builder()
        .version(Version::HTTP_2)
        .uri("https://a.test/");
    for at in 0..150 {
        request = request.header("cookie", format!("piece={at}"));
    }
    for at in 0..MAX_HEADERS - 1 {
        request = request.header(format!("x-{at}"), "1");
    }
    let mut request = request.body(()).unwrap();
    assert!(super::read(&request, Scheme::Https).is_ok());
    request.headers_mut().append("x-more", "1".parse().unwrap());
    assert_eq!(super::read(&request, Scheme::Https), Err(Bad::Headers));
    request.headers_mut().clear();
    if let Ok(name) = HeaderName::from_lowercase(b"x\"o") {
        request.headers_mut().insert(name, "1".parse().unwrap());
        let told = Bad::HeaderName("x\\\"o".into());
        assert_eq!(super::read(&request, Scheme::Https), Err(told));
    }
}

#[test]
fn http_1_0_needs_no_host() {
    let mut request = request("GET", "/", &[]);
    *request.version_mut() = Version::HTTP_10;
    assert_eq!(read(&request).unwrap().host, None);
}

proptest! {
    #[test]
    fn two_hosts_are_never_taken_for_one(a in "[a-c]{1,2}\\.test(:8[0-1])?", b in "[a-c]{1,2}\\.test(:8[0-1])?") {
        let result = read(&request("GET", &format!("http://{a}/"), &[("Host", &b)]));
        let bare = |s: &str| s.strip_suffix(":80").unwrap_or(s).to_owned();
        prop_assert_eq!(result.is_ok(), bare(&a) == bare(&b));
    }

    #[test]
    fn any_host_header_is_read_without_harm(host in "[\\[\\]:@a-z0-9./ %-]{0,30}") {
        if let Ok(asked) = read(&request("GET", "/", &[("Host", &host)])) {
            prop_assert!(asked.host.is_some());
        }
    }
}
