//! One request and its answer: decided, sent, decided again, and recorded when all of it has come.
//!
//! Decision: what a rule must see is held back, and nothing else is; the answer's row is written when
//! its last byte has passed, so that it says what really came.

use crate::asking;
use crate::body::{Body, Held, Tap};
use crate::context::Context;
use crate::decider::Decider;
use crate::destination::Destination;
use crate::http_asked::Asked;
use crate::keep::{Keep, Kept};
use crate::looked::{Looked, message, unseen};
use crate::model;
use crate::model_calls::Call;
use crate::refusal::Refusal;
use crate::rewriting::{self, Changed};
use crate::secret_use::{self, Found};
use crate::taps::{Count, Row, Watch};
use bailiwick_event::fields::{BodyState, EventType, Exchange};
use bailiwick_event::{Act, Decision, Host, KeptBodies, KeptBody, RuleRef, Text, Verdict};
use bailiwick_rules::{Need, Part};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderMap};
use hyper::{Request, Response};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};
use std::time::Instant;

/// A request that was allowed, on its way to its answer.
pub(crate) struct Sent {
    decider: Arc<dyn Decider>,
    /// What was decided.
    act: Act,
    /// By which rule.
    rule: RuleRef,
    /// The number of its row.
    row: u64,
    /// What it asks of a language model.
    call: Option<Call>,
    since: Instant,
    /// The request's headers, for rules about the answer.
    headers: HeaderMap,
    /// Bytes of its body that have passed.
    sent: Arc<AtomicU64>,
    /// Secrets that were taken out of the answer.
    masked: Arc<AtomicU64>,
    /// The refusal that its body brought about.
    found: Found,
    /// What is kept of its body.
    kept: Kept,
    /// A row says what came of it.
    told: AtomicBool,
}

impl Drop for Sent {
    /// A program that goes away takes its request along, and not what is known of it.
    fn drop(&mut self) {
        // What was found in its body has a row of its own.
        if self.found().is_none() && !self.told.load(Ordering::Relaxed) {
            self.failed("the program went away");
        }
    }
}

