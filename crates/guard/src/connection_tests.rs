use super::*;
use crate::testing::{allowed, host, ips, network, refused, with_host, with_http, with_publish};

fn tcp(policy: &NetworkPolicy, host: &str, port: u16) -> Decision {
    connect(policy, &host.into(), port, Transport::Tcp, Via::Transparent)
}

fn hello(policy: &NetworkPolicy, sni: Option<&str>, host: &str) -> Decision {
    let sni = sni.map(Text::from);
    tls(policy, sni.as_ref(), &host.into(), 443, false)
}

#[test]
fn a_registry_of_the_users_own_clients_may_have_a_private_address_but_no_loopback_one() {
    let mut policy = bailiwick_policy::NetworkPolicy::default();
    let origin = bailiwick_event::Origin::new("p.toml", 1, 1);
    for entry in ["mirror.corp.test", "other.corp.test"] {
        let value = entry.parse().unwrap();
        policy.allow.push(bailiwick_policy::Sourced {
            value,
            origin: origin.clone(),
        });
    }
    let mirror = Host::parse("mirror.corp.test").unwrap();
    policy.registries.push(mirror.clone());
    let addresses = ["10.1.2.3", "127.0.0.1", "169.254.169.254"].map(|a| a.parse().unwrap());
    assert_eq!(usable(&policy, &mirror, 443, &addresses), addresses[..1]);
    let other = Host::parse("other.corp.test").unwrap();
    assert!(usable(&policy, &other, 443, &addresses).is_empty());
}

#[test]
fn a_connection_is_decided_by_host_and_port() {
    let policy = network(&["api.example.com"], &[]);
    assert_eq!(
        allowed(&tcp(&policy, "api.example.com", 443)),
        "network.allow"
    );
    let other = tcp(&policy, "api.example.com", 22);
    assert_eq!(refused(&other), "network.default");
    assert!(
        other.remedy.contains("\"api.example.com:22\""),
        "{}",
        other.remedy
    );
    assert_eq!(refused(&tcp(&policy, "a b", 443)), "network.bad-name");
}

#[test]
fn a_refusal_of_a_hostile_name_shows_no_control_character() {
    let decision = tcp(&network(&[], &[]), "a\u{1b}[2J\u{202e}", 443);
    assert_eq!(refused(&decision), "network.bad-name");
    assert!(
        !decision
            .reason
            .chars()
            .any(|c| c.is_control() || c == '\u{202e}'),
        "{}",
        decision.reason
    );
}

#[test]
fn udp_is_refused_even_to_an_allowed_host() {
    let policy = network(&["*:*"], &[]);
    let decision = connect(
        &policy,
        &"a.example".into(),
        443,
        Transport::Udp,
        Via::Transparent,
    );
    assert_eq!(refused(&decision), "network.udp");
}

#[test]
fn addresses_inside_need_an_entry_of_their_own() {
    let any = network(&["*:*", "0.0.0.0/0:*"], &[]);
    for inside in [
        "127.0.0.1",
        "169.254.169.254",
        "10.0.0.1",
        "192.168.1.1",
        "::1",
        "fd00:ec2::254",
        "0.0.0.0",
        "localhost",
    ] {
        assert_eq!(
            refused(&tcp(&any, inside, 80)),
            "network.default",
            "{inside}"
        );
    }
    let own = network(&["10.0.0.0/8:80", "169.254.169.254:80"], &[]);
    for granted in ["10.9.9.9", "169.254.169.254"] {
        assert_eq!(
            allowed(&tcp(&own, granted, 80)),
            "network.allow",
            "{granted}"
        );
    }
}

#[test]
fn the_names_of_this_machine_stand_for_one_another() {
    for entry in ["localhost:5432", "127.0.0.1:5432", "[::1]:5432"] {
        let policy = network(&[entry], &[]);
        for name in ["localhost", "127.0.0.1", "::1", "[::1]", "127.1"] {
            allowed(&tcp(&policy, name, 5432));
            refused(&tcp(&policy, name, 5433));
        }
    }
}

#[test]
fn a_mapped_name_is_reached_at_every_port_and_at_its_address_only() {
    let policy = with_host(network(&[], &[]), "pypi.test", "127.0.0.1:8443");
    for port in [1, 80, 443, 65535] {
        assert_eq!(allowed(&tcp(&policy, "PyPI.test.", port)), "network.hosts");
    }
    let name = || Text::from("pypi.test");
    allowed(&resolved(&policy, &name(), &ips(&["127.0.0.1"]), 443));
    let elsewhere = resolved(&policy, &name(), &ips(&["8.8.8.8", "127.0.0.2"]), 443);
    assert_eq!(refused(&elsewhere), "network.hosts");
    let mixed = ips(&["8.8.8.8", "127.0.0.1"]);
    assert_eq!(
        usable(&policy, &host("pypi.test"), 443, &mixed),
        ips(&["127.0.0.1"])
    );
}

#[test]
fn a_published_port_is_open_to_the_host_and_no_other_is() {
    let policy = with_publish(network(&["*:*"], &[]), "127.0.0.1:8080", 3000);
    let from_host = |port| {
        connect(
            &policy,
            &"127.0.0.1".into(),
            port,
            Transport::Tcp,
            Via::Publish,
        )
    };
    assert_eq!(allowed(&from_host(3000)), "network.publish");
    assert_eq!(refused(&from_host(8080)), "network.publish");
}

