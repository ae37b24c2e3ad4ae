//! What a policy asks for and the gate never sees or sends: a rule about requests within TLS that
//! `inspect = "never"` keeps closed, bodies that cannot be kept for the same reason, a secret for
//! machines that nothing allows. Nothing is refused by them, so a person who wrote one believes in a
//! protection that is not there.
//!
//! Decision: of which machines a condition could be true is asked of the rule's own condition, for the
//! names that stand in it and in the policy. Where it says nothing of machines it is told only where
//! `never` is for all: the others it does see.

use crate::diagnostic::Diagnostic;
use crate::entry::Entry;
use crate::inspection::{WITHIN, inspect, of_all};
use crate::source_text::SourceText;
use crate::stack::Unit;
use crate::{Effective, Inspect, InspectRule, NetworkPolicy, Sourced, cover, inspection, network};
use bailiwick_event::fields::{EventType, Field, HttpRequest, Subject};
use bailiwick_event::{Host, HostPattern, Origin, PatternHost, Ports, Text};
use bailiwick_rules::{Action, Effect, Program, Rule};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The port of HTTP within TLS.
const SECURE: u16 = 443;

/// The port of HTTP in the clear, where there is no TLS to look into.
const CLEAR: u16 = 80;

/// A name that stands in no policy.
const UNNAMED: &str = "any-machine.invalid";

/// How much of what a run will have is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// All of it.
    Run,
    /// One file, with what it names; others may allow more.
    File,
    /// The same, where it allows machines that only a run knows.
    FileWithSets,
}

/// Finds it in a policy and in the files that it was made of.
pub(crate) fn find(units: &[Unit], policy: &Effective, known: Known) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let network = &policy.network;
    if network.inspect.iter().any(is_never) {
        rules(units, policy, &mut found);
        bodies(units, network, &mut found);
    }
    if known != Known::FileWithSets {
        secrets(units, policy, known, &mut found);
    }
    found
}

fn is_never(entry: &Sourced<InspectRule>) -> bool {
    entry.value.inspect == Inspect::Never
}

/// The entry that stands at a place.
pub(crate) fn at<'u>(
    units: &'u [Unit],
    origin: &Origin,
) -> Option<(&'u Arc<SourceText>, &'u Entry)> {
    units.iter().find_map(|unit| {
        let mut entries = unit.document.entries.iter();
        let entry = entries.find(|entry| entry.origin == *origin)?;
        Some((&unit.document.source, entry))
    })
}

fn warn(
    units: &[Unit],
    origin: &Origin,
    message: String,
    help: String,
    found: &mut Vec<Diagnostic>,
) {
    if let Some((source, entry)) = at(units, origin) {
        found.push(Diagnostic::warning(
            source,
            entry.span.clone(),
            message,
            help,
        ));
    }
}

/// The rules that decide and see nothing of what they decide. Those of one file and one reason are
/// told at the first of them: a pack may have many.
fn rules(units: &[Unit], policy: &Effective, found: &mut Vec<Diagnostic>) {
    let mut told: BTreeMap<(Arc<str>, String), (&Rule, String, usize)> = BTreeMap::new();
    let deciding = policy.rules.iter().filter(|rule| {
        let action = match &rule.effect {
            Effect::Enforce { action, .. } => *action,
            Effect::Detect { .. } => return false,
        };
        // What allows or observes has nothing to hold back.
        rule.enabled
            && WITHIN.contains(&rule.on)
            && !matches!(action, Action::Allow | Action::Observe)
    });
    for rule in deciding {
        let Some((machines, by)) = closed(rule, &policy.network) else {
            continue;
        };
        let by =
            format!("within the TLS of {machines}: `inspect = \"never\"` at {by} forbids to look");
        let key = (Arc::clone(&rule.origin.file), by.clone());
        told.entry(key).or_insert((rule, by, 0)).2 += 1;
    }
    for (rule, by, count) in told.into_values() {
        let what = match count {
            1 => format!("the rule \"{}\" holds", rule.id),
            n => format!(
                "the rule \"{}\" and {} more of this file hold",
                rule.id,
                n - 1
            ),
        };
        let message = format!("{what} nothing back {by}");
        let help = "change that entry, or refuse the machines themselves, \
                    by `deny` under [network]"
            .to_owned();
        warn(units, &rule.origin, message, help, found);
    }
}

