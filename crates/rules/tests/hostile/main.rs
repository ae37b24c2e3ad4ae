//! Rules and events that were made to take the engine's time, memory or stack. Decision: what is
//! too much is refused in words that say what to write instead, when the rule is read or when its
//! steps are spent; a clock decides nothing here and only keeps a hang from hanging the tests.

mod events;
mod rules;
mod sums;

use bailiwick_event::fields::{EventType, Record};
use bailiwick_rules::eval::ErrorKind;
use bailiwick_rules::{Outcome, Program};
use std::cell::RefCell;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

thread_local! {
    /// Where a thread says that it has asked one more question.
    static ALIVE: RefCell<Option<Sender<()>>> = const { RefCell::new(None) };
}

/// Many times what the longest question takes on a slow machine without optimization: what is looked for
/// never ends.
const PATIENCE: Duration = Duration::from_secs(600);

/// Does some work in a thread of its own, and does not wait for ever for any question of it.
fn guarded(work: impl FnOnce() + Send + 'static) {
    let (alive, wait) = channel();
    let thread = std::thread::spawn(move || {
        ALIVE.set(Some(alive));
        work();
    });
    loop {
        match wait.recv_timeout(PATIENCE) {
            Ok(()) => {}
            Err(RecvTimeoutError::Timeout) => panic!("still at it after {PATIENCE:?}"),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    if let Err(panic) = thread.join() {
        std::panic::resume_unwind(panic);
    }
}

fn refused(text: &str) -> String {
    match Program::compile(text, None) {
        Ok(_) => panic!("{} … was taken", text.chars().take(60).collect::<String>()),
        Err(error) => error.to_string(),
    }
}

fn program(text: &str) -> Program {
    Program::compile(text, None).unwrap_or_else(|e| panic!("{text:.200}: {e}"))
}

/// What a condition says: the evaluator's error where it has one, which the tests made fast then
/// either share or need not make.
fn says(text: &str, event: &Record<'_>) -> (Outcome, Result<bool, ErrorKind>) {
    let program = program(text);
    let subject = event.subject();
    let (fast, slow) = (program.run(&subject), program.evaluate(&subject));
    ALIVE.with_borrow(|alive| alive.as_ref().map(|alive| alive.send(())));
    if let Err(error) = &slow
        && error.kind == ErrorKind::TooExpensive
    {
        let said = error.to_string();
        let remedy = said.contains("more than 1000000 steps") && said.contains("go over fewer");
        assert!(remedy, "{text:.200}: {said}");
    }
    let slow = slow.map_err(|error| error.kind);
    match slow {
        Ok(yes) => assert_eq!(fast, Outcome::from(yes), "{text:.200}"),
        Err(ErrorKind::TooExpensive) => {}
        Err(_) => assert_eq!(fast, Outcome::Failed, "{text:.200}"),
    }
    (fast, slow)
}

fn with_body(body: String) -> Record<'static> {
    let mut event = Record::new(EventType::HttpRequest);
    event.http_request.body_text = Some(body.into());
    event
}

const MILLION: usize = 1_000_000;
const TEN_MEGABYTES: usize = 10 * MILLION;

fn with_words(count: usize) -> Record<'static> {
    let mut event = Record::new(EventType::ProcessExec);
    event.process_exec.argv = Some((0..count).map(|n| n.to_string().into()).collect());
    event
}

/// Letters without an order that anything could make use of.
fn letters(count: usize) -> String {
    let mut random = 1_u64;
    let mut letter = || {
        random = random
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        if random >> 63 == 0 { 'a' } else { 'b' }
    };
    (0..count).map(|_| letter()).collect()
}
