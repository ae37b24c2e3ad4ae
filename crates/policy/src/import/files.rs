//! Another tool's word for a path to ours. The tools begin a relative path where the command
//! starts; a policy begins it at its own file. So what is denied is written as `**/x`, which
//! begins at the workspace and covers at least as much, and what is granted is told.

use super::draft::{Draft, IN_FULL, Inside, RELATIVE};
use super::tree::Item;
use crate::keys::KeyId;

/// What a path is relative to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// The folder where the command starts.
    Workspace,
    /// Below it, without `./`.
    Inside(String),
    /// Beside or above it.
    Upward(String),
    /// Absolute, or below the home directory.
    Fixed(String),
    /// Nothing that a policy can say.
    Unknown,
}

/// What a text means. `x/**` is `x`: an entry of a policy covers what lies below.
pub(crate) fn place(text: &str) -> Place {
    let text = match literal_braces(text) {
        Some(text) if !text.is_empty() => text,
        _ => return Place::Unknown,
    };
    let mut rest = text.as_str();
    while let Some(shorter) = rest
        .strip_suffix("/**")
        .or_else(|| rest.strip_suffix('/'))
        .filter(|_| rest.len() > 1)
    {
        rest = shorter;
    }
    if rest.is_empty() {
        return Place::Fixed("/".to_owned());
    }
    if rest.starts_with(['/', '~']) {
        return Place::Fixed(rest.to_owned());
    }
    if rest.contains('$') {
        return Place::Unknown;
    }
    while let Some(shorter) = rest.strip_prefix("./") {
        rest = shorter.trim_start_matches('/');
    }
    match rest {
        "" | "." | "*" | "**" => Place::Workspace,
        rest if rest.split('/').any(|part| part == "..") => Place::Upward(rest.to_owned()),
        rest => Place::Inside(rest.to_owned()),
    }
}

/// The text with braces that mean themselves, as they do in the other tools; None where a
/// backslash could mean two things.
fn literal_braces(text: &str) -> Option<String> {
    let wild = crate::paths::is_pattern(text);
    if text.contains('\\') || text.chars().any(char::is_control) {
        return None;
    }
    if !wild || text.contains('[') && text.contains(['{', '}']) {
        return (!wild).then(|| text.to_owned());
    }
    Some(text.replace('{', "[{]").replace('}', "[}]"))
}

fn unknown(draft: &mut Draft, text: &str, item: &Item<'_>, means: &str) {
    draft.leave(
        item,
        format!("\"{text}\" is no path that a policy can say, {means}"),
        "write the path in full, or with ~/ or **/",
    );
}

/// Whether a class in brackets may mean more in a policy than in the source: one that is negated,
/// or has a range, is not read alike by every tool.
fn is_wider(text: &str) -> bool {
    text.contains("[!") || text.contains("[^") || text.contains('[') && text.contains('-')
}

fn wider(draft: &mut Draft, text: &str, item: &Item<'_>) {
    draft.leave(
        item,
        format!("what \"{text}\" leaves out or spans in brackets could mean more here, so nothing is granted by it"),
        "name the paths without brackets",
    );
}

/// A path that may be written.
pub(crate) fn write(draft: &mut Draft, text: &str, item: &Item<'_>) {
    match place(text) {
        Place::Fixed(_) | Place::Upward(_) | Place::Inside(_) if is_wider(text) => {
            wider(draft, text, item);
        }
        Place::Workspace => {
            draft.workspace.get_or_insert_with(|| item.path.clone());
            draft.by_habit = false;
        }
        Place::Inside(path) => draft.inside.push(Inside {
            path,
            from: item.path.clone(),
            origin: item.origin(),
        }),
        Place::Fixed(path) if ["/tmp", "/var/tmp", "/private/tmp"].contains(&path.as_str()) => {
            draft.leave(
                item,
                "every sandbox has an empty temporary folder of its own, not the machine's",
                format!("to share the machine's, add \"{text}\" to [filesystem] write"),
            );
        }
        Place::Fixed(path) if path == "/dev" || path.starts_with("/dev/") => draft.leave(
            item,
            "every sandbox has the ordinary devices of its own and no others",
            "",
        ),
        Place::Fixed(path) => draft.add(KeyId::Write, &path, item),
        Place::Upward(path) => {
            draft.leave(item, RELATIVE, IN_FULL);
            draft.add(KeyId::Write, &path, item);
        }
        Place::Unknown => unknown(draft, text, item, "so it is not granted"),
    }
}

/// A path that may be read; the workspace always may.
pub(crate) fn read(draft: &mut Draft, text: &str, item: &Item<'_>) {
    match place(text) {
        Place::Workspace | Place::Inside(_) => {}
        Place::Fixed(_) | Place::Upward(_) if is_wider(text) => wider(draft, text, item),
        Place::Fixed(path) => draft.add(KeyId::Read, &path, item),
        Place::Upward(path) => {
            draft.leave(item, RELATIVE, IN_FULL);
            draft.add(KeyId::Read, &path, item);
        }
        Place::Unknown => unknown(draft, text, item, "so it is not granted"),
    }
}

/// A path that may not be read; in a policy it cannot be written either.
pub(crate) fn deny(draft: &mut Draft, text: &str, item: &Item<'_>) {
    match place(text) {
        Place::Workspace => draft.add(KeyId::Deny, "**/*", item),
        place => narrow(draft, KeyId::Deny, place, text, item),
    }
}

/// A path that may not be written.
pub(crate) fn protect(draft: &mut Draft, text: &str, item: &Item<'_>) {
    match place(text) {
        Place::Workspace => {
            draft.sealed.get_or_insert_with(|| item.path.clone());
        }
        place => narrow(draft, KeyId::Protect, place, text, item),
    }
}

fn narrow(draft: &mut Draft, key: KeyId, place: Place, text: &str, item: &Item<'_>) {
    match place {
        Place::Inside(path) => {
            let mut below = path.trim_start_matches("**/").to_owned();
            if !below.contains(['*', '?', '[']) {
                // It becomes a glob only here, in which they would mean something.
                below = below.replace('{', "[{]").replace('}', "[}]");
            }
            draft.add(key, &format!("**/{below}"), item);
        }
        Place::Fixed(path) => draft.add(key, &path, item),
        Place::Upward(path) => {
            draft.leave(item, RELATIVE, IN_FULL);
            draft.add(key, &path, item);
        }
        Place::Workspace | Place::Unknown => unknown(draft, text, item, "so this is NOT denied"),
    }
}

/// Whether a path is so wide that the sandbox hides it anyway: a home directory or more.
pub(crate) fn is_hidden_anyway(text: &str) -> bool {
    match place(text) {
        Place::Fixed(path) => ["~", "/", "/home", "/root", "/Users"].contains(&path.as_str()),
        _ => false,
    }
}

#[cfg(test)]
#[path = "files_tests.rs"]
mod tests;
