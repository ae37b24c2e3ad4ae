//! The policy's rules, asked about what the rest of the policy allows.
//!
//! Decision: a rule can take away and never give: whatever the other keys refuse stays refused,
//! and an event is only asked about after they allowed it. Detections see refused events too, for
//! what was tried is what they are there to report.

use crate::refusal::built_in;
use bailiwick_event::fields::{EventType, Exchange, Field, HttpRequest, Projection, Subject, Time};
use bailiwick_event::{Act, Decision, Host, RuleRef, Scheme, Text, Verdict};
use bailiwick_rules::eval::{ErrorKind, MAX_EVENT_STEPS, Steps};
use bailiwick_rules::{
    Action, Compiled, Decided, Effect, Match, Need, Outcome, Part, Registry, Rewrite, Rule, masked,
};
use std::borrow::Cow;
use std::sync::{Arc, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The rules of a session, and what is known of every event of it.
pub(crate) struct Rules {
    registry: Registry,
    session: String,
    backend: OnceLock<String>,
}

/// What a boundary sees beside the act.
#[derive(Clone, Debug)]
pub(crate) struct Seen<'a> {
    /// The messages of HTTP; none at another boundary.
    pub(crate) exchange: Option<Exchange<'a>>,
    /// What detections are asked about.
    pub(crate) part: Part,
}

impl Seen<'_> {
    /// Nothing.
    pub(crate) const NOTHING: Self = Self {
        exchange: None,
        part: Part::Whole,
    };
}

/// What the rules say about an act.
pub(crate) struct Judged {
    /// The decision: the one that came in, or a rule's.
    pub(crate) decision: Decision,
    /// What is changed, where the decision is to rewrite.
    pub(crate) rewrites: Vec<Rewrite>,
    /// What is to be recorded besides.
    pub(crate) rows: Vec<(Act, Decision)>,
    /// Whether the session is to be ended.
    pub(crate) stops: bool,
}

impl Judged {
    fn just(decision: Decision) -> Self {
        Self {
            decision,
            rewrites: Vec::new(),
            rows: Vec::new(),
            stops: false,
        }
    }

    /// The stricter of what is said of the name that a request has and of the machine that it goes to.
    fn and(mut self, connected: Self) -> Self {
        // What only the machine that it goes to shows.
        let told: Vec<_> = self.rows.iter().map(|(_, d)| d.rule.id.clone()).collect();
        let other = connected.decision;
        let more = connected.rows.into_iter();
        self.rows
            .extend(more.filter(|(_, d)| !told.contains(&d.rule.id)));
        self.stops |= connected.stops;
        let same = self.decision.rule.id == other.rule.id;
        match (self.decision.verdict, other.verdict) {
            (Verdict::Deny, _) | (_, Verdict::Allow) => {}
            (Verdict::Allow, _) | (_, Verdict::Deny) | (Verdict::Ask, Verdict::Ask) => {
                self.decision = other;
                self.rewrites = connected.rewrites;
            }
            (Verdict::Rewrite, Verdict::Rewrite) if same => {}
            (_, _) => {
                self.decision = Decision::deny(
                    other.rule,
                    format!(
                        "this rule and \"{}\" both want to ask about or change a request that names \
                         one machine and goes to another",
                        self.decision.rule.id
                    ),
                    "name the machine that is connected to",
                );
                self.rewrites.clear();
            }
        }
        self
    }

    /// The same at a boundary that cannot wait: what a person is to be asked is refused.
    pub(crate) fn unasked(mut self) -> Self {
        if self.decision.verdict == Verdict::Ask {
            self.decision.verdict = Verdict::Deny;
            self.decision.reason += "; the rule asks, and there is nobody to ask here";
        }
        self
    }

    /// The same at a boundary that can change nothing: what is to be changed is refused.
    pub(crate) fn unchanged(mut self) -> Self {
        if self.decision.verdict == Verdict::Rewrite {
            self.decision.verdict = Verdict::Deny;
            self.decision.reason += "; the rule rewrites, and this cannot be changed here";
        }
        self
    }
}