/// The machines that a rule is about and that nobody looks into, and the entry that says so; none
/// where there are none, or where that is not certain.
fn closed(rule: &Rule, policy: &NetworkPolicy) -> Option<(String, Origin)> {
    let program = Program::compile(&rule.when, Some(rule.on)).ok()?;
    let could_be = |machine: Option<(&Host, u16)>| could_be(&program, rule.on, machine);
    let all = policy.inspect.iter().find(of_all);
    if let Some(all) = all.filter(|_| policy.inspect.iter().all(is_never)) {
        // Which machines have models is not known here, and what a rule about them says of the
        // request that carries a call is little.
        return (!is_http(rule.on) || could_be(None))
            .then(|| ("any machine".to_owned(), all.origin.clone()));
    }
    let unnamed = Host::parse(UNNAMED).ok()?;
    if !is_http(rule.on) || could_be(Some((&unnamed, SECURE))) {
        return None;
    }
    let mut about = candidates(rule, policy);
    about.retain(|(host, port)| could_be(Some((host, *port))));
    let is_closed = |(host, port): &(Host, u16)| inspect(policy, host, *port) == Inspect::Never;
    if !about.iter().all(is_closed) {
        // Of some it holds something back. That is told of those that it names.
        let named = words(&rule.when);
        about.retain(|machine| is_closed(machine) && named.contains(&machine.0));
    }
    let (host, port) = about.first()?;
    let by = inspection::entry(policy, host, *port)?.origin.clone();
    let more = match about.len() {
        1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    Some((format!("{}{more}", shown(host, *port)), by))
}

fn is_http(on: EventType) -> bool {
    matches!(on, EventType::HttpRequest | EventType::HttpResponse)
}

fn shown(host: &Host, port: u16) -> String {
    match port {
        SECURE => host.to_string(),
        port => format!("{host}:{port}"),
    }
}

/// Whether a rule about requests or answers could ask about those to a machine within TLS.
pub(crate) fn asks(rule: &Rule, host: &Host, port: u16) -> bool {
    let program = Program::compile(&rule.when, Some(rule.on));
    is_http(rule.on) && program.is_ok_and(|p| could_be(&p, rule.on, Some((host, port))))
}

/// Whether a condition could be true of a request within TLS to a machine, or to any.
fn could_be(program: &Program, on: EventType, machine: Option<(&Host, u16)>) -> bool {
    let request = HttpRequest {
        scheme: Some(Cow::Borrowed("https")),
        host: machine.map(|(host, _)| Cow::Owned(host.to_string())),
        port: machine.map(|(_, port)| i64::from(port)),
        ..HttpRequest::EMPTY
    };
    let subject = Subject {
        http_request: Some(&request),
        ..Subject::new(on)
    };
    let known = [Field::HttpScheme, Field::HttpHost, Field::HttpPort];
    let known = if machine.is_some() {
        &known[..]
    } else {
        &known[..1]
    };
    program.is_possible(&subject, known)
}

/// The machines that stand in a rule's condition, and those that the policy names.
fn candidates(rule: &Rule, policy: &NetworkPolicy) -> Vec<(Host, u16)> {
    let granted = || {
        let http = policy.http.iter().map(|e| &e.value.host);
        policy.allow.iter().map(|e| &e.value).chain(http)
    };
    let others = policy.inspect.iter().map(|e| &e.value.host);
    let mut hosts = words(&rule.when);
    hosts.extend(policy.hosts.iter().map(|e| e.value.host.clone()));
    hosts.extend(granted().chain(others).filter_map(one_of));
    hosts.sort();
    hosts.dedup();
    let mut machines = Vec::new();
    for host in hosts {
        let covering = granted().filter(|pattern| pattern.covers(&host));
        let mut ports: Vec<u16> = covering.map(port_of).collect();
        if ports.is_empty() {
            ports.push(SECURE);
        }
        ports.sort_unstable();
        ports.dedup();
        ports.retain(|port| *port != CLEAR);
        machines.extend(ports.into_iter().map(|port| (host.clone(), port)));
    }
    machines
}

/// The port of TLS that a pattern means.
fn port_of(pattern: &HostPattern) -> u16 {
    match pattern.ports {
        Ports::One(port) => port,
        Ports::Unsaid | Ports::All => SECURE,
    }
}

/// A machine that a pattern means.
fn one_of(pattern: &HostPattern) -> Option<Host> {
    match &pattern.host {
        PatternHost::Exact(host) => Some(host.clone()),
        PatternHost::Below(domain) => Host::parse(&format!("any-machine.{domain}")).ok(),
        PatternHost::Any | PatternHost::Network(..) => None,
    }
}

/// The texts of a condition that name machines, and a machine below each that is a domain's end.
fn words(condition: &str) -> Vec<Host> {
    let texts = condition.split(['"', '\'']).filter(|t| t.contains('.'));
    let host = |text: &str| match text.strip_prefix('.') {
        Some(domain) => Host::parse(&format!("any-machine.{domain}")).ok(),
        None => Host::parse(text).ok(),
    };
    texts.filter_map(host).collect()
}

/// Bodies that are to be kept of machines that are left alone.
fn bodies(units: &[Unit], network: &NetworkPolicy, found: &mut Vec<Diagnostic>) {
    for kept in &network.keep_bodies {
        let (port, host) = (port_of(&kept.value), one_of(&kept.value));
        let Some(host) = host.filter(|_| port != CLEAR) else {
            continue;
        };
        let Some(by) = inspection::entry(network, &host, port).filter(|entry| is_never(entry))
        else {
            continue;
        };
        let message = format!(
            "no bodies within TLS are kept of \"{}\": `inspect = \"never\"` at {} leaves it alone",
            kept.value, by.origin
        );
        let help = "write \"auto\" for it in `inspect`, or take it out of `keep_bodies`".to_owned();
        warn(units, &kept.origin, message, help, found);
    }
}

/// Secrets for machines of which none is allowed.
fn secrets(units: &[Unit], policy: &Effective, known: Known, found: &mut Vec<Diagnostic>) {
    let network = &policy.network;
    for secret in &policy.secrets {
        let hosts = &secret.value.hosts;
        if hosts.iter().any(|host| is_allowed(network, host)) {
            continue;
        }
        let named = hosts.iter().map(|host| format!("\"{host}\""));
        let named: Vec<_> = named.collect();
        let message = format!(
            "the secret \"{}\" can reach nobody: no entry of [network] allows {}",
            Text::from(secret.value.name.as_str()),
            named.join(" or ")
        );
        let unless = match known {
            Known::Run => "",
            _ => ", unless another policy of the run does",
        };
        let help = format!(
            "write allow = [{}] under [network]{unless}",
            named.join(", ")
        );
        warn(units, &secret.origin, message, help, found);
    }
}

/// Whether any machine that a pattern means may be reached.
fn is_allowed(policy: &NetworkPolicy, pattern: &HostPattern) -> bool {
    let port = port_of(pattern);
    let allowed = |host: &Host| network::decide_host(policy, host, port).is_allow();
    if let PatternHost::Exact(host) = &pattern.host {
        return allowed(host);
    }
    let http = policy.http.iter().map(|e| &e.value.host);
    let named = policy.allow.iter().map(|e| &e.value).chain(http);
    let hosts = policy.hosts.iter().map(|e| e.value.host.clone());
    let below = named.filter_map(one_of).chain(hosts);
    one_of(pattern).is_some_and(|host| allowed(&host))
        || below
            .filter(|host| pattern.covers(host))
            .any(|h| allowed(&h))
        || policy
            .allow
            .iter()
            .any(|e| cover::allow_covers(&e.value, pattern))
}

#[cfg(test)]
#[path = "unseen_tests.rs"]
mod tests;
