//! The first request of a connection of HTTP/1, read as the gate does it.

use super::passed::{self, Request};
use super::wire::Wire;
use crate::http1;
use bailiwick_event::Scheme;
use http_body_util::Full;
use hyper::Response;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};

/// Reads the first request of a connection and what the gate makes of it; none where it was
/// refused as malformed or is not whole.
#[must_use]
pub fn http(bytes: &[u8], proxied: bool) -> Option<Request> {
    thread_local! {
        static RUNTIME: Option<tokio::runtime::Runtime> =
            tokio::runtime::Builder::new_current_thread().enable_time().build().ok();
    }
    RUNTIME.with(|runtime| runtime.as_ref()?.block_on(read(bytes, proxied)))
}

async fn read(bytes: &[u8], proxied: bool) -> Option<Request> {
    let found = Arc::new(Mutex::new(None));
    let service = service_fn(|request: hyper::Request<Incoming>| {
        let found = found.clone();
        async move {
            let first = || found.lock().unwrap_or_else(PoisonError::into_inner);
            if first().is_none() {
                let read = passed::read(request, Scheme::Http, proxied).await;
                *first() = Some(read);
            }
            let mut response = Response::new(Full::<Bytes>::default());
            let close = hyper::header::HeaderValue::from_static("close");
            response
                .headers_mut()
                .insert(hyper::header::CONNECTION, close);
            Ok::<_, Infallible>(response)
        }
    });
    let client = Wire::new(bytes.to_vec(), true);
    let _ = http1::reader()
        .serve_connection(TokioIo::new(client), service)
        .await;
    let mut found = found.lock().unwrap_or_else(PoisonError::into_inner);
    found.take().flatten()
}
