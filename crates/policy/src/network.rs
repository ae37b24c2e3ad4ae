//! The one answer to "may the sandbox reach this machine?". The gate's name server, the gate's
//! connections and `policy show --explain` all ask here, so that what is explained is what is enforced.
//!
//! Order: `deny`, then `hosts`, then `http`, then `allow`, else refused. What covers "every
//! machine" (`*`, a network of length 0) never covers this machine or a private network: those
//! are granted only by name, or a wildcard would hand out metadata services.

use crate::{NetworkPolicy, Sourced, request_path};
use bailiwick_event::{Decision, Host, HostPattern, Origin, PatternHost, Ports, RuleRef};
use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Whether a machine may be reached at a port, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDecision {
    /// Allow or deny, with the rule (`network.deny`, `network.hosts`, `network.http`,
    /// `network.allow`, `network.default`), and for a refusal the remedy.
    pub decision: Decision,
    /// The address that `[network.hosts]` gives to the name: the only one to dial. None: the name
    /// is to be resolved.
    pub address: Option<SocketAddr>,
    /// The connection may carry nothing but plain HTTP requests that [`decide_http`] allows;
    /// anything else on it, TLS too, is to be refused.
    pub http_only: bool,
}

impl HostDecision {
    /// Whether the machine may be reached.
    #[must_use]
    pub fn is_allow(&self) -> bool {
        self.decision.is_allow()
    }

    fn allow(id: &str, origin: &Origin) -> Self {
        Self {
            decision: Decision::allow(rule(id, origin)),
            address: None,
            http_only: false,
        }
    }

    fn deny(id: &str, origin: &Origin, reason: String, remedy: String) -> Self {
        Self {
            decision: Decision::deny(rule(id, origin), reason, remedy),
            address: None,
            http_only: false,
        }
    }
}

fn rule(id: &str, origin: &Origin) -> RuleRef {
    RuleRef {
        id: id.to_owned(),
        origin: origin.clone(),
    }
}

/// Whether `host` may be reached at `port`.
#[must_use]
pub fn decide_host(policy: &NetworkPolicy, host: &Host, port: u16) -> HostDecision {
    if let Some(entry) = policy.deny.iter().find(|e| denies(&e.value, host, port)) {
        return HostDecision::deny(
            "network.deny",
            &entry.origin,
            format!("\"{}\" stands in [network] deny", entry.value),
            format!(
                "remove \"{}\" from [network] deny in {}",
                entry.value, entry.origin
            ),
        );
    }
    if let Some(entry) = policy.hosts.iter().find(|e| &e.value.host == host) {
        // Every port of the name leads to one address, so a rule for any of its ports binds all.
        return HostDecision {
            address: Some(entry.value.address),
            http_only: policy.http.iter().any(|r| r.value.host.covers(host)),
            ..HostDecision::allow("network.hosts", &entry.origin)
        };
    }
    if let Some(entry) = policy
        .http
        .iter()
        .find(|r| allows(&r.value.host, host, port))
    {
        return HostDecision {
            http_only: true,
            ..HostDecision::allow("network.http", &entry.origin)
        };
    }
    if let Some(entry) = policy.allow.iter().find(|e| allows(&e.value, host, port)) {
        return HostDecision::allow("network.allow", &entry.origin);
    }
    default_refusal(policy, host, Some(port))
}

/// The ports of this machine's loopback that the policy grants, each once. A sandbox has a loopback
/// of its own, so that only an entry that names this machine and one port opens a way to it: what
/// covers it by a wildcard, or without a port, leads to the sandbox's own.
#[must_use]
pub fn loopback_ports(policy: &NetworkPolicy) -> Vec<u16> {
    let http = policy.http.iter().map(|rule| &rule.value.host);
    let named = policy.allow.iter().map(|entry| &entry.value).chain(http);
    let ports = named.filter_map(|pattern| match (&pattern.host, pattern.ports) {
        (PatternHost::Exact(host), Ports::One(port)) if is_here(host) => Some(port),
        _ => None,
    });
    Vec::from_iter(BTreeSet::from_iter(ports))
}

/// What [`decide_host`] says, for people: an entry that covers this machine's loopback without
/// opening a way to it is a refusal, since the sandbox has a loopback of its own.
pub(crate) fn explain_host(policy: &NetworkPolicy, host: &Host, port: u16) -> HostDecision {
    let decided = decide_host(policy, host, port);
    if !decided.is_allow() || leads_out(policy, host, port) {
        return decided;
    }
    let refusal = default_refusal(policy, host, Some(port));
    let reason = format!(
        "{} covers it, but inside it is the sandbox's own loopback; a way to this machine's opens \
         only for an entry that names it with one port",
        decided.decision.rule
    );
    // What names the address itself is named by the remedy already.
    let remedy = match is_here(host) {
        true => refusal.decision.remedy,
        false => format!("write \"localhost:{port}\", and have the service listen there"),
    };
    HostDecision::deny(
        &refusal.decision.rule.id,
        &refusal.decision.rule.origin,
        reason,
        remedy,
    )
}

/// Whether a connection to this host leaves the sandbox, and does not end at its own loopback.
pub(crate) fn leads_out(policy: &NetworkPolicy, host: &Host, port: u16) -> bool {
    match host.is_loopback() || is_here(host) {
        true => is_here(host) && loopback_ports(policy).contains(&port),
        false => true,
    }
}

