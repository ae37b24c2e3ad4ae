//! Which TLS the gate looks into.
//!
//! Decision: what is not asked about is not opened. A program whose TLS is opened must trust the
//! authority of the installation, and some do not; so `auto` leaves every machine alone that no rule
//! and no secret is about. Of two entries the one that says more exactly which machine it means
//! holds, and of two that say it as exactly the stronger layer's.

use crate::{Effective, NetworkPolicy, Sourced};
use bailiwick_event::fields::EventType;
use bailiwick_event::{Host, HostPattern, PatternHost, Ports};
use serde::{Deserialize, Serialize};

/// Whether the gate looks into the TLS of a machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inspect {
    /// Where a rule or a secret needs it.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// In no case: its bytes pass as they are, decided by the machine's name.
    Never,
}

impl Inspect {
    pub(crate) const ALL: [(Self, &str); 3] = [
        (Self::Auto, "auto"),
        (Self::Always, "always"),
        (Self::Never, "never"),
    ];

    /// The way of that name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, n)| *n == name);
        found.map(|(way, _)| *way)
    }

    /// Its name in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// An entry of `[network.inspect]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InspectRule {
    /// Which machines; without a port all of theirs.
    pub host: HostPattern,
    /// Whether their TLS is looked into.
    pub inspect: Inspect,
}

/// The entry about a machine; none where there is none, which is [`Inspect::Auto`].
#[must_use]
pub fn entry<'p>(
    policy: &'p NetworkPolicy,
    host: &Host,
    port: u16,
) -> Option<&'p Sourced<InspectRule>> {
    let fitting = policy
        .inspect
        .iter()
        .filter(|entry| entry.value.host.denies(host, port));
    // The first of the most exact ones: `max_by_key` would give the last.
    fitting.fold(None, |best: Option<&Sourced<InspectRule>>, entry| {
        let better = best.is_none_or(|best| exactness(&entry.value) > exactness(&best.value));
        if better { Some(entry) } else { best }
    })
}

/// Whether the TLS of a machine is looked into, as far as the policy says so by itself.
#[must_use]
pub fn inspect(policy: &NetworkPolicy, host: &Host, port: u16) -> Inspect {
    entry(policy, host, port).map_or(Inspect::Auto, |entry| entry.value.inspect)
}

/// The types of events that show what is within TLS.
pub const WITHIN: [EventType; 4] = [
    EventType::HttpRequest,
    EventType::HttpResponse,
    EventType::ModelRequest,
    EventType::ModelResponse,
];

/// Whether the TLS of any machine could be looked into: then programs must trust the authority from
/// their start on. An entry that says `auto` is enough; rules that come later may need it.
#[must_use]
pub fn may_inspect(policy: &Effective) -> bool {
    let network = &policy.network;
    let forbidden = |entry: &Sourced<InspectRule>| entry.value.inspect == Inspect::Never;
    let allowed = network.inspect.iter().any(|entry| !forbidden(entry));
    let needed = !network.http.is_empty()
        || !policy.secrets.is_empty()
        || !network.keep_bodies.is_empty()
        || policy.rules.iter().any(|r| WITHIN.contains(&r.on));
    allowed || needed && !network.inspect.iter().find(of_all).is_some_and(forbidden)
}

/// Whether an entry is for all machines.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "as `find` gives it")]
pub(crate) fn of_all(entry: &&Sourced<InspectRule>) -> bool {
    exactness(&entry.value) == (0, 0, false)
}

/// How exactly an entry says which machines it means.
fn exactness(rule: &InspectRule) -> (u8, usize, bool) {
    let port = matches!(rule.host.ports, Ports::One(_));
    match &rule.host.host {
        PatternHost::Any => (0, 0, port),
        PatternHost::Network(_, bits) => (1, usize::from(*bits), port),
        PatternHost::Below(domain) => (1, domain.len(), port),
        PatternHost::Exact(_) => (2, 0, port),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_event::Origin;

    fn policy(entries: &[(&str, Inspect)]) -> NetworkPolicy {
        let entries = entries.iter().map(|(host, inspect)| Sourced {
            value: InspectRule {
                host: host.parse().unwrap(),
                inspect: *inspect,
            },
            origin: Origin::built_in(),
        });
        NetworkPolicy {
            inspect: entries.collect(),
            ..NetworkPolicy::default()
        }
    }

    #[test]
    fn the_most_exact_entry_holds_and_of_two_the_first() {
        let policy = policy(&[
            ("*", Inspect::Always),
            ("*.example.com", Inspect::Never),
            ("*.api.example.com", Inspect::Auto),
            ("one.example.com", Inspect::Always),
            ("one.example.com:8443", Inspect::Never),
            ("10.0.0.0/8", Inspect::Never),
            ("*.example.com", Inspect::Always),
        ]);
        let of = |host: &str, port| inspect(&policy, &Host::parse(host).unwrap(), port);
        assert_eq!(of("other.test", 443), Inspect::Always);
        assert_eq!(of("two.example.com", 443), Inspect::Never);
        assert_eq!(of("x.api.example.com", 443), Inspect::Auto);
        assert_eq!(of("one.example.com", 443), Inspect::Always);
        assert_eq!(of("one.example.com", 8443), Inspect::Never);
        assert_eq!(of("example.com", 443), Inspect::Always);
        assert_eq!(of("10.1.2.3", 443), Inspect::Never);
        let none = NetworkPolicy::default();
        assert_eq!(
            inspect(&none, &Host::parse("a.test").unwrap(), 443),
            Inspect::Auto
        );
    }
}
