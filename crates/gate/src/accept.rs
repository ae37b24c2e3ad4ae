//! Accepts connections, no more at a time than a fixed number. A program that opens connections
//! until something breaks makes its own next connection wait, and nothing else.

use crate::expected::{Expected, Way};
use rustix::process::{Resource, getrlimit};
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Connections at one time, of all listeners that share a limit, where there are descriptors for them.
const MAX_CONNECTIONS: usize = 12_000;
/// The same of published ports.
pub(crate) const MAX_PUBLISHED: usize = 512;
/// Three fifths of the process's descriptors: the rest is for what connections lead to, and for the
/// record.
const SHARE: (u64, u64) = (3, 5);
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How many connections are served at one time.
pub(crate) fn max_connections() -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let share = descriptors / SHARE.1 * SHARE.0;
    usize::try_from(share).map_or(MAX_CONNECTIONS, |share| share.min(MAX_CONNECTIONS))
}

/// Serves every connection as a task of its own, for ever.
pub(crate) async fn run<F, Fut>(listener: TcpListener, limit: Arc<Semaphore>, serve: F)
where
    F: Fn(TcpStream) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    loop {
        let (stream, _) = next(&listener).await;
        // Waits with one connection in hand, so that listeners that nobody uses take
        // nothing of what they share.
        let Ok(permit) = limit.clone().acquire_owned().await else {
            return;
        };
        let served = serve(stream);
        tokio::spawn(async move {
            served.await;
            drop(permit);
        });
    }
}

/// The same for connections that are expected. The others are not the sandbox's; they are closed
/// even while it has as many as it may, so that nobody fills the queue before it.
pub(crate) async fn run_expected<F, Fut>(
    listener: TcpListener,
    limit: Arc<Semaphore>,
    expected: Arc<Expected>,
    serve: F,
) where
    F: Fn(TcpStream, Way) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    loop {
        let (stream, from) = next(&listener).await;
        let Some((way, place)) = expected.take(from) else {
            continue;
        };
        let served = serve(stream, way);
        let limit = limit.clone();
        tokio::spawn(async move {
            let permit = limit.acquire_owned().await;
            drop(place);
            served.await;
            drop(permit);
        });
    }
}

/// The next connection.
async fn next(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    let mut pause = FIRST_PAUSE;
    loop {
        match listener.accept().await {
            Ok(accepted) => return accepted,
            // Descriptors or memory have run out, or the peer was gone before it was accepted.
            // The first is not over at once, and a listener stays ready: without a pause this
            // loop would spin.
            Err(_) => {
                sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
            }
        }
    }
}

#[cfg(test)]
#[path = "accept_tests.rs"]
mod tests;
