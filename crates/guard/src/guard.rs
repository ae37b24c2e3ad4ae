//! Deciding and recording are one step. A boundary that could decide without recording would
//! sooner or later do so; here it cannot.

use crate::asking::Approver;
use crate::refusal::built_in;
use crate::rules::{Judged, Rules, Seen};
use crate::{connection, decide};
use bailiwick_event::fields::{EventType, Exchange, Projection};
use bailiwick_event::{Act, Decision, Event, Host, Origin, RuleRef};
use bailiwick_ledger::{Ledger, LedgerError};
use bailiwick_policy::inspection::{WITHIN, inspect, may_inspect};
use bailiwick_policy::network::decide_host;
use bailiwick_policy::{Beyond, Effective, Inspect, MAX_HELD, MAX_KEPT};
use bailiwick_rules::{Action, Need, Part, Registry, Rewrite};
use std::borrow::Cow;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, OnceLock};

/// Bytes of a body that are held back where the policy says nothing else.
const BODY_LIMIT: u64 = 1024 * 1024;
/// Bytes of a body that are kept where the policy says nothing else.
const KEEP_LIMIT: u64 = 256 * 1024;

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
    /// Who is asked.
    pub(crate) approver: OnceLock<Approver>,
    /// What ends the session.
    stop: OnceLock<Box<dyn Fn() + Send + Sync>>,
    /// The rule that ended it.
    stopped_by: OnceLock<RuleRef>,
}

