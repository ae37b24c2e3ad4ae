//! What is made fast must say what the evaluator says, on every event. Decision: both are asked
//! for random conditions over random events, and what occurred is counted, so that nobody can
//! mistake a part which was never asked for one that agrees.
//!
//! `BAILIWICK_CASES` says how many events a condition is evaluated for in all, `BAILIWICK_SEED`
//! with which of the batches it begins.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod calls;
mod disagreement;
mod event;
mod parts;
mod pool;
mod random;
mod shapes;
mod tally;
mod truth;
mod writer;

use bailiwick_event::fields::{EventType, Record};
use bailiwick_rules::eval::{ErrorKind, EvalError};
use bailiwick_rules::expr::parse;
use bailiwick_rules::{Outcome, Program};
use random::Random;
use tally::Tally;
use writer::{Of, Writer};

/// Events of each type in a batch, and conditions that are evaluated for some of them.
const EVENTS: usize = 3;
const CONDITIONS: usize = 48;
/// Events that a condition about any type is evaluated for.
const ANY: usize = 4;

struct Totals {
    tally: Tally,
    cases: u64,
    written: u64,
    compiled: u64,
    too_expensive: u64,
}

#[test]
fn what_is_made_fast_says_what_the_evaluator_says() {
    let number = |name, otherwise| match std::env::var(name) {
        Ok(text) => text
            .parse()
            .unwrap_or_else(|_| panic!("{name} is a number")),
        Err(_) => otherwise,
    };
    let wanted = number("BAILIWICK_CASES", 60_000);
    let mut totals = Totals {
        tally: Tally::new(),
        cases: 0,
        written: 0,
        compiled: 0,
        too_expensive: 0,
    };
    let mut seed = number("BAILIWICK_SEED", 1);
    while totals.cases < wanted {
        batch(seed, &mut totals);
        seed += 1;
    }
    report(&totals);
    let Totals {
        written, compiled, ..
    } = totals;
    assert!(
        compiled * 10 >= written * 9,
        "{compiled} of {written} conditions compile"
    );
    assert!(
        totals.too_expensive * 500 <= totals.cases,
        "{} of {} cases took too many steps",
        totals.too_expensive,
        totals.cases
    );
    let least = match wanted {
        2_000_000.. => 1000,
        60_000.. => 1,
        _ => 0,
    };
    let table = totals.tally.table();
    let rare: Vec<_> = table.iter().filter(|(_, count)| *count < least).collect();
    assert!(rare.is_empty(), "fewer than {least} times: {rare:?}");
}

fn report(totals: &Totals) {
    for (name, count) in totals.tally.table() {
        println!("{count:>10}  {name}");
    }
    println!("{:>10}  cases", totals.cases);
    println!("{:>10}  took too many steps", totals.too_expensive);
    println!(
        "{:>10}  conditions, of which {} compile",
        totals.written, totals.compiled
    );
}

/// Some events, and conditions about them.
fn batch(seed: u64, totals: &mut Totals) {
    let random = &mut Random::new(seed);
    let types = EventType::ALL.into_iter();
    let types = types.flat_map(|event_type| [event_type; EVENTS]);
    let lines: Vec<_> = types.map(|ty| event::line(random, ty)).collect();
    let records: Vec<_> = lines.iter().map(|l| event::record(random, l)).collect();
    for _ in 0..CONDITIONS {
        let on = random.pick(&EventType::ALL);
        let on = (!random.one_in(6)).then_some(on);
        let mut writer = Writer {
            random,
            on,
            scope: Vec::new(),
            calls: Vec::new(),
            left: 40,
        };
        let text = match writer.random.below(3) {
            0 => writer.any_call(2),
            _ => writer.write(Of::Bool, 4),
        };
        let calls = std::mem::take(&mut writer.calls);
        printed(seed, &text);
        totals.written += 1;
        let Ok(program) = Program::compile(&text, on) else {
            continue;
        };
        totals.compiled += 1;
        let about: Vec<_> = match on {
            Some(on) => records.iter().filter(|r| r.event_type() == on).collect(),
            None => (0..ANY)
                .map(|_| &records[random.below(records.len())])
                .collect(),
        };
        for record in &about {
            asked(seed, &text, &program, record, totals);
        }
        shown(seed, &program, on, about[0]);
        let times = about.len() as u64;
        totals.cases += times;
        totals.tally.calls(&calls, times);
        let ast = program.ast();
        totals.tally.parts(ast, ast.root(), times);
        let whole = match program.is_lowered() {
            true => "lowered whole",
            false => "left to the evaluator in part",
        };
        totals.tally.add(whole, times);
    }
}

/// One condition on one event.
fn asked(seed: u64, text: &str, program: &Program, record: &Record<'_>, totals: &mut Totals) {
    let subject = record.subject();
    let (fast, slow) = (program.run(&subject), program.evaluate(&subject));
    if !agree(fast, &slow) {
        disagreement::panic(seed, text, program, record);
    }
    match &slow {
        Ok(true) => totals.tally.add("outcome true", 1),
        Ok(false) => totals.tally.add("outcome false", 1),
        Err(error) if error.kind == ErrorKind::TooExpensive => totals.too_expensive += 1,
        Err(error) => {
            totals.tally.add("outcome failed", 1);
            totals.tally.add(&format!("error {:?}", error.kind), 1);
        }
    }
}

fn agree(fast: Outcome, slow: &Result<bool, EvalError>) -> bool {
    match slow {
        Ok(yes) => fast == Outcome::from(*yes),
        Err(error) => fast == Outcome::Failed || error.kind == ErrorKind::TooExpensive,
    }
}

/// What a condition is shown as is the same condition.
fn printed(seed: u64, text: &str) {
    let ast = parse(text).unwrap_or_else(|e| panic!("seed {seed}: {e}: {text}"));
    let once = ast.show(ast.root());
    let again = parse(&once).unwrap_or_else(|e| panic!("seed {seed}: {e}: {text}\n is {once}"));
    let twice = again.show(again.root());
    assert_eq!(once, twice, "seed {seed}: {text}");
    assert_eq!(ast.len(), again.len(), "seed {seed}: {text}\n is {once}");
}

/// What a checked condition is shown as means the same.
fn shown(seed: u64, program: &Program, on: Option<EventType>, record: &Record<'_>) {
    let text = program.ast().show(program.ast().root());
    let again = Program::compile(&text, on)
        .unwrap_or_else(|e| panic!("seed {seed}: what is shown does not compile: {e}\n{text}"));
    let subject = record.subject();
    let kind = |e: EvalError| e.kind;
    let before = program.evaluate(&subject).map_err(kind);
    let after = again.evaluate(&subject).map_err(kind);
    assert_eq!(
        before,
        after,
        "seed {seed}: {text}\non {}",
        record.to_line()
    );
    assert_eq!(
        program.run(&subject),
        again.run(&subject),
        "seed {seed}: {text}"
    );
}
