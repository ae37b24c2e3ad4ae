//! Deciding allocates nothing: `cargo bench -p bailiwick-rules --bench allocations` counts, and
//! fails where the common rules ask for memory.
//!
//! Decision: a program of its own, because the allocator that counts would slow down what another
//! bench times.

// A bench, like a test, ends where it cannot go on.
#![allow(clippy::expect_used)]

use bailiwick_event::fields::{EventType, Headers, Record};
use bailiwick_rules::{Action, Compiled, Rule, RuleSet};
use std::alloc::{GlobalAlloc, Layout, System};
use std::hint::black_box;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The system's allocator, and how often it was asked.
struct Counting;

static CALLS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every call goes to the system's allocator with the arguments that came, whose rules the
// caller keeps; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.fetch_add(1, Relaxed);
        // SAFETY: the caller's layout has a size that is not zero.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the block came from the system's allocator with this layout.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The tests that rules mostly make, each as a rule.
const CONDITIONS: [&str; 14] = [
    r#"http.request.host == "a.test""#,
    r#"http.request.host in ["a.test", "b.test"]"#,
    r#"http.request.host.domain("example.com")"#,
    r#"http.request.path.startsWith("/admin")"#,
    r#"http.request.url.contains("google")"#,
    r#"http.request.url.lowerAscii().contains("google")"#,
    r#"http.request.host.lowerAscii() == "a.test""#,
    r#"http.request.header("authorization").exists()"#,
    r#"http.request.header("authorization").contains("Bearer")"#,
    r#"http.request.port == 443 && http.request.method != "GET""#,
    r#"has(http.request.query) && size(http.request.query) > 1000"#,
    r#"common.process.argv.exists(a, a == "-k")"#,
    r#"entropy(http.request.host) > 7.5"#,
    r#"size(secrets(http.request.body.text)) > 0"#,
];

fn set(copies: usize) -> RuleSet {
    let mut rules = Vec::new();
    for copy in 0..copies {
        for (n, when) in CONDITIONS.iter().enumerate() {
            // Each copy asks for other texts, so that every index has many of them.
            let when = when
                .replace(".test", &format!(".test{copy}"))
                .replace("google", &format!("google{copy}"));
            let id = format!("r{copy:04}-{n:02}");
            let rule = Rule::enforcement(&id, EventType::HttpRequest, &when, Action::Observe);
            rules.push(Arc::new(Compiled::new(rule).expect("it compiles")));
        }
    }
    RuleSet::new(rules)
}

fn event() -> Record<'static> {
    let mut record = Record::new(EventType::HttpRequest);
    record.common.argv = Some(vec!["curl".into(), "-k".into()]);
    let request = &mut record.http_request;
    request.method = Some("POST".into());
    request.host = Some("GoogleAPIs.com".into());
    request.port = Some(443);
    request.path = Some("/admin/upload".into());
    request.url = Some("https://GoogleAPIs.com/admin/upload".into());
    request.headers = Some(Headers(vec![("Authorization".into(), "Bearer abc".into())]));
    request.body_text = Some("token=secret".into());
    record
}

fn main() {
    let record = event();
    let subject = record.subject();
    for copies in [1, 20, 300] {
        let set = set(copies);
        let decide = || {
            let decided = black_box(&set).decide(black_box(&subject), 0, |_, _| {});
            assert!(decided.is_none());
        };
        // The first time a thread has more rules than fit on its stack, it gets a place for them.
        decide();
        let before = CALLS.load(Relaxed);
        for _ in 0..1000 {
            decide();
        }
        let calls = CALLS.load(Relaxed) - before;
        println!(
            "{} rules, 1,000 events: {calls} allocations",
            copies * CONDITIONS.len()
        );
        assert_eq!(calls, 0, "deciding must not allocate");
    }
}
