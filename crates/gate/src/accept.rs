//! Accepts connections, no more at a time than a fixed number. A program that opens connections
//! until something breaks makes its own next connection wait, and nothing else.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::time::sleep;

/// Connections at one time, of all listeners that share a limit.
pub(crate) const MAX_CONNECTIONS: usize = 512;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Serves every connection as a task of its own, for ever.
pub(crate) async fn run<F, Fut>(listener: TcpListener, limit: Arc<Semaphore>, serve: F)
where
    F: Fn(TcpStream) -> Fut,
    Fut: Future<Output = ()> + Send + 'static,
{
    let mut pause = FIRST_PAUSE;
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                pause = FIRST_PAUSE;
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
