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
use crate::steps::Step;
use crate::tunnel;
use bailiwick_event::{Host, Transport, Via};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

/// A connection of the program to a granted port of its loopback.
pub(crate) fn loopback(context: Arc<Context>, stream: TcpStream) -> Step {
    match stream.local_addr() {
        Ok(local) => Step::new(decide(context, stream, at_loopback(local))),
        Err(_) => Step::END,
    }
}

async fn decide(context: Arc<Context>, stream: TcpStream, to: Destination) -> Step {
    if !asking::submit(&context, &to.connect(Transport::Tcp))
        .await
        .is_allow()
    {
        Prefixed::new(Vec::new(), stream).reset_on_close();
        return Step::END;
    }
    carry(context, stream, to)
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
pub(crate) fn carry(context: Arc<Context>, stream: TcpStream, to: Destination) -> Step {
    let client = Prefixed::new(Vec::new(), stream);
    if context.decider.reads_requests(&to.host, to.port) {
        return tunnel::run(context, client, to, None);
    }
    Step::new(async move {
        match dial::dial(context, to).await {
            Ok(server) => return relay::run(client, server),
            Err(_) => client.reset_on_close(),
        }
        Step::END
    })
}

/// A connection of the host to a published port.
pub(crate) fn publish(context: Arc<Context>, stream: TcpStream, port: u16) -> Step {
    match stream.local_addr() {
        Ok(local) => Step::new(enter(context, stream, local, port)),
        Err(_) => Step::END,
    }
}

async fn enter(context: Arc<Context>, stream: TcpStream, local: SocketAddr, port: u16) -> Step {
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
        Ok(server) if allowed.is_allow() => relay::run(client, Prefixed::new(Vec::new(), server)),
        _ => {
            client.reset_on_close();
            Step::END
        }
    }
}
