//! Holds `docs/policy.md` to the table of keys. The reference between the two marks is generated;
//! a person who changes the table is told how to write it anew.

use crate::keys::{HTTP_KEYS, KEYS, Key, SECTIONS};
use crate::templates;
use std::fmt::Write;

const BEGIN: &str = "<!-- keys: generated from crates/policy/src/keys.rs, do not edit -->\n";
const END: &str = "<!-- end of keys -->";

fn reference() -> String {
    let mut text = String::new();
    let rows = |text: &mut String, keys: Vec<&Key>| {
        for key in keys {
            let _ = write!(
                text,
                "\n`{}`: {}. Without it: {}.\n{}\n\n```toml\n{} = {}\n```\n",
                key.name(),
                key.kind.describe(),
                key.default,
                key.doc,
                key.name(),
                key.example
            );
        }
    };
    text.push_str("\n### At the top of the file\n");
    rows(
        &mut text,
        KEYS.iter().filter(|k| k.section().is_empty()).collect(),
    );
    for (section, doc) in SECTIONS {
        let _ = write!(text, "\n### `[{section}]`\n\n{doc}\n");
        rows(
            &mut text,
            KEYS.iter().filter(|k| k.section() == *section).collect(),
        );
        if *section == "filesystem" {
            text.push_str("\n### `[[secrets]]`\n\nOne secret:\n");
            for (name, example, doc) in crate::secrets::KEYS {
                let _ = write!(
                    text,
                    "\n`{name}`: {doc}\n\n```toml\n{name} = {example}\n```\n"
                );
            }
        }
        if *section == "network" {
            text.push_str("\n#### `[[network.http]]`\n\nOne rule:\n");
            rows(&mut text, HTTP_KEYS.iter().collect());
        }
    }
    text.push_str("\n### Templates\n\n");
    for (name, body) in templates::templates() {
        let first: Vec<&str> = body
            .lines()
            .take_while(|l| l.starts_with("# "))
            .map(|l| &l[2..])
            .collect();
        let sentence = first.join(" ");
        let _ = writeln!(
            text,
            "- `{name}`: {}",
            sentence
                .split_inclusive(". ")
                .next()
                .unwrap_or_default()
                .trim()
        );
    }
    text.push('\n');
    text
}

/// Fails where what stands between two marks of a page of the documentation is not what a table says, or writes it.
pub(crate) fn check_page(page: &str, [begin, end]: [&str; 2], table: &str, expected: &str) {
    let path = format!("{}/../../docs/{page}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(begin).expect("the page has the first mark");
    let (inside, after) = rest.split_once(end).expect("the page has the second mark");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{before}{begin}{expected}{end}{after}")).unwrap();
        return;
    }
    assert!(
        inside == expected,
        "docs/{page} is not what {table} says; write it anew with `BLESS=1 cargo test -p bailiwick-policy documentation`"
    );
}

#[test]
fn the_reference_in_the_documentation_is_what_the_table_says() {
    check_page(
        "policy.md",
        [BEGIN, END],
        "crates/policy/src/keys.rs",
        &reference(),
    );
}
