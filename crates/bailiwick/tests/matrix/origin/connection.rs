//! One connection: agreed on TLS, and served in the protocol that was chosen.

use super::log::NOTHING_SAID;
use super::{Served, Tls, answer};
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::io::{copy, sink};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;

/// Requests of a connection to `brief.test`.
const BRIEF: usize = 3;

/// How long a connection that ended is read on.
const LINGERS: Duration = Duration::from_secs(60);

pub(super) async fn accept(listener: TcpListener, tls: Tls, served: Arc<Served>) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        tokio::spawn(connection(stream, tls.clone(), Arc::clone(&served)));
    }
}

/// Serves a connection. Where it is not the client that ends it, what the client still says is read: else
/// the kernel would reset it, and the client lose what it has not read yet.
async fn connection(stream: TcpStream, tls: Tls, served: Arc<Served>) {
    let _ = stream.set_nodelay(true);
    let stream = stream.into_std().unwrap();
    let spare = stream.try_clone().unwrap();
    if !serve(TcpStream::from_std(stream).unwrap(), tls, served).await {
        return;
    }
    let mut rest = TcpStream::from_std(spare).unwrap();
    let _ = timeout(LINGERS, copy(&mut rest, &mut sink())).await;
}

/// Whether the server ended it. A client that goes away in the middle is the test's matter: it finds its
/// request missing.
async fn serve(stream: TcpStream, tls: Tls, served: Arc<Served>) -> bool {
    let accepting = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), stream);
    let Ok(started) = accepting.await else {
        served.log.connection(NOTHING_SAID);
        return false;
    };
    let name = started.client_hello().server_name().map(str::to_owned);
    let name = name.unwrap_or_else(|| String::from("no name"));
    served.log.connection(&name);
    let Ok(stream) = started.into_stream(tls.named(&name)).await else {
        return false;
    };
    let alpn = match stream.get_ref().1.alpn_protocol() {
        Some(protocol) => String::from_utf8_lossy(protocol).into_owned(),
        None => String::from("none"),
    };
    let http2 = alpn == "h2";
    let last = Arc::new(Notify::new());
    let left = AtomicUsize::new(match name.starts_with("brief.") {
        true => BRIEF,
        false => usize::MAX,
    });
    let service = service_fn({
        let last = Arc::clone(&last);
        move |request| {
            if left.fetch_sub(1, Ordering::Relaxed) == 1 {
                last.notify_one();
            }
            let (served, alpn) = (Arc::clone(&served), alpn.clone());
            async move { answer::answer(served, alpn, request).await }
        }
    });
    let stream = TokioIo::new(stream);
    // Ends a connection as servers do it: what was begun is answered.
    macro_rules! serve {
        ($connection:expr) => {{
            let mut connection = pin!($connection);
            tokio::select! {
                _ = connection.as_mut() => false,
                () = last.notified() => {
                    connection.as_mut().graceful_shutdown();
                    let _ = connection.await;
                    true
                }
            }
        }};
    }
    if http2 {
        serve!(http2::Builder::new(TokioExecutor::new()).serve_connection(stream, service))
    } else {
        serve!(
            http1::Builder::new()
                .serve_connection(stream, service)
                .with_upgrades()
        )
    }
}
