//! Dials on the host what was allowed inside. The address that was checked is the address that is
//! dialled: a name is resolved once, its addresses are shown to the guard, and only those that it
//! returns are tried, so that a name cannot be rebound between the check and its use.

use crate::context::Context;
use crate::destination::Destination;
use crate::names::Bound;
use crate::outer_proxy::OuterProxy;
use crate::prefixed::Prefixed;
use crate::refusal::Refusal;
use crate::secure::Secure;
use crate::wire::Wire;
use bailiwick_event::{Act, Decision, Host, Origin, RuleRef, Text, Via};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;

/// How long the host's resolver may take.
const RESOLVE: Duration = Duration::from_secs(15);
/// How long all the attempts together may take.
const CONNECT: Duration = Duration::from_secs(30);
/// How long a connection waits while there are as many to servers as there may be.
const PLACE: Duration = Duration::from_secs(5);
/// How long a server may take to agree on TLS.
const AGREE: Duration = Duration::from_secs(20);
/// How long one attempt stays alone before the next address is tried beside it (RFC 8305 §5).
const STAGGER: Duration = Duration::from_millis(250);

/// Why nothing was dialled.
#[derive(Clone, Debug)]
pub(crate) enum DialError {
    /// The guard refused the addresses.
    Refused(Box<Refusal>),
    /// It was allowed, but the network did not deliver.
    Failed {
        /// What kind of failure; decides how it is passed on.
        kind: io::ErrorKind,
        /// For a person: which destination, and why.
        message: String,
    },
}

/// A connection that is being made, or was.
pub(crate) type Pending = Pin<Box<dyn Future<Output = Result<Prefixed, DialError>> + Send>>;

impl std::fmt::Display for DialError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(refusal) => f.write_str(&refusal.decision.reason),
            Self::Failed { message, .. } => f.write_str(message),
        }
    }
}

impl DialError {
    fn failed(to: &Destination, error: &io::Error) -> Self {
        Self::Failed {
            kind: error.kind(),
            message: format!("could not connect to {}: {error}", to.shown()),
        }
    }
}

/// Whether the program asked a proxy for its own loopback, which is no way out.
pub(crate) fn is_own_loopback(context: &Context, to: &Destination) -> bool {
    matches!(to.via, Via::Proxy | Via::Socks5)
        && to.host.is_loopback()
        && !context.loopback.contains(&to.port)
}

/// Connects to an allowed destination, and agrees on TLS with it where it is to be spoken.
pub(crate) async fn dial(context: Arc<Context>, to: Destination) -> Result<Prefixed, DialError> {
    let plain = dial_plain(&context, &to).await?;
    secured(&context, &to, plain).await
}

/// Agrees on TLS with a server that is connected, where it is to be spoken.
pub(crate) async fn secured(
    context: &Context,
    to: &Destination,
    plain: Prefixed,
) -> Result<Prefixed, DialError> {
    let Some(secure) = &to.secure else {
        return Ok(plain);
    };
    let failed = |why: &str| DialError::Failed {
        kind: io::ErrorKind::InvalidData,
        message: format!("TLS to {}: {why}", to.shown()),
    };
    let tls = context.tls().map_err(failed)?;
    let (config, name) = tls.dialling(secure);
    let Some(name) = name else {
        return Err(failed("its name can stand in no certificate"));
    };
    let connector = TlsConnector::from(config);
    let agreed = timeout(AGREE, connector.connect(name, plain)).await;
    match agreed.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(stream) => {
            let stream = Prefixed::within(Wire::Dialled(Box::new(stream)));
            tls.remember(&to.host, secure, to.port, stream.protocol());
            Ok(stream)
        }
        Err(error) => {
            tls.forget(&to.host, secure, to.port);
            Err(untrusted(context, to, secure, &error)
                .unwrap_or_else(|| DialError::failed(to, &error)))
        }
    }
}

/// What a server is refused for whose certificate is not good; recorded, since nobody else would
/// know why it is not reached.
fn untrusted(
    context: &Context,
    to: &Destination,
    secure: &Secure,
    error: &io::Error,
) -> Option<DialError> {
    let inner = error.get_ref()?.downcast_ref::<rustls::Error>()?;
    if !matches!(inner, rustls::Error::InvalidCertificate(_)) {
        return None;
    }
    let rule = RuleRef {
        id: "network.certificate".to_owned(),
        origin: Origin::built_in(),
    };
    let reason = format!(
        "the server's certificate for \"{}\" is not good: {inner}",
        secure.name
    );
    let remedy = format!(
        "mend the server's certificate ({inner}); if another authority has issued it, add the file \
         of that authority to [network] roots"
    );
    let decision = Decision::deny(rule, reason, remedy);
    let act = to.tls(Some(secure.name.to_string().into_bytes()), true);
    context.decider.refuse(act.clone(), decision.clone());
    Some(DialError::Refused(Box::new(Refusal::new(&act, decision))))
}