/// Decides a request, and changes it where a rule says so: then it is decided again, and not
/// changed a second time.
pub(crate) async fn decide(
    context: &Arc<Context>,
    to: &Destination,
    host: &Host,
    request: Request<Incoming>,
    asked: &mut Asked,
) -> Result<(Request<Body>, Sent), Answered> {
    let decider = &context.decider;
    let (mut head, body) = request.into_parts();
    if !context.secrets.is_empty() {
        let act = to.http(head.method.as_str(), host, &asked.path);
        secret_use::refuse(context, to, host, &act, &asked.path, &head.headers)?;
    }
    let state = unseen(body.is_end_stream());
    let mut looked = None;
    let mut need = Need::Nothing;
    let mut rest = Some(body);
    if state != BodyState::None {
        let act = to.http(head.method.as_str(), host, &asked.path);
        need = decider.need(&act, &|| Exchange {
            request: message(&head.headers, None, state),
            ..Exchange::default()
        });
    }
    let called = model::recognise(&host.to_string(), head.method.as_str(), &asked.path);
    let called = called.filter(|_| state != BodyState::None);
    // A rule about calls decides by what the body says.
    let of_model = called.is_some() && decider.asks(EventType::ModelRequest);
    if (need == Need::Deciding || of_model)
        && let Some(body) = rest.take()
    {
        let limit = decider.body_limit();
        let room = &context.room.requests;
        let at = Box::pin(Looked::at(body.into(), &head.headers, limit, room)).await;
        looked = Some(at.map_err(|error| Answered::Broken(error.to_string()))?);
    }
    let part = match need {
        Need::Watching => Part::Head,
        Need::Nothing | Need::Deciding => Part::Whole,
    };
    let mut rewritten: Option<String> = None;
    let (act, submitted) = loop {
        let act = to.http(head.method.as_str(), host, &asked.path);
        let cut = looked
            .as_ref()
            .is_some_and(|looked| looked.state == BodyState::Truncated);
        if cut && let Some(decision) = decider.beyond() {
            decider.refuse(act.clone(), decision.clone());
            return Err(Answered::refused(&act, decision));
        }
        let mut submitted = {
            let exchange = || Exchange {
                request: message(&head.headers, looked.as_ref(), state),
                ..Exchange::default()
            };
            decider.submit_request(&act, &exchange, part, rewritten.as_deref())
        };
        if submitted.decision.verdict == Verdict::Ask {
            let decision = Box::pin(asking::ask(context, &act, &submitted)).await;
            submitted.decision = decision;
        }
        let decision = &submitted.decision;
        if decision.is_allow() {
            break (act, submitted);
        }
        if decision.verdict != Verdict::Rewrite || rewritten.is_some() {
            return Err(Answered::refused(&act, submitted.decision));
        }
        let mut changed = Changed {
            headers: &mut head.headers,
            asked: Some(asked),
            body: looked.as_mut().and_then(Looked::text),
        };
        match rewriting::apply(&submitted.rewrites, &mut changed) {
            Ok(false) => {}
            Ok(true) => {
                // What was coded is sent as it was decided: in the clear, and of that length.
                looked = looked.map(Looked::changed);
            }
            Err(why) => {
                let denied = cannot(decision, &why);
                decider.refuse(act.clone(), denied.clone());
                return Err(Answered::refused(&act, denied));
            }
        }
        rewritten = Some(submitted.decision.rule.id);
    };
    let rule = &submitted.decision.rule;
    let mut call = called.map(|called| Call::new(context, called, rule, submitted.id));
    if let (Some(calling), Some(looked)) = (&call, &looked)
        && of_model
    {
        match calling.decide(&looked.text) {
            Some((_, decision)) if decision.is_allow() => {}
            Some((act, decision)) => return Err(Answered::refused(&act, decision)),
            None => call = None,
        }
    }
    let sent = Arc::new(AtomicU64::new(0));
    let mut taps: Vec<Box<dyn Tap>> = vec![Box::new(Count(sent.clone()))];
    if need == Need::Watching {
        taps.push(Box::new(Watch::new(context, &act, &head.headers, None)));
    }
    if let Some(call) = &call
        && !of_model
    {
        taps.push(call.question_tap(&head.headers));
    }
    let kept = Kept::default();
    if let Some(limit) = decider.keep_limit(&to.host, to.port) {
        taps.push(Box::new(Keep::new(context, &head.headers, limit, &kept)));
    }
    let held = match (looked, rest) {
        (Some(looked), _) => looked.held,
        (None, Some(body)) => Held::nothing(body),
        (None, None) => Held::none(),
    };
    let sent = Sent {
        decider: decider.clone(),
        act,
        rule: submitted.decision.rule,
        row: submitted.id,
        call,
        since: Instant::now(),
        headers: match decider.asks(EventType::HttpResponse) {
            true => head.headers.clone(),
            false => HeaderMap::new(),
        },
        sent,
        masked: Arc::default(),
        found: Found::default(),
        kept,
        told: AtomicBool::new(false),
    };
    let body = Body::passing(held, taps);
    Ok((Request::from_parts(head, body), sent))
}

/// The refusal where what a rule wants cannot be sent.
fn cannot(decision: &Decision, why: &str) -> Decision {
    Decision {
        verdict: Verdict::Deny,
        reason: format!("{}; it cannot be rewritten: {why}", decision.reason),
        ..decision.clone()
    }
}

/// Why a message is not passed on.
pub(crate) enum Answered {
    Refused(Box<Refusal>),
    /// It did not come whole.
    Broken(String),
}

impl Answered {
    pub(crate) fn refused(act: &Act, decision: Decision) -> Self {
        Self::Refused(Box::new(Refusal::new(act, decision)))
    }
}

impl Sent {
    /// When it was allowed.
    pub(crate) fn since(&self) -> Instant {
        self.since
    }

