//! A body that is sent piece by piece, as its sender has them.

use hyper::body::{Body, Bytes, Frame};
use hyper::http::HeaderMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

pub(super) struct Pieces(mpsc::Receiver<Frame<Bytes>>);

/// What sends; the body ends with it.
pub(super) struct Sender(mpsc::Sender<Frame<Bytes>>);

impl Pieces {
    pub(super) fn new() -> (Sender, Self) {
        let (sender, receiver) = mpsc::channel(1);
        (Sender(sender), Self(receiver))
    }
}

impl Sender {
    /// A client that went away is not told.
    pub(super) async fn data(&self, bytes: impl Into<Bytes>) {
        let _ = self.0.send(Frame::data(bytes.into())).await;
    }

    pub(super) async fn trailers(&self, trailers: HeaderMap) {
        let _ = self.0.send(Frame::trailers(trailers)).await;
    }
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.0.poll_recv(context).map(|frame| frame.map(Ok))
    }
}
