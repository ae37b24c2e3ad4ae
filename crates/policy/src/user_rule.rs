//! A rule that a person approved, added to the user's own policy. Decision: what is added is what was
//! shown, behind what is there, and the file is as it was where anything goes wrong.

use crate::document::Document;
use crate::error::PolicyError;
use crate::show_rules;
use crate::source_text::{ReadError, SourceText, read_regular};
use bailiwick_rules::Rule;
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

/// Bytes of a policy file that a rule is added to.
const LARGEST: u64 = 4 * 1024 * 1024;

/// The rule as it is added.
#[must_use]
pub fn rule_lines(rule: &Rule) -> String {
    show_rules::lines(rule)
}

/// Adds a rule to the file of the user's policy, which is made where there is none.
///
/// # Errors
/// [`PolicyError::Machine`] where it cannot be read or written; the mistakes of a file that has some.
pub fn add_rule(path: &Path, rule: &Rule) -> Result<(), PolicyError> {
    let fault = |why: String| PolicyError::Machine(format!("{}: {why}", path.display()));
    // A link stays one: what it leads to is replaced.
    let path = &fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let folder = path.parent().unwrap_or(Path::new("/"));
    let made = fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder);
    made.map_err(|e| fault(e.to_string()))?;
    // Of two runs that add a rule at once one waits: neither loses the other's.
    let held = File::open(folder).and_then(|folder| folder.lock().map(|()| folder));
    let _held = held.map_err(|e| fault(e.to_string()))?;
    let old = match read_regular(path, LARGEST) {
        Ok(bytes) => String::from_utf8(bytes).map_err(|_| fault("it is no text".into()))?,
        Err(ReadError::Missing) => String::new(),
        Err(error) => return Err(fault(error.to_string())),
    };
    let between = match old.is_empty() || old.ends_with("\n\n") {
        true => "",
        false if old.ends_with('\n') => "\n",
        false => "\n\n",
    };
    let new = format!("{old}{between}{}", rule_lines(rule));
    let name = path.display().to_string();
    let source = SourceText::new(&name, Some(path.to_path_buf()), new.clone());
    Document::parse(source).map_err(PolicyError::Invalid)?;
    let draft = folder.join(format!(".policy.{}.toml", std::process::id()));
    let mode = fs::metadata(path).map_or(0o600, |m| m.permissions().mode() & 0o777);
    let _ = fs::remove_file(&draft);
    let written = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(&draft)
        .and_then(|mut file| {
            file.write_all(new.as_bytes())
                .and_then(|()| file.sync_all())
        })
        .and_then(|()| fs::rename(&draft, path));
    written.map_err(|error| {
        let _ = fs::remove_file(&draft);
        fault(error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_event::fields::EventType;
    use bailiwick_rules::Action;

    #[test]
    fn a_rule_stands_behind_what_is_there_and_a_file_with_mistakes_stays_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("new/policy.toml");
        let when = r#"http.request.host == "a.test""#;
        let rule = Rule {
            priority: 7,
            reason: "allowed".into(),
            ..Rule::enforcement("one", EventType::HttpRequest, when, Action::Allow)
        };
        add_rule(&path, &rule).unwrap();
        let once = fs::read_to_string(&path).unwrap();
        assert_eq!(once, rule_lines(&rule));
        let two = Rule {
            id: "two".into(),
            ..rule.clone()
        };
        add_rule(&path, &two).unwrap();
        let twice = fs::read_to_string(&path).unwrap();
        assert_eq!(twice, format!("{once}\n{}", rule_lines(&two)));
        assert!(add_rule(&path, &two).is_err(), "a name that is there");
        assert_eq!(fs::read_to_string(&path).unwrap(), twice);
        let files = fs::read_dir(folder.path().join("new")).unwrap();
        assert_eq!(files.count(), 1);
    }

    #[test]
    fn rules_that_are_added_at_once_are_all_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("policy.toml");
        let when = r#"http.request.host == "a.test""#;
        std::thread::scope(|scope| {
            for n in 0..16 {
                let path = &path;
                scope.spawn(move || {
                    let id = format!("rule-{n}");
                    let on = EventType::HttpRequest;
                    add_rule(path, &Rule::enforcement(&id, on, when, Action::Allow)).unwrap();
                });
            }
        });
        let all = fs::read_to_string(&path).unwrap();
        assert_eq!(all.matches("id = ").count(), 16, "{all}");
    }
}
