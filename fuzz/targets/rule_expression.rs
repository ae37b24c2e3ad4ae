//! Conditions. A mistake stands somewhere in the text; what compiles means the same made fast and
//! evaluated, and the same when it is written out and read again.
#![no_main]

#[path = "../reference/events.rs"]
mod events;

use bailiwick_event::fields::EventType;
use bailiwick_rules::expr::parse;
use bailiwick_rules::{CompileError, Outcome, Program};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if text.len() > 4096 {
        return;
    }
    if let Ok(ast) = parse(text) {
        let shown = ast.show(ast.root());
        let again = parse(&shown).unwrap_or_else(|e| panic!("{shown}: {e}"));
        assert_eq!(again.show(again.root()), shown);
    }
    for on in [
        None,
        Some(EventType::HttpRequest),
        Some(EventType::McpRequest),
    ] {
        match Program::compile(text, on) {
            Ok(program) => agrees(&program),
            Err(CompileError(found)) => {
                assert!(!found.is_empty(), "refused without a reason");
                for mistake in found {
                    let span = mistake.span.range();
                    assert!(span.start <= span.end && span.end <= text.len());
                    assert!(text.get(span).is_some(), "a place within a character");
                    assert!(!mistake.message.is_empty());
                }
            }
        }
    }
});

fn agrees(program: &Program) {
    for record in events::all() {
        let subject = record.subject();
        let fast = program.run(&subject);
        let slow = program.evaluate(&subject);
        // The steps of the one are not those of the other.
        if slow
            .as_ref()
            .is_err_and(|e| format!("{:?}", e.kind) == "TooExpensive")
        {
            continue;
        }
        let same = match fast {
            Outcome::True => slow == Ok(true),
            Outcome::False => slow == Ok(false),
            Outcome::Failed => slow.is_err(),
        };
        assert!(same, "{fast:?} but {slow:?}");
    }
}
