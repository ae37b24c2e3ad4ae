//! Whether a condition can be true of events of which only some fields are known.
//!
//! Decision: the answer is "no" only where that is certain whatever the other fields hold: a field
//! that is not known is not an absent one, so that what asks for its presence is not answered either.

use super::outcome::Outcome;
use super::program::Program;
use super::run::{Run, junction};
use super::test::{OfText, Place, Test};
use crate::eval::Steps;
use bailiwick_event::fields::{Field, Subject};

impl Program {
    /// Whether the condition could be true, or without a value, of an event that has these values in
    /// the fields that are named, and anything in the others.
    #[must_use]
    pub fn is_possible(&self, known: &Subject<'_>, fields: &[Field]) -> bool {
        let steps = Steps::of_event();
        let run = Run {
            subject: known,
            steps: &steps,
            program: self,
        };
        possible(&run, self.test(), fields) != Outcome::False
    }
}

/// What a test says; `Failed` where that is not known.
fn possible(run: &Run<'_>, test: &Test, fields: &[Field]) -> Outcome {
    let all = |tests: &[Test], decisive| {
        junction(tests.iter().map(|t| possible(run, t, fields)), decisive)
    };
    match test {
        Test::All(tests) => all(tests, Outcome::False),
        Test::Any(tests) => all(tests, Outcome::True),
        Test::Not(of) => !possible(run, of, fields),
        Test::If(parts) => match possible(run, &parts[0], fields) {
            Outcome::True => possible(run, &parts[1], fields),
            Outcome::False => possible(run, &parts[2], fields),
            // Whichever of the two it is.
            Outcome::Failed => all(&parts[1..], Outcome::True),
        },
        Test::Constant(yes) => (*yes).into(),
        Test::Has(field)
        | Test::Int(field, ..)
        | Test::IntIn(field, _)
        | Test::Double(field, ..)
        | Test::Truth(field)
            if fields.contains(field) =>
        {
            run.test(test, None)
        }
        Test::Text(of) => match &**of {
            OfText {
                place: Place::Field(field),
                ..
            } if fields.contains(field) => run.test(test, None),
            _ => Outcome::Failed,
        },
        _ => Outcome::Failed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bailiwick_event::fields::{EventType, HttpRequest};
    use std::borrow::Cow;

    fn is_possible(condition: &str) -> bool {
        let program = Program::compile(condition, Some(EventType::HttpRequest)).unwrap();
        let request = HttpRequest {
            host: Some(Cow::Borrowed("api.example.com")),
            port: Some(443),
            ..HttpRequest::EMPTY
        };
        let subject = Subject {
            http_request: Some(&request),
            ..Subject::new(EventType::HttpRequest)
        };
        program.is_possible(&subject, &[Field::HttpHost, Field::HttpPort])
    }

    #[test]
    fn only_what_is_certain_to_be_false_is_not_possible() {
        for yes in [
            "true",
            r#"http.request.host == "api.example.com""#,
            r#"http.request.method == "POST""#,
            r#"!has(http.request.query)"#,
            r#"has(http.request.body.text) && http.request.body.text.contains("x")"#,
            r#"http.request.host == "other.test" || http.request.path == "/""#,
            r#"!(http.request.host == "other.test")"#,
            r#"http.request.path == "/" ? http.request.host == "a.test" : http.request.port == 443"#,
            r#"http.request.header("a").exists() && http.request.host.endsWith(".com")"#,
            r#"http.request.url.startsWith("https://other.test/")"#,
        ] {
            assert!(is_possible(yes), "{yes}");
        }
        for no in [
            "false",
            r#"http.request.host == "other.test""#,
            r#"http.request.method == "POST" && http.request.host == "other.test""#,
            r#"http.request.host.endsWith(".test") && http.request.header("a") == "b""#,
            r#"http.request.port == 80"#,
            r#"!(http.request.host == "api.example.com" || http.request.path == "/")"#,
            r#"http.request.path == "/" ? http.request.host == "a.test" : http.request.port == 80"#,
            r#"http.request.host in ["a.test", "b.test"]"#,
        ] {
            assert!(!is_possible(no), "{no}");
        }
    }
}
