//! Asks one server after the other. A server that fails, refuses or says nothing passes the
//! question on to the next; the one that answered last is asked first, so that a dead server costs
//! its time once.

use super::answer::{self, Found};
use super::exchange::exchange;
use super::{Failure, Question};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// How long one server has for one try (as the C library).
const TIMEOUT: Duration = Duration::from_secs(5);
/// How often each server is tried.
const ATTEMPTS: usize = 2;
/// How long all of it may take.
const WHOLE: Duration = Duration::from_secs(15);

/// Name servers, in the order in which they are asked.
pub(super) struct Servers {
    pub(super) all: Vec<SocketAddr>,
    pub(super) timeout: Duration,
    pub(super) attempts: usize,
    last_good: AtomicUsize,
}

impl Servers {
    pub(super) fn new(all: Vec<SocketAddr>) -> Self {
        Self {
            all,
            timeout: TIMEOUT,
            attempts: ATTEMPTS,
            last_good: AtomicUsize::new(0),
        }
    }

    /// What the servers say.
    pub(super) async fn ask(&self, question: &Question) -> Result<Found, Failure> {
        let asked = timeout(WHOLE, self.ask_each(question)).await;
        asked.unwrap_or(Err(Failure::Silent))
    }

    async fn ask_each(&self, question: &Question) -> Result<Found, Failure> {
        let first = self.last_good.load(Ordering::Relaxed);
        let mut failure = Failure::Silent;
        for _ in 0..self.attempts {
            for i in 0..self.all.len() {
                let at = (first + i) % self.all.len();
                let tried = timeout(self.timeout, exchange(self.all[at], question)).await;
                let found = match tried {
                    Ok(Ok(message)) => answer::read(&message, question),
                    Ok(Err(failure)) => Err(failure),
                    Err(_) => Err(Failure::Silent),
                };
                match found {
                    Ok(found) => {
                        self.last_good.store(at, Ordering::Relaxed);
                        return Ok(found);
                    }
                    // What is too large at one server is so at all.
                    Err(Failure::TooLarge) => return Err(Failure::TooLarge),
                    Err(why) => failure = why,
                }
            }
        }
        Err(failure)
    }
}