/// What a boundary was told about a request that it can change.
#[derive(Clone, Debug)]
pub struct Submitted {
    /// The number of its row; 0 where it has none.
    pub id: u64,
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
            approver: OnceLock::new(),
            stop: OnceLock::new(),
            stopped_by: OnceLock::new(),
        })
    }

    /// The decision about an act, which is neither recorded nor enforced by asking.
    #[must_use]
    pub fn decide(&self, act: &Act) -> Decision {
        self.judge(act, &Seen::NOTHING, None).decision
    }

    fn judge(&self, act: &Act, seen: &Seen<'_>, rewritten: Option<&str>) -> Judged {
        let decision = decide::decide(&self.policy, act);
        self.rules.judge(act, decision, seen, rewritten)
    }

    /// What the rules alone say of an act that everything else allows.
    #[cfg(test)]
    pub(crate) fn judge_for_test(&self, act: &Act) -> Decision {
        let allowed = Decision::allow(built_in("test"));
        let mut exchange = Exchange::default();
        exchange.request.headers = Some(Default::default());
        let seen = Seen {
            exchange: Some(exchange),
            ..Seen::NOTHING
        };
        self.rules.judge(act, allowed, &seen, None).decision
    }

    /// Decides about an act and records both. The answer is a refusal (`ledger.unrecorded`) if
    /// the record could not be kept.
    pub fn submit(&self, act: Act) -> Decision {
        let judged = self.judge(&act, &Seen::NOTHING, None);
        self.record(act, judged.unchanged().unasked()).decision
    }

    /// The same at a boundary that can wait: where the decision is to ask, [`Guard::ask`] is next.
    pub fn submit_asking(&self, act: Act) -> Submitted {
        let judged = self.judge(&act, &Seen::NOTHING, None).unchanged();
        self.record(act, judged)
    }

    /// Whether any rule is about such an act.
    #[must_use]
    pub fn is_asked(&self, act: &Act) -> bool {
        let on = Projection::event_type(act);
        on.is_some_and(|on| self.rules().current().has(on))
    }

    /// What the rules need of the body of a request, or of its answer, before it is submitted.
    #[must_use]
    pub fn need(&self, act: &Act, exchange: &Exchange<'_>) -> Need {
        self.rules.need(act, exchange)
    }

    /// Bytes of a body that are held back for a rule, at most.
    #[must_use]
    pub fn body_limit(&self) -> usize {
        let limit = self.policy.network.body_limit.as_ref();
        let limit = limit.map_or(BODY_LIMIT, |limit| limit.value);
        usize::try_from(limit.min(MAX_HELD)).unwrap_or(usize::MAX)
    }

    /// The refusal of a message whose body a rule decides by, and which is larger than what is held
    /// back of it; none where the policy lets what was seen decide.
    #[must_use]
    pub fn beyond(&self) -> Option<Decision> {
        let network = &self.policy.network;
        let beyond = network.body_beyond.as_ref();
        if beyond.is_some_and(|beyond| beyond.value == Beyond::Allow) {
            return None;
        }
        let origin = beyond
            .map(|b| &b.origin)
            .or(network.body_limit.as_ref().map(|l| &l.origin));
        let rule = RuleRef {
            id: "network.body_limit".to_owned(),
            origin: origin.cloned().unwrap_or_else(Origin::built_in),
        };
        let reason = format!(
            "a rule decides by the body, of which no more than {} bytes are held back",
            self.body_limit()
        );
        let remedy = "raise body_limit under [network], or write body_beyond = \"allow\"";
        Some(Decision::deny(rule, reason, remedy))
    }

    /// Decides about a request of which the boundary sees the message and which it can change, and
    /// records both. `rewritten` is the rule that changed it already: it is not changed a second
    /// time. Detections are asked about the `part` that is known.
    pub fn submit_request(
        &self,
        act: Act,
        exchange: Exchange<'_>,
        part: Part,
        rewritten: Option<&str>,
    ) -> Submitted {
        let exchange = Some(exchange);
        let judged = self.judge(&act, &Seen { exchange, part }, rewritten);
        self.record(act, judged)
    }

    /// Decides about the answer to a request that was allowed by `rule`. What is refused or changed
    /// is recorded, and what detections find; that it was allowed is not: the boundary records it
    /// with [`Guard::note`] when all of it has come.
    pub fn submit_response(
        &self,
        act: Act,
        rule: RuleRef,
        exchange: Exchange<'_>,
        part: Part,
        rewritten: Option<&str>,
    ) -> Submitted {
        let exchange = Some(exchange);
        let seen = Seen { exchange, part };
        let judged = self
            .rules
            .judge(&act, Decision::allow(rule), &seen, rewritten)
            .unasked();
        if !judged.decision.is_allow() {
            return self.record(act, judged);
        }
        for (act, decision) in judged.rows {
            self.keep(act, decision);
        }
        Submitted {
            id: 0,
            decision: judged.decision,
            rewrites: judged.rewrites,
        }
    }

    /// Asks the detections that are about bodies, when one has passed.
    pub fn watched(&self, act: &Act, exchange: Exchange<'_>) {
        let seen = Seen {
            exchange: Some(exchange),
            part: Part::Body,
        };
        let allowed = Decision::allow(built_in("run"));
        for (act, decision) in self.rules.judge(act, allowed, &seen, None).rows {
            self.keep(act, decision);
        }
    }

    /// Says what is to be done where a rule ends the session; the first time counts.
    pub fn on_stop(&self, stop: impl Fn() + Send + Sync + 'static) {
        let _ = self.stop.set(Box::new(stop));
    }

    /// The rule that ended the session; none where none did.
    #[must_use]
    pub fn stopped_by(&self) -> Option<&RuleRef> {
        self.stopped_by.get()
    }

    fn record(&self, act: Act, judged: Judged) -> Submitted {
        let stops = judged.stops;
        let submitted = self.record_only(act, judged);
        if stops && let Some(stop) = self.stop.get() {
            let _ = self.stopped_by.set(submitted.decision.rule.clone());
            stop();
        }
        submitted
    }

    /// Decides about a call to a language model, or its answer, of which the boundary sees the text,
    /// and records both. What an answer's refusal can still stop is the boundary's to know.
    pub fn submit_model(&self, act: Act, text: Option<&str>) -> Submitted {
        let exchange = Some(Exchange {
            model_text: text.map(Cow::Borrowed),
            ..Exchange::default()
        });
        let part = Part::Whole;
        let judged = self.judge(&act, &Seen { exchange, part }, None);
        let judged = judged.unchanged().unasked();
        self.record(act, judged)
    }

    /// Whether the answers of language models are held back for a rule: there is one that could
    /// refuse one, and not only end the session after it.
    #[must_use]
    pub fn holds_model_answers(&self) -> bool {
        let set = self.rules.registry().current();
        let holds = |action| !matches!(action, Action::Allow | Action::Observe | Action::Stop);
        set.rules().any(|rule| {
            let rule = rule.rule();
            rule.on == EventType::ModelResponse && rule.effect.action().is_some_and(holds)
        })
    }

    fn record_only(&self, act: Act, judged: Judged) -> Submitted {
        let copy = self.observer.is_some().then(|| act.clone());
        let (id, decision) = match self.ledger.record(act, judged.decision) {
            Ok(event) => {
                self.observe(&event);
                (event.id, event.decision)
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
                (0, decision)
            }
        };
        for (act, decision) in judged.rows {
            self.keep(act, decision);
        }
        Submitted {
            id,
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
        let judged = self
            .rules
            .judge(&act, decision, &Seen::NOTHING, None)
            .unchanged()
            .unasked();
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
    ///
    /// An answer's detections were asked when its head and body were seen.
    pub fn note(&self, act: Act, decision: Decision) {
        if matches!(act, Act::HttpResponse { .. }) {
            return self.keep(act, decision);
        }
        let found = self
            .rules
            .judge(&act, decision.clone(), &Seen::NOTHING, None);
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
        let set = self.rules.registry().current();
        self.http_only(host, port)
            || WITHIN.iter().any(|on| set.has(*on))
            || self.has_secret(host, port)
            || self.keeps_bodies(host, port)
    }

    /// Whether the gate looks into a TLS connection to this machine, which has a language model or
    /// has not.
    #[must_use]
    pub fn inspects(&self, host: &Host, port: u16, model: bool) -> bool {
        if !self.opens_tls {
            return false;
        }
        match inspect(&self.policy.network, host, port) {
            Inspect::Always => true,
            Inspect::Never => false,
            Inspect::Auto => {
                self.http_only(host, port)
                    || self.rules.could_ask(host, port)
                    || self.has_secret(host, port)
                    || self.keeps_bodies(host, port)
                    || model && self.rules.ask_models()
            }
        }
    }

    /// Whether a secret is for a machine, within TLS.
    fn has_secret(&self, host: &Host, port: u16) -> bool {
        let secrets = self.policy.secrets.iter();
        let mut hosts = secrets.flat_map(|secret| &secret.value.hosts);
        hosts.any(|pattern| pattern.means(host, port, &[443]))
    }

    /// Whether the policy has the bodies of a machine's requests and answers kept.
    fn keeps_bodies(&self, host: &Host, port: u16) -> bool {
        let mut kept = self.policy.network.keep_bodies.iter();
        kept.any(|pattern| pattern.value.means(host, port, &[80, 443]))
    }

    /// Bytes of a body that are kept, of a machine's requests and answers; none where none are.
    #[must_use]
    pub fn keep_limit(&self, host: &Host, port: u16) -> Option<usize> {
        let limit = self.policy.network.keep_limit.as_ref();
        let limit = limit.map_or(KEEP_LIMIT, |limit| limit.value);
        let limit = usize::try_from(limit.min(MAX_KEPT)).unwrap_or(usize::MAX);
        self.keeps_bodies(host, port).then_some(limit)
    }

    /// Keeps a body beside the record; its name there, none where it could not be kept.
    #[must_use]
    pub fn keep_body(&self, body: &[u8]) -> Option<String> {
        self.ledger.keep_body(body).ok().flatten()
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
