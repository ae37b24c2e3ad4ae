//! Calls to language models, as events: what a request asks for and what its answer says, read from
//! their bodies as these pass.
//!
//! Decision: nothing is held back to be read, unless a rule must decide first. What a session has used
//! is added up here, where every answer passes, so that a rule can set a budget.

use crate::body::{End, Tap};
use crate::context::Context;
use crate::decode::{Coding, Decoder};
use crate::exchange::nanoseconds;
use crate::model::{self, Answer, Question, Reader, cost, prices_date};
use crate::share::Share;
use crate::taps::Collected;
use bailiwick_event::{Act, Decision, ModelAnswer, ModelCall, ModelTotals, RuleRef, Text, ToolUse};
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Bytes of a request's body that are read.
const MAX_QUESTION: usize = 4 * 1024 * 1024;
/// Bytes of an answer that are read, its codings undone.
const MAX_ANSWER: usize = 64 * 1024 * 1024;
/// Bytes that every answer may keep, whatever there is room for: most that comes bit by bit needs no more.
const FREE: usize = 16 * 1024;
/// Calls of tools whose results are waited for.
const MAX_OPEN: usize = 4096;
/// Bytes of a name that goes into a row.
const MAX_NAME: usize = 256;

/// What a session has used, and which tools were called.
#[derive(Default)]
pub(crate) struct Models(Mutex<Used>);

#[derive(Default)]
struct Used {
    totals: ModelTotals,
    /// The row of the answer that made a call, by the call's id.
    calls: HashMap<String, u64>,
}

