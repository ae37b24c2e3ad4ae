use super::*;
use crate::testing::{
    allowed, at, connect, dns, effective, network, refused, with_host, with_http,
};
use bailiwick_event::{Text, Transport, Via};
use proptest::prelude::*;
use std::net::IpAddr;
use std::time::Duration;

#[test]
fn the_session_and_its_command_run() {
    let policy = effective(network(&[], &[]));
    for act in [
        Act::SessionEnd { rows: 1 },
        Act::Overflow { lost: 1 },
        Act::ExecStart {
            argv: Vec::new(),
            cwd: Text::default(),
        },
        Act::ExecExit {
            code: 1,
            duration_ns: 1,
        },
    ] {
        assert_eq!(allowed(&decide(&policy, &act)), "run");
    }
}

#[test]
fn a_limit_names_the_line_that_sets_it() {
    let mut policy = effective(network(&[], &[]));
    policy.limits.memory = Some(at(51, 1));
    policy.limits.wall = Some(at(52, Duration::from_secs(1)));
    let reach = |kind| Act::Limit {
        kind,
        limit: 1,
        observed: 2,
    };
    let memory = decide(&policy, &reach(LimitKind::Memory));
    assert_eq!(refused(&memory), "limits.memory");
    assert_eq!(memory.rule.origin.line, 51);
    assert!(
        memory.remedy.contains("policy.toml:51"),
        "{}",
        memory.remedy
    );
    assert_eq!(
        decide(&policy, &reach(LimitKind::Wall)).rule.origin.line,
        52
    );
    for (kind, rule) in [
        (LimitKind::Processes, "limits.processes"),
        (LimitKind::Cpu, "limits.cpu"),
        (LimitKind::FileSize, "limits.file_size"),
        (LimitKind::OpenFiles, "limits.open_files"),
    ] {
        let unset = decide(&policy, &reach(kind));
        assert_eq!(refused(&unset), rule);
        assert_eq!(unset.rule.origin, Origin::built_in());
    }
}

#[test]
fn only_names_at_which_something_can_be_reached_are_looked_up() {
    let policy = effective(network(
        &["api.example.com:8443", "*.example.org", "10.1.2.3:80"],
        &["evil.example.org"],
    ));
    for name in ["api.example.com", "API.Example.COM.", "a.b.example.org"] {
        assert_eq!(
            allowed(&decide(&policy, &dns(name))),
            "network.allow",
            "{name}"
        );
    }
    for (name, rule) in [
        ("secret.attacker.example", "network.default"),
        ("evil.example.org", "network.deny"),
        ("EVIL.example.org.", "network.deny"),
        ("printer", "network.default"),
        ("printer.local", "network.default"),
        ("3.2.1.10.in-addr.arpa", "network.default"),
        ("10.1.2.3", "network.bad-name"),
        ("0x0a010203", "network.bad-name"),
        (".", "network.bad-name"),
        ("a\0b.example.org", "network.bad-name"),
    ] {
        assert_eq!(refused(&decide(&policy, &dns(name))), rule, "{name}");
    }
    let invalid = dns(vec![0xff, b'.', b'a']);
    assert_eq!(refused(&decide(&policy, &invalid)), "network.bad-name");
}

#[test]
fn the_record_type_changes_nothing() {
    let policy = effective(network(&["api.example.com"], &[]));
    for (qname, answered) in [("api.example.com", true), ("other.example.com", false)] {
        for qtype in ["A", "AAAA", "HTTPS", "TXT", "ANY", "TYPE65280"] {
            let act = Act::Dns {
                qname: qname.into(),
                qtype: qtype.into(),
                transport: Transport::Tcp,
            };
            assert_eq!(
                decide(&policy, &act).is_allow(),
                answered,
                "{qname} {qtype}"
            );
        }
    }
}

#[test]
fn localhost_is_answered_without_a_policy() {
    let policy = effective(network(&[], &[]));
    for name in ["localhost", "LOCALHOST.", "db.localhost"] {
        assert_eq!(
            allowed(&decide(&policy, &dns(name))),
            "network.loopback",
            "{name}"
        );
    }
    refused(&decide(&policy, &dns("notlocalhost")));
}

