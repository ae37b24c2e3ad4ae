//! A connection that was allowed, but whose bytes were not yet seen. What the server says first
//! is passed on at once, because some protocols begin so; of what the client says, nothing leaves
//! before its first bytes were read and decided: TLS by the name in it, HTTP by each request.

use crate::context::Context;
use crate::decider::Decider;
use crate::destination::Destination;
use crate::dial::{self, DialError, Pending};
use crate::http_serve::{self, Mode};
use crate::intercept::{self, Below};
use crate::model;
use crate::opening::{self, MAX_OPENING, Opening, Reading};
use crate::prefixed::Prefixed;
use crate::refusal::Refusal;
use crate::relay;
use crate::steps::Step;
use bailiwick_event::{Decision, Host, Origin, RuleRef, Via};
use std::future::ready;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::{Instant, sleep_until, timeout};

/// How long a client that is to be refused may take to show that it speaks HTTP, and so can be
/// told why.
const SPEAK_FIRST: Duration = Duration::from_millis(300);
/// How long a client that has begun may take for the rest of its opening.
const FINISH: Duration = Duration::from_secs(5);

/// What is known of the server when the client's opening is.
enum Server {
    Waiting,
    Connected(Prefixed),
    Failed(DialError),
}

/// Serves a connection whose destination was allowed; `server` where it is being dialled already.
pub(crate) fn run(
    context: Arc<Context>,
    client: Prefixed,
    to: Destination,
    server: Option<Pending>,
) -> Step {
    Step::new(open(context, client, to, server))
}

