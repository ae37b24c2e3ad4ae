//! `bailiwick why`.

use crate::Done;
use crate::cli::WhyArguments;
use crate::output;
use crate::selection::{find, time};
use bailiwick_event::{Act, Event, Failure, KeptBodies, Text};
use bailiwick_ledger::{Filter, SessionReader};

/// Explains one row.
pub(crate) fn why(arguments: &WhyArguments) -> Done {
    let (session, number) = arguments
        .event
        .rsplit_once('/')
        .unwrap_or(("latest", &arguments.event));
    let number: u64 = number.parse().map_err(|_| {
        Failure::usage(format!(
            "\"{}\" is no row; write its number from `bailiwick log`, or SESSION/NUMBER",
            number.escape_default()
        ))
    })?;
    let (info, reader) = find(session)?;
    let event = reader.event(number)?.ok_or_else(|| {
        Failure::usage(format!(
            "session {} has no row {number}; it has {}",
            info.id, info.rows
        ))
    })?;
    let decision = &event.decision;
    // A finding decides nothing: what happened to the event stands in the event's own row.
    let what = match &event.act {
        Act::Finding {
            severity,
            confidence,
            ..
        } => format!("finding:  {severity}, confidence {confidence}; it decides nothing"),
        _ => format!("decision: {}", decision.verdict),
    };
    let mut text = format!(
        "{} {}: {}\n  {what}\n  rule:     {}\n",
        event.boundary(),
        event.id,
        event.act.resource(),
        decision.rule,
    );
    for (name, value) in [
        ("reason:   ", &decision.reason),
        ("remedy:   ", &decision.remedy),
    ] {
        if !value.is_empty() {
            text += &format!("  {name}{value}\n");
        }
    }
    if let Some(pack) = &decision.pack {
        text += &format!("  pack:     {pack}\n");
    }
    for (n, matched) in decision.matched.iter().enumerate() {
        let head = if n == 0 { "matched: " } else { "         " };
        let value = Text::from(matched.value.as_str());
        text += &format!("  {head} {} = {value}\n", matched.field);
    }
    for (head, kept) in bodies(&event, &reader)?.iter().flat_map(|kept| {
        [
            ("asked:    ", &kept.request),
            ("answered: ", &kept.response),
        ]
    }) {
        if let Some(kept) = kept {
            let cut = if kept.cut { ", and there was more" } else { "" };
            text += &format!(
                "  {head}{} bytes were kept{cut}; `bailiwick log {} --body {}` prints them\n",
                kept.bytes, info.id, kept.hash
            );
        }
    }
    text += &format!(
        "  time:     {} UTC\n  session:  {}\n",
        time(event.time_ns),
        info.id
    );
    output::print(&text)?;
    Ok(0)
}

/// The bodies that were kept of a request and its answer, whichever of the two the row is.
fn bodies(event: &Event, reader: &SessionReader) -> Result<Option<KeptBodies>, Failure> {
    let of = |act: &Act| match act {
        Act::HttpResponse { bodies, .. } => bodies.as_deref().cloned(),
        _ => None,
    };
    if !matches!(event.act, Act::Http { .. }) {
        return Ok(of(&event.act));
    }
    let later = reader.events(&Filter {
        boundary: Some(event.boundary()),
        after_id: event.id,
        ..Filter::default()
    })?;
    let answer = later.iter().find(
        |later| matches!(later.act, Act::HttpResponse { request, .. } if request == event.id),
    );
    Ok(answer.and_then(|answer| of(&answer.act)))
}