/// Connects to an allowed destination.
async fn dial_plain(context: &Arc<Context>, to: &Destination) -> Result<Prefixed, DialError> {
    let place = timeout(PLACE, Arc::clone(&context.dialled).acquire_owned());
    let Ok(Ok(place)) = place.await else {
        return Err(DialError::Failed {
            kind: io::ErrorKind::TimedOut,
            message: format!(
                "could not connect to {}: there are as many connections to servers as the \
                 descriptors of the supervisor allow (`ulimit -Hn`)",
                to.shown()
            ),
        });
    };
    let stream = if is_own_loopback(context, to) {
        inside(context, to.port).await
    } else if let Some(proxy) = outer_proxy(context, to) {
        timeout(CONNECT, proxy.connect(&to.host, to.port))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    } else {
        let addresses = addresses(context, to).await?;
        timeout(CONNECT, connect(addresses))
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
    };
    match stream {
        Ok(stream) => {
            // Finds servers that vanished without a word; without it their slots stay taken.
            let _ = rustix::net::sockopt::set_socket_keepalive(&stream, true);
            Ok(Prefixed::new(Vec::new(), stream).at(place))
        }
        Err(error) => Err(DialError::failed(to, &error)),
    }
}

/// The host's proxy, where a machine is reached through it.
fn outer_proxy<'c>(context: &'c Context, to: &Destination) -> Option<&'c OuterProxy> {
    let proxy = context.outer_proxy.as_ref()?;
    let direct = to.via == Via::Loopback || context.decider.mapping(&to.host).is_some();
    (!direct && proxy.is_for(&to.host, to.port)).then_some(proxy)
}

/// Connects to a port of the sandbox's loopback.
pub(crate) async fn inside(context: &Context, port: u16) -> io::Result<TcpStream> {
    let stream = std::net::TcpStream::from(context.inside.connect(port)?);
    stream.set_nonblocking(true)?;
    let stream = TcpStream::from_std(stream)?;
    timeout(CONNECT, stream.writable())
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    match stream.take_error()? {
        Some(error) => Err(error),
        None => Ok(stream),
    }
}

/// The addresses that may be dialled, in the order in which they are tried.
async fn addresses(context: &Context, to: &Destination) -> Result<Vec<SocketAddr>, DialError> {
    if let Some(address) = context.decider.mapping(&to.host) {
        return Ok(vec![address]);
    }
    if to.via == Via::Loopback || to.host.is_loopback() && context.loopback.contains(&to.port) {
        let loopback: [IpAddr; 2] = [Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
        return Ok(loopback.map(|ip| SocketAddr::new(ip, to.port)).to_vec());
    }
    let found = found(context, &to.host)
        .await
        .map_err(|error| DialError::failed(to, &error))?;
    let mut usable = context.decider.usable_addresses(&to.host, to.port, &found);
    // A synthetic address means something only inside; on the host it would be another machine.
    usable.retain(|ip| context.names.of(*ip) == Bound::Outside);
    if usable.is_empty() {
        let act = Act::Resolved {
            host: Text::from(&to.host),
            addresses: found,
            port: to.port,
        };
        let resource = act.resource();
        let decision = context.decider.submit(act);
        return Err(DialError::Refused(Box::new(Refusal { decision, resource })));
    }
    Ok(usable
        .into_iter()
        .map(|ip| SocketAddr::new(ip, to.port))
        .collect())
}

/// The addresses of a host, by the servers that the policy names or as this machine knows it.
async fn found(context: &Context, host: &Host) -> io::Result<Vec<IpAddr>> {
    match host {
        Host::Ip(ip) => Ok(vec![*ip]),
        Host::Name(name) if !context.resolver.is_named() => resolve(name).await,
        // What means this machine is asked of nobody (RFC 6761 §6.3).
        Host::Name(_) if host.is_loopback() => {
            Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()])
        }
        Host::Name(name) => context.resolver.addresses(name).await,
    }
}

async fn resolve(name: &str) -> io::Result<Vec<IpAddr>> {
    let found = timeout(RESOLVE, tokio::net::lookup_host((name, 0)))
        .await
        .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
    let mut addresses: Vec<IpAddr> = Vec::new();
    for ip in found.map(|address| address.ip()) {
        if !addresses.contains(&ip) {
            addresses.push(ip);
        }
    }
    Ok(addresses)
}

/// Tries the addresses, each a little after the one before; the first connection wins.
async fn connect(addresses: Vec<SocketAddr>) -> io::Result<TcpStream> {
    let mut attempts = JoinSet::new();
    let mut waiting = addresses.into_iter();
    let mut failure = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        let more = match waiting.next() {
            Some(address) => {
                attempts.spawn(TcpStream::connect(address));
                true
            }
            None => false,
        };
        tokio::select! {
            ended = attempts.join_next() => match ended {
                Some(Ok(Ok(stream))) => return Ok(stream),
                Some(Ok(Err(error))) => failure = error,
                Some(Err(error)) => failure = io::Error::other(error),
                None => return Err(failure),
            },
            () = sleep(STAGGER), if more => {}
        }
    }
}

#[cfg(test)]
#[path = "dial_tests.rs"]
mod tests;
