use super::*;

fn p(text: &str) -> HostPattern {
    text.parse().unwrap()
}

#[test]
fn what_one_entry_grants_another_covers_or_not() {
    for (outer, inner, expected) in [
        ("*.example.org", "a.example.org", true),
        ("*.example.org", "example.org", false),
        ("*.example.org", "*.a.example.org", true),
        ("*.a.example.org", "*.example.org", false),
        ("*.example.org:443", "a.example.org", false),
        ("*.example.org", "a.example.org:443", true),
        ("*.example.org", "a.example.org:22", false),
        ("a.test:*", "a.test:22", true),
        ("10.0.0.0/8:*", "10.1.0.0/16:22", true),
        ("10.1.0.0/16:*", "10.0.0.0/8:22", false),
        ("*", "a.test", true),
        ("*:*", "localhost:22", false),
        ("*:*", "10.0.0.1:22", false),
    ] {
        assert_eq!(
            allow_covers(&p(outer), &p(inner)),
            expected,
            "{outer} {inner}"
        );
    }
}

#[test]
fn a_deny_without_a_port_takes_every_port() {
    assert!(deny_covers(&p("a.test"), &p("a.test:22")));
    assert!(deny_covers(&p("*.test"), &p("a.test")));
    assert!(!deny_covers(&p("a.test:443"), &p("a.test")));
    assert!(!deny_covers(&p("a.test"), &p("*.test")));
}
