//! A starter policy: every key with its explanation and an example, all of it commented out but
//! the line that says what it builds on. A file that a person begins with must not change what
//! they have until they change it.

use crate::error::PolicyError;
use crate::keys::{KEYS, Key, KeyId, SECTIONS};
use crate::templates;

/// Columns of a comment.
const WIDTH: usize = 92;

/// The text of a new policy file that builds on a template.
///
/// # Errors
/// [`PolicyError::UnknownTemplate`].
pub fn new_file(template: &str) -> Result<String, PolicyError> {
    if templates::text_of(template).is_none() {
        return Err(PolicyError::UnknownTemplate(template.to_owned()));
    }
    let mut text = String::from(
        "# A policy of Bailiwick: what a sandbox may do. Remove the \"#\" before a line to use it.\n",
    );
    text.push_str("# Check it with `bailiwick policy check`; see what it means with `bailiwick policy show`.\n\n");
    text.push_str(&format!("extends = [\"{template}\"]\n"));
    for key in KEYS
        .iter()
        .filter(|k| k.section().is_empty() && k.id != KeyId::Extends)
    {
        example(&mut text, key);
    }
    for (section, doc) in SECTIONS {
        let keys: Vec<_> = KEYS
            .iter()
            .filter(|k| k.section() == *section && k.section() != "lock")
            .collect();
        if keys.is_empty() {
            continue;
        }
        text.push('\n');
        comment(&mut text, doc);
        text.push_str(&format!("[{section}]\n"));
        for key in keys {
            example(&mut text, key);
        }
    }
    Ok(text)
}

/// Adds a key as a comment.
fn example(text: &mut String, key: &Key) {
    comment(text, key.doc);
    text.push_str(&format!("# {} = {}\n", key.name(), key.example));
}

/// Adds a comment, wrapped.
fn comment(text: &mut String, words: &str) {
    let mut line = String::from("#");
    for word in words.split(' ') {
        if line.len() + word.len() >= WIDTH {
            text.push_str(&line);
            text.push('\n');
            line = String::from("#");
        }
        line.push(' ');
        line.push_str(word);
    }
    text.push_str(&line);
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use crate::source_text::SourceText;

    fn parse(text: &str) -> Document {
        let source = SourceText::new("new.toml", None, text.to_owned());
        Document::parse(source).unwrap_or_else(|e| panic!("{e:?}"))
    }

    #[test]
    fn a_new_file_builds_on_its_template_and_says_nothing_else() {
        for (name, _) in templates::templates() {
            let entries = parse(&new_file(name).unwrap()).entries;
            assert_eq!(entries.len(), 1, "{name}");
            assert_eq!(entries[0].key.id, KeyId::Extends);
        }
        assert_eq!(
            new_file("agnet"),
            Err(PolicyError::UnknownTemplate("agnet".to_owned()))
        );
    }

    #[test]
    fn every_example_works_when_its_comment_sign_is_removed() {
        for key in KEYS
            .iter()
            .filter(|k| k.id != KeyId::Extends && k.section() != "lock")
        {
            let line = format!("# {} = {}\n", key.name(), key.example);
            let text = new_file("agent").unwrap();
            let used = text.replacen(&line, &line[2..], 1);
            assert_ne!(text, used, "{line}");
            assert!(parse(&used).of(key.id).count() > 0, "{line}");
        }
    }
}
