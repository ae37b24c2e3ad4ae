//! Connections of programs that know of no proxy. Where they wanted to go is the local address of
//! the accepted socket: the kernel says it, not the program.

use crate::asking;
use crate::context::Context;
use crate::destination::Destination;
use crate::dns_serve;
use crate::prefixed::Prefixed;
use crate::refusal::Refusal;
use crate::steps::Step;
use crate::tunnel;
use bailiwick_event::{Transport, Via};
use std::net::SocketAddr;
use std::sync::Arc;
use tokio::net::TcpStream;

/// Serves one connection.
pub(crate) fn serve(context: Arc<Context>, stream: TcpStream) -> Step {
    match stream.local_addr() {
        Ok(wanted) => carry(context, stream, wanted),
        Err(_) => Step::END,
    }
}

/// Serves a connection of a program that wanted to go there.
pub(crate) fn carry(context: Arc<Context>, stream: TcpStream, wanted: SocketAddr) -> Step {
    match wanted.port() {
        53 => Step::last(dns_serve::tcp(context, stream)),
        _ => Step::new(decide(context, stream, wanted)),
    }
}

async fn decide(context: Arc<Context>, stream: TcpStream, wanted: SocketAddr) -> Step {
    let client = Prefixed::new(Vec::new(), stream);
    let to = Destination {
        host: context.host_of(wanted.ip()),
        address: Some(wanted.ip().to_canonical()),
        port: wanted.port(),
        via: Via::Transparent,
        secure: None,
    };
    let act = to.connect(Transport::Tcp);
    let decision = asking::submit(&context, &act).await;
    if decision.is_allow() {
        tunnel::run(context, client, to, None)
    } else {
        tunnel::refuse(context, client, Refusal::new(&act, decision))
    }
}
