//! TLS that the gate looks into.
//!
//! Decision: nothing is signed before the name was decided, and what the program agrees on with the
//! gate is what the gate has agreed on with the server: a server is offered what the program
//! offered, and the program is shown what the server chose. Where that is known from before, the
//! program does not wait for the server.

use crate::context::Context;
use crate::destination::Destination;
use crate::dial::{self, Pending};
use crate::http_serve::{self, Mode};
use crate::prefixed::Prefixed;
use crate::secure::Secure;
use crate::steps::Step;
use crate::tunnel;
use crate::wire::Wire;
use bailiwick_event::Host;
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;
use tokio_rustls::LazyConfigAcceptor;

/// How long a client may take to agree on TLS.
const AGREE: Duration = Duration::from_secs(20);
/// The most protocols that a client's offer has, and the bytes of one; others are left out.
const MAX_OFFERS: usize = 16;
const MAX_OFFER: usize = 64;

/// What is known of the server's connection when the client's hello was decided.
pub(crate) enum Below {
    /// It is being made.
    Dialling(Pending),
    /// It was not begun.
    Nothing,
}

/// Serves a connection whose name was decided; `server` is the connection below its TLS.
pub(crate) fn run(
    context: Arc<Context>,
    client: Prefixed,
    to: Destination,
    name: Host,
    server: Below,
) -> Step {
    Step::new(agree(context, client, to, name, server))
}

async fn agree(
    context: Arc<Context>,
    client: Prefixed,
    to: Destination,
    name: Host,
    server: Below,
) -> Step {
    let Ok(tls) = context.tls() else {
        client.reset_on_close();
        return Step::END;
    };
    let accepting = LazyConfigAcceptor::new(rustls::server::Acceptor::default(), client);
    let Ok(Ok(started)) = timeout(AGREE, accepting).await else {
        return Step::END;
    };
    let offers = started.client_hello().alpn();
    let offers = offers
        .into_iter()
        .flatten()
        .filter(|o| o.len() <= MAX_OFFER);
    let secure = Arc::new(Secure {
        name: name.clone(),
        offers: offers.take(MAX_OFFERS).map(<[u8]>::to_vec).collect(),
    });
    let to = Destination {
        secure: Some(secure.clone()),
        ..to
    };
    let (protocol, server) = match tls.chosen(&secure, to.port) {
        Some(known) => {
            let server = match server {
                Below::Nothing => None,
                below => Some(pending(&context, &to, below)),
            };
            (known, server)
        }
        None => match pending(&context, &to, server).await {
            Ok(stream) => {
                let protocol = stream.protocol().map(<[u8]>::to_vec);
                let server: Pending = Box::pin(ready(Ok(stream)));
                (protocol, Some(server))
            }
            // The program learns why from the answer to its request.
            Err(error) => {
                let server: Pending = Box::pin(ready(Err(error)));
                (best(&secure.offers), Some(server))
            }
        },
    };
    let config = match tls.accepting(&name, protocol.as_deref()) {
        Ok(config) => config,
        Err(_) => {
            started.io.reset_on_close();
            return Step::END;
        }
    };
    let Ok(Ok(stream)) = timeout(AGREE, started.into_stream(config)).await else {
        return Step::END;
    };
    let client = Prefixed::within(Wire::Accepted(Box::new(stream)));
    if client.protocol() == Some(b"h2") {
        http_serve::run_http2(context.clone(), client, Mode::Origin(to), server)
    } else {
        tunnel::run(context.clone(), client, to, server)
    }
}

/// The server's side, agreed on TLS.
fn pending(context: &Arc<Context>, to: &Destination, below: Below) -> Pending {
    let (context, to) = (context.clone(), to.clone());
    match below {
        Below::Nothing => Box::pin(dial::dial(context, to)),
        Below::Dialling(below) => Box::pin(async move {
            let plain = below.await?;
            dial::secured(&context, &to, plain).await
        }),
    }
}

/// The protocol in which a client is told that its server is not to be had.
fn best(offers: &[Vec<u8>]) -> Option<Vec<u8>> {
    let known: [&[u8]; 2] = [b"h2", b"http/1.1"];
    let found = known.into_iter().find(|p| offers.iter().any(|o| o == p));
    found.map(<[u8]>::to_vec)
}

#[cfg(test)]
#[path = "intercept_tests.rs"]
mod tests;