impl Rules {
    /// The rules of a policy that was loaded, and so has no rule that does not compile. One that
    /// does not is replaced by a refusal of all events of its type.
    pub(crate) fn new(rules: &[Rule], session: &str) -> Self {
        let compile = |rule: &Rule| match Compiled::new(rule.clone()) {
            Ok(compiled) => Some(Arc::new(compiled)),
            Err(error) => refuse_all(rule, &error.to_string()),
        };
        Self {
            registry: Registry::new(rules.iter().filter_map(compile).collect()),
            session: session.to_owned(),
            backend: OnceLock::new(),
        }
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.registry
    }

    /// Takes from a session's first row what its events have in common.
    pub(crate) fn learn(&self, act: &Act) {
        if let Act::SessionStart { backend, .. } = act {
            let _ = self.backend.set(backend.clone());
        }
    }

    /// Whether any rule is about calls to language models.
    pub(crate) fn ask_models(&self) -> bool {
        let set = self.registry.current();
        set.has(EventType::ModelRequest) || set.has(EventType::ModelResponse)
    }

    /// Whether any rule could ask about a request to this machine within TLS, or about what comes of
    /// it.
    pub(crate) fn could_ask(&self, host: &Host, port: u16) -> bool {
        let set = self.registry.current();
        let request = HttpRequest {
            scheme: Some(Cow::Borrowed(Scheme::Https.name())),
            host: Some(Cow::Owned(host.to_string())),
            port: Some(i64::from(port)),
            ..HttpRequest::EMPTY
        };
        let known = [Field::HttpScheme, Field::HttpHost, Field::HttpPort];
        [EventType::HttpRequest, EventType::HttpResponse]
            .into_iter()
            .any(|on| {
                let subject = Subject {
                    http_request: Some(&request),
                    ..Subject::new(on)
                };
                set.could_ask(&subject, &known)
            })
    }

    /// What the rules need of a message's body, where its head is known.
    pub(crate) fn need(&self, act: &Act, exchange: &Exchange<'_>) -> Need {
        let one = |act: &Act| {
            let Some(seen) = Projection::of(act) else {
                return Need::Nothing;
            };
            let subject = seen.subject();
            let completed = exchange.clone().complete(&subject);
            let subject = completed.subject(&subject);
            self.registry.current().need(&subject)
        };
        let asked = Projection::event_type(act).is_some_and(|on| self.registry.current().has(on));
        match asked {
            false => Need::Nothing,
            true => as_connected(act)
                .map_or(Need::Nothing, |other| one(&other))
                .max(one(act)),
        }
    }

    /// Asks the rules about an act that the rest of the policy decided. `seen` is what the boundary
    /// sees beside it; `rewritten` is the rule that changed the act already: it is not asked again,
    /// and no other may change it.
    ///
    /// A request that goes to one machine and names another is asked about as both: what the rules
    /// say of either must let it pass.
    pub(crate) fn judge(
        &self,
        act: &Act,
        decision: Decision,
        seen: &Seen<'_>,
        rewritten: Option<&str>,
    ) -> Judged {
        // Most sessions have no rule about most events: then nothing is made of the act.
        let asked = Projection::event_type(act).is_some_and(|on| self.registry.current().has(on));
        if !asked {
            return Judged::just(decision);
        }
        if let Some(other) = as_connected(act) {
            let connected = self.judge_as(&other, decision.clone(), seen, rewritten);
            let named = self.judge_as(act, decision, seen, rewritten);
            return named.and(connected);
        }
        self.judge_as(act, decision, seen, rewritten)
    }

