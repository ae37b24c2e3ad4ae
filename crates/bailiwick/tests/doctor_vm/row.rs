//! What a check has found, as its line of the report says.

use serde_json::Value;

/// One line.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) check: String,
    pub(crate) passed: bool,
    pub(crate) found: String,
}

/// The lines of a report; others are left out.
pub(crate) fn rows(report: &str) -> Vec<Row> {
    let read = |line: &str| {
        let value: Value = serde_json::from_str(line.trim()).ok()?;
        Some(Row {
            check: value.get("check")?.as_str()?.to_owned(),
            passed: value.get("passed")?.as_bool()?,
            found: value.get("found")?.as_str()?.to_owned(),
        })
    };
    report.lines().filter_map(read).collect()
}

/// The only line.
#[track_caller]
pub(crate) fn only(report: &str, check: &str, errors: &str) -> Row {
    let mut rows = rows(report);
    assert!(
        rows.len() == 1 && rows[0].check == check,
        "{check}: no result, or others: {rows:?}\n--- stdout\n{report}\n--- stderr\n{errors}"
    );
    rows.remove(0)
}
