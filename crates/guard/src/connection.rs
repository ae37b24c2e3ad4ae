//! Connections. A connection is decided three times, by what is known each time: the name or
//! address that the program asked for, the addresses that the name turned out to have, and the
//! server that its TLS hello names. Each must pass by itself; passing one excuses none.

use crate::refusal::{self, built_in, endpoint};
use bailiwick_event::{AddressClass, Decision, Host, RuleRef, Text, Transport, Via};
use bailiwick_policy::NetworkPolicy;
use bailiwick_policy::network::decide_host;
use std::net::IpAddr;

/// Whether a connection may be opened.
pub(crate) fn connect(
    policy: &NetworkPolicy,
    host: &Text,
    port: u16,
    transport: Transport,
    via: Via,
) -> Decision {
    if via == Via::Publish {
        return publish(policy, port);
    }
    let host = match refusal::host(host) {
        Ok(host) => host,
        Err(refused) => return refused,
    };
    if transport == Transport::Udp {
        return Decision::deny(
            built_in("network.udp"),
            "UDP is refused, except for looking up names",
            "let the program use TCP; programs that speak QUIC fall back to it by themselves",
        );
    }
    decide_host(policy, &host, port).decision
}

fn publish(policy: &NetworkPolicy, port: u16) -> Decision {
    match policy.publish.iter().find(|p| p.value.port == port) {
        Some(entry) => Decision::allow(RuleRef {
            id: "network.publish".into(),
            origin: entry.origin.clone(),
        }),
        None => Decision::deny(
            built_in("network.publish"),
            format!("port {port} of the sandbox is not published"),
            format!("add \"127.0.0.1:{port}:{port}\" to [network] publish"),
        ),
    }
}

/// Those of a host's addresses that may be dialled.
pub(crate) fn usable(
    policy: &NetworkPolicy,
    host: &Host,
    port: u16,
    addresses: &[IpAddr],
) -> Vec<IpAddr> {
    let reach = decide_host(policy, host, port);
    if !reach.is_allow() {
        return Vec::new();
    }
    let usable = |ip: &IpAddr| {
        if let Some(mapped) = reach.address {
            return mapped.ip().to_canonical() == ip.to_canonical();
        }
        // What names the address itself decides about it; what covers it by chance does not.
        let own = decide_host(policy, &Host::from(*ip), port);
        match AddressClass::of(*ip) {
            AddressClass::Public => own.decision.rule.id != "network.deny",
            // A company's mirror has a private address, and the user's own client names it.
            AddressClass::Private if policy.registries.contains(host) => {
                own.decision.rule.id != "network.deny"
            }
            _ => own.is_allow(),
        }
    };
    addresses.iter().copied().filter(usable).collect()
}

/// Whether any of the addresses that a name has may be dialled.
pub(crate) fn resolved(
    policy: &NetworkPolicy,
    host: &Text,
    addresses: &[IpAddr],
    port: u16,
) -> Decision {
    let host = match refusal::host(host) {
        Ok(host) => host,
        Err(refused) => return refused,
    };
    let reach = decide_host(policy, &host, port);
    if !reach.is_allow() || !usable(policy, &host, port, addresses).is_empty() {
        return reach.decision;
    }
    let Some(first) = addresses.first() else {
        return Decision::deny(
            built_in("network.no-address"),
            format!("\"{host}\" has no address"),
            "check the name, and the name server of this machine",
        );
    };
    if let Some(mapped) = reach.address {
        return Decision::deny(
            built_in("network.hosts"),
            format!("[network.hosts] binds \"{host}\" to {mapped}, not to {first}"),
            format!(
                "correct \"{host}\" under [network.hosts] in {}",
                reach.decision.rule.origin
            ),
        );
    }
    let own = decide_host(policy, &Host::from(*first), port).decision;
    if own.rule.id == "network.deny" {
        let reason = format!("\"{host}\" has the address {first}, and {}", own.reason);
        return Decision::deny(own.rule, reason, own.remedy);
    }
    let class = match AddressClass::of(*first) {
        AddressClass::Loopback => "a loopback",
        AddressClass::LinkLocal => "a link-local",
        AddressClass::Reserved => "a reserved",
        AddressClass::Private | AddressClass::Public => "a private",
    };
    let entry = endpoint(&Host::from(*first), port);
    Decision::deny(
        built_in("network.private-address"),
        format!("\"{host}\" has the address {first}, which is {class} address"),
        format!("if that is meant, add \"{entry}\" to [network] allow"),
    )
}

/// Whether a TLS hello fits the connection that it came on.
pub(crate) fn tls(
    policy: &NetworkPolicy,
    sni: Option<&Text>,
    host: &Text,
    port: u16,
    inspected: bool,
) -> Decision {
    let host = match refusal::host(host) {
        Ok(host) => host,
        Err(refused) => return refused,
    };
    let named = match sni.map(refusal::host).transpose() {
        Ok(named) => named.unwrap_or_else(|| host.clone()),
        Err(refused) => return refused,
    };
    let reach = decide_host(policy, &host, port);
    if !reach.is_allow() {
        return reach.decision;
    }
    let other = decide_host(policy, &named, port);
    for (name, decision) in [(&host, &reach), (&named, &other)] {
        if decision.http_only && !inspected {
            return Decision::deny(
                decision.decision.rule.clone(),
                format!("a [[network.http]] rule covers \"{name}\", and TLS hides the requests"),
                format!(
                    "let [network.inspect] look into it, or replace the rule in {} by an entry in \
                     [network] allow",
                    decision.decision.rule.origin
                ),
            );
        }
    }
    // To allow what is denied as well would change nothing: the remedy is that of the refusal.
    if other.is_allow() || other.decision.rule.id == "network.deny" {
        return other.decision;
    }
    Decision::deny(
        built_in("network.sni-mismatch"),
        format!("the connection is to \"{host}\", but its TLS hello asks for \"{named}\""),
        format!(
            "if that is meant, add \"{}\" to [network] allow",
            endpoint(&named, port)
        ),
    )
}

#[cfg(test)]
#[path = "connection_tests.rs"]
mod tests;
