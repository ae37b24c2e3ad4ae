//! What the bytes of a connection travel in: TCP, or TLS that the gate itself speaks within it. All
//! that follows sees one kind of stream, so that a request within TLS takes the same way as one in
//! the clear.

use crate::prefixed::Prefixed;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::{client, server};

/// A stream of bytes.
#[derive(Debug)]
pub(crate) enum Wire {
    Tcp(TcpStream),
    /// TLS whose server the gate is.
    Accepted(Box<server::TlsStream<Prefixed>>),
    /// TLS whose client the gate is.
    Dialled(Box<client::TlsStream<Prefixed>>),
}

impl Wire {
    /// Makes the end of the connection a reset instead of an orderly close.
    pub(crate) fn reset_on_close(&self) {
        match self {
            Self::Tcp(stream) => drop(stream.set_zero_linger()),
            Self::Accepted(stream) => stream.get_ref().0.reset_on_close(),
            Self::Dialled(stream) => stream.get_ref().0.reset_on_close(),
        }
    }

    /// The protocol that was agreed on for what is within TLS.
    pub(crate) fn protocol(&self) -> Option<&[u8]> {
        match self {
            Self::Tcp(_) => None,
            Self::Accepted(stream) => stream.get_ref().1.alpn_protocol(),
            Self::Dialled(stream) => stream.get_ref().1.alpn_protocol(),
        }
    }
}

/// Does the same with the stream, whichever it is.
macro_rules! each {
    ($self:ident, $stream:ident => $do:expr) => {
        match $self {
            Wire::Tcp($stream) => $do,
            Wire::Accepted($stream) => $do,
            Wire::Dialled($stream) => $do,
        }
    };
}

impl AsyncRead for Wire {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        each!(wire, stream => Pin::new(stream).poll_read(cx, buf))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        each!(wire, stream => Pin::new(stream).poll_write(cx, buf))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let wire = self.get_mut();
        each!(wire, stream => Pin::new(stream).poll_write_vectored(cx, bufs))
    }

    fn is_write_vectored(&self) -> bool {
        each!(self, stream => stream.is_write_vectored())
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        each!(wire, stream => Pin::new(stream).poll_flush(cx))
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = self.get_mut();
        each!(wire, stream => Pin::new(stream).poll_shutdown(cx))
    }
}