async fn open(
    context: Arc<Context>,
    mut client: Prefixed,
    to: Destination,
    server: Option<Pending>,
) -> Step {
    // A server that is known to speak HTTP says nothing before it is asked, and may be connected.
    let early = server.is_some() || !context.speaks_http(&to);
    let mut dial: Pending =
        server.unwrap_or_else(|| Box::pin(dial::dial(context.clone(), to.clone())));
    let mut server = Server::Waiting;
    let mut server_ended = false;
    let mut deadline: Option<Instant> = None;
    // Where nothing but requests may be sent, what is none is refused anyway.
    let decider = &context.decider;
    let asked = decider.reads_requests(&to.host, to.port) && !decider.http_only(&to.host, to.port);
    let reading = match asked {
        true => Reading::Strict,
        false => Reading::Ordinary,
    };
    let mut chunk = vec![0; 16 * 1024];
    let opening = loop {
        if let Some(opening) = opening::read(client.ahead(), reading) {
            break opening;
        }
        if client.ahead().len() > MAX_OPENING {
            break opening::read_late(client.ahead(), reading);
        }
        if !client.ahead().is_empty() && deadline.is_none() {
            deadline = Some(Instant::now() + FINISH);
        }
        let until = deadline.unwrap_or_else(Instant::now);
        let waiting = early && matches!(server, Server::Waiting);
        tokio::select! {
            read = client.read_ahead() => match read {
                Ok(0) => break opening::read_late(client.ahead(), reading),
                Ok(_) => {}
                Err(_) => return Step::END,
            },
            dialled = &mut dial, if waiting => match dialled {
                Ok(stream) => server = Server::Connected(stream),
                Err(error) => {
                    server = Server::Failed(error);
                    deadline.get_or_insert(Instant::now() + SPEAK_FIRST);
                }
            },
            read = speak(&mut server, &mut chunk), if !server_ended => match read {
                Ok(0) => {
                    server_ended = true;
                    let _ = client.shutdown().await;
                }
                Ok(n) => {
                    if client.write_all(&chunk[..n]).await.is_err() {
                        return Step::END;
                    }
                }
                Err(_) => return reset(client),
            },
            () = sleep_until(until), if deadline.is_some() => {
                break opening::read_late(client.ahead(), reading);
            }
        }
    };
    drop(chunk);
    let act = match &opening {
        // A hello that cannot be read names a host that cannot be; it is recorded as that.
        Opening::BadTls => to.tls(Some(Vec::new()), false),
        Opening::Tls(sni) => {
            let name = named(sni.as_deref(), &to);
            // TLS within TLS is not looked into a second time.
            if to.secure.is_none() && is_inspected(decider, &to, name.as_ref()) {
                let below = match server {
                    Server::Waiting if !early => Below::Nothing,
                    Server::Waiting => Below::Dialling(dial),
                    Server::Connected(stream) => Below::Dialling(Box::pin(ready(Ok(stream)))),
                    Server::Failed(error) => Below::Dialling(Box::pin(ready(Err(error)))),
                };
                return inspected(context, client, to, sni.clone(), below);
            }
            to.tls(sni.clone(), false)
        }
        // Where only requests in the clear may be sent, what hides them is refused like TLS
        // that names nobody.
        Opening::Other | Opening::Proxied => to.tls(None, false),
        Opening::Http2 => {
            context
                .decider
                .refuse(to.http("PRI", &to.host, "*"), http2());
            let _ = client.write_all(HTTP2_ANSWER).await;
            let _ = client.shutdown().await;
            return Step::END;
        }
        Opening::Http => {
            let server: Option<Pending> = match server {
                // Not begun: the request takes a connection of another's that is free.
                Server::Waiting if !early => None,
                Server::Waiting => Some(dial),
                Server::Connected(stream) => Some(Box::pin(ready(Ok(stream)))),
                Server::Failed(error) => Some(Box::pin(ready(Err(error)))),
            };
            return http_serve::run(context, client, Mode::Origin(to), server);
        }
    };
    let allowed = match opening {
        Opening::Proxied => {
            context.decider.refuse(act, proxied());
            false
        }
        // Its server expects requests, and may take for one what is none.
        Opening::Other if client.protocol() == Some(b"http/1.1") && !client.ahead().is_empty() => {
            context.decider.refuse(to.tls(None, true), not_agreed());
            false
        }
        // Most protocols are neither HTTP nor TLS, and the connection itself was recorded.
        Opening::Other if !context.decider.http_only(&to.host, to.port) => true,
        // The port itself was granted, whatever name a client has for this machine.
        Opening::Tls(_)
            if to.via == Via::Loopback && !context.decider.http_only(&to.host, to.port) =>
        {
            true
        }
        // Whoever only agrees on TLS has asked for nothing.
        Opening::Other if to.secure.is_some() && client.ahead().is_empty() => false,
        Opening::Other if to.secure.is_some() => {
            context.decider.refuse(to.tls(None, true), not_http());
            false
        }
        Opening::Other | Opening::BadTls => {
            context.decider.submit(act);
            false
        }
        _ => context.decider.submit(act).is_allow(),
    };
    if !allowed {
        // A server that was greeted is reset too, not left to guess.
        if let Server::Connected(stream) = server {
            stream.reset_on_close();
        }
        return reset(client);
    }
    let server = match server {
        Server::Waiting => dial.await,
        Server::Connected(stream) => Ok(stream),
        Server::Failed(error) => Err(error),
    };
    match server {
        Ok(server) => relay::run(client, server),
        Err(_) => reset(client),
    }
}

/// Ends a connection so that its client sees a failure and no polite end.
fn reset(client: Prefixed) -> Step {
    client.reset_on_close();
    Step::END
}

/// Whether the TLS of a connection is looked into. A program chooses the name that it asks for: what
/// either of the two needs is done.
fn is_inspected(decider: &Arc<dyn Decider>, to: &Destination, named: Option<&Host>) -> bool {
    let both = [Some(&to.host), named].into_iter().flatten();
    both.into_iter().any(|host| {
        let model = model::has_model(&host.to_string());
        decider.inspects(host, to.port, model)
    })
}

/// The machine that a hello asks for: without a name the one that the connection goes to.
fn named(sni: Option<&[u8]>, to: &Destination) -> Option<Host> {
    match sni {
        None => Some(to.host.clone()),
        Some(name) => Host::parse(std::str::from_utf8(name).ok()?).ok(),
    }
}

