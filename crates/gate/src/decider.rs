//! What the gate asks the guard, and nothing more. Tests put a script in the guard's place, so
//! that they prove what the gate does with a decision, not which decision a policy makes.

use bailiwick_event::fields::{EventType, Exchange};
use bailiwick_event::{Act, Decision, Host, RuleRef, Verdict};
use bailiwick_guard::{Guard, Submitted};
use bailiwick_rules::{Need, Part};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// What is seen of an exchange, made where a rule asks for it.
pub(crate) type Seen<'s, 'e> = &'s (dyn Fn() -> Exchange<'e> + 's);

/// The one place that decides.
pub(crate) trait Decider: Send + Sync {
    /// Decides and records; it has returned before any answer leaves.
    fn submit(&self, act: Act) -> Decision;
    /// Whether any rule is about events of a type.
    fn asks(&self, _on: EventType) -> bool {
        false
    }
    /// What the rules need of a message's body before it is submitted.
    fn need(&self, _act: &Act, _seen: Seen<'_, '_>) -> Need {
        Need::Nothing
    }
    /// Bytes of a body that are held back for a rule, at most.
    fn body_limit(&self) -> usize {
        1024 * 1024
    }
    /// Bytes of the bodies of a machine's requests and answers that are kept; none where none are.
    fn keep_limit(&self, _host: &Host, _port: u16) -> Option<usize> {
        None
    }
    /// Keeps a body; its name, none where it could not be kept.
    fn keep_body(&self, _body: &[u8]) -> Option<String> {
        None
    }
    /// The refusal of a message whose body is larger, if it is refused.
    fn beyond(&self) -> Option<Decision> {
        None
    }
    /// The same as [`Decider::submit`] for a request that the gate can change once.
    fn submit_request(
        &self,
        act: &Act,
        _seen: Seen<'_, '_>,
        _part: Part,
        _rewritten: Option<&str>,
    ) -> Submitted {
        Submitted {
            id: 0,
            decision: self.submit(act.clone()),
            rewrites: Vec::new(),
        }
    }
    /// Decides about the answer to a request that `rule` allowed; what is allowed is recorded when it
    /// has come.
    fn submit_response(
        &self,
        _act: &Act,
        rule: RuleRef,
        _seen: Seen<'_, '_>,
        _part: Part,
        _rewritten: Option<&str>,
    ) -> Submitted {
        Submitted {
            id: 0,
            decision: Decision::allow(rule),
            rewrites: Vec::new(),
        }
    }
    /// Asks detections about a body that has passed.
    fn watched(&self, _act: &Act, _seen: Exchange<'_>) {}
    /// Records what happened.
    fn note(&self, act: Act, decision: Decision);
    /// The same as [`Decider::submit`], at a boundary that can wait for a person.
    fn submit_asking(&self, act: Act) -> Submitted {
        Submitted {
            id: 0,
            decision: self.submit(act),
            rewrites: Vec::new(),
        }
    }
    /// Asks a person; `tell` gets the decision.
    fn ask(&self, _act: &Act, asked: &Submitted, tell: Box<dyn FnOnce(Decision) + Send>) {
        tell(Decision {
            verdict: Verdict::Deny,
            ..asked.decision.clone()
        });
    }
    /// Records a refusal of the gate's own.
    fn refuse(&self, act: Act, decision: Decision);
    /// Whether a connection may carry nothing but HTTP requests in the clear.
    fn http_only(&self, host: &Host, port: u16) -> bool;
    /// Whether something asks about requests in the clear that a connection may carry beside
    /// anything else.
    fn reads_requests(&self, host: &Host, port: u16) -> bool {
        self.http_only(host, port)
    }
    /// Whether the gate looks into a TLS connection to this machine, which has a language model or
    /// has not.
    fn inspects(&self, _host: &Host, _port: u16, _model: bool) -> bool {
        false
    }
    /// Decides about a call to a language model, or its answer, and records both.
    fn submit_model(&self, act: Act, _text: Option<&str>) -> Submitted {
        Submitted {
            id: 0,
            decision: self.submit(act),
            rewrites: Vec::new(),
        }
    }
    /// Whether the answers of language models are held back for a rule.
    fn holds_model_answers(&self) -> bool {
        false
    }
    /// The one address that the policy gives this name.
    fn mapping(&self, host: &Host) -> Option<SocketAddr>;
    /// Those of the addresses that may be dialled for this host and port.
    fn usable_addresses(&self, host: &Host, port: u16, addresses: &[IpAddr]) -> Vec<IpAddr>;
}

/// A guard that can hand itself to whoever is asked.
impl Decider for Arc<Guard> {
    fn submit(&self, act: Act) -> Decision {
        Guard::submit(self, act)
    }

