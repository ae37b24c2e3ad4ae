//! What a backtest or a hunt found, for people or as JSON. What an event holds was chosen by a
//! program in a sandbox, so it never reaches a terminal as it is.

use super::files::count;
use crate::{Done, output};
use bailiwick_event::{Text, json as writing};
use bailiwick_rules::backtest::{Report, Row};

/// Prints a report; lines that were passed over are told on stderr.
pub(super) fn print(report: &Report, json: bool) -> Done {
    if json {
        output::print(&(writing::of(&report.to_json()) + "\n"))?;
    } else {
        output::print(&text(report))?;
    }
    for mistake in &report.mistakes {
        output::note(&Text::from(mistake.to_string()).to_string());
    }
    if report.skipped > 0 {
        output::note(&format!(
            "{} passed over that are no events",
            count(report.skipped, "line")
        ));
    }
    Ok(0)
}

fn text(report: &Report) -> String {
    let hunted = report.rules.is_empty();
    let mut text = String::new();
    if !report.rows.is_empty() {
        let mut table = output::table();
        match hunted {
            true => table.set_header(["event", "fields"]),
            false => table.set_header(["event", "count", "rule", "verdict", "fields"]),
        };
        for row in &report.rows {
            match hunted {
                true => table.add_row([row.event.to_string(), fields(row)]),
                false => table.add_row([
                    row.event.to_string(),
                    row.count.to_string(),
                    rule(&row.rule, row.pack.as_deref()),
                    row.verdict.to_string(),
                    fields(row),
                ]),
            };
        }
        text += &format!("{}\n", table.trim_fmt());
        let hidden = match report.truncated {
            0 => String::new(),
            1 => "1 more match is".to_owned(),
            hidden => format!("{hidden} more matches are"),
        };
        if !hidden.is_empty() {
            text += &format!("{hidden} not shown; `--limit` asks for more rows\n");
        }
        text.push('\n');
    }
    if !hunted {
        let mut table = output::table();
        table.set_header(["rule", "true", "no value"]);
        for counted in &report.rules {
            table.add_row([
                rule(&counted.rule, counted.pack.as_deref()),
                counted.matched.to_string(),
                counted.failed.to_string(),
            ]);
        }
        text += &format!("{}\n\n", table.trim_fmt());
    }
    let what = if hunted {
        "the condition is"
    } else {
        "a rule is"
    };
    text + &format!(
        "{}; {what} true of {}\n",
        count(report.events, "event"),
        report.matched
    )
}

fn rule(name: &str, pack: Option<&str>) -> String {
    match pack {
        Some(pack) => format!("{pack}/{name}"),
        None => name.to_owned(),
    }
}

fn fields(row: &Row) -> String {
    let one = |field: &bailiwick_event::MatchedField| {
        format!("{}={}", field.field, Text::from(&*field.value))
    };
    let all: Vec<_> = row.fields.iter().map(one).collect();
    all.join(" ")
}
