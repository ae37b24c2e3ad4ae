//! Quick.
use bailiwick_event::fields::*;
use bailiwick_rules::*;
use std::hint::black_box;
use std::time::Instant;
fn time(name: &str, n: u32, mut f: impl FnMut()) {
    for _ in 0..n / 10 {
        f();
    }
    let mut best = f64::MAX;
    for _ in 0..5 {
        let t = Instant::now();
        for _ in 0..n {
            f();
        }
        best = best.min(t.elapsed().as_nanos() as f64 / f64::from(n));
    }
    println!("{name}: {best:.1} ns");
}
fn main() {
    let mut r = Record::new(EventType::HttpRequest);
    let h = &mut r.http_request;
    h.method = Some("POST".into());
    h.scheme = Some("https".into());
    h.host = Some("googleapis.com".into());
    h.port = Some(443);
    h.path = Some("/admin/upload".into());
    h.query = Some("a=b".into());
    h.url = Some("https://googleapis.com/admin/upload?a=b".into());
    h.headers = Some(Headers(vec![
        ("Authorization".into(), "Bearer x".into()),
        ("Content-Type".into(), "text/plain".into()),
    ]));
    h.body_text = Some("token=secret".into());
    let s = r.subject();
    let full = r#"http.request.host.contains("google") && http.request.url.contains("google") && http.request.path.startsWith("/admin") && http.request.header("authorization").exists() && http.request.body.text.contains("secret")"#;
    let one = r#"http.request.host.contains("google")"#;
    let hdr = r#"http.request.header("authorization").exists()"#;
    for (n, t) in [("one", one), ("header", hdr), ("full", full)] {
        let p = Program::compile(t, Some(EventType::HttpRequest)).unwrap();
        assert!(p.is_lowered());
        assert_eq!(p.run(&s), Outcome::True);
        time(&format!("run {n}"), 1_000_000, || {
            black_box(p.run(black_box(&s)));
        });
        time(&format!("evaluate {n}"), 100_000, || {
            let _ = black_box(p.evaluate(black_box(&s)));
        });
        time(&format!("compile {n}"), 100_000, || {
            black_box(Program::compile(black_box(t), Some(EventType::HttpRequest)).unwrap());
        });
    }
    time("native one", 1_000_000, || {
        black_box(
            black_box(&r)
                .http_request
                .host
                .as_deref()
                .is_some_and(|h| h.contains("google")),
        );
    });
    time("native header", 1_000_000, || {
        black_box(
            black_box(&r)
                .http_request
                .headers
                .as_ref()
                .is_some_and(|h| {
                    h.0.iter()
                        .any(|(n, _)| n.eq_ignore_ascii_case("authorization"))
                }),
        );
    });
    time("native full", 1_000_000, || {
        let q = &black_box(&r).http_request;
        black_box(
            q.host.as_deref().is_some_and(|h| h.contains("google"))
                && q.url.as_deref().is_some_and(|h| h.contains("google"))
                && q.path.as_deref().is_some_and(|h| h.starts_with("/admin"))
                && q.headers.as_ref().is_some_and(|h| {
                    h.0.iter()
                        .any(|(n, _)| n.eq_ignore_ascii_case("authorization"))
                })
                && q.body_text.as_deref().is_some_and(|h| h.contains("secret")),
        );
    });
}
