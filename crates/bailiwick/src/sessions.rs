//! `bailiwick sessions`.

use crate::Done;
use crate::apply::applies;
use crate::cli::{SessionsArguments, SessionsCommand};
use crate::keep::{is_suspended, machine_of, remove};
use crate::output;
use crate::selection::{find, sessions as all, time};
use bailiwick_event::{Failure, json};
use bailiwick_ledger::{SessionInfo, SessionReader};
use bailiwick_policy::Effective;

/// What is said of a policy that is not there.
const NOT_KEPT: &str =
    "its text was not kept: the run was killed in its first moment; the record has its hash";

/// The policy that was in force in a session.
///
/// # Errors
/// Its text was not kept, or another version wrote it.
pub(crate) fn policy_of(reader: &SessionReader) -> Result<Effective, Failure> {
    let lock = reader.policy_lock()?;
    let lock = lock.ok_or_else(|| Failure::fault(NOT_KEPT))?;
    Effective::from_lock(&lock)
        .map_err(|why| Failure::fault(format!("the session's policy cannot be read: {why}")))
}

/// What a session is now, as people say it.
fn state_of(info: &SessionInfo) -> &'static str {
    match is_suspended(info) {
        true => "suspended",
        false => info.state.name(),
    }
}

/// How many sessions a list for people has.
const NEWEST: usize = 50;

/// Lists, shows or removes sessions.
pub(crate) fn sessions(arguments: &SessionsArguments) -> Done {
    match &arguments.command {
        SessionsCommand::List { json, limit } => {
            // A program asks for all of them, unless it says otherwise.
            let most = limit.unwrap_or(if *json { usize::MAX } else { NEWEST });
            let (newest, older) = all()?.newest(most)?;
            let text = match json {
                true => lines(&newest),
                false => format!("{}{}", table(&newest), more(older, older + newest.len())),
            };
            output::print(&text)?;
        }
        SessionsCommand::Show { session, policy } => {
            let (info, reader) = find(&session.session)?;
            let lock = reader.policy_lock()?;
            if *policy {
                let lock = lock.ok_or_else(|| Failure::fault(NOT_KEPT))?;
                output::print_foreign(format!("{}\n", lock.trim_end()).as_bytes())?;
                return Ok(0);
            }
            let mut text = table(std::slice::from_ref(&info));
            text += &format!(
                "\nfolder: {}\n{}\n",
                info.directory.display(),
                reader.verify()?
            );
            if let Ok(machine) = machine_of(&info) {
                let applied = applies(&machine)?;
                let lines = applied.iter().map(|line| format!("  {line}\n"));
                let lines: String = lines.collect();
                match lines.is_empty() {
                    true => text += "\nnothing of its disk was applied\n",
                    false => text += &format!("\napplied to the workspace:\n{lines}"),
                }
            }
            let short = match lock.as_deref().map(Effective::from_lock) {
                None => format!("  {NOT_KEPT}"),
                Some(Ok(policy)) => policy.in_short(),
                Some(Err(_)) => "  another version of bailiwick wrote it".to_owned(),
            };
            text += &format!("\nthe policy that was in force:\n{short}\n");
            if lock.is_some() {
                text += &format!(
                    "`bailiwick sessions show {} --policy` prints all of it\n",
                    info.id
                );
            }
            output::print(&text)?;
        }
        SessionsCommand::Rm { sessions } => return remove(sessions, false),
    }
    Ok(0)
}

/// How many older sessions a list leaves out.
fn more(older: usize, all: usize) -> String {
    match older {
        0 => String::new(),
        _ => format!("{older} older; `bailiwick sessions list --limit {all}` shows them all\n"),
    }
}

fn command(info: &SessionInfo) -> String {
    let words: Vec<_> = info.argv.iter().map(ToString::to_string).collect();
    words.join(" ")
}

fn table(list: &[SessionInfo]) -> String {
    let mut table = output::table();
    table.set_header([
        "session",
        "name",
        "started (UTC)",
        "state",
        "exit",
        "rows",
        "refused",
        "workspace",
        "command",
    ]);
    for info in list {
        table.add_row([
            info.id.to_string(),
            info.name.clone().unwrap_or_default(),
            time(info.started_ns),
            state_of(info).to_owned(),
            info.exit_code
                .map(|code| code.to_string())
                .unwrap_or_default(),
            info.rows.to_string(),
            info.refusals.to_string(),
            info.workspace.to_string(),
            command(info),
        ]);
    }
    format!("{}\n", table.trim_fmt())
}

fn lines(list: &[SessionInfo]) -> String {
    list.iter()
        .map(|info| {
            let line = serde_json::json!({
                "session": info.id,
                "name": info.name,
                "started_ns": info.started_ns,
                "ended_ns": info.ended_ns,
                "state": state_of(info),
                "exit_code": info.exit_code,
                "rows": info.rows,
                "refused": info.refusals,
                "lost": info.lost,
                "workspace": info.workspace,
                "argv": info.argv,
            });
            json::of(&line) + "\n"
        })
        .collect()
}
