use super::*;
use crate::{HostMapping, HttpRule};
use proptest::prelude::*;

fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}
fn entries(texts: &[&str]) -> Vec<Sourced<HostPattern>> {
    texts
        .iter()
        .enumerate()
        .map(|(i, t)| Sourced {
            value: t.parse().unwrap(),
            origin: Origin::new("p.toml", u32::try_from(i).unwrap() + 1, 1),
        })
        .collect()
}
fn policy(allow: &[&str], deny: &[&str]) -> NetworkPolicy {
    NetworkPolicy {
        allow: entries(allow),
        deny: entries(deny),
        default_origin: Some(Origin::new("p.toml", 9, 1)),
        ..NetworkPolicy::default()
    }
}
fn http(p: &mut NetworkPolicy, pattern: &str, methods: &[&str], paths: &[&str]) {
    p.http.push(Sourced {
        value: HttpRule {
            host: pattern.parse().unwrap(),
            methods: methods.iter().map(ToString::to_string).collect(),
            paths: paths.iter().map(ToString::to_string).collect(),
        },
        origin: Origin::new("p.toml", 20, 1),
    });
}

#[test]
fn a_denied_host_is_refused_although_it_is_allowed() {
    let p = policy(&["*.example.org"], &["evil.example.org"]);
    let refused = decide_host(&p, &host("EVIL.example.org."), 443);
    assert_eq!(refused.decision.rule.id, "network.deny");
    assert_eq!(refused.decision.rule.origin.line, 1);
    assert!(decide_host(&p, &host("good.example.org"), 443).is_allow());
}

#[test]
fn a_refusal_by_default_says_what_to_write_and_where() {
    let d = decide_host(&policy(&[], &[]), &host("api.example.com"), 443).decision;
    assert_eq!(d.rule.id, "network.default");
    assert_eq!(
        d.remedy,
        "add \"api.example.com:443\" to [network] allow in p.toml"
    );
    let d = decide_host(&policy(&[], &[]), &host("2606:4700::1111"), 53).decision;
    assert!(
        d.remedy.contains("\"[2606:4700::1111]:53\""),
        "{}",
        d.remedy
    );
    let remedy_reads_back = "[2606:4700::1111]:53".parse::<HostPattern>().unwrap();
    assert!(remedy_reads_back.allows(&host("2606:4700::1111"), 53));
}

#[test]
fn a_star_does_not_hand_out_private_addresses_or_this_machine() {
    for star in ["*", "*:*", "0.0.0.0/0:*", "::/0"] {
        let p = policy(&[star], &[]);
        for inward in [
            "127.0.0.1",
            "localhost",
            "10.1.1.1",
            "169.254.169.254",
            "::1",
            "fd00::1",
        ] {
            assert!(
                !decide_host(&p, &host(inward), 443).is_allow(),
                "{star} {inward}"
            );
        }
    }
    assert!(decide_host(&policy(&["*"], &[]), &host("example.org"), 443).is_allow());
    assert!(decide_host(&policy(&["10.0.0.0/8"], &[]), &host("10.1.1.1"), 443).is_allow());
}

#[test]
fn localhost_is_the_same_machine_in_every_spelling() {
    let p = policy(&["localhost:5432"], &[]);
    for here in ["localhost", "127.0.0.1", "::1", "0.0.0.0", "db.localhost"] {
        assert!(decide_host(&p, &host(here), 5432).is_allow(), "{here}");
        assert!(!decide_host(&p, &host(here), 5433).is_allow(), "{here}");
    }
    assert!(!decide_host(&p, &host("127.0.0.2"), 5432).is_allow());
    let p = policy(&["localhost:*", "127.0.0.2:*"], &["localhost"]);
    for here in ["127.0.0.1", "127.0.0.2", "::1"] {
        assert!(!decide_host(&p, &host(here), 1).is_allow(), "{here}");
    }
}

