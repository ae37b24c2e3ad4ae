//! The server that the clients ask: rustls and hyper on the host's loopback, in a thread of its own. It
//! counts what it is asked, because only the server knows what has really left the gate.

use super::authority::TestAuthority;
use crate::load::page::{BODY_PATH, PAGE, PAGE_PATH, PIECE, piece};
use hyper::body::{Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::convert::Infallible;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::thread::JoinHandle;
use tokio::sync::oneshot;
use tokio_rustls::TlsAcceptor;

/// What was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// The page.
    pub pages: u64,
    /// Bodies of a length.
    pub bodies: u64,
    /// Anything else.
    pub others: u64,
}

#[derive(Default)]
struct Counts {
    pages: AtomicU64,
    bodies: AtomicU64,
    others: AtomicU64,
}

/// The server, until it is dropped.
pub(crate) struct Origin {
    address: SocketAddr,
    counts: Arc<Counts>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Origin {
    /// Starts it on a free port.
    pub(crate) fn start(authority: &TestAuthority) -> io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0))?;
        // As many as may come at once.
        rustix::net::listen(&listener, 4096)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let counts = Arc::new(Counts::default());
        let (stop, stopped) = oneshot::channel();
        let (acceptor, counted) = (
            TlsAcceptor::from(Arc::clone(&authority.server)),
            Arc::clone(&counts),
        );
        let thread = std::thread::Builder::new()
            .name("bench-origin".to_owned())
            .spawn(move || {
                runtime.block_on(async {
                    tokio::select! {
                        _ = stopped => {}
                        () = accept(listener, acceptor, counted) => {}
                    }
                });
                runtime.shutdown_background();
            })?;
        Ok(Self {
            address,
            counts,
            stop: Some(stop),
            thread: Some(thread),
        })
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What it was asked since this was last called.
    pub(crate) fn take(&self) -> Asked {
        Asked {
            pages: self.counts.pages.swap(0, Ordering::Relaxed),
            bodies: self.counts.bodies.swap(0, Ordering::Relaxed),
            others: self.counts.others.swap(0, Ordering::Relaxed),
        }
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

async fn accept(listener: TcpListener, acceptor: TlsAcceptor, counts: Arc<Counts>) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        return;
    };
    loop {
        let Ok((stream, _)) = listener.accept().await else {
            // Out of descriptors: what is open ends some time.
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            continue;
        };
        let (acceptor, counts) = (acceptor.clone(), Arc::clone(&counts));
        tokio::spawn(async move {
            let _ = stream.set_nodelay(true);
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let two = stream.get_ref().1.alpn_protocol() == Some(b"h2");
            let io = TokioIo::new(stream);
            let service = service_fn(move |request| {
                let answer = answer(&request, &counts);
                async move { Ok::<_, Infallible>(answer) }
            });
            // A client that leaves is the verifier's matter.
            if two {
                let builder = http2::Builder::new(TokioExecutor::new());
                let _ = builder.serve_connection(io, service).await;
            } else {
                let _ = http1::Builder::new().serve_connection(io, service).await;
            }
        });
    }
}

fn answer(request: &Request<Incoming>, counts: &Counts) -> Response<Body> {
    let path = request.uri().path();
    let length = path.strip_prefix(BODY_PATH).and_then(|n| n.parse().ok());
    match length {
        Some(length) => {
            counts.bodies.fetch_add(1, Ordering::Relaxed);
            Response::new(Body::Long(length))
        }
        None if path == PAGE_PATH => {
            counts.pages.fetch_add(1, Ordering::Relaxed);
            Response::new(Body::Page(true))
        }
        None => {
            counts.others.fetch_add(1, Ordering::Relaxed);
            let mut response = Response::new(Body::Page(false));
            *response.status_mut() = StatusCode::NOT_FOUND;
            response
        }
    }
}

/// What is still to be sent.
enum Body {
    Page(bool),
    Long(u64),
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match &mut *self {
            Self::Page(false) | Self::Long(0) => return Poll::Ready(None),
            Self::Page(more) => {
                *more = false;
                Bytes::from_static(PAGE.as_bytes())
            }
            Self::Long(left) => {
                // Every piece but the last is whole, so that a byte's place tells its value.
                let length = (*left).min(PIECE as u64);
                *left -= length;
                piece().slice(..length as usize)
            }
        };
        Poll::Ready(Some(Ok(Frame::data(data))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Page(false) | Self::Long(0))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(match self {
            Self::Page(false) => 0,
            Self::Page(true) => PAGE.len() as u64,
            Self::Long(left) => *left,
        })
    }
}
