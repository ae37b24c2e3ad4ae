//! A client's connection whose first bytes were read to decide about it, and that still reads
//! from its beginning: what was checked is exactly what is passed on.

use crate::wire::Wire;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::OwnedSemaphorePermit;

/// A stream with bytes that come before what is read from it.
#[derive(Debug)]
pub(crate) struct Prefixed {
    prefix: Vec<u8>,
    taken: usize,
    inner: Wire,
    /// One of the connections to servers that there may be.
    place: Option<OwnedSemaphorePermit>,
}

impl Prefixed {
    pub(crate) fn new(prefix: Vec<u8>, inner: TcpStream) -> Self {
        // A relay must not hold a small write back; it is an optimisation, so a failure is none.
        let _ = inner.set_nodelay(true);
        Self {
            prefix,
            taken: 0,
            inner: Wire::Tcp(inner),
            place: None,
        }
    }

    /// The same, which has a place until it ends.
    pub(crate) fn at(mut self, place: OwnedSemaphorePermit) -> Self {
        self.place = Some(place);
        self
    }

    /// What travels within TLS.
    pub(crate) fn within(wire: Wire) -> Self {
        Self {
            prefix: Vec::new(),
            taken: 0,
            inner: wire,
            place: None,
        }
    }

    /// The protocol that was agreed on within TLS.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        self.inner.protocol()
    }

    /// The bytes that were read ahead and not yet taken.
    pub(crate) fn ahead(&self) -> &[u8] {
        &self.prefix[self.taken..]
    }

    /// Reads more bytes ahead; 0 at the end of the stream. Nothing is lost where the future is
    /// dropped.
    pub(crate) async fn read_ahead(&mut self) -> io::Result<usize> {
        let mut chunk = [0; 4096];
        let n = self.inner.read(&mut chunk).await?;
        self.prefix.extend_from_slice(&chunk[..n]);
        Ok(n)
    }

    /// Takes `n` of the bytes that were read ahead.
    pub(crate) fn consume(&mut self, n: usize) {
        self.taken = (self.taken + n).min(self.prefix.len());
        if self.taken == self.prefix.len() {
            self.prefix = Vec::new();
            self.taken = 0;
        }
    }

    /// Puts bytes before what is read next.
    pub(crate) fn put_back(&mut self, bytes: &[u8]) {
        let mut prefix = bytes.to_vec();
        prefix.extend_from_slice(self.ahead());
        self.prefix = prefix;
        self.taken = 0;
    }

    /// Makes the end of this connection a reset instead of an orderly close.
    pub(crate) fn reset_on_close(&self) {
        self.inner.reset_on_close();
    }
}

impl AsyncRead for Prefixed {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if self.ahead().is_empty() {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        let n = self.ahead().len().min(buf.remaining());
        buf.put_slice(&self.ahead()[..n]);
        self.consume(n);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Prefixed {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.inner).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
