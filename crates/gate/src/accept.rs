//! Accepts connections, no more at a time than a fixed number. A program that opens connections
//! until something breaks makes its own next connection wait, and nothing else.

use crate::expected::{Expected, Way};
use rustix::net::sockopt;
use rustix::process::{Resource, getrlimit};
use std::future::Future;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, RawFd};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

/// Connections at one time, of all listeners that share a limit, where there are descriptors for them.
const MAX_CONNECTIONS: usize = 12_000;
/// The same of published ports.
pub(crate) const MAX_PUBLISHED: usize = 512;
/// Tenths of the process's descriptors that programs' connections take, and connections to servers; the
/// rest is for the record.
const OF_PROGRAMS: u64 = 6;
const TO_SERVERS: u64 = 3;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// How many connections are served at one time.
pub(crate) fn max_connections() -> usize {
    share(OF_PROGRAMS)
}

/// How many connections to servers there are at one time.
pub(crate) fn max_dialled() -> usize {
    share(TO_SERVERS)
}

fn share(tenths: u64) -> usize {
    let descriptors = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    let share = (descriptors / 10 * tenths).max(1);
    usize::try_from(share).map_or(MAX_CONNECTIONS, |share| share.min(MAX_CONNECTIONS))
}

/// How long a connection is silent before its program is asked whether it is still there, how often it
/// is asked, and how often in vain.
const ASK_AFTER: Duration = Duration::from_secs(30);
const ASKED: u32 = 3;
/// How often it is looked whether it has answered that it is not. Longer than the pool's tidying waits,
/// so that a new connection has no timer that is earlier than all others.
const LOOK: Duration = Duration::from_secs(20);

/// Has the kernel ask silent programs, of all connections of a listener. Where it cannot be had the
/// connections of programs that went away end with their servers'.
fn ask_silent(listener: &TcpListener) {
    let _ = sockopt::set_socket_keepalive(listener, true);
    let _ = sockopt::set_tcp_keepidle(listener, ASK_AFTER);
    let _ = sockopt::set_tcp_keepintvl(listener, ASK_AFTER);
    let _ = sockopt::set_tcp_keepcnt(listener, ASKED);
}

/// Serves a connection until it has ended, or its program is gone. One that has only said all still
/// gets its answer; but whoever waits for a silent server looks at nothing that the program does.
async fn while_there(connection: RawFd, served: impl Future<Output = ()>) {
    let mut served = pin!(served);
    while timeout(LOOK, &mut served).await.is_err() {
        if is_gone(connection) {
            return;
        }
    }
}

/// Whether the other side has reset a connection, as the kernel of a program that has closed both
/// directions does when it is asked or sent something, or does not answer. That both directions were
/// ended in good order says nothing: what was sent before may still be on its way.
fn is_gone(connection: RawFd) -> bool {
    let mut look = libc::pollfd {
        fd: connection,
        events: 0,
        revents: 0,
    };
    // SAFETY: one structure, which lives as long as the call. It only looks: a number that became
    // another connection's meanwhile can only end a task whose own connection is closed already.
    let ready = unsafe { libc::poll(&raw mut look, 1, 0) };
    ready == 1 && look.revents & libc::POLLERR != 0
}

/// Serves every connection as a task of its own, for ever.
pub(crate) async fn run<F, Fut>(listener: TcpListener, limit: Arc<Semaphore>, serve: F)
where
    F: Fn(TcpStream) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    ask_silent(&listener);
    loop {
        let (stream, _) = next(&listener).await;
        let connection = stream.as_raw_fd();
        let served = serve(stream);
        // Waits with one connection in hand, so that listeners that nobody uses take
        // nothing of what they share.
        let Ok(permit) = limit.clone().acquire_owned().await else {
            return;
        };
        tokio::spawn(async move {
            while_there(connection, served).await;
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
    ask_silent(&listener);
    loop {
        let (stream, from) = next(&listener).await;
        let Some((way, place)) = expected.take(from) else {
            continue;
        };
        let connection = stream.as_raw_fd();
        let served = serve(stream, way);
        let limit = limit.clone();
        tokio::spawn(async move {
            let permit = limit.acquire_owned().await;
            drop(place);
            while_there(connection, served).await;
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
