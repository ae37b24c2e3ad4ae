//! A person decides. Decision: the act waits and nothing else does; who is asked, and how, is not the
//! guard's matter, but every answer is a row, that nobody answered too.

use crate::guard::{Guard, Submitted};
use crate::refusal::built_in;
use bailiwick_event::{Act, Decision, Text};
use bailiwick_policy::Beyond;
use bailiwick_rules::{Action, Rule};
use std::sync::Arc;
use std::time::Duration;

/// How long a person has where the policy says nothing.
const PATIENCE: Duration = Duration::from_secs(120);

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It may happen this time.
    Once,
    /// It may happen from now on.
    Always,
    /// It may not.
    Deny,
    /// Nothing, in the time that there was.
    Timeout,
    /// There is nobody to ask.
    Nobody,
}

impl Answer {
    fn name(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Always => "always",
            Self::Deny => "deny",
            Self::Timeout => "timeout",
            Self::Nobody => "nobody",
        }
    }
}

/// What a person is asked.
#[derive(Clone, Debug)]
pub struct Question {
    /// What is to happen, safe to show.
    pub about: String,
    /// The rule that asks, and why.
    pub asked: Decision,
    /// The rule that would let it happen from now on; none where no rule of the user's can.
    pub always: Option<Rule>,
}

/// How the answer to a question is told.
pub type Tell = Box<dyn FnOnce(Answer) + Send>;

/// Who is asked; it returns at once, and tells the answer later.
pub type Approver = Box<dyn Fn(Question, Tell) + Send + Sync>;

impl Guard {
    /// Says who is asked; the first time counts.
    pub fn on_ask(&self, approver: Approver) {
        let _ = self.approver.set(approver);
    }

    /// How long a person has to answer.
    #[must_use]
    pub fn ask_timeout(&self) -> Duration {
        let timeout = self.policy().ask.timeout.as_ref();
        timeout.map_or(PATIENCE, |timeout| timeout.value)
    }

    /// Asks a person about an act that a rule asks about. `tell` gets the decision, which is
    /// recorded by then.
    pub fn ask(
        self: &Arc<Self>,
        act: &Act,
        asked: &Submitted,
        tell: Box<dyn FnOnce(Decision) + Send>,
    ) {
        let Some(approver) = self.approver.get() else {
            return tell(self.answered(act, asked, Answer::Nobody));
        };
        let question = Question {
            about: act.resource(),
            asked: asked.decision.clone(),
            always: self.always(act, &asked.decision),
        };
        let (guard, act, asked) = (Arc::clone(self), act.clone(), asked.clone());
        let answered = move |answer| tell(guard.answered(&act, &asked, answer));
        approver(question, Box::new(answered));
    }

    /// The decision that follows from an answer; recorded.
    fn answered(&self, act: &Act, asked: &Submitted, answer: Answer) -> Decision {
        let rule = &asked.decision.rule;
        let allow = |id: &str| Decision::allow(built_in(id));
        let default = |reason: &str| match &self.policy().ask.default {
            Some(default) if default.value == Beyond::Allow => allow("ask.default"),
            _ => Decision::deny(
                built_in("ask.default"),
                format!("the rule \"{}\" asks, and {reason}", rule.id),
                format!(
                    "run it in a terminal, or change the rule in {}",
                    rule.origin
                ),
            ),
        };
        let decision = match answer {
            Answer::Once | Answer::Always => allow("ask.answer"),
            Answer::Deny => Decision::deny(
                built_in("ask.answer"),
                "the person who was asked said no",
                "do not try it again without asking that person",
            ),
            Answer::Timeout => default("nobody answered in time"),
            Answer::Nobody => default("there is nobody to ask here"),
        };
        let row = Act::Answered {
            row: asked.id,
            at: act.boundary(),
            answer: answer.name().to_owned(),
            about: Text::from(act.resource()),
        };
        if answer == Answer::Always
            && let Some(rule) = self.always(act, &asked.decision)
        {
            let mut edit = self.rules().edit();
            let _ = edit.put(rule);
            edit.finish();
        }
        self.note(row, decision.clone());
        decision
    }

    /// The rule that lets such an act happen from now on: it is asked before the one that asks.
    fn always(&self, act: &Act, asked: &Decision) -> Option<Rule> {
        let asking = self.rules().get(&asked.rule.id)?;
        let asking = asking.rule();
        if asking.locked || self.policy().rule_locks.rules.is_some() {
            return None;
        }
        let text = |text: &Text| {
            let text = std::str::from_utf8(text.as_bytes()).ok()?;
            let plain = text.len() <= 500 && !text.contains(['"', '\'', '\\']);
            (plain && !text.chars().any(char::is_control)).then(|| format!("\"{text}\""))
        };
        let when = match act {
            // A condition names the machine that is asked for, not the one that is reached.
            Act::Http {
                host, connected, ..
            } if host != connected => return None,
            Act::Http {
                method,
                host,
                port,
                path,
                scheme,
                ..
            } => {
                // What a query holds changes; the path is what was approved.
                let path = path
                    .as_bytes()
                    .split(|b| *b == b'?')
                    .next()
                    .unwrap_or_default();
                format!(
                    "http.request.method == {} && http.request.scheme == \"{}\" && \
                     http.request.host == {} && http.request.port == {port} && \
                     http.request.path == {}",
                    text(method)?,
                    scheme.name(),
                    text(host)?,
                    text(&Text::from(path.to_vec()))?
                )
            }
            Act::Connect { host, port, .. } => {
                let name = text(host)?;
                let field = match host.to_string_lossy().parse::<std::net::IpAddr>() {
                    Ok(_) => "socket.address",
                    Err(_) => "socket.host",
                };
                format!("has({field}) && {field} == {name} && socket.port == {port}")
            }
            _ => return None,
        };
        let number = blake3::hash(when.as_bytes()).to_hex();
        let id = format!("allowed-{}", &number[..12]);
        let mut rule = Rule::enforcement(&id, asking.on, &when, Action::Allow);
        rule.reason = format!("allowed for good when the rule {} asked", asking.id);
        let places = [asking.priority, asking.priority.saturating_add(1)];
        places.into_iter().find_map(|priority| {
            rule.priority = priority;
            self.takes_only(&rule, asking).then(|| rule.clone())
        })
    }

    /// Whether a rule is asked before the one that asks, and before no other that would have been
    /// asked first: a person who is asked about one rule does not answer another.
    fn takes_only(&self, rule: &Rule, asking: &Rule) -> bool {
        let overtaken = |other: &Rule| {
            let holds_back = !matches!(other.effect.action(), None | Some(Action::Allow));
            other.on == rule.on
                && holds_back
                && other.order(asking).is_lt()
                && rule.order(other).is_lt()
        };
        let others = self.rules().enabled();
        rule.order(asking).is_lt() && !others.iter().any(|other| overtaken(other.rule()))
    }
}

#[cfg(test)]
#[path = "asking_tests.rs"]
mod tests;