    fn asks(&self, on: EventType) -> bool {
        self.rules().current().has(on)
    }

    fn need(&self, act: &Act, seen: Seen<'_, '_>) -> Need {
        match self.is_asked(act) {
            true => Guard::need(self, act, &seen()),
            false => Need::Nothing,
        }
    }

    fn body_limit(&self) -> usize {
        Guard::body_limit(self)
    }

    fn keep_limit(&self, host: &Host, port: u16) -> Option<usize> {
        Guard::keep_limit(self, host, port)
    }

    fn keep_body(&self, body: &[u8]) -> Option<String> {
        Guard::keep_body(self, body)
    }

    fn beyond(&self) -> Option<Decision> {
        Guard::beyond(self)
    }

    fn submit_request(
        &self,
        act: &Act,
        seen: Seen<'_, '_>,
        part: Part,
        rewritten: Option<&str>,
    ) -> Submitted {
        let exchange = match self.is_asked(act) {
            true => seen(),
            false => Exchange::default(),
        };
        Guard::submit_request(self, act.clone(), exchange, part, rewritten)
    }

    fn submit_response(
        &self,
        act: &Act,
        rule: RuleRef,
        seen: Seen<'_, '_>,
        part: Part,
        rewritten: Option<&str>,
    ) -> Submitted {
        match self.is_asked(act) {
            true => Guard::submit_response(self, act.clone(), rule, seen(), part, rewritten),
            false => Submitted {
                id: 0,
                decision: Decision::allow(rule),
                rewrites: Vec::new(),
            },
        }
    }

    fn watched(&self, act: &Act, seen: Exchange<'_>) {
        Guard::watched(self, act, seen);
    }

    fn note(&self, act: Act, decision: Decision) {
        Guard::note(self, act, decision);
    }

    fn submit_asking(&self, act: Act) -> Submitted {
        Guard::submit_asking(self, act)
    }

    fn ask(&self, act: &Act, asked: &Submitted, tell: Box<dyn FnOnce(Decision) + Send>) {
        Guard::ask(self, act, asked, tell);
    }

    fn refuse(&self, act: Act, decision: Decision) {
        Guard::refuse(self, act, decision);
    }

    fn http_only(&self, host: &Host, port: u16) -> bool {
        Guard::http_only(self, host, port)
    }

    fn reads_requests(&self, host: &Host, port: u16) -> bool {
        Guard::reads_requests(self, host, port)
    }

    fn inspects(&self, host: &Host, port: u16, model: bool) -> bool {
        Guard::inspects(self, host, port, model)
    }

    fn submit_model(&self, act: Act, text: Option<&str>) -> Submitted {
        Guard::submit_model(self, act, text)
    }

    fn holds_model_answers(&self) -> bool {
        Guard::holds_model_answers(self)
    }

    fn mapping(&self, host: &Host) -> Option<SocketAddr> {
        Guard::mapping(self, host)
    }

    fn usable_addresses(&self, host: &Host, port: u16, addresses: &[IpAddr]) -> Vec<IpAddr> {
        Guard::usable_addresses(self, host, port, addresses)
    }
}
