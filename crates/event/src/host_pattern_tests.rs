use super::*;
use proptest::prelude::*;

fn pattern(text: &str) -> HostPattern {
    text.parse().unwrap_or_else(|e| panic!("{text}: {e}"))
}
fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}

#[test]
fn an_allowed_name_is_reached_at_the_ports_of_the_web() {
    let p = pattern("API.example.com.");
    assert!(p.allows(&host("api.example.com"), 443) && p.allows(&host("api.example.com"), 80));
    assert!(!p.allows(&host("api.example.com"), 22));
    assert!(
        p.denies(&host("api.example.com"), 22),
        "a denied name is denied at every port"
    );
    assert!(!p.allows(&host("evil-api.example.com"), 443));
}

#[test]
fn a_wildcard_covers_names_below_but_not_the_name_itself() {
    let p = pattern("*.example.org:443");
    assert!(p.allows(&host("a.example.org"), 443) && p.allows(&host("a.b.example.org"), 443));
    assert!(!p.allows(&host("example.org"), 443) && !p.allows(&host("badexample.org"), 443));
    assert!(!p.allows(&host("a.example.org"), 80));
}

#[test]
fn networks_and_brackets() {
    assert!(pattern("10.0.0.0/8:5432").allows(&host("10.255.0.1"), 5432));
    assert!(!pattern("10.0.0.0/8:5432").allows(&host("11.0.0.1"), 5432));
    assert!(pattern("0.0.0.0/0:*").allows(&host("9.9.9.9"), 1));
    assert!(pattern("[::1]:80").allows(&host("::1"), 80));
    assert!(pattern("::1").allows(&host("[::1]"), 443));
}

#[test]
fn mistakes_say_how_to_mend_them() {
    for (bad, says) in [
        ("https://x.org", "without \"https://\""),
        ("x.org:http", "no port"),
        ("x.org:0", "no port"),
        ("x.org/path", "write the host alone"),
        ("10.0.0.0/33", "0 to 32"),
        ("*.10.0.0.1", "not an address"),
        ("a*b.org", "character '*'"),
    ] {
        let error = bad.parse::<HostPattern>().unwrap_err();
        assert!(error.contains(says), "{bad}: {error}");
    }
}

proptest! {
    #[test]
    fn what_is_shown_reads_back_the_same(text in "(\\*\\.)?[a-z]{1,5}(\\.[a-z]{1,5}){0,2}(:([1-9][0-9]{0,3}|\\*))?") {
        let p = pattern(&text);
        prop_assert_eq!(pattern(&p.to_string()), p);
    }
}
