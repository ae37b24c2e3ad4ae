//! The requests of a connection of HTTP/2, read as the gate does it.

use super::passed::{self, Request};
use super::wire::Wire;
use crate::body::Room;
use crate::http2::{self, Window};
use bailiwick_event::Scheme;
use http_body_util::Full;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

/// What every connection begins with: the preface, and SETTINGS that say nothing (RFC 9113 §3.4).
const BEGINNING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
/// How often what waits is asked again, when nothing more comes.
const TURNS: usize = 16;

/// Reads the frames of a connection within TLS, behind its beginning, and what the gate makes of
/// each request that it takes, in the order in which they were begun.
#[must_use]
pub fn http2(bytes: &[u8]) -> Vec<Request> {
    // One for each connection: what was begun for the last has no place in the next.
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    runtime.map_or_else(|_| Vec::new(), |runtime| runtime.block_on(read(bytes)))
}

async fn read(bytes: &[u8]) -> Vec<Request> {
    let found = Arc::new(Mutex::new(Vec::new()));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let found = found.clone();
        let all = || found.lock().unwrap_or_else(PoisonError::into_inner);
        let at = all().len();
        all().push(None);
        let found = found.clone();
        async move {
            let read = passed::read(request, Scheme::Https, false).await;
            let mut all = found.lock().unwrap_or_else(PoisonError::into_inner);
            all[at] = read;
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
        }
    });
    // One that ends takes with it what was not yet read.
    let window = Window::from_client(&Room::new(0));
    let client = Wire::new([BEGINNING, bytes].concat(), false);
    {
        let mut connection =
            pin!(http2::reader(&window).serve_connection(TokioIo::new(client), service));
        for _ in 0..TURNS {
            let turn = poll_fn(|cx| Poll::Ready(connection.as_mut().poll(cx)));
            if turn.await.is_ready() {
                break;
            }
            // Each request is a task of its own.
            tokio::task::yield_now().await;
        }
    }
    // What waited for more learns that nothing comes.
    for _ in 0..TURNS {
        if Arc::strong_count(&found) == 1 {
            break;
        }
        tokio::task::yield_now().await;
    }
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    found.drain(..).flatten().collect()
}
