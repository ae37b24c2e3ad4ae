//! A place to stop a run, for the tests that kill it there: what is left after a death is known
//! only where the death can be put at any stage of a start. Only in a build with the feature
//! `stop-at-stage`, which the product is not.
//!
//! The variable `BAILIWICK_STOP_AT` names a place. Whoever gets there, in whichever process, writes
//! a byte to descriptor 8 and goes on when it reads one, or the end, from descriptor 9. The value
//! `?` lists the places that are no stages of a run's table.

use crate::place::PLACES;
use rustix::fd::BorrowedFd;
use std::env;
use std::sync::OnceLock;

const REACHED: i32 = 8;
const GO_ON: i32 = 9;

/// Stops where the caller of this process asked for it.
pub(crate) fn here(when: &str, lane: &str, stage: &str) {
    // Read once, and compared piece by piece: some who come here may not allocate.
    static WANTED: OnceLock<Option<String>> = OnceLock::new();
    let wanted = WANTED.get_or_init(|| env::var("BAILIWICK_STOP_AT").ok());
    let Some((at, place)) = wanted.as_deref().and_then(|wanted| wanted.split_once(' ')) else {
        return;
    };
    if at != when || place.split_once('/') != Some((lane, stage)) {
        return;
    }
    let [reached, go_on] = both();
    let _ = rustix::io::write(reached, b"!");
    let _ = rustix::io::read(go_on, &mut [0; 1]);
}

/// Prints every place of a command that enters and of a sandbox that waits, and ends, where that
/// was asked for.
pub(crate) fn list() {
    if env::var_os("BAILIWICK_STOP_AT").is_some_and(|wanted| wanted == "?") {
        for (lane, name) in PLACES {
            println!("at {lane}/{name}");
        }
        std::process::exit(0)
    }
}

/// The two descriptors.
fn both() -> [BorrowedFd<'static>; 2] {
    // SAFETY: whoever sets the variable opens both for the life of this process; where they are
    // not open, the calls on them fail and nothing stops.
    [REACHED, GO_ON].map(|fd| unsafe { BorrowedFd::borrow_raw(fd) })
}

/// What a process keeps open in which the run may be stopped.
pub(crate) fn descriptors() -> impl Iterator<Item = BorrowedFd<'static>> {
    let wanted = env::var_os("BAILIWICK_STOP_AT").is_some();
    wanted.then(both).into_iter().flatten()
}