/// Serves a connection whose TLS is looked into, once its name was decided.
fn inspected(
    context: Arc<Context>,
    client: Prefixed,
    to: Destination,
    sni: Option<Vec<u8>>,
    below: Below,
) -> Step {
    let name = named(sni.as_deref(), &to);
    let act = to.tls(sni, true);
    let refused = match context.tls() {
        Ok(_) => !context.decider.submit(act).is_allow(),
        // What cannot be looked into is not let through unread.
        Err(why) => {
            context.decider.refuse(act, unable(why));
            true
        }
    };
    match name {
        Some(name) if !refused => intercept::run(context, client, to, name, below),
        _ => reset(client),
    }
}

fn denied(id: &str, reason: impl Into<String>, remedy: &str) -> Decision {
    let rule = RuleRef {
        id: id.to_owned(),
        origin: Origin::built_in(),
    };
    Decision::deny(rule, reason, remedy)
}

/// The refusal of what is within TLS and no request, where only requests may be sent.
fn not_http() -> Decision {
    let reason = "only HTTP requests may be sent there, and what was sent within TLS is none";
    let remedy = "add the machine to [network] allow instead of [[network.http]], if that is meant";
    denied("network.http", reason, remedy)
}

/// The refusal of a header behind which a server reads the rest anew.
fn proxied() -> Decision {
    let reason = "it begins with a header of the PROXY protocol: what follows would not be decided";
    denied(
        "network.proxy-header",
        reason,
        "connect without that header",
    )
}

/// The refusal of what is no HTTP where both sides have agreed on it.
fn not_agreed() -> Decision {
    let reason = "client and server agreed on HTTP/1.1, and what was sent is none";
    let remedy = "send requests, or have the client offer another protocol, or none (ALPN)";
    denied("network.inspect", reason, remedy)
}

/// The refusal of what a rule or an entry wants to be looked into, and cannot be.
fn unable(why: &str) -> Decision {
    let reason = format!("its TLS is to be looked into, and that cannot be done: {why}");
    let remedy = "mend that, or write inspect = \"never\" for the machine";
    denied("network.inspect", reason, remedy)
}

/// The refusal of HTTP/2 in the clear.
fn http2() -> Decision {
    let reason = "it is HTTP/2 without TLS, whose requests the gate could not see";
    let remedy = "use HTTP/1.1, or HTTP/2 within TLS";
    denied("network.http2", reason, remedy)
}

/// The answer to HTTP/2 in the clear: empty SETTINGS, and a GOAWAY that says HTTP_1_1_REQUIRED (RFC
/// 9113 §7), after which clients try again by HTTP/1.1.
const HTTP2_ANSWER: &[u8] = b"\0\0\0\x04\0\0\0\0\0\
    \0\0\x36\x07\0\0\0\0\0\0\0\0\0\0\0\0\x0d\
    use HTTP/1.1, or HTTP/2 within TLS (Bailiwick)";

async fn speak(server: &mut Server, chunk: &mut [u8]) -> std::io::Result<usize> {
    match server {
        Server::Connected(stream) => stream.read(chunk).await,
        Server::Waiting | Server::Failed(_) => std::future::pending().await,
    }
}

/// Ends a connection that was refused: by an answer where the client speaks HTTP, else a reset.
pub(crate) fn refuse(context: Arc<Context>, client: Prefixed, refusal: Refusal) -> Step {
    Step::new(end(context, client, refusal))
}

async fn end(context: Arc<Context>, mut client: Prefixed, refusal: Refusal) -> Step {
    let reading = Reading::Ordinary;
    let opening = timeout(SPEAK_FIRST, async {
        loop {
            if let Some(opening) = opening::read(client.ahead(), reading) {
                return opening;
            }
            match client.read_ahead().await {
                Ok(n) if n > 0 && client.ahead().len() <= MAX_OPENING => {}
                _ => return opening::read_late(client.ahead(), reading),
            }
        }
    })
    .await;
    let http = match opening {
        Ok(opening) => opening == Opening::Http,
        Err(_) => opening::read_late(client.ahead(), reading) == Opening::Http,
    };
    if http {
        http_serve::run(context, client, Mode::Refused(refusal), None)
    } else {
        reset(client)
    }
}

#[cfg(test)]
#[path = "tunnel_tests.rs"]
mod tests;