#[test]
fn a_name_is_not_dialled_at_addresses_inside() {
    let policy = network(&["api.example.com", "*.example.org:*"], &[]);
    let name = host("api.example.com");
    let mixed = ips(&[
        "10.0.0.1",
        "93.184.216.34",
        "::1",
        "169.254.169.254",
        "2606:4700::1",
    ]);
    let good = ips(&["93.184.216.34", "2606:4700::1"]);
    assert_eq!(usable(&policy, &name, 443, &mixed), good);
    allowed(&resolved(&policy, &Text::from(&name), &mixed, 443));
    for (inside, class) in [
        ("127.0.0.1", "a loopback"),
        ("169.254.169.254", "a link-local"),
        ("10.0.0.1", "a private"),
        ("::ffff:192.168.0.1", "a private"),
        ("ff02::1", "a reserved"),
    ] {
        let decision = resolved(&policy, &Text::from(&name), &ips(&[inside]), 443);
        assert_eq!(refused(&decision), "network.private-address");
        assert!(decision.reason.contains(class), "{}", decision.reason);
    }
    let none = resolved(&policy, &Text::from(&name), &[], 443);
    assert_eq!(refused(&none), "network.no-address");
}

#[test]
fn an_address_inside_that_is_granted_at_this_port_may_be_dialled() {
    let policy = network(
        &["db.example.com:5432", "10.1.2.3:5432", "db.example.com:80"],
        &[],
    );
    let name = host("db.example.com");
    let addresses = ips(&["10.1.2.3", "10.1.2.4"]);
    assert_eq!(usable(&policy, &name, 5432, &addresses), ips(&["10.1.2.3"]));
    assert_eq!(usable(&policy, &name, 80, &addresses), ips(&[]));
}

#[test]
fn a_name_that_is_not_allowed_has_no_usable_address() {
    let policy = network(&["api.example.com"], &[]);
    let public = ips(&["93.184.216.34"]);
    assert_eq!(
        usable(&policy, &host("other.example.com"), 443, &public),
        ips(&[])
    );
    let decision = resolved(&policy, &"other.example.com".into(), &public, 443);
    assert_eq!(refused(&decision), "network.default");
}

#[test]
fn a_denied_address_is_not_reached_by_a_name_either() {
    let policy = network(&["api.example.com"], &["93.184.0.0/16"]);
    let decision = resolved(
        &policy,
        &"api.example.com".into(),
        &ips(&["93.184.216.34"]),
        443,
    );
    assert_eq!(refused(&decision), "network.deny");
    assert!(
        decision.reason.contains("93.184.216.34"),
        "{}",
        decision.reason
    );
}

#[test]
fn a_tls_hello_may_ask_for_its_connection_or_for_what_is_allowed_too() {
    let policy = network(
        &["api.example.com", "cdn.example.net", "9.9.9.9"],
        &["bad.example"],
    );
    for (sni, to) in [
        (Some("api.example.com"), "api.example.com"),
        (Some("API.EXAMPLE.COM."), "api.example.com"),
        (Some("cdn.example.net"), "api.example.com"),
        (Some("cdn.example.net"), "9.9.9.9"),
        (None, "api.example.com"),
        (None, "9.9.9.9"),
    ] {
        allowed(&hello(&policy, sni, to));
    }
    for (sni, to, rule) in [
        (
            Some("attacker.example"),
            "api.example.com",
            "network.sni-mismatch",
        ),
        (Some("bad.example"), "api.example.com", "network.deny"),
        (Some("attacker.example"), "9.9.9.9", "network.sni-mismatch"),
        (
            Some("api.example.com"),
            "attacker.example",
            "network.default",
        ),
        (None, "attacker.example", "network.default"),
        (Some("a\0.example"), "api.example.com", "network.bad-name"),
        (Some(""), "api.example.com", "network.bad-name"),
    ] {
        assert_eq!(refused(&hello(&policy, sni, to)), rule, "{sni:?} {to}");
    }
}

#[test]
fn tls_cannot_hide_requests_that_a_rule_restricts() {
    let policy = with_http(
        network(&["other.example.com"], &[]),
        "api.example.com:443",
        &["GET"],
        &[],
    );
    for (sni, to) in [
        (Some("api.example.com"), "api.example.com"),
        (None, "api.example.com"),
        (Some("api.example.com"), "other.example.com"),
    ] {
        let decision = hello(&policy, sni, to);
        assert_eq!(refused(&decision), "network.http");
        assert_eq!(decision.rule.origin.line, 30);
        // What is looked into shows its requests, each of which is decided.
        let sni = sni.map(Text::from);
        allowed(&tls(&policy, sni.as_ref(), &to.into(), 443, true));
    }
    let strange = Text::from("strange.example.com");
    let decision = tls(
        &policy,
        Some(&strange),
        &"api.example.com".into(),
        443,
        true,
    );
    assert_eq!(refused(&decision), "network.sni-mismatch");
    allowed(&hello(&policy, None, "other.example.com"));
}
