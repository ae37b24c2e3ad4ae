//! Datagrams to any port but 53 go nowhere, but the attempt is seen: QUIC, NTP and tunnels over
//! UDP leave a row that says what was tried. A flood of them may cost rows, so each destination
//! counts once a second, and what is beyond the bound is one row that says how many were lost.

use crate::context::Context;
use crate::datagram;
use crate::destination::Destination;
use bailiwick_event::{Act, Transport, Via};
use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::Interest;
use tokio::net::UdpSocket;
use tokio::time::{Instant, sleep, sleep_until};

/// Rows for one second.
const MAX_ATTEMPTS: usize = 256;
const WINDOW: Duration = Duration::from_secs(1);

/// The destinations of one second.
#[derive(Default)]
struct Attempts {
    seen: HashSet<SocketAddr>,
    lost: u64,
}

impl Attempts {
    /// Whether this attempt is to be recorded.
    fn is_new(&mut self, destination: SocketAddr) -> bool {
        if self.seen.contains(&destination) {
            return false;
        }
        if self.seen.len() >= MAX_ATTEMPTS {
            self.lost += 1;
            return false;
        }
        self.seen.insert(destination)
    }
}

/// One second. When it is over, or the gate, the number of those that were lost is recorded.
struct Second {
    context: Arc<Context>,
    attempts: Attempts,
}

impl Second {
    fn new(context: &Arc<Context>) -> Self {
        Self {
            context: Arc::clone(context),
            attempts: Attempts::default(),
        }
    }
}

impl Drop for Second {
    fn drop(&mut self) {
        let lost = self.attempts.lost;
        if lost > 0 {
            self.context.decider.submit(Act::Overflow { lost });
        }
    }
}

/// Records attempts and drops the datagrams, for ever.
pub(crate) async fn record(context: Arc<Context>, socket: UdpSocket) {
    let mut second = Second::new(&context);
    let mut end = Instant::now() + WINDOW;
    loop {
        let mut nothing = [0; 1];
        let receive = socket.async_io(Interest::READABLE, || {
            datagram::receive(socket.as_fd(), &mut nothing)
        });
        let received = tokio::select! {
            received = receive => received,
            () = sleep_until(end), if !second.attempts.seen.is_empty() => {
                second = Second::new(&context);
                continue;
            }
        };
        match received {
            Ok(datagram) => {
                if second.attempts.seen.is_empty() {
                    end = Instant::now() + WINDOW;
                }
                if second.attempts.is_new(datagram.destination) {
                    let to = Destination {
                        host: context.host_of(datagram.destination.ip()),
                        address: Some(datagram.destination.ip().to_canonical()),
                        port: datagram.destination.port(),
                        secure: None,
                        via: Via::Transparent,
                    };
                    context.decider.submit(to.connect(Transport::Udp));
                }
            }
            Err(error) if error.kind() == io::ErrorKind::InvalidData => {}
            Err(_) => sleep(Duration::from_millis(50)).await,
        }
    }
}

#[cfg(test)]
#[path = "udp_tests.rs"]
mod tests;
