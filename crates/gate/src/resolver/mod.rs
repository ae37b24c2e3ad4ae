//! Asks name servers beyond the host, on behalf of a sandbox that cannot.
//!
//! Decision: a resolver of the gate's own, and not the C library's: that one knows only addresses,
//! waits in a thread for each, and says nothing of how long an answer holds. Whoever asks here has
//! had the name decided already; nothing in this folder decides. What comes back is hostile: it
//! counts only for the question that was asked, is bounded, and is never searched for another.
//!
//! One question is asked once at a time, however many wait for it: whoever forges answers gets one
//! try for each question of the gate's, and not one for each of the program's.

mod answer;
mod cache;
mod exchange;
mod host_servers;
mod servers;
mod service;

pub(crate) use answer::Found;

use cache::Cache;
use hickory_proto::op::ResponseCode;
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{Name, RData, RecordType};
use servers::Servers;
use std::collections::HashMap;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;
use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};

/// Questions of programs that are on their way at one time; what is beyond fails at once.
pub(crate) const MAX_ASKED: usize = 256;
/// Lookups for connections at one time; what is beyond waits, as connections do.
const MAX_DIALLED: usize = 64;

/// What is asked: a decided name, in lower case and with the dot at its end, and a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question {
    pub(crate) name: Name,
    pub(crate) kind: RecordType,
}

/// Why there is no answer. Programs read it: it says nothing about the host's network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Too many questions are on their way.
    Busy,
    /// No server has answered in its time.
    Silent,
    /// No server could be asked.
    Network(io::ErrorKind),
    /// The servers have answered with this code.
    Code(ResponseCode),
    /// The answer cannot be read.
    Malformed,
    /// The answer is larger than what is passed on.
    TooLarge,
}

impl Failure {
    /// Its code as an extended error (RFC 8914 §4).
    pub(crate) fn extended_code(self) -> u16 {
        match self {
            Self::Silent => 22,
            Self::Network(_) => 23,
            _ => 0,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Busy => write!(f, "more than {MAX_ASKED} questions are on their way"),
            Self::Silent => f.write_str("no name server has answered in time"),
            Self::Network(kind) => write!(f, "no name server could be asked: {kind}"),
            Self::Code(code) => write!(f, "the name server says: {code}"),
            Self::Malformed => f.write_str("the name server's answer cannot be read"),
            Self::TooLarge => f.write_str("the name server's answer is too large to pass on"),
        }
    }
}

/// What a server's message says about a question, whose id it has guessed.
#[cfg(feature = "fuzzing")]
pub(crate) fn read(message: &[u8], question: &Question) -> Result<Found, Failure> {
    answer::read(&exchange::read_guessed(message, question)?, question)
}

/// The right to ask one question.
pub(crate) struct Slot(#[allow(dead_code, reason = "held, not read")] OwnedSemaphorePermit);

type Pending = Arc<OnceCell<Result<Found, Failure>>>;

/// The servers of one sandbox's gate, and what they said.
pub(crate) struct Resolver {
    /// Those of the policy; where it names none, those of the host, read at first use.
    named: Vec<SocketAddr>,
    servers: OnceLock<Servers>,
    cache: Mutex<Cache>,
    pending: Mutex<HashMap<Question, Pending>>,
    asked: Arc<Semaphore>,
    dialled: Semaphore,
}

impl Resolver {
    /// One that asks these servers, or those of the host where there are none.
    pub(crate) fn new(named: Vec<SocketAddr>) -> Self {
        Self {
            named,
            servers: OnceLock::new(),
            cache: Mutex::default(),
            pending: Mutex::default(),
            asked: Arc::new(Semaphore::new(MAX_ASKED)),
            dialled: Semaphore::new(MAX_DIALLED),
        }
    }

    /// Whether the policy names servers: then they are asked for addresses as well.
    pub(crate) fn is_named(&self) -> bool {
        !self.named.is_empty()
    }

    /// The right to ask; none where too many ask already.
    pub(crate) fn slot(&self) -> Option<Slot> {
        self.asked.clone().try_acquire_owned().ok().map(Slot)
    }

    /// What is known already.
    pub(crate) fn cached(&self, question: &Question) -> Option<Found> {
        lock(&self.cache).get(question, Instant::now())
    }

    /// Asks, or waits for whoever asks the same.
    pub(crate) async fn ask(&self, question: &Question, _slot: Slot) -> Result<Found, Failure> {
        self.find(question).await
    }

    async fn find(&self, question: &Question) -> Result<Found, Failure> {
        if let Some(found) = self.cached(question) {
            return Ok(found);
        }
        let waiting = Waiting::new(self, question);
        let found = waiting.cell.get_or_init(|| async {
            let found = self.servers().ask(question).await;
            if let Ok(found) = &found {
                lock(&self.cache).put(question.clone(), found.clone(), Instant::now());
            }
            found
        });
        found.await.clone()
    }

    /// The addresses of a name that is to be dialled.
    ///
    /// # Errors
    /// Where there are none, and why.
    pub(crate) async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let name = Name::from_ascii(format!("{name}.")).map_err(io::Error::other)?;
        let _permit = self.dialled.acquire().await.map_err(io::Error::other)?;
        let [v4, v6] = [RecordType::A, RecordType::AAAA].map(|kind| Question {
            name: name.clone(),
            kind,
        });
        let (v4, v6) = tokio::join!(self.find(&v4), self.find(&v6));
        let mut addresses: Vec<IpAddr> = Vec::new();
        for data in [&v6, &v4]
            .into_iter()
            .flatten()
            .flat_map(|found| &*found.data)
        {
            let ip = match data {
                RData::A(A(ip)) => IpAddr::from(*ip),
                RData::AAAA(AAAA(ip)) => IpAddr::from(*ip),
                _ => continue,
            };
            if !addresses.contains(&ip) {
                addresses.push(ip);
            }
        }
        match v4.and(v6) {
            _ if !addresses.is_empty() => Ok(addresses),
            Ok(_) => Err(io::Error::new(
                io::ErrorKind::NotFound,
                "the name servers know no address of it",
            )),
            Err(failure) => Err(io::Error::other(failure.to_string())),
        }
    }

    fn servers(&self) -> &Servers {
        self.servers.get_or_init(|| match self.is_named() {
            true => Servers::new(self.named.clone()),
            false => host_servers::read(),
        })
    }
}

/// One who waits for an answer. The last one takes the question away, however it ends.
struct Waiting<'r> {
    resolver: &'r Resolver,
    question: &'r Question,
    cell: Pending,
}

impl<'r> Waiting<'r> {
    fn new(resolver: &'r Resolver, question: &'r Question) -> Self {
        let mut pending = lock(&resolver.pending);
        let cell = pending.entry(question.clone()).or_default().clone();
        Self {
            resolver,
            question,
            cell,
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        let mut pending = lock(&self.resolver.pending);
        let here = pending.get(self.question);
        let own = here.is_some_and(|cell| Arc::ptr_eq(cell, &self.cell));
        // The table's own, and this one.
        if own && (self.cell.initialized() || Arc::strong_count(&self.cell) == 2) {
            pending.remove(self.question);
        }
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
pub(crate) mod testing;

#[cfg(test)]
#[path = "resolver_tests.rs"]
mod tests;