    fn judge_as(
        &self,
        act: &Act,
        decision: Decision,
        seen: &Seen<'_>,
        rewritten: Option<&str>,
    ) -> Judged {
        let set = self.registry.current();
        let (exchange, part) = (&seen.exchange, seen.part);
        let Some(mut seen) = Projection::of(act) else {
            return Judged::just(decision);
        };
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        seen.common.session = Some(Cow::Borrowed(&self.session));
        seen.common.backend = self.backend.get().map(|name| Cow::Borrowed(&**name));
        seen.common.time = i64::try_from(now.as_nanos()).ok().map(Time);
        let subject = seen.subject();
        let completed;
        let subject = match exchange {
            Some(exchange) => {
                completed = exchange.clone().complete(&subject);
                completed.subject(&subject)
            }
            None => subject,
        };
        let seconds = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        let mut rows = Vec::new();
        // What a changed request is was told of before it was changed.
        if rewritten.is_none() {
            let mut more = 0_usize;
            let unasked = set.detect_part(&subject, seconds, part, |rule| match rows.len() {
                MOST_FINDINGS => more += 1,
                _ => rows.push(finding(act, &Match::new(rule, &subject), None)),
            });
            if more > 0 {
                let what = format!("{more} more detections are true of");
                rows.push(built_in_finding(
                    act,
                    "rules.findings",
                    "informational",
                    &what,
                ));
            }
            if let Some(rule) = unasked {
                let rule = rule.rule();
                let what = format!(
                    "the detection \"{}\" ({}) takes more steps than it has; it, and those after it \
                     that take many, were not asked about",
                    rule.id, rule.origin
                );
                rows.push(built_in_finding(act, "rules.steps", "medium", &what));
            }
        }
        // What has passed is not decided about any more.
        if !decision.is_allow() || part == Part::Body {
            return Judged {
                rows,
                ..Judged::just(decision)
            };
        }
        let (before, mut more, steps) = (rows.len(), 0_usize, Steps::of_event());
        let decided = set.decide_without(&subject, seconds, rewritten, |rule, outcome| {
            // Of a condition that has no value again and again the first is told; all are counted.
            let why = match outcome {
                Outcome::Failed if rule.failed() > 1 => return,
                _ if rows.len() - before >= MOST_FINDINGS => {
                    more += 1;
                    return;
                }
                Outcome::Failed => Some(why_failed(rule, &subject, &steps).0),
                _ => None,
            };
            rows.push(finding(act, &Match::new(rule, &subject), why));
        });
        if more > 0 {
            let what = format!("{more} more rules observe, or have no value for,");
            rows.push(built_in_finding(
                act,
                "rules.findings",
                "informational",
                &what,
            ));
        }
        let Some(decided) = decided else {
            return Judged {
                rows,
                ..Judged::just(decision)
            };
        };
        let (decision, rewrites) = by_rule(&decided, &subject, decision, rewritten.is_some());
        Judged {
            stops: decided.action == Action::Stop && !decided.failed,
            decision,
            rewrites,
            rows,
        }
    }
}

/// A request under the name of the machine that it goes to, where it names another.
fn as_connected(act: &Act) -> Option<Act> {
    let (Act::Http {
        host, connected, ..
    }
    | Act::HttpResponse {
        host, connected, ..
    }) = act
    else {
        return None;
    };
    if host == connected {
        return None;
    }
    let mut other = act.clone();
    if let Act::Http { host, .. } | Act::HttpResponse { host, .. } = &mut other {
        host.clone_from(connected);
    }
    Some(other)
}

/// What stands in the place of a rule that cannot be enforced; none for a detection.
fn refuse_all(rule: &Rule, why: &str) -> Option<Arc<Compiled>> {
    rule.effect.action()?;
    let mut instead = Rule::enforcement(&rule.id, rule.on, "true", Action::Deny);
    instead.origin = rule.origin.clone();
    instead.locked = true;
    instead.reason = format!("the rule cannot be enforced: {why}");
    Compiled::new(instead).ok().map(Arc::new)
}

/// Why a condition has no value, and how to mend the rule, in words that hold no value of the event:
/// those of most errors quote what they were given, and that may be a credential.
fn why_failed(rule: &Compiled, subject: &Subject<'_>, steps: &Steps) -> (String, &'static str) {
    let (why, mend) = match rule.program().evaluate_within(subject, steps) {
        // It has one where it is asked alone.
        Ok(_) => (
            format!("the rules together take more than {MAX_EVENT_STEPS} steps for it"),
            "let the rules ask for less",
        ),
        Err(error) => match error.kind {
            ErrorKind::NoSuchField => (
                error.to_string(),
                "let the rule ask first with has(…), of a header with .exists(), whether it is there",
            ),
            ErrorKind::TooExpensive => (error.to_string(), "let the rule ask for less"),
            ErrorKind::NoSuchKey | ErrorKind::NoSuchElement => (
                "a map or a list does not have what it asks for".to_owned(),
                "let the rule ask first with has(…), `in` or size(…) whether it is there",
            ),
            ErrorKind::NoSuchOverload => (
                "a value has another type".to_owned(),
                "let the rule ask first for its type(…)",
            ),
            ErrorKind::DivisionByZero | ErrorKind::Overflow => (
                "a number is too large, or is divided by zero".to_owned(),
                "let the rule ask first for its range",
            ),
            ErrorKind::BadConversion | ErrorKind::BadArgument | ErrorKind::RepeatedKey => (
                "a value cannot be converted, or is no pattern, place or key".to_owned(),
                "let the rule ask first with matches(…) for its form",
            ),
        },
    };
    (
        format!("its condition has no value for this event: {why}"),
        mend,
    )
}