/// Whether there is any port at which `host` may be reached: what a name server answers by.
#[must_use]
pub fn knows_name(policy: &NetworkPolicy, host: &Host) -> HostDecision {
    let mut refusal = None;
    for port in ports_worth_asking(policy, host) {
        let decision = decide_host(policy, host, port);
        if decision.is_allow() {
            return decision;
        }
        if decision.decision.rule.id == "network.deny" {
            refusal.get_or_insert(decision);
        }
    }
    refusal.unwrap_or_else(|| default_refusal(policy, host, None))
}

/// Whether a plain HTTP request may be sent on a connection to `host` at `port`. `path` is the
/// path of the request as the program wrote it; a query is not looked at.
#[must_use]
pub fn decide_http(
    policy: &NetworkPolicy,
    host: &Host,
    port: u16,
    method: &str,
    path: &str,
) -> HostDecision {
    let reach = decide_host(policy, host, port);
    if !reach.is_allow() || !reach.http_only {
        return reach;
    }
    let rules = || {
        policy.http.iter().filter(|r| match reach.address {
            Some(_) => r.value.host.covers(host),
            None => allows(&r.value.host, host, port),
        })
    };
    let fits = |r: &&Sourced<crate::HttpRule>| {
        let method_fits = r.value.methods.is_empty() || r.value.methods.iter().any(|m| m == method);
        let paths = &r.value.paths;
        method_fits && (paths.is_empty() || paths.iter().any(|p| request_path::fits(p, path)))
    };
    if let Some(entry) = rules().find(fits) {
        return HostDecision {
            address: reach.address,
            http_only: true,
            ..HostDecision::allow("network.http", &entry.origin)
        };
    }
    let origin = rules()
        .next()
        .map_or_else(Origin::built_in, |r| r.origin.clone());
    HostDecision::deny(
        "network.http",
        &origin,
        format!("no [[network.http]] rule for \"{host}\" covers this method and path"),
        format!("add the method and the path to a [[network.http]] rule in {origin}"),
    )
}

/// The ports at which the answer for `host` can differ: those that an entry about it names, those
/// that it means when it names none, and one that no entry names.
fn ports_worth_asking(policy: &NetworkPolicy, host: &Host) -> BTreeSet<u16> {
    let mut ports = BTreeSet::from([443, 80]);
    let patterns = policy
        .allow
        .iter()
        .chain(&policy.deny)
        .map(|e| &e.value)
        .chain(policy.http.iter().map(|r| &r.value.host));
    for pattern in patterns {
        if let Ports::One(port) = pattern.ports
            && matches(pattern, host, false)
        {
            ports.insert(port);
        }
    }
    let unnamed = (1..=u16::MAX).find(|p| !ports.contains(p));
    ports.extend(unnamed);
    ports
}

/// Whether an entry that allows covers this machine and port.
fn allows(pattern: &HostPattern, host: &Host, port: u16) -> bool {
    let port_fits = match pattern.ports {
        Ports::Unsaid => port == 80 || port == 443,
        Ports::All => true,
        Ports::One(p) => p == port,
    };
    port_fits && matches(pattern, host, true)
}

/// Whether an entry that denies covers this machine and port.
fn denies(pattern: &HostPattern, host: &Host, port: u16) -> bool {
    !matches!(pattern.ports, Ports::One(p) if p != port) && matches(pattern, host, false)
}

fn matches(pattern: &HostPattern, host: &Host, granting: bool) -> bool {
    match &pattern.host {
        PatternHost::Any | PatternHost::Network(_, 0) if granting && host.is_inward() => false,
        PatternHost::Exact(named) if granting => named == host || (is_here(named) && is_here(host)),
        PatternHost::Exact(named) => named == host || (named.is_loopback() && host.is_loopback()),
        _ => pattern.covers(host),
    }
}

/// Whether the host is one of the names of this machine that programs use for one another:
/// `localhost`, names below it, 127.0.0.1, ::1, and the unspecified addresses, which connect there.
fn is_here(host: &Host) -> bool {
    match host {
        Host::Name(_) => host.is_loopback(),
        Host::Ip(IpAddr::V4(ip)) => *ip == Ipv4Addr::LOCALHOST || ip.is_unspecified(),
        Host::Ip(IpAddr::V6(ip)) => *ip == Ipv6Addr::LOCALHOST || ip.is_unspecified(),
    }
}

fn default_refusal(policy: &NetworkPolicy, host: &Host, port: Option<u16>) -> HostDecision {
    let origin = policy
        .default_origin
        .clone()
        .unwrap_or_else(Origin::built_in);
    let shown = match (host, port) {
        (host, None) => host.to_string(),
        (Host::Ip(IpAddr::V6(ip)), Some(port)) => format!("[{ip}]:{port}"),
        (host, Some(port)) => format!("{host}:{port}"),
    };
    let place = match &policy.default_origin {
        Some(origin) => format!(" in {}", origin.file),
        None => " in your policy".to_owned(),
    };
    HostDecision::deny(
        "network.default",
        &origin,
        format!("nothing in [network] allows \"{shown}\""),
        format!("add \"{shown}\" to [network] allow{place}"),
    )
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
