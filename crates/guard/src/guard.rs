//! Deciding and recording are one step. A boundary that could decide without recording would
//! sooner or later do so; here it cannot.

use crate::refusal::built_in;
use crate::rules::{Judged, Rules};
use crate::{connection, decide};
use bailiwick_event::fields::{EventType, Headers};
use bailiwick_event::{Act, Decision, Event, Host};
use bailiwick_ledger::{Ledger, LedgerError};
use bailiwick_policy::inspection::{inspect, may_inspect};
use bailiwick_policy::network::decide_host;
use bailiwick_policy::{Effective, Inspect};
use bailiwick_rules::{Registry, Rewrite};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// What is told about every event when it has been decided. It runs on the thread that asked,
/// and must not ask the guard itself.
pub type Observer = Box<dyn Fn(&Event) + Send + Sync>;

/// The decision point of one session.
pub struct Guard {
    policy: Arc<Effective>,
    ledger: Ledger,
    observer: Option<Observer>,
    rules: Rules,
    /// Whether programs trust the authority in whose name TLS is looked into.
    opens_tls: bool,
}

/// What a boundary was told about a request that it can change.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The decision.
    pub decision: Decision,
    /// What is to be changed, where the decision is to rewrite; the changed request is to be
    /// submitted again.
    pub rewrites: Vec<Rewrite>,
}

impl Guard {
    /// A guard that enforces `policy` and records in `ledger`.
    #[must_use]
    pub fn new(policy: Arc<Effective>, ledger: Ledger, observer: Option<Observer>) -> Arc<Self> {
        let rules = Rules::new(&policy.rules, ledger.id().as_str());
        Arc::new(Self {
            opens_tls: may_inspect(&policy),
            policy,
            ledger,
            observer,
            rules,
        })
    }

    /// The decision about an act, which is neither recorded nor enforced by asking.
    #[must_use]
    pub fn decide(&self, act: &Act) -> Decision {
        self.judge(act, None, None).decision
    }

    fn judge(&self, act: &Act, headers: Option<Headers<'_>>, rewritten: Option<&str>) -> Judged {
        let decision = decide::decide(&self.policy, act);
        self.rules.judge(act, decision, headers, rewritten)
    }

    /// What the rules alone say of an act that everything else allows.
    #[cfg(test)]
    pub(crate) fn judge_for_test(&self, act: &Act) -> Decision {
        let allowed = Decision::allow(built_in("test"));
        self.rules
            .judge(act, allowed, Some(Headers::default()), None)
            .decision
    }

    /// Decides about an act and records both. The answer is a refusal (`ledger.unrecorded`) if
    /// the record could not be kept.
    pub fn submit(&self, act: Act) -> Decision {
        let judged = self.judge(&act, None, None).unchanged();
        self.record(act, judged).decision
    }

    /// Decides about a request of which the boundary sees the headers and which it can change, and
    /// records both. `rewritten` is the rule that changed it already: it is not changed a second
    /// time.
    pub fn submit_request(
        &self,
        act: Act,
        headers: Headers<'_>,
        rewritten: Option<&str>,
    ) -> Submitted {
        let judged = self.judge(&act, Some(headers), rewritten);
        self.record(act, judged)
    }

    fn record(&self, act: Act, judged: Judged) -> Submitted {
        let copy = self.observer.is_some().then(|| act.clone());
        let decision = match self.ledger.record(act, judged.decision) {
            Ok(event) => {
                self.observe(&event);
                event.decision
            }
            Err(error) => {
                let decision = unrecorded(&error);
                if let Some(act) = copy {
                    // No row has number 0: the event is told, but is in no record.
                    self.observe(&Event {
                        id: 0,
                        time_ns: 0,
                        act,
                        decision: decision.clone(),
                    });
                }
                decision
            }
        };
        for (act, decision) in judged.rows {
            self.keep(act, decision);
        }
        Submitted {
            decision,
            rewrites: judged.rewrites,
        }
    }

