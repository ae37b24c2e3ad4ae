//! Sigma rules. What is carried over is a detection that reads back as the same, and a condition
//! that compiles and has a value for every event; what is not says why.
#![no_main]

#[path = "../reference/events.rs"]
mod events;

use bailiwick_event::fields::{Field, Record};
use bailiwick_rules::sigma::{Detection, read};
use bailiwick_rules::{Outcome, Program};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    for one in read(text) {
        match one {
            Ok(detection) => carried(&detection),
            Err(skipped) => {
                assert!(
                    !skipped.reason.to_string().is_empty(),
                    "skipped without a reason"
                );
                // YAML ends a line at a carriage return too.
                let lines = text.split(['\n', '\r']).count();
                assert!(
                    skipped.line <= lines + 1,
                    "line {} of {lines}",
                    skipped.line
                );
            }
        }
    }
});

fn carried(detection: &Detection) {
    detection.validate().unwrap_or_else(|e| panic!("{e}"));
    let json = serde_json::to_string(detection).expect("it is JSON");
    let again = Detection::parse(&json).unwrap_or_else(|e| panic!("{e}\n{json}"));
    assert_eq!(&again, detection);
    let on = detection.on;
    let when = detection.to_cel();
    let program = match Program::compile(&when, Some(on)) {
        Ok(program) => program,
        // Bounds of a condition hold for these as well, and are told.
        Err(error) if error.to_string().contains("at most") => return,
        Err(error) => panic!("{when}: {error}"),
    };
    // A boundary gives what the registry says is always there.
    let whole = |record: &Record<'_>| {
        let subject = record.subject();
        let mut always = Field::ALL.iter().filter(|info| info.always);
        let families = on.families();
        always.all(|info| !families.contains(&info.family) || subject.get(info.field).is_present())
    };
    for record in events::all().filter(|record| record.event_type() == on && whole(record)) {
        let outcome = program.run(&record.subject());
        assert_ne!(
            outcome,
            Outcome::Failed,
            "{when}: {:?}",
            program.evaluate(&record.subject())
        );
    }
}
