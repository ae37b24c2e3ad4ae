//! The one reader for the `key = value` files of clients. It is a stranger's format in many
//! dialects; what cannot be read is passed over, since a missed line only grants less.

/// A line of an INI file: its section (`global`, `remote "origin"`), key and value. A line that
/// is indented and has no key continues the value before it.
pub(crate) fn entries(text: &str) -> Vec<(String, String, String)> {
    let mut section = String::new();
    let mut found: Vec<(String, String, String)> = Vec::new();
    for line in text.lines() {
        let trimmed = line.trim();
        if trimmed.is_empty() || trimmed.starts_with(['#', ';']) {
            continue;
        }
        if let Some(inner) = trimmed.strip_prefix('[').and_then(|t| t.strip_suffix(']')) {
            section = inner.trim().to_owned();
            continue;
        }
        match trimmed.split_once('=') {
            Some((key, value)) if !key.contains("://") => {
                let value = value.trim().trim_matches(['"', '\'']);
                found.push((section.clone(), key.trim().to_owned(), value.to_owned()));
            }
            _ if line.starts_with([' ', '\t']) => {
                if let Some((_, _, value)) = found.last_mut() {
                    value.push(' ');
                    value.push_str(trimmed);
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_comments_and_continued_values_are_read() {
        let text = "# c\n[global]\nindex-url = https://a.example/simple\nextra-index-url =\n  https://b.example/?x=1\n  https://c.example\n[remote \"origin\"]\n\turl = x\n";
        let found = entries(text);
        let rows: Vec<_> = found
            .iter()
            .map(|(s, k, v)| (s.as_str(), k.as_str(), v.as_str()))
            .collect();
        assert_eq!(
            rows,
            [
                ("global", "index-url", "https://a.example/simple"),
                (
                    "global",
                    "extra-index-url",
                    " https://b.example/?x=1 https://c.example"
                ),
                ("remote \"origin\"", "url", "x"),
            ]
        );
    }
}
