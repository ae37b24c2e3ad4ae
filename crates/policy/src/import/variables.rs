//! Environment variables of another tool's file. A value that is likely a secret stays where it
//! is: a policy is a file that people share.

use super::draft::Draft;
use super::tree::{Item, Value};

/// Parts of names that say that the value is a secret.
const SECRET: [&str; 7] = [
    "KEY",
    "TOKEN",
    "SECRET",
    "PASSW",
    "CREDENTIAL",
    "AUTH",
    "COOKIE",
];

/// Whether a variable may hold a secret, by its name.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase().replace("AUTHOR", "");
    SECRET.iter().any(|part| name.contains(part))
}

/// A table of variables that are set.
pub(crate) fn set(draft: &mut Draft, table: &Item<'_>) {
    for (name, item) in draft.table(table) {
        if is_secret(name) {
            draft.leave(
                &item,
                "by its name it may be a secret, which does not belong in a policy",
                "keep it in your own environment and add its name to [environment] pass",
            );
            continue;
        }
        match &item.node.value {
            Value::Text(value) | Value::Number(value) => draft.set(name, value, &item),
            Value::Flag(flag) => draft.set(name, &flag.to_string(), &item),
            _ => draft.leave(&item, "a variable is a text", "write it in double quotes"),
        }
    }
}
