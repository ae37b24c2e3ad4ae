//! Holds `docs/rules.md` to the tables of keys, fields and functions.

use crate::check::FUNCTIONS;
use crate::pack::{DETECTION_KEYS, RULE_KEYS, RuleKey};
use bailiwick_event::fields::{EventType, Family, Field};
use std::fmt::Write;

const BEGIN: &str = "<!-- tables: generated from the registries, do not edit -->\n";
const END: &str = "<!-- end of tables -->";

fn keys(text: &mut String, name: &str, keys: &[RuleKey]) {
    let _ = write!(
        text,
        "\n### `[[{name}]]`\n\n| key | needed | what it says | example |\n|---|---|---|---|\n"
    );
    for key in keys {
        let needed = if key.needed { "yes" } else { "" };
        let doc = key.doc.replace('|', "\\|");
        let _ = writeln!(
            text,
            "| `{}` | {needed} | {doc} | `{}` |",
            key.name, key.example
        );
    }
}

fn tables() -> String {
    let mut text = String::from("\n## Keys\n");
    keys(&mut text, "rules", RULE_KEYS);
    keys(&mut text, "detections", DETECTION_KEYS);
    text.push_str("\n## Fields\n\nA field that is not *always* there may be absent from an event of its type.\n\n| type of event | its fields |\n|---|---|\n");
    for on in EventType::ALL {
        let families: Vec<_> = on
            .families()
            .iter()
            .map(|f| format!("`{}.*`", f.prefix()))
            .collect();
        let _ = writeln!(text, "| `{on}` | {} |", families.join(", "));
    }
    for family in Family::ALL {
        let _ = write!(
            text,
            "\n### `{}`\n\n{}\n\n| field | type | always | what it says |\n|---|---|---|---|\n",
            family.prefix(),
            family.doc().trim()
        );
        for info in Field::ALL.iter().filter(|info| info.family == *family) {
            let always = if info.always { "yes" } else { "" };
            let _ = writeln!(
                text,
                "| `{}` | {} | {always} | {} |",
                info.path,
                info.ty.cel(),
                info.doc
            );
        }
    }
    text.push_str("\n## Functions\n\n| call | gives | what it does |\n|---|---|---|\n");
    for way in FUNCTIONS {
        let names: Vec<_> = way.takes.iter().map(|sig| sig.ty().to_string()).collect();
        let name = way.function.name();
        let mut calls = Vec::new();
        if let (true, Some((target, rest))) = (way.member, names.split_first()) {
            calls.push(format!("`{target}.{name}({})`", rest.join(", ")));
        }
        if way.global {
            calls.push(format!("`{name}({})`", names.join(", ")));
        }
        let doc = way.doc.replace('|', "\\|");
        let _ = writeln!(
            text,
            "| {} | {} | {doc} |",
            calls.join(", "),
            way.gives.ty()
        );
    }
    text.push('\n');
    text
}

#[test]
fn the_tables_in_the_documentation_are_what_the_registries_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/rules.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page
        .split_once(BEGIN)
        .expect("docs/rules.md has the first mark");
    let (inside, after) = rest
        .split_once(END)
        .expect("docs/rules.md has the second mark");
    let expected = tables();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(path, format!("{before}{BEGIN}{expected}{END}{after}")).unwrap();
        return;
    }
    assert!(
        inside == expected,
        "docs/rules.md is not what the registries say; write it anew with `BLESS=1 cargo test -p bailiwick-rules reference`"
    );
}
