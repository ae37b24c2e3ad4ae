//! The table of what was counted. It stands below the one of the times and never in it: a run
//! with fewer calls is not for that reason a faster one.

use crate::counters::CounterRecord;
use crate::verdict::Verdict;
use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};

/// Medians per run; none where nothing was counted.
pub(crate) fn table(records: &[CounterRecord]) -> Option<String> {
    if records.is_empty() {
        return None;
    }
    let mut table = Table::new();
    table
        .load_style(presets::ASCII_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header([
            "",
            "",
            "execs",
            "system calls",
            "context switches",
            "page faults",
        ]);
    let mut last = "";
    for record in records {
        let name = if record.row == last { "" } else { &record.row };
        last = &record.row;
        let mut row = vec![Cell::new(name), Cell::new(&record.system)];
        let two = |a: &[u64], b: &[u64]| match record.accounted {
            Verdict::Pass => format!(
                "{} + {}",
                figure(&Verdict::Pass, a),
                figure(&Verdict::Pass, b)
            ),
            ref other => figure(other, a),
        };
        let cells = [
            figure(&record.traced, &record.execs),
            figure(&record.traced, &record.calls),
            two(&record.voluntary, &record.involuntary),
            two(&record.minor, &record.major),
        ];
        row.extend(
            cells
                .iter()
                .map(|cell| Cell::new(cell).set_alignment(CellAlignment::Right)),
        );
        table.add_row(row);
    }
    Some(format!(
        "per run, medians of untimed runs; context switches: voluntary + involuntary; page faults: \
         minor + major\n{table}"
    ))
}

fn figure(verdict: &Verdict, samples: &[u64]) -> String {
    if !verdict.passed() {
        return verdict.word().to_owned();
    }
    let mut sorted = samples.to_vec();
    sorted.sort_unstable();
    sorted
        .get(sorted.len() / 2)
        .map_or_else(|| "none".to_owned(), ToString::to_string)
}

#[cfg(test)]
#[path = "counter_table_tests.rs"]
mod tests;
