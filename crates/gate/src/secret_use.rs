//! What secrets have to do with one exchange.

use crate::body::{Body, Source};
use crate::context::Context;
use crate::decider::Decider;
use crate::decode::{Coding, Decoder};
use crate::destination::Destination;
use crate::exchange::Answered;
use crate::refusal::Refusal;
use crate::secrets::{self, Inject, Mask, Refuse, Replacer, Secret, masks};
use bailiwick_event::{Act, Boundary, Decision, Host, RuleRef, Text};
use bailiwick_policy::SecretPlace;
use hyper::body::{Body as _, Incoming};
use hyper::header::{
    ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, HeaderMap, HeaderValue, RANGE,
    SEC_WEBSOCKET_EXTENSIONS,
};
use hyper::{Request, Response};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes of an answer whose coding is undone to look for secrets.
const MAX_CODED: usize = 1024 * 1024 * 1024;

/// Refuses a request whose head carries what stands for a secret to a machine that may not have it.
pub(crate) fn refuse(
    context: &Context,
    to: &Destination,
    host: &Host,
    act: &Act,
    path: &str,
    headers: &HeaderMap,
) -> Result<(), Answered> {
    match secrets::misplaced(&context.secrets, to, host, path, headers) {
        None => Ok(()),
        Some(secret) => {
            let refusal = refused(&context.decider, to, act, secret);
            Err(Answered::Refused(refusal))
        }
    }
}

/// The refusal of a request whose body was found to carry what it may not.
pub(crate) type Found = Arc<Mutex<Option<Box<Refusal>>>>;

/// Records the refusal, and the finding that it is.
fn refused(
    decider: &Arc<dyn Decider>,
    to: &Destination,
    act: &Act,
    secret: &Secret,
) -> Box<Refusal> {
    let decision = secret.refusal(&to.host);
    decider.refuse(act.clone(), decision.clone());
    let finding = Act::Finding {
        at: Boundary::Http,
        about: Text::from(format!("the secret {} for {}", secret.name(), to.shown())),
        severity: "high".to_owned(),
        confidence: "high".to_owned(),
        signature: String::new(),
    };
    decider.note(finding, Decision::allow(secret.reference()));
    Box::new(Refusal::new(act, decision))
}

/// Puts the secrets that a machine may have into a request that was allowed; each is recorded.
/// What may not go there breaks the request off, and is found in `found`.
pub(crate) fn show(
    context: &Context,
    to: &Destination,
    host: &Host,
    (act, row): (&Act, u64),
    mut request: Request<Body>,
    found: &Found,
) -> Request<Body> {
    let all = &context.secrets;
    if all.is_empty() {
        return request;
    }
    let carried = |secret: &&Secret| secrets::may_carry(secret, to, host);
    let (carried, strange): (Vec<&Secret>, Vec<&Secret>) = all.iter().partition(carried);
    let strange: Vec<_> = strange.into_iter().cloned().collect();
    let used = secrets::inject(carried.iter().copied(), &mut request);
    if secrets::bound(all, to).next().is_some() {
        // What is coded, or comes in parts of the program's choosing, hides what stands in it.
        let headers = request.headers_mut();
        headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        headers.remove(RANGE);
        // The only one that is known compresses (RFC 7692).
        headers.remove(SEC_WEBSOCKET_EXTENSIONS);
    }
    let in_body = carried
        .into_iter()
        .filter(|s| s.rule().places.contains(&SecretPlace::Body));
    let in_body: Vec<&Secret> = in_body.collect();
    if !strange.is_empty() {
        // At once: where the server has answered already, nobody asks later.
        let decider = context.decider.clone();
        let (to, act, found) = (to.clone(), act.clone(), Arc::clone(found));
        let tell = move |secret: &Secret| {
            let refusal = refused(&decider, &to, &act, secret);
            *found.lock().unwrap_or_else(PoisonError::into_inner) = Some(refusal);
        };
        request = request.map(|body| body.filtered(Refuse::new(strange, tell)));
    }
    if !in_body.is_empty() {
        let rows = in_body
            .iter()
            .map(|s| used_row(row, to, s, SecretPlace::Body));
        let rows: Vec<_> = rows.collect();
        let decider = context.decider.clone();
        let used = move |at: usize| {
            let (act, rule): &(Act, RuleRef) = &rows[at];
            decider.note(act.clone(), Decision::allow(rule.clone()));
        };
        request = request.map(|body| body.filtered(Inject::new(&in_body, used)));
    }
    for (secret, place) in used {
        let (act, rule) = used_row(row, to, secret, place);
        context.decider.note(act, Decision::allow(rule));
    }
    request
}

/// The row that says that a secret was put into a request.
fn used_row(row: u64, to: &Destination, secret: &Secret, place: SecretPlace) -> (Act, RuleRef) {
    let act = Act::SecretUsed {
        request: row,
        name: Text::from(secret.name()),
        host: Text::from(&to.host),
        port: to.port,
        place: place.name().to_owned(),
    };
    (act, secret.reference())
}

/// Takes the secrets out of an answer from a machine that may have them.
pub(crate) fn mask(
    context: &Context,
    to: &Destination,
    response: Response<Incoming>,
    masked: &Arc<AtomicU64>,
) -> Response<Source> {
    let bound: Vec<&Secret> = secrets::bound(&context.secrets, to).collect();
    if bound.is_empty() {
        return response.map(Source::from);
    }
    let mut response = response;
    let n = masks::in_head(&mut masks::replacer(bound.iter().copied()), &mut response);
    masked.fetch_add(n, std::sync::atomic::Ordering::Relaxed);
    let (mut head, body) = response.into_parts();
    let coding = Coding::of(&head.headers);
    // Of an answer that has no body (of HEAD, 304) nothing is undone.
    let coded = coding != Coding::Identity && !body.is_end_stream();
    let decoder = coded.then(|| {
        head.headers.remove(CONTENT_ENCODING);
        head.headers.remove(CONTENT_LENGTH);
        Decoder::new(coding, MAX_CODED, &context.room.masked)
    });
    let body = Source::filtered(body, Mask::new(bound, decoder, masked));
    Response::from_parts(head, body)
}

/// Takes the secrets out of the head of an answer after which the connection carries something else;
/// gives what takes them out of that.
pub(crate) fn mask_upgrade<B>(
    context: &Context,
    to: &Destination,
    response: &mut Response<B>,
) -> Option<Replacer> {
    let bound: Vec<&Secret> = secrets::bound(&context.secrets, to).collect();
    if bound.is_empty() {
        return None;
    }
    let mut replacer = masks::replacer(bound);
    masks::in_head(&mut replacer, response);
    Some(replacer)
}
