//! A test waits for what has to happen, and not for a time: it looks at the state itself until it is so.
//! There is one limit, which a busy machine does not reach: who reaches it waits for ever, and is told for
//! what.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// How long a test waits at the most.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// How often it looks at the least, however long one look takes.
const LOOKS: u32 = 10;

/// Waits until something is so.
#[track_caller]
pub(crate) fn until(what: &str, mut is: impl FnMut() -> bool) {
    for_some(what, || is().then_some(()));
}

/// Waits until there is something, and returns it.
#[track_caller]
pub(crate) fn for_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    for_ok(what, || look().ok_or("it is not so yet"))
}

/// Waits until something succeeds; where it never does, the failure says why the last time.
#[track_caller]
pub(crate) fn for_ok<T, E: Display>(what: &str, mut look: impl FnMut() -> Result<T, E>) -> T {
    let begun = Instant::now();
    let mut looks = 0;
    loop {
        // Before the look: whoever was not let run for so long may look once more.
        let late = begun.elapsed() >= PATIENCE && looks >= LOOKS;
        let looked = Instant::now();
        match look() {
            Ok(found) => return found,
            Err(why) => assert!(!late, "waited in vain until {what}: {why}"),
        }
        looks += 1;
        // A look that costs much is not made all the time: the machine has something to do.
        let pause = looked.elapsed() * 4;
        std::thread::sleep(pause.clamp(Duration::from_millis(2), Duration::from_millis(100)));
    }
}
