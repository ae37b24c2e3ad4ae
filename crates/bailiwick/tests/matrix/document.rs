//! The documentation's table of clients. It is made from the rows, so that it cannot say what no test
//! shows.

use crate::cell::Cell;
use crate::table;
use std::fmt::Write;
use std::path::Path;

/// What stands around it.
const MARKS: [&str; 2] = [
    "<!-- made from the client matrix: BLESS=1 cargo test -p bailiwick --test matrix -->\n",
    "<!-- end -->",
];

pub(crate) fn is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/compatibility.md");
    let found = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = found.split_once(MARKS[0]).expect("the first mark");
    let (_, after) = rest.split_once(MARKS[1]).expect("the second mark");
    let wanted = format!("{before}{}{}{}{after}", MARKS[0], clients(), MARKS[1]);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, wanted).unwrap();
        return;
    }
    assert!(
        found == wanted,
        "docs/compatibility.md is not what the matrix says; write it anew with \
         `BLESS=1 cargo test -p bailiwick --test matrix`"
    );
}

fn clients() -> String {
    let mut text = String::from("| client | HTTP/1.1 | HTTP/2 | WebSocket | SSE |\n");
    text += "|---|---|---|---|---|\n";
    for row in table::rows() {
        let _ = write!(text, "| {} |", row.client);
        for (_, cell) in row.cells() {
            let said = match cell {
                Cell::Runs(_) => "yes",
                Cell::Not(why) => why,
            };
            let _ = write!(text, " {said} |");
        }
        text.push('\n');
    }
    text
}