    /// Records what must be on record before anything may happen, and asks the rules about it. The
    /// decision is a refusal where a rule refuses.
    ///
    /// # Errors
    /// [`LedgerError`] where it cannot be recorded.
    pub fn require(&self, act: Act, decision: Decision) -> Result<Decision, LedgerError> {
        self.rules.learn(&act);
        let judged = self.rules.judge(&act, decision, None, None).unchanged();
        let event = self.ledger.record(act, judged.decision)?;
        self.observe(&event);
        for (act, decision) in judged.rows {
            self.keep(act, decision);
        }
        Ok(event.decision)
    }

    /// Records what was decided elsewhere by its nature: that the command ended, that
    /// a limit was reached. If it cannot be kept, the ledger counts the loss and the next row
    /// tells it. What detections find in it is recorded too.
    pub fn note(&self, act: Act, decision: Decision) {
        let found = self.rules.judge(&act, decision.clone(), None, None);
        self.keep(act, decision);
        for (act, decision) in found.rows {
            self.keep(act, decision);
        }
    }

    /// Records a refusal by a boundary of what was allowed to happen in a form that it cannot have.
    pub fn refuse(&self, act: Act, decision: Decision) {
        self.keep(act, decision);
    }

    fn keep(&self, act: Act, decision: Decision) {
        if let Ok(event) = self.ledger.record(act, decision) {
            self.observe(&event);
        }
    }

    /// The rules, which may change while the session runs.
    #[must_use]
    pub fn rules(&self) -> &Registry {
        self.rules.registry()
    }

    fn observe(&self, event: &Event) {
        if let Some(observer) = &self.observer {
            observer(event);
        }
    }

    /// The address that `[network.hosts]` gives to a name: the only one to dial for it.
    #[must_use]
    pub fn mapping(&self, host: &Host) -> Option<SocketAddr> {
        let hosts = &self.policy.network.hosts;
        let entry = hosts.iter().find(|entry| entry.value.host == *host)?;
        Some(entry.value.address)
    }

    /// Whether a connection may carry nothing but plain HTTP requests, each of which is to be
    /// submitted; anything else on it must be refused.
    #[must_use]
    pub fn http_only(&self, host: &Host, port: u16) -> bool {
        decide_host(&self.policy.network, host, port).http_only
    }

    /// Whether the requests in the clear on a connection are to be submitted, where it carries any:
    /// the policy names which may be sent there, or a rule is about requests.
    #[must_use]
    pub fn reads_requests(&self, host: &Host, port: u16) -> bool {
        self.http_only(host, port) || self.rules().current().has(EventType::HttpRequest)
    }

    /// Whether the gate looks into a TLS connection to this machine, whose hello asks for `named`. A
    /// program chooses what it asks for: what either of the two names needs is done.
    #[must_use]
    pub fn inspects(&self, host: &Host, named: Option<&Host>, port: u16) -> bool {
        self.opens_tls
            && [Some(host), named]
                .into_iter()
                .flatten()
                .any(|host| self.wants_inside(host, port))
    }

    fn wants_inside(&self, host: &Host, port: u16) -> bool {
        match inspect(&self.policy.network, host, port) {
            Inspect::Always => true,
            Inspect::Never => false,
            Inspect::Auto => self.http_only(host, port) || self.rules.could_ask(host, port),
        }
    }

    /// Those of a host's addresses that may be dialled at this port: public ones, those that the
    /// policy grants by themselves, and the one that `[network.hosts]` names; never one that the
    /// policy denies. Empty where the host itself is not allowed.
    #[must_use]
    pub fn usable_addresses(&self, host: &Host, port: u16, addresses: &[IpAddr]) -> Vec<IpAddr> {
        connection::usable(&self.policy.network, host, port, addresses)
    }

    /// The policy that is enforced.
    #[must_use]
    pub fn policy(&self) -> &Effective {
        &self.policy
    }

    /// The record.
    #[must_use]
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }
}

fn unrecorded(error: &LedgerError) -> Decision {
    let remedy = match error {
        LedgerError::Closed => "the session is over; start a new one",
        _ => "free some space in the state folder, or set XDG_STATE_HOME to another disk",
    };
    let reason = format!("what cannot be recorded is refused: {error}");
    Decision::deny(built_in("ledger.unrecorded"), reason, remedy)
}

#[cfg(test)]
#[path = "guard_tests.rs"]
mod tests;
