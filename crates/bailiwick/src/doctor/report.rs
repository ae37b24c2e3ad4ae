//! What checks have found, for people, programs and test reports.

use bailiwick_event::Text;
use serde_json::{Value, json};
use std::time::Duration;

/// A check and what it found.
#[derive(Clone, Debug)]
pub(crate) struct Checked {
    /// `group.name`.
    pub(crate) name: String,
    pub(crate) passed: bool,
    pub(crate) found: String,
    pub(crate) expected: String,
    pub(crate) remedy: String,
    pub(crate) took: Duration,
}

impl Checked {
    /// What a check of the host's own found.
    pub(crate) fn new(
        name: &str,
        expected: &str,
        remedy: &str,
        outcome: Result<String, String>,
        took: Duration,
    ) -> Self {
        let passed = outcome.is_ok();
        let (Ok(found) | Err(found)) = outcome;
        Self {
            name: name.to_owned(),
            passed,
            found,
            expected: expected.to_owned(),
            remedy: remedy.to_owned(),
            took,
        }
    }

    /// Reads a line of the guest's report, which is a guest's: every text of it is made harmless.
    pub(crate) fn read(line: &str) -> Option<Self> {
        let value: Value = serde_json::from_str(line.trim()).ok()?;
        let text = |name: &str| Some(Text::from(value.get(name)?.as_str()?).to_string());
        Some(Self {
            name: text("check")?,
            passed: value.get("passed")?.as_bool()?,
            found: text("found")?,
            expected: text("expected")?,
            remedy: text("remedy")?,
            took: Duration::from_millis(value.get("ms")?.as_u64()?),
        })
    }
}

/// The table for people.
pub(crate) fn table(all: &[Checked]) -> String {
    let mut text = String::new();
    for checked in all {
        let Checked {
            name,
            found,
            expected,
            remedy,
            ..
        } = checked;
        text += &match checked.passed {
            true => format!("{name:<24} works   {found}\n"),
            false => {
                format!("{name:<24} FAILS   {found}\n  expected: {expected}\n  remedy: {remedy}\n")
            }
        };
    }
    let failed = all.iter().filter(|checked| !checked.passed).count();
    text += &match failed {
        0 => format!("all {} checks of the machine passed\n", all.len()),
        failed => format!("{failed} of {} checks of the machine failed\n", all.len()),
    };
    text
}

/// One object per check and line.
pub(crate) fn lines(all: &[Checked]) -> String {
    let line = |checked: &Checked| {
        let value = json!({
            "check": checked.name,
            "passed": checked.passed,
            "found": checked.found,
            "expected": checked.expected,
            "remedy": checked.remedy,
            "ms": u64::try_from(checked.took.as_millis()).unwrap_or(u64::MAX),
        });
        bailiwick_event::json::of(&value) + "\n"
    };
    all.iter().map(line).collect()
}

/// The report that continuous integration reads: JUnit's.
pub(crate) fn junit(all: &[Checked]) -> String {
    let seconds = |took: Duration| format!("{:.3}", took.as_secs_f64());
    let failures = all.iter().filter(|checked| !checked.passed).count();
    let total = all.iter().map(|checked| checked.took).sum();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"bailiwick \
         doctor --backend vm\" tests=\"{}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\" \
         time=\"{}\">\n",
        all.len(),
        seconds(total)
    );
    for checked in all {
        let (class, name) = checked.name.split_once('.').unwrap_or(("", &checked.name));
        let case = format!(
            "    <testcase classname=\"{}\" name=\"{}\" time=\"{}\"",
            escaped(class),
            escaped(name),
            seconds(checked.took)
        );
        text += &match checked.passed {
            true => format!("{case}/>\n"),
            false => format!(
                "{case}>\n      <failure message=\"{}\">expected: {}\nremedy: {}</failure>\n    \
                 </testcase>\n",
                escaped(&checked.found),
                escaped(&checked.expected),
                escaped(&checked.remedy)
            ),
        };
    }
    text + "  </testsuite>\n</testsuites>\n"
}

/// Text within XML, which has no way to write most control characters.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> [Checked; 2] {
        let of =
            |name, outcome| Checked::new(name, "e", "r <&\"", outcome, Duration::from_millis(1500));
        [
            of("a.one", Ok("fine".to_owned())),
            of("a.two", Err("bad\u{1b}".to_owned())),
        ]
    }

    #[test]
    fn a_person_sees_what_failed_what_was_expected_and_what_to_do() {
        assert_eq!(
            table(&two()),
            "a.one                    works   fine\na.two                    FAILS   bad\u{1b}\n  \
             expected: e\n  remedy: r <&\"\n1 of 2 checks of the machine failed\n"
        );
        assert!(table(&two()[..1]).ends_with("all 1 checks of the machine passed\n"));
    }

    #[test]
    fn a_report_for_tests_counts_and_is_well_formed_whatever_was_found() {
        let text = junit(&two());
        assert!(text.contains("tests=\"2\" failures=\"1\""), "{text}");
        assert!(text.contains("<testcase classname=\"a\" name=\"one\" time=\"1.500\"/>"));
        assert!(text.contains(
            "<failure message=\"bad\u{fffd}\">expected: e\nremedy: r &lt;&amp;&quot;</failure>"
        ));
    }

    #[test]
    fn a_line_is_read_as_it_was_written_and_what_a_guest_invents_is_not() {
        let line = lines(&two()[1..]);
        let read = Checked::read(&line).unwrap();
        assert_eq!((read.name.as_str(), read.passed), ("a.two", false));
        assert!(!read.found.contains('\u{1b}'), "{:?}", read.found);
        assert!(Checked::read("{\"check\":\"a\",\"passed\":\"yes\"}").is_none());
        assert!(Checked::read("no object").is_none());
    }
}
