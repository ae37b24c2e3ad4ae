//! What the tests of this crate share: policies in the words of the policy file.

use bailiwick_event::{Act, Decision, Host, HostPattern, Origin, Text, Transport, Via};
use bailiwick_policy::{Effective, HostMapping, HttpRule, NetworkPolicy, Publish, Sourced};
use std::net::IpAddr;

pub(crate) fn at<T>(line: u32, value: T) -> Sourced<T> {
    let origin = Origin::new("policy.toml", line, 1);
    Sourced { value, origin }
}

fn patterns(entries: &[&str]) -> Vec<Sourced<HostPattern>> {
    let pattern = |(i, e): (usize, &&str)| at(i as u32 + 1, e.parse().unwrap());
    entries.iter().enumerate().map(pattern).collect()
}

pub(crate) fn network(allow: &[&str], deny: &[&str]) -> NetworkPolicy {
    NetworkPolicy {
        allow: patterns(allow),
        deny: patterns(deny),
        ..NetworkPolicy::default()
    }
}

pub(crate) fn with_host(mut policy: NetworkPolicy, name: &str, address: &str) -> NetworkPolicy {
    policy.hosts.push(at(
        20,
        HostMapping {
            host: host(name),
            address: address.parse().unwrap(),
        },
    ));
    policy
}

pub(crate) fn with_http(
    mut policy: NetworkPolicy,
    entry: &str,
    methods: &[&str],
    paths: &[&str],
) -> NetworkPolicy {
    let owned = |list: &[&str]| list.iter().map(|s| (*s).to_owned()).collect();
    policy.http.push(at(
        30,
        HttpRule {
            host: entry.parse().unwrap(),
            methods: owned(methods),
            paths: owned(paths),
        },
    ));
    policy
}

pub(crate) fn with_publish(mut policy: NetworkPolicy, listen: &str, port: u16) -> NetworkPolicy {
    let listen = listen.parse().unwrap();
    policy.publish.push(at(40, Publish { listen, port }));
    policy
}

pub(crate) fn effective(network: NetworkPolicy) -> Effective {
    Effective {
        network,
        ..Effective::empty("/home/me/project".into(), "/home/me".into())
    }
}

pub(crate) fn host(text: &str) -> Host {
    Host::parse(text).unwrap()
}

pub(crate) fn ips(list: &[&str]) -> Vec<IpAddr> {
    list.iter().map(|ip| ip.parse().unwrap()).collect()
}

pub(crate) fn connect(host: impl Into<Text>, port: u16) -> Act {
    Act::Connect {
        host: host.into(),
        address: None,
        port,
        transport: Transport::Tcp,
        via: Via::Transparent,
    }
}

pub(crate) fn dns(name: impl Into<Text>) -> Act {
    Act::Dns {
        qname: name.into(),
        qtype: "A".into(),
        transport: Transport::Udp,
    }
}

/// The rule that refused; a refusal that a person cannot act on is a mistake by itself.
pub(crate) fn refused(decision: &Decision) -> &str {
    assert!(!decision.is_allow(), "allowed: {decision:?}");
    assert!(
        !decision.reason.is_empty() && !decision.remedy.is_empty(),
        "{decision:?}"
    );
    assert!(!decision.rule.id.is_empty() && !decision.rule.origin.file.is_empty());
    &decision.rule.id
}

/// The rule that allowed.
pub(crate) fn allowed(decision: &Decision) -> &str {
    assert!(decision.is_allow(), "refused: {decision:?}");
    &decision.rule.id
}
