//! The end of a gate. The sandbox's sides are closed by then: what is left is on its way. What programs have tried is
//! recorded, or counted where there is no time for it.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::{RecvFlags, recv};
use std::io::{self, ErrorKind};
use std::net::TcpListener;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How long what nobody has accepted or decided yet has.
pub(crate) const BACKLOG: Duration = Duration::from_secs(2);
/// How long what connections still hold has.
pub(crate) const DRAIN: Duration = Duration::from_millis(150);
const LOOK: Duration = Duration::from_millis(2);

/// How many connections there are.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    served: Arc<AtomicUsize>,
    undecided: Arc<AtomicUsize>,
}

impl Counts {
    /// For connections that come from the host: they are nothing that a program has tried.
    pub(crate) fn of_host(&self) -> Self {
        let undecided = Arc::default();
        Self {
            undecided,
            ..self.clone()
        }
    }

    /// One more that is served.
    pub(crate) fn served(&self) -> Counted {
        Counted::new(&self.served)
    }

    /// One more of which nothing is decided.
    pub(crate) fn undecided(&self) -> Counted {
        Counted::new(&self.undecided)
    }
}

/// A connection, counted as long as this is.
#[derive(Debug)]
pub(crate) struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(count))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sockets at which programs of the sandbox ask.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) listeners: Vec<TcpListener>,
    pub(crate) datagrams: Vec<OwnedFd>,
}

impl Asked {
    /// Whether something waits at one of them.
    fn is_waiting(&self) -> bool {
        let listeners = self.listeners.iter().map(AsFd::as_fd);
        let all = listeners.chain(self.datagrams.iter().map(AsFd::as_fd));
        let mut all: Vec<_> = all
            .map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN))
            .collect();
        poll(&mut all, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
    }

    /// Ends the connections that wait, and drops the datagrams; how many there were.
    fn turn_away(&self) -> usize {
        let accept = |listener| number_of(|| TcpListener::accept(listener).map(drop));
        let receive =
            |socket| number_of(|| Ok(recv(socket, &mut [0; 1], RecvFlags::DONTWAIT).map(drop)?));
        let connections: usize = self.listeners.iter().map(accept).sum();
        let datagrams: usize = self.datagrams.iter().map(receive).sum();
        connections + datagrams
    }
}

/// How often something can be taken until nothing is left.
fn number_of(mut take: impl FnMut() -> io::Result<()>) -> usize {
    let mut number = 0;
    loop {
        match take().map_err(|error| error.kind()) {
            Ok(()) => number += 1,
            // It was gone before, or a signal came.
            Err(ErrorKind::ConnectionAborted | ErrorKind::Interrupted) => {}
            Err(_) => return number,
        }
    }
}

/// Waits until no connection is served and nothing waits, for a bounded time. How many connections and
/// datagrams there were of which nothing was decided.
pub(crate) async fn drain(counts: &Counts, asked: &Asked) -> usize {
    let (end, mut tried) = (Instant::now(), Instant::now());
    loop {
        let undecided = counts.undecided.load(Ordering::Relaxed);
        if asked.is_waiting() || undecided > 0 {
            if end.elapsed() > BACKLOG {
                return undecided + asked.turn_away();
            }
            tried = Instant::now();
        } else if counts.served.load(Ordering::Relaxed) == 0 || tried.elapsed() > DRAIN {
            return 0;
        }
        tokio::time::sleep(LOOK).await;
    }
}