impl Models {
    fn with<T>(&self, get: impl FnOnce(&mut Used) -> T) -> T {
        get(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A call that is on its way.
#[derive(Clone)]
pub(crate) struct Call {
    context: Arc<Context>,
    call: model::ModelCall,
    /// By which rule its request was allowed.
    rule: RuleRef,
    /// The number of the request's row.
    row: u64,
    since: Instant,
    /// The model that was asked.
    asked: Arc<Mutex<Option<String>>>,
}

fn name(text: &str) -> Text {
    Text::from(text.as_bytes().to_vec()).truncated(MAX_NAME)
}

impl Call {
    pub(crate) fn new(
        context: &Arc<Context>,
        call: model::ModelCall,
        rule: &RuleRef,
        row: u64,
    ) -> Self {
        Self {
            context: Arc::clone(context),
            asked: Arc::new(Mutex::new(call.model.clone())),
            call,
            rule: rule.clone(),
            row,
            since: Instant::now(),
        }
    }

    /// The call as it is recorded; none where what was read is no call.
    fn question(&self, question: &Question) -> Option<Act> {
        let asked = question.model.clone().or_else(|| self.call.model.clone());
        if asked.is_none() && !question.cut {
            return None;
        }
        self.asked(|known| known.clone_from(&asked));
        let (session, results) = self.context.models.with(|used| {
            let results = question.results.iter().map(|result| ToolUse {
                id: result.id.as_deref().map(name),
                name: result.name.as_deref().map(name),
                failed: result.is_error,
                call: result
                    .id
                    .as_ref()
                    .and_then(|id| used.calls.get(id).copied()),
            });
            let results = results.collect();
            (used.totals.clone(), results)
        });
        Some(Act::ModelRequest(ModelCall {
            request: self.row,
            provider: self.call.provider.to_owned(),
            model: asked.as_deref().map(name),
            streaming: question.streaming.or(self.call.streaming),
            tools: question.tools.iter().map(|tool| name(tool)).collect(),
            most_tokens: question.most_tokens,
            results,
            cut: question.cut || question.malformed,
            session,
        }))
    }

    fn asked<T>(&self, get: impl FnOnce(&mut Option<String>) -> T) -> T {
        get(&mut self.asked.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Decides about a call whose body is known; none where it is no call.
    pub(crate) fn decide(&self, body: &str) -> Option<(Act, Decision)> {
        let question = model::read(&self.call, body.as_bytes());
        let act = self.question(&question)?;
        let decider = &self.context.decider;
        let submitted = decider.submit_model(act.clone(), question.text.as_deref());
        Some((act, submitted.decision))
    }

    /// The answer as it is recorded, with what it adds to what the session has used.
    fn answer(&self, answer: &Answer, first: Option<u64>, end: &End) -> Act {
        let asked = self.asked(|asked| asked.clone());
        let model = answer.model.clone().or(asked);
        let provider = self.call.provider;
        let price = model
            .as_deref()
            .and_then(|model| cost(provider, model, &answer.usage));
        let cost_nanousd = price.map(nano);
        let tokens = answer.usage.input.unwrap_or(0) + answer.usage.output.unwrap_or(0);
        let session = self.context.models.with(|used| {
            let totals = &mut used.totals;
            totals.calls += 1;
            totals.tokens = totals.tokens.saturating_add(tokens);
            totals.cost_nanousd = totals
                .cost_nanousd
                .saturating_add(cost_nanousd.unwrap_or(0));
            totals.model = model.as_deref().map(name);
            totals.clone()
        });
        let tools = answer.calls.iter().map(|call| ToolUse {
            id: call.id.as_deref().map(name),
            name: call.name.as_deref().map(name),
            ..ToolUse::default()
        });
        Act::ModelResponse(ModelAnswer {
            request: self.row,
            provider: provider.to_owned(),
            model: model.as_deref().map(name),
            tools: tools.collect(),
            input: answer.usage.input,
            output: answer.usage.output,
            cached: answer.usage.cached,
            prices: cost_nanousd.and(prices_date()),
            cost_nanousd,
            stop: answer.stop.as_deref().map(name),
            error: answer.error.as_deref().map(name),
            first_ns: first,
            duration_ns: nanoseconds(self.since),
            cut: answer.truncated || answer.malformed || *end != End::Whole,
            session,
        })
    }

    /// Submits an answer that was read.
    fn submit(&self, answer: &Answer, first: Option<u64>, end: &End) -> (Act, Decision) {
        let act = self.answer(answer, first, end);
        let decider = &self.context.decider;
        let submitted = decider.submit_model(act.clone(), answer.text.as_deref());
        self.context.models.with(|used| {
            if used.calls.len() > MAX_OPEN {
                used.calls.clear();
            }
            for call in &answer.calls {
                if let Some(id) = &call.id {
                    used.calls.insert(id.clone(), submitted.id);
                }
            }
        });
        (act, submitted.decision)
    }

    /// Decides about an answer that was held back.
    pub(crate) fn decide_answer(&self, headers: &HeaderMap, body: &str) -> (Act, Decision) {
        let mut reader = Reader::new(self.call.api, content_type(headers));
        reader.feed(body.as_bytes());
        let first = reader.has_begun().then(|| nanoseconds(self.since));
        self.submit(&reader.finish(), first, &End::Whole)
    }

    /// What reads the request's body as it passes.
    pub(crate) fn question_tap(&self, headers: &HeaderMap) -> Box<dyn Tap> {
        Box::new(QuestionTap {
            call: self.clone(),
            collected: Collected::new(headers, MAX_QUESTION, &self.context.room.watched),
        })
    }

    /// What reads the answer's body as it passes.
    pub(crate) fn answer_tap(&self, headers: &HeaderMap) -> Box<dyn Tap> {
        let room = &self.context.room.models;
        Box::new(AnswerTap {
            call: self.clone(),
            decoder: Decoder::new(Coding::of(headers), MAX_ANSWER, room),
            share: Share::of(room),
            read: Read::Begun(Reader::new(self.call.api, content_type(headers))),
            first: None,
        })
    }
}

fn content_type(headers: &HeaderMap) -> Option<&str> {
    headers.get(CONTENT_TYPE)?.to_str().ok()
}

/// Dollars in billionths.
#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "what is beyond is capped, and no price is negative"
)]
fn nano(dollars: f64) -> u64 {
    (dollars * 1e9).round() as u64
}

struct QuestionTap {
    call: Call,
    collected: Collected,
}

impl Tap for QuestionTap {
    fn data(&mut self, data: &Bytes) {
        self.collected.take(data);
    }

    fn step(&mut self) -> bool {
        self.collected.step()
    }

    fn end(&mut self, _: &End) {
        // What is not all of it has no end, and is read as that.
        let (body, _) = self.collected.finish();
        let question = model::read(&self.call.call, &body);
        if let Some(act) = self.call.question(&question) {
            let allowed = Decision::allow(self.call.rule.clone());
            self.call.context.decider.note(act, allowed);
        }
    }
}

/// How far an answer was read.
enum Read {
    Begun(Reader),
    /// As far as there was room.
    Cut(Answer),
    Ended,
}

struct AnswerTap {
    call: Call,
    decoder: Decoder,
    /// What the reader keeps.
    share: Share,
    read: Read,
    first: Option<u64>,
}

impl AnswerTap {
    /// What the answer said, as far as it was read.
    fn finish(&mut self) -> Option<Answer> {
        let answer = match std::mem::replace(&mut self.read, Read::Ended) {
            Read::Begun(reader) => {
                let mut answer = reader.finish();
                answer.truncated |= self.decoder.is_cut();
                Some(answer)
            }
            Read::Cut(answer) => Some(answer),
            Read::Ended => None,
        };
        self.share.hold(0);
        answer
    }
}

impl Tap for AnswerTap {
    fn data(&mut self, data: &Bytes) {
        if let Read::Begun(_) = self.read {
            self.decoder.take(data);
        }
    }

    fn step(&mut self) -> bool {
        let Read::Begun(reader) = &mut self.read else {
            return false;
        };
        let Some(new) = self.decoder.step() else {
            return false;
        };
        reader.feed(&new);
        if self.first.is_none() && reader.has_begun() {
            self.first = Some(nanoseconds(self.call.since));
        }
        if self.share.hold(reader.size().saturating_sub(FREE)) {
            return self.decoder.has_more();
        }
        // The rest passes, and nobody reads it.
        if let Some(mut answer) = self.finish() {
            answer.truncated = true;
            self.read = Read::Cut(answer);
        }
        false
    }

    fn end(&mut self, end: &End) {
        self.decoder.end();
        while *end != End::Dropped && self.step() {}
        // What no API of a model has said is no answer of one.
        if let Some(answer) = self.finish()
            && answer != Answer::default()
            && (answer.model.is_some() || self.call.asked(|a| a.is_some()))
        {
            self.call.submit(&answer, self.first, end);
        }
    }
}

#[cfg(test)]
#[path = "model_calls_tests.rs"]
mod tests;
