//! The proxy port: for programs that were told of a proxy. It grants nothing that the transparent
//! way does not; it only lets the program say the name itself, so that no lookup is needed.

use crate::asking;
use crate::context::Context;
use crate::destination::Destination;
use crate::dial::{self, DialError, Pending};
use crate::http_serve::{self, Mode};
use crate::names::Bound;
use crate::prefixed::Prefixed;
use crate::relay;
use crate::socks::{self, Parsed, Reply};
use crate::steps::Step;
use crate::tunnel;
use bailiwick_event::{Host, Transport, Via};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long a client may take for what comes before its data.
const HANDSHAKE: Duration = Duration::from_secs(30);

/// The destination that a program names to a proxy. It may have looked the name up before: a
/// synthetic address means its name here too.
pub(crate) fn destination(context: &Context, host: Host, port: u16, via: Via) -> Destination {
    let address = host.ip();
    let host = match address.map(|ip| context.names.of(ip)) {
        Some(Bound::Name(name)) => Host::Name(name.to_string()),
        _ => host,
    };
    Destination {
        host,
        address,
        port,
        via,
        secure: None,
    }
}

/// Serves one connection.
pub(crate) fn serve(context: Arc<Context>, stream: TcpStream) -> Step {
    Step::new(begin(context, stream))
}

async fn begin(context: Arc<Context>, stream: TcpStream) -> Step {
    let mut client = Prefixed::new(Vec::new(), stream);
    let first = timeout(HANDSHAKE, client.read_ahead()).await;
    if !matches!(first, Ok(Ok(n)) if n > 0) {
        return Step::END;
    }
    match client.ahead()[0] {
        5 => return Step::new(socks5(context, client)),
        // SOCKS4 has one answer for everything that is not granted.
        4 => return end(client, &[0, 0x5b, 0, 0, 0, 0, 0, 0]).await,
        22 => client.reset_on_close(),
        _ => return http_serve::run(context, client, Mode::Proxy, None),
    }
    Step::END
}

async fn socks5(context: Arc<Context>, mut client: Prefixed) -> Step {
    let asked = timeout(HANDSHAKE, handshake(&mut client)).await;
    let (host, port) = match asked {
        Ok(Ok(Some(asked))) => asked,
        Ok(Err(reply)) => return end(client, &reply.bytes()).await,
        Ok(Ok(None)) | Err(_) => return Step::END,
    };
    let to = destination(&context, host, port, Via::Socks5);
    let own = dial::is_own_loopback(&context, &to);
    if !own
        && !asking::submit(&context, &to.connect(Transport::Tcp))
            .await
            .is_allow()
    {
        return end(client, &Reply::NotAllowed.bytes()).await;
    }
    let server = match dial::dial(context.clone(), to.clone()).await {
        Ok(server) => server,
        Err(DialError::Refused(_)) => return end(client, &Reply::NotAllowed.bytes()).await,
        Err(DialError::Failed { kind, .. }) => {
            return end(client, &Reply::to_failure(kind).bytes()).await;
        }
    };
    if client.write_all(&Reply::Succeeded.bytes()).await.is_err() {
        return Step::END;
    }
    if own {
        relay::run(client, server)
    } else {
        let server: Pending = Box::pin(ready(Ok(server)));
        tunnel::run(context, client, to, Some(server))
    }
}

/// Greeting and request; `None` where the client went away or offers no method that is had.
async fn handshake(client: &mut Prefixed) -> Result<Option<(Host, u16)>, Reply> {
    let Some(open) = message(client, socks::greeting).await? else {
        return Ok(None);
    };
    let method = if open { 0 } else { 0xff };
    if client.write_all(&[5, method]).await.is_err() || !open {
        return Ok(None);
    }
    message(client, socks::request).await
}

/// Reads until a message is whole, and takes it.
async fn message<T>(
    client: &mut Prefixed,
    parse: fn(&[u8]) -> Parsed<T>,
) -> Result<Option<T>, Reply> {
    loop {
        match parse(client.ahead()) {
            Parsed::Whole(value, length) => {
                client.consume(length);
                return Ok(Some(value));
            }
            Parsed::Bad(reply) => return Err(reply),
            Parsed::Incomplete => {
                if !matches!(client.read_ahead().await, Ok(n) if n > 0) {
                    return Ok(None);
                }
            }
        }
    }
}

/// Sends the last bytes of a connection.
async fn end(mut client: Prefixed, bytes: &[u8]) -> Step {
    let _ = client.write_all(bytes).await;
    let _ = client.shutdown().await;
    Step::END
}

#[cfg(test)]
#[path = "proxy_tests.rs"]
mod tests;
