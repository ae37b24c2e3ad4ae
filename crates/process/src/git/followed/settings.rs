//! What files of commands say besides, and programs of the host do not run: what an agent may use, and the files that a
//! hook is given.

use std::path::Path;

/// The text of a file of commands without what names none, as far as that can be told.
pub(super) fn commands_of(file: &Path, text: Vec<u8>) -> Vec<u8> {
    let name = file.file_name().and_then(|name| name.to_str());
    match name.unwrap_or_default() {
        "settings.json" | "settings.local.json" => without_permissions(text),
        ".pre-commit-config.yaml" => without_filters(&text),
        _ => text,
    }
}

/// A text of JSON without the value of `permissions` at its top; as it is where it is none.
fn without_permissions(mut text: Vec<u8>) -> Vec<u8> {
    let (mut depth, mut at) = (0usize, 0);
    // Where the value begins that is left out.
    let mut left_out = None;
    let mut blanked = Vec::new();
    while let Some(&byte) = text.get(at) {
        let end = match byte {
            b'"' => match string(&text[at..]) {
                Some(length) => at + length,
                None => return text,
            },
            _ => at + 1,
        };
        match byte {
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth == 0 => return text,
            b'}' | b']' => depth -= 1,
            b'"' if depth == 1 && &text[at..end] == br#""permissions""# => {
                let mut behind = text[end..].iter();
                let colon = behind.position(|byte| !byte.is_ascii_whitespace());
                let colon = colon.map(|colon| end + colon);
                left_out = colon.filter(|colon| text[*colon] == b':').or(left_out);
            }
            _ => {}
        }
        // It ends where the next key begins, or the whole.
        if depth == 0 || depth == 1 && byte == b',' {
            blanked.extend(left_out.take().map(|from| from..at));
        }
        at = end;
    }
    if depth == 0 {
        for range in blanked {
            text[range].fill(b' ');
        }
    }
    text
}

/// The length of a string with its quotes.
fn string(text: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match text.get(at)? {
            b'\\' => at += 2,
            b'"' => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// A configuration of pre-commit without the keys that say which files a hook is given. Arguments count where the
/// command is the user's own: it may be an interpreter.
fn without_filters(text: &[u8]) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    let mut from_elsewhere = false;
    // How far a key that is left out is indented.
    let mut left_out: Option<usize> = None;
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let within = |byte: &u8| !matches!(byte, b' ' | b'-');
        let Some(indent) = line
            .iter()
            .position(within)
            .filter(|_| !line.trim_ascii().is_empty())
        else {
            continue;
        };
        let item = line[..indent].contains(&b'-');
        let starts = line.iter().position(|byte| *byte != b' ');
        // The items of a list may stand below its key.
        let goes_on = |key: usize| {
            let starts = starts.unwrap_or(indent);
            starts > key || item && starts == key
        };
        if left_out.is_some_and(goes_on) {
            continue;
        }
        left_out = None;
        let colon = line.iter().position(|byte| *byte == b':').unwrap_or(indent);
        let (key, value) = (line.get(indent..colon), line[colon..].get(1..));
        match key.unwrap_or_default() {
            b"repo" => {
                let value = value.unwrap_or_default().trim_ascii();
                from_elsewhere = value.windows(3).any(|part| part == b"://");
            }
            b"repos" => from_elsewhere = false,
            b"hooks" if item => from_elsewhere = false,
            b"files" | b"exclude" | b"types" | b"types_or" | b"exclude_types" => {
                left_out = Some(indent);
                continue;
            }
            b"args" if from_elsewhere => {
                left_out = Some(indent);
                continue;
            }
            _ => {}
        }
        kept.extend_from_slice(line);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(name: &str, text: &str) -> String {
        let kept = commands_of(Path::new(name), text.as_bytes().to_vec());
        let kept = String::from_utf8(kept).unwrap();
        kept.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn permissions_at_the_top_name_no_commands() {
        for (text, expected) in [
            (
                r#"{"permissions": {"allow": ["Bash(a \" }] b)"]}, "hooks": {"permissions": "c"}}"#,
                r#"{"permissions" , "hooks": {"permissions": "c"}}"#,
            ),
            (
                r#"{"env": {}, "permissions":{"deny":["a"]}}"#,
                r#"{"env": {}, "permissions" }"#,
            ),
            // What is no such text stays as it is.
            (
                r#"{"permissions": {"a": "b"}"#,
                r#"{"permissions": {"a": "b"}"#,
            ),
            (
                r#"{"a": "permissions", "b": 1}"#,
                r#"{"a": "permissions", "b": 1}"#,
            ),
            (
                r#"["permissions", {"x": 1}]"#,
                r#"["permissions", {"x": 1}]"#,
            ),
        ] {
            assert_eq!(kept(".claude/settings.local.json", text), expected);
        }
    }

    #[test]
    fn what_hooks_of_pre_commit_are_given_names_no_commands() {
        let text = "exclude: |\n  (?x)^(\n    a.py\n  )$\nrepos:\n- repo: https://host.test/x\n  hooks:\n  - id: x\n    \
            files: b.py\n    args:\n    - c.py\n    - d.py\n    entry: e.py\n    types: [f]\n- repo: local\n  hooks:\n  \
            - id: y\n    exclude: g.py\n    entry: python3\n    args: [h.py]\n";
        let expected = "repos: - repo: https://host.test/x hooks: - id: x entry: e.py - repo: local hooks: - id: y \
            entry: python3 args: [h.py]";
        assert_eq!(kept(".pre-commit-config.yaml", text), expected);
    }
}