#[test]
fn a_reverse_name_needs_its_address_to_be_allowed() {
    let by_all = effective(network(&["*", "10.1.2.3:5432"], &["1.1.1.1"]));
    let below = effective(network(&["*.in-addr.arpa", "*.ip6.arpa"], &[]));
    let v6 = "1.1.1.1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.7.4.6.0.6.2.ip6.arpa";
    for (name, allows) in [
        ("8.8.8.8.in-addr.arpa", true),
        ("3.2.1.10.IN-ADDR.arpa", true),
        ("4.2.1.10.in-addr.arpa", false),
        ("1.1.1.1.in-addr.arpa", false),
        ("1.0.0.127.in-addr.arpa", false),
        (v6, true),
        // No whole address: a name as any other.
        ("2.1.10.in-addr.arpa", true),
    ] {
        let decision = decide(&by_all, &dns(name));
        assert_eq!(decision.is_allow(), allows, "{name}: {decision:?}");
    }
    refused(&decide(&below, &dns("8.8.8.8.in-addr.arpa")));
    refused(&decide(&below, &dns(v6)));
}

fn hostile() -> impl Strategy<Value = Text> {
    prop_oneof![
        any::<Vec<u8>>().prop_map(Text::from),
        "\\PC{0,30}".prop_map(Text::from),
        "[a-zA-Z0-9.:%\\[\\]-]{0,20}".prop_map(Text::from),
    ]
}

proptest! {
    #[test]
    fn no_act_makes_the_decision_panic_or_refuse_without_a_remedy(
        a in hostile(), b in hostile(), c in hostile(), d in hostile(),
        port: u16, udp: bool, publish: bool, address: IpAddr,
    ) {
        let rules = with_http(network(&["*:*", "*.example.org"], &["10.0.0.0/8"]), "x.example", &["GET"], &["/a/**"]);
        let policy = effective(with_host(rules, "pypi.test", "127.0.0.1:8443"));
        let transport = if udp { Transport::Udp } else { Transport::Tcp };
        let via = if publish { Via::Publish } else { Via::Socks5 };
        for act in [
            dns(a.clone()),
            Act::Connect { host: a.clone(), address: Some(address), port, transport, via },
            Act::Resolved { host: a.clone(), addresses: vec![address], port },
            Act::Tls { sni: Some(a.clone()), host: b.clone(), port, inspected: false },
            Act::Http { method: c, host: a, connected: b, port, path: d, via, scheme: bailiwick_event::Scheme::Http },
        ] {
            let decision = decide(&policy, &act);
            prop_assert_eq!(&decision, &decide(&policy, &act));
            if !decision.is_allow() {
                refused(&decision);
            }
        }
    }

    #[test]
    fn a_denied_host_is_denied_in_every_spelling(
        upper in prop::collection::vec(any::<bool>(), 16),
        dot: bool,
        wide: bool,
        port: u16,
    ) {
        let policy = effective(network(&["*:*"], &["evil.example.org"]));
        let spelling: String = "evil.example.org"
            .chars()
            .zip(&upper)
            .map(|(c, up)| match (up, wide) {
                // Full-width letters are the same letters to IDNA.
                (true, true) if c != '.' => char::from_u32(c as u32 + 0xfee0).unwrap(),
                (true, _) => c.to_ascii_uppercase(),
                _ => c,
            })
            .chain(dot.then_some('.'))
            .collect();
        let name = || Text::from(spelling.as_str());
        let other = || Text::from("good.example.com");
        for act in [
            dns(name()),
            connect(name(), port),
            Act::Resolved { host: name(), addresses: vec!["8.8.8.8".parse().unwrap()], port },
            Act::Tls { sni: Some(name()), host: other(), port, inspected: false },
            Act::Tls { sni: Some(other()), host: name(), port, inspected: false },
            Act::Http {
                method: "GET".into(), host: name(), connected: other(), port,
                path: "/".into(), via: Via::Proxy, scheme: bailiwick_event::Scheme::Http },
            Act::Http {
                method: "GET".into(), host: other(), connected: name(), port,
                path: "/".into(), via: Via::Proxy, scheme: bailiwick_event::Scheme::Http },
        ] {
            prop_assert!(!decide(&policy, &act).is_allow(), "{:?}", act);
        }
    }

    #[test]
    fn a_denied_address_is_denied_in_every_spelling(ip: [u8; 4], form in 0..6, port: u16) {
        let [a, b, c, d] = ip;
        let entry = format!("{a}.{b}.{c}.{d}");
        let policy = effective(network(&["*:*", "0.0.0.0/1:*", "128.0.0.0/1:*"], &[&entry]));
        let number = u32::from_be_bytes(ip);
        let spelling = match form {
            0 => entry,
            1 => number.to_string(),
            2 => format!("{number:#x}"),
            3 => format!("0{a:o}.0{b:o}.0{c:o}.0{d:o}"),
            4 => format!("[::ffff:{a}.{b}.{c}.{d}]"),
            _ => format!("{a}.{}", u32::from_be_bytes([0, b, c, d])),
        };
        let decision = decide(&policy, &connect(spelling, port));
        prop_assert_eq!(refused(&decision), "network.deny");
    }
}