#[test]
fn a_mapped_name_has_one_address_and_its_http_rules_bind_every_port() {
    let mut p = policy(&[], &[]);
    p.hosts.push(Sourced {
        value: HostMapping {
            host: host("pypi.test"),
            address: "127.0.0.1:8443".parse().unwrap(),
        },
        origin: Origin::new("p.toml", 3, 1),
    });
    let d = decide_host(&p, &host("pypi.test"), 443);
    assert_eq!(d.address, Some("127.0.0.1:8443".parse().unwrap()));
    assert_eq!(d.decision.rule.id, "network.hosts");
    assert!(!d.http_only);
    assert!(
        !decide_host(&p, &host("127.0.0.1"), 8443).is_allow(),
        "the pair only"
    );
    http(&mut p, "pypi.test:80", &["GET"], &[]);
    assert!(decide_host(&p, &host("pypi.test"), 9999).http_only);
    assert!(!decide_http(&p, &host("pypi.test"), 9999, "POST", "/").is_allow());
    assert!(decide_http(&p, &host("pypi.test"), 9999, "GET", "/").is_allow());
}

#[test]
fn a_host_with_http_rules_is_sent_only_what_they_cover() {
    let mut p = policy(&["api.example.com:*"], &[]);
    http(&mut p, "api.example.com:80", &["GET"], &["/v1/**"]);
    let at = |method: &str, path: &str| decide_http(&p, &host("api.example.com"), 80, method, path);
    assert!(at("GET", "/v1/x").is_allow());
    for (method, path) in [
        ("POST", "/v1/x"),
        ("GET", "/v2"),
        ("get", "/v1/x"),
        ("GET", "/v1/../v2"),
    ] {
        let d = at(method, path);
        assert!(
            !d.is_allow() && d.decision.rule.id == "network.http",
            "{method} {path}"
        );
    }
    assert!(decide_host(&p, &host("api.example.com"), 80).http_only);
    assert!(!decide_host(&p, &host("api.example.com"), 443).http_only);
}

#[test]
fn a_name_is_known_when_some_port_of_it_can_be_reached() {
    let p = policy(
        &["a.test:5432", "b.test:*", "c.test:22"],
        &["b.test:443", "b.test:80", "c.test:22", "d.test"],
    );
    assert!(knows_name(&p, &host("a.test")).is_allow());
    assert!(
        knows_name(&p, &host("b.test")).is_allow(),
        "every port but two"
    );
    assert_eq!(
        knows_name(&p, &host("c.test")).decision.rule.id,
        "network.deny"
    );
    assert_eq!(
        knows_name(&p, &host("d.test")).decision.rule.id,
        "network.deny"
    );
    let unknown = knows_name(&p, &host("e.test")).decision;
    assert_eq!(
        unknown.remedy,
        "add \"e.test\" to [network] allow in p.toml"
    );
}

fn some_pattern() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "*",
        "*:*",
        "*.test",
        "*.a.test:22",
        "a.test",
        "a.test:22",
        "b.a.test:*",
        "localhost",
        "127.0.0.1:80",
        "10.0.0.0/8",
        "10.0.0.1:*",
        "0.0.0.0/0",
    ])
}

proptest! {
    #[test]
    fn a_name_is_known_exactly_when_a_port_answers(
        allow in prop::collection::vec(some_pattern(), 0..4),
        deny in prop::collection::vec(some_pattern(), 0..4),
        name in prop::sample::select(vec!["a.test", "b.a.test", "localhost", "10.0.0.1", "x.example"]),
    ) {
        let p = policy(&allow, &deny);
        let any = [1, 2, 22, 80, 443, 9999].iter().any(|port| decide_host(&p, &host(name), *port).is_allow());
        prop_assert_eq!(knows_name(&p, &host(name)).is_allow(), any);
    }

    #[test]
    fn a_further_deny_never_makes_a_machine_reachable(
        allow in prop::collection::vec(some_pattern(), 0..4),
        deny in some_pattern(),
        name in prop::sample::select(vec!["a.test", "b.a.test", "localhost", "10.0.0.1"]),
        port in prop::sample::select(vec![22u16, 80, 443]),
    ) {
        let after = decide_host(&policy(&allow, &[deny]), &host(name), port).is_allow();
        prop_assert!(!after || decide_host(&policy(&allow, &[]), &host(name), port).is_allow());
    }
}
