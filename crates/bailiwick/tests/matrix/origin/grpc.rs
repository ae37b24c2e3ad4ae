//! gRPC by hand: messages with five bytes before them, the status in the trailers. A message is
//! whatever the client sent; nothing here needs to know what it means.

use super::answer::{Answer, full, streamed};
use super::pieces::Pieces;
use super::{EVENTS, Served};
use http_body_util::BodyExt;
use hyper::body::{Bytes, Incoming};
use hyper::http::{HeaderMap, HeaderValue};
use std::sync::Arc;

pub(super) fn answer(served: Arc<Served>, path: &str, body: Bytes) -> Answer {
    let (sender, pieces) = Pieces::new();
    let streams = match path.strip_prefix("/echo.Echo/") {
        Some("Fails") => return fails(),
        Some("Unary") => false,
        Some("Stream") => true,
        Some("Seen") => {
            served.saw();
            false
        }
        _ => return full(404, "no such method\n"),
    };
    tokio::spawn(async move {
        if streams {
            sender.data(framed(EVENTS[0].as_bytes())).await;
            sender.data(framed(served.last().await.as_bytes())).await;
        } else {
            sender.data(body).await;
        }
        sender.trailers(fine()).await;
    });
    streamed("application/grpc", pieces)
}

/// Sends back what comes, as it comes: neither side can wait for the other's end.
pub(super) fn talk(served: Arc<Served>, number: usize, mut body: Incoming) -> Answer {
    let (sender, pieces) = Pieces::new();
    tokio::spawn(async move {
        let mut all = Vec::new();
        while let Some(Ok(frame)) = body.frame().await {
            if let Ok(data) = frame.into_data() {
                all.extend_from_slice(&data);
                sender.data(data).await;
            }
        }
        served.log.body(number, &all);
        sender.trailers(fine()).await;
    });
    streamed("application/grpc", pieces)
}

fn fine() -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("grpc-status", HeaderValue::from_static("0"));
    trailers.insert("x-trailer", HeaderValue::from_static("arrived"));
    trailers
}

/// What failed has its status in its head, and nothing else.
fn fails() -> Answer {
    let mut answer = full(200, "");
    let headers = answer.headers_mut();
    headers.insert("content-type", "application/grpc".parse().unwrap());
    headers.insert("grpc-status", HeaderValue::from_static("5"));
    headers.insert(
        "grpc-message",
        HeaderValue::from_static("no%20such%20thing"),
    );
    answer
}

fn framed(message: &[u8]) -> Vec<u8> {
    let mut framed = vec![0];
    framed.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
    framed.extend(message);
    framed
}
