//! `bailiwick log`.

use crate::Done;
use crate::cli::{LogArguments, LogCommand};
use crate::har::har;
use crate::output;
use crate::selection::{find, time};
use bailiwick_event::{Act, Event, Failure, json};
use bailiwick_ledger::{Filter, SessionInfo, SessionReader, SessionState};
use std::io::IsTerminal;
use std::time::Duration;

/// How often a session that goes on is looked at.
const FOLLOW: Duration = Duration::from_millis(100);

/// Shows or verifies a session's rows.
pub(crate) fn log(arguments: &LogArguments) -> Done {
    if let Some(LogCommand::Verify(session)) = &arguments.command {
        let (_, reader) = find(&session.session)?;
        let verification = reader.verify()?;
        output::print(&format!("{verification}\n"))?;
        return Ok(u8::from(!verification.is_intact()));
    }
    let (mut info, reader) = find(&arguments.session.session)?;
    if arguments.har {
        let events = reader.events(&Filter::default())?;
        output::print(&har(&events, &reader)?)?;
        return Ok(0);
    }
    if let Some(hash) = &arguments.body {
        let body = reader.body(hash).ok_or_else(|| no_body(&info, hash))?;
        output::print_foreign(&body)?;
        return Ok(0);
    }
    let mut filter = Filter {
        denied: arguments.denied,
        handover: arguments.handover,
        boundary: arguments.boundary,
        ..Filter::default()
    };
    if !arguments.json {
        output::print(&header(&info, &reader)?)?;
    }
    let mut first = true;
    loop {
        let live = info.state == SessionState::Live;
        let events = reader.events(&filter)?;
        if let Some(last) = events.last() {
            filter.after_id = last.id;
        }
        output::print(&render(&events, arguments, first)?)?;
        first &= events.is_empty();
        if !arguments.follow || !live {
            return Ok(0);
        }
        std::thread::sleep(FOLLOW);
        info = crate::selection::sessions()?.find(info.id.as_str())?;
    }
}

/// The error where a body is not to be had.
fn no_body(info: &SessionInfo, hash: &str) -> Failure {
    Failure::usage(format!(
        "session {} has no body {hash}, or not as it was kept; `bailiwick log --json` names those that \
         it has (`bodies`)",
        info.id
    ))
}

fn header(info: &SessionInfo, reader: &SessionReader) -> Result<String, Failure> {
    let words: Vec<_> = info.argv.iter().map(ToString::to_string).collect();
    let damage = reader
        .damage()
        .map(|d| format!("\nrecord damaged: {d}"))
        .unwrap_or_default();
    let lost = match info.lost {
        0 => String::new(),
        lost => format!("\nlost: {lost} rows could not be kept"),
    };
    let without = match reader.event(1)?.map(|first| first.act) {
        Some(Act::SessionStart { layers, .. }) => done_without(&layers),
        _ => String::new(),
    };
    Ok(format!(
        "session {} ({}), {} UTC: {}\nfile reads: enforced, not recorded (`bailiwick policy show \
         --explain PATH` answers){without}{damage}{lost}\n\n",
        info.id,
        info.state.name(),
        time(info.started_ns),
        words.join(" "),
    ))
}

/// The layers that the run did without, where there are any, and those that it had.
fn done_without(layers: &[String]) -> String {
    match bailiwick_process::done_without(layers) {
        missing if missing.is_empty() => String::new(),
        missing => {
            let unseen = match missing.contains(&"namespaces") {
                true => {
                    "\nconnections: where the policy grants no machine they are refused by the \
                         kernel, not recorded"
                }
                false => "",
            };
            format!(
                "\nmissing layers: {}; in force: {} (`bailiwick doctor` says why and what it \
                 means){unseen}",
                missing.join(", "),
                layers.join(", "),
            )
        }
    }
}

fn render(events: &[Event], arguments: &LogArguments, first: bool) -> Result<String, Failure> {
    if arguments.json {
        return events
            .iter()
            .map(|event| match json::line(event) {
                Ok(line) => Ok(line + "\n"),
                Err(e) => Err(Failure::fault(format!("row {}: {e}", event.id))),
            })
            .collect();
    }
    if events.is_empty() {
        let none = first && !arguments.follow;
        return Ok(if none { "no such rows\n" } else { "" }.to_owned());
    }
    let mut table = output::table();
    if first {
        table.set_header([
            "#", "time", "boundary", "decision", "resource", "rule", "remedy",
        ]);
    }
    // Who reads a path in a pipe, or looks at files that are left, needs all of it.
    let whole = arguments.handover || !std::io::stdout().is_terminal();
    for event in events {
        table.add_row([
            event.id.to_string(),
            time(event.time_ns)
                .split(' ')
                .nth(1)
                .unwrap_or_default()
                .to_owned(),
            event.boundary().to_string(),
            match event.act {
                Act::Finding { .. } => "finding".to_owned(),
                _ => event.decision.verdict.to_string(),
            },
            match whole {
                true => event.act.resource(),
                false => shortened(event.act.resource()),
            },
            event.decision.rule.to_string(),
            event.decision.remedy.clone(),
        ]);
    }
    Ok(format!("{}\n", table.trim_fmt()))
}

/// A cell of the table; `why` and `--json` have all of it.
fn shortened(text: String) -> String {
    const WIDTH: usize = 100;
    match text.char_indices().nth(WIDTH) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