fn reference(rule: &Rule) -> RuleRef {
    RuleRef {
        id: rule.id.clone(),
        origin: rule.origin.clone(),
    }
}

fn by_rule(
    decided: &Decided,
    subject: &Subject<'_>,
    allowed: Decision,
    rewritten: bool,
) -> (Decision, Vec<Rewrite>) {
    let rule = decided.rule.rule();
    let (remedy, rewrites) = match &rule.effect {
        Effect::Enforce {
            remedy, rewrites, ..
        } => (remedy.clone(), rewrites.clone()),
        Effect::Detect { .. } => (String::new(), Vec::new()),
    };
    let matched = Match::new(&decided.rule, subject);
    let with = |verdict: Verdict, reason: String, remedy: String| Decision {
        verdict,
        rule: reference(rule),
        reason,
        remedy,
        pack: rule.pack.as_deref().map(str::to_owned),
        matched: matched.fields(),
    };
    let or = |text: &str, other: &str| match text.is_empty() {
        true => other.to_owned(),
        false => text.to_owned(),
    };
    let change = format!(
        "change or disable the rule \"{}\" in {}",
        rule.id, rule.origin
    );
    if decided.failed {
        let (reason, mend) = why_failed(&decided.rule, subject, &Steps::of_event());
        let remedy = format!("{mend}; {change}");
        return (with(Verdict::Deny, reason, remedy), Vec::new());
    }
    let reason = or(&rule.reason, "the rule's condition is true of it");
    match decided.action {
        Action::Allow => (
            with(Verdict::Allow, rule.reason.clone(), String::new()),
            Vec::new(),
        ),
        Action::Deny => (
            with(Verdict::Deny, reason, or(&remedy, &change)),
            Vec::new(),
        ),
        Action::Ask => (with(Verdict::Ask, reason, or(&remedy, &change)), Vec::new()),
        Action::Rewrite if rewritten => {
            let reason = format!(
                "{reason}; another rule has changed it already, and it is changed at most once"
            );
            let remedy = format!("put both changes into one rule, or {change}");
            (with(Verdict::Deny, reason, remedy), Vec::new())
        }
        Action::Rewrite => (
            with(Verdict::Rewrite, reason, or(&remedy, &change)),
            rewrites,
        ),
        Action::Stop => {
            let reason = format!("{reason}; the session is ended");
            (
                with(Verdict::Deny, reason, or(&remedy, &change)),
                Vec::new(),
            )
        }
        Action::Observe => (allowed, Vec::new()),
    }
}

/// Findings of one event that are rows of their own.
const MOST_FINDINGS: usize = 50;

/// The row that says what no other row does.
fn built_in_finding(act: &Act, rule: &str, severity: &str, what: &str) -> (Act, Decision) {
    let row = Act::Finding {
        at: act.boundary(),
        about: Text::from(format!("{what} {}", masked(&act.resource()))),
        severity: severity.to_owned(),
        confidence: "high".to_owned(),
        signature: String::new(),
    };
    (row, Decision::allow(built_in(rule)))
}

/// The row of a finding. A rule that observes is one of the lowest severity.
fn finding(act: &Act, found: &Match, why: Option<String>) -> (Act, Decision) {
    let finding = found.finding();
    let rule = found.rule().rule();
    let row = Act::Finding {
        at: act.boundary(),
        about: Text::from(match &why {
            Some(_) => format!("no value for {}", masked(&act.resource())),
            None => masked(&act.resource()).into_owned(),
        }),
        severity: finding
            .severity
            .map_or("informational", |s| s.name())
            .to_owned(),
        confidence: finding.confidence.map_or("high", |c| c.name()).to_owned(),
        signature: finding.signature,
    };
    let decision = Decision {
        reason: why.unwrap_or(finding.reason),
        pack: rule.pack.as_deref().map(str::to_owned),
        matched: finding.fields,
        ..Decision::allow(reference(rule))
    };
    (row, decision)
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
