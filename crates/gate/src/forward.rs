//! Two ways that the policy opens as plain pipes: a port of the host's loopback that appears on
//! the sandbox's, and a port of the sandbox's loopback that appears on the host. Each connection
//! is decided and recorded; where the policy says which requests may be sent, the bytes are
//! read as everywhere else.

use crate::asking;
use crate::context::Context;
use crate::destination::Destination;
use crate::dial;
use crate::prefixed::Prefixed;
use crate::relay;
use crate::tunnel;
use bailiwick_event::{Host, Transport, Via};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

/// A connection of the program to a granted port of its loopback.
pub(crate) async fn loopback(context: Arc<Context>, stream: TcpStream) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let to = at_loopback(local);
    if !asking::submit(&context, &to.connect(Transport::Tcp))
        .await
        .is_allow()
    {
        Prefixed::new(Vec::new(), stream).reset_on_close();
        return;
    }
    carry(context, stream, to).await;
}

/// A port of the loopback, which is the host's where the policy grants it.
pub(crate) fn at_loopback(wanted: SocketAddr) -> Destination {
    Destination {
        host: Host::from(wanted.ip()),
        address: Some(wanted.ip().to_canonical()),
        port: wanted.port(),
        via: Via::Loopback,
        secure: None,
    }
}

/// Serves a connection to a port of the host's loopback that was allowed.
pub(crate) async fn carry(context: Arc<Context>, stream: TcpStream, to: Destination) {
    let client = Prefixed::new(Vec::new(), stream);
    if context.decider.reads_requests(&to.host, to.port) {
        tunnel::run(context, client, to, None).await;
        return;
    }
    match dial::dial(context, to).await {
        Ok(server) => relay::run(client, server).await,
        Err(_) => client.reset_on_close(),
    }
}

/// A connection of the host to a published port.
pub(crate) async fn publish(context: Arc<Context>, stream: TcpStream, port: u16) {
    let Ok(local) = stream.local_addr() else {
        return;
    };
    let to = Destination {
        host: Host::from(local.ip()),
        address: Some(local.ip().to_canonical()),
        port,
        via: Via::Publish,
        secure: None,
    };
    let client = Prefixed::new(Vec::new(), stream);
    let allowed = context.decider.submit(to.connect(Transport::Tcp));
    match dial::inside(&context, port).await {
        Ok(server) if allowed.is_allow() => {
            relay::run(client, Prefixed::new(Vec::new(), server)).await;
        }
        _ => client.reset_on_close(),
    }
}