    /// Secrets that were taken out of the answer.
    pub(crate) fn masked(&self) -> u64 {
        self.masked.load(Ordering::Relaxed)
    }

    /// Puts the secrets that a machine may have into the request.
    pub(crate) fn show(
        &self,
        context: &Context,
        to: &Destination,
        host: &Host,
        request: Request<Body>,
    ) -> Request<Body> {
        let of = (&self.act, self.row);
        secret_use::show(context, to, host, of, request, &self.found)
    }

    /// Why it was broken off, where its body carried what may not go there.
    pub(crate) fn found(&self) -> Option<Box<Refusal>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let refusal = found.take()?;
        self.told.store(true, Ordering::Relaxed);
        Some(refusal)
    }

    /// Bytes of its body that have passed.
    pub(crate) fn bytes(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// What was kept of its body, and of its answer's.
    pub(crate) fn bodies(&self, response: Option<&KeptBody>) -> Option<Box<KeptBodies>> {
        let (request, response) = (self.kept.get().cloned(), response.cloned());
        let any = request.is_some() || response.is_some();
        any.then(|| Box::new(KeptBodies { request, response }))
    }

    /// The refusal of its answer, which is recorded.
    fn refused(&self, act: &Act, decision: Decision) -> Answered {
        self.told.store(true, Ordering::Relaxed);
        Answered::refused(act, decision)
    }

    /// Records what came of it.
    pub(crate) fn note(&self, act: Act) {
        self.told.store(true, Ordering::Relaxed);
        self.decider.note(act, Decision::allow(self.rule.clone()));
    }

    /// The answer's row, as far as it is known at its head.
    fn answer(&self, status: u16, headers: &HeaderMap) -> Act {
        let (method, host, connected, port, path, scheme) = match &self.act {
            Act::Http {
                method,
                host,
                connected,
                port,
                path,
                scheme,
                ..
            } => (method, host, connected, *port, path, *scheme),
            _ => return self.act.clone(),
        };
        let kind = headers.get(CONTENT_TYPE);
        Act::HttpResponse {
            request: self.row,
            method: method.clone(),
            host: host.clone(),
            connected: connected.clone(),
            port,
            path: path.clone(),
            scheme,
            status,
            content_type: kind.map(|kind| Text::from(kind.as_bytes().to_vec())),
            sent: self.bytes(),
            received: 0,
            masked: 0,
            first_ns: nanoseconds(self.since),
            duration_ns: nanoseconds(self.since),
            problem: None,
            bodies: self.bodies(None),
        }
    }

    /// Records that no answer came.
    pub(crate) fn failed(&self, why: &str) {
        let mut act = self.answer(0, &HeaderMap::new());
        if let Act::HttpResponse { problem, .. } = &mut act {
            *problem = Some(Text::from(why));
        }
        self.note(act);
    }

    /// Decides an answer after which the connection carries something else, and records it.
    pub(crate) fn upgraded(&self, response: &Response<Incoming>) -> Result<(), Answered> {
        let act = self.answer(response.status().as_u16(), response.headers());
        let (decider, headers) = (&self.decider, response.headers());
        let seen = || both(&self.headers, headers, None, BodyState::None);
        let rule = self.rule.clone();
        let submitted = decider.submit_response(&act, rule, &seen, Part::Whole, None);
        match submitted.decision {
            decision if decision.is_allow() => {
                self.note(act);
                Ok(())
            }
            decision if decision.verdict == Verdict::Rewrite => {
                let why = "it changes the protocol, and is passed on as it is";
                let denied = cannot(&decision, why);
                decider.refuse(act.clone(), denied.clone());
                Err(self.refused(&act, denied))
            }
            decision => Err(self.refused(&act, decision)),
        }
    }

    /// Decides the answer; what is passed on of it is recorded at its end.
    pub(crate) async fn decide(
        self,
        context: &Context,
        to: &Destination,
        response: Response<Incoming>,
    ) -> Result<Response<Body>, Answered> {
        let decider = Arc::clone(&self.decider);
        let response = secret_use::mask(context, to, response, &self.masked);
        let (mut head, body) = response.into_parts();
        let act = self.answer(head.status.as_u16(), &head.headers);
        let state = unseen(body.is_end_stream());
        let need = match state {
            BodyState::None => Need::Nothing,
            _ => decider.need(&act, &|| both(&self.headers, &head.headers, None, state)),
        };
        let (mut looked, mut rest) = (None, Some(body));
        let of_model = self.call.is_some() && decider.holds_model_answers();
        if (need == Need::Deciding || of_model)
            && let Some(body) = rest.take()
        {
            let (limit, room) = (decider.body_limit(), &context.room.answers);
            match Box::pin(Looked::at(body, &head.headers, limit, room)).await {
                Ok(at) => looked = Some(at),
                Err(error) => {
                    self.failed(&error.to_string());
                    return Err(Answered::Broken(error.to_string()));
                }
            }
        }
        let part = match need {
            Need::Watching => Part::Head,
            Need::Nothing | Need::Deciding => Part::Whole,
        };
        let mut rewritten: Option<String> = None;
        loop {
            let cut = looked
                .as_ref()
                .is_some_and(|l: &Looked| l.state == BodyState::Truncated);
            if cut && let Some(decision) = decider.beyond() {
                decider.refuse(act.clone(), decision.clone());
                return Err(self.refused(&act, decision));
            }
            let seen = || both(&self.headers, &head.headers, looked.as_ref(), state);
            let rule = self.rule.clone();
            let submitted = decider.submit_response(&act, rule, &seen, part, rewritten.as_deref());
            let decision = submitted.decision;
            if decision.is_allow() {
                break;
            }
            if decision.verdict != Verdict::Rewrite || rewritten.is_some() {
                return Err(self.refused(&act, decision));
            }
            let mut changed = Changed {
                headers: &mut head.headers,
                asked: None,
                body: looked.as_mut().and_then(Looked::text),
            };
            match rewriting::apply(&submitted.rewrites, &mut changed) {
                Ok(false) => {}
                Ok(true) => looked = looked.map(Looked::changed),
                Err(why) => {
                    let denied = cannot(&decision, &why);
                    decider.refuse(act.clone(), denied.clone());
                    return Err(self.refused(&act, denied));
                }
            }
            rewritten = Some(decision.rule.id);
        }
        let mut taps: Vec<Box<dyn Tap>> = Vec::new();
        match (&self.call, &looked) {
            (Some(call), Some(looked)) if of_model => {
                let (act, decision) = call.decide_answer(&head.headers, &looked.text);
                if !decision.is_allow() {
                    return Err(self.refused(&act, decision));
                }
            }
            (Some(call), _) => taps.push(call.answer_tap(&head.headers)),
            (None, _) => {}
        }
        if need == Need::Watching {
            let response = Some(&head.headers);
            taps.push(Box::new(Watch::new(context, &act, &self.headers, response)));
        }
        let held = match (looked, rest) {
            (Some(looked), _) => looked.held,
            (None, Some(body)) => Held::nothing(body),
            (None, None) => Held::none(),
        };
        let kept = Kept::default();
        if let Some(limit) = decider.keep_limit(&to.host, to.port) {
            taps.push(Box::new(Keep::new(context, &head.headers, limit, &kept)));
        }
        taps.push(Box::new(Row::new(self, act, kept)));
        Ok(Response::from_parts(head, Body::passing(held, taps)))
    }
}

/// A request and its answer.
fn both<'a>(
    request: &'a HeaderMap,
    headers: &'a HeaderMap,
    looked: Option<&'a Looked>,
    state: BodyState,
) -> Exchange<'a> {
    Exchange {
        request: message(request, None, BodyState::Unseen),
        response: message(headers, looked, state),
        ..Exchange::default()
    }
}

/// Nanoseconds since then.
pub(crate) fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}
