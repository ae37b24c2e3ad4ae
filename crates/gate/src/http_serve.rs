//! HTTP, in the clear and within TLS that the gate looks into. Every request is read, decided by its real host, method and path, and
//! written anew: what was decided and what is sent are the same message, so that no pair of
//! lengths or codings smuggles a second one along. Bodies stream; nothing is collected.

use crate::asking;
use crate::body::{Body, Held};
use crate::context::Context;
use crate::destination::Destination;
use crate::dial::{self, DialError, Pending};
use crate::exchange::{self, Answered};
use crate::headers;
use crate::http_asked::{self, Asked, Form};
use crate::http1;
use crate::http2::{self, Window};
use crate::prefixed::Prefixed;
use crate::proxy;
use crate::refusal::{self, Refusal, plain};
use crate::relay;
use crate::secret_use;
use crate::secrets::Replacer;
use crate::steps::Step;
use crate::tunnel;
use crate::upstream::Upstream;
use bailiwick_event::{Act, Host, Scheme, Transport, Via};
use hyper::body::{Bytes, Incoming};
use hyper::header::{HOST, HeaderValue};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper::{Request, Response, StatusCode, Uri, Version, service::service_fn};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::future::ready;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

/// How a client's requests are taken.
pub(crate) enum Mode {
    /// They go to this destination, whatever they say.
    Origin(Destination),
    /// They say where they go.
    Proxy,
    /// They are refused.
    Refused(Refusal),
}

/// One client connection.
struct Session {
    context: Arc<Context>,
    mode: Mode,
    upstream: Upstream,
    next: Mutex<Option<Next>>,
}

/// What the connection is for after its last request.
enum Next {
    Tunnel {
        client: OnUpgrade,
        server: Prefixed,
        to: Destination,
    },
    Upgrade {
        client: OnUpgrade,
        server: OnUpgrade,
        /// Takes secrets out of what the server says.
        mask: Option<Replacer>,
    },
}

/// Serves the requests of one connection; `first` is a connection that is being made already.
pub(crate) fn run(
    context: Arc<Context>,
    stream: Prefixed,
    mode: Mode,
    first: Option<Pending>,
) -> Step {
    let session = Session::new(context, mode, first);
    Step::new(serve(session, stream))
}

async fn serve(session: Arc<Session>, stream: Prefixed) -> Step {
    let service = service_fn(|request| answer(&session, request));
    let served = http1::reader()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    let next = session.take_next();
    let (Ok(()), Some(next)) = (served, next) else {
        return Step::END;
    };
    match next {
        Next::Tunnel { client, server, to } => match raw(client).await {
            Some(client) if dial::is_own_loopback(&session.context, &to) => {
                relay::run(client, server)
            }
            Some(client) => {
                let server: Pending = Box::pin(ready(Ok(server)));
                tunnel::run(session.context.clone(), client, to, Some(server))
            }
            None => Step::END,
        },
        Next::Upgrade {
            client,
            server,
            mask,
        } => match (raw(client).await, raw(server).await, mask) {
            (Some(client), Some(server), None) => relay::run(client, server),
            (Some(client), Some(server), Some(mask)) => relay::masked(client, server, mask),
            _ => Step::END,
        },
    }
}

/// Answers a request. Boxed, so that a connection between two requests does not hold what one needs.
fn answer(
    session: &Arc<Session>,
    request: Request<Incoming>,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>> {
    let session = session.clone();
    Box::pin(async move { Ok(session.answer(request).await) })
}

/// The same for a connection of HTTP/2, which carries nothing but requests.
pub(crate) fn run_http2(
    context: Arc<Context>,
    stream: Prefixed,
    mode: Mode,
    first: Option<Pending>,
) -> Step {
    let session = Session::new(context, mode, first);
    Step::last(async move {
        let service = service_fn(|request| answer(&session, request));
        let window = Window::from_client(&session.context.room);
        let reader = http2::reader(&window);
        let connection = reader.serve_connection(TokioIo::new(stream), service);
        let _ = connection.await;
    })
}

/// Makes a request that was decided for `host` the one that is sent; whether it wants to change the
/// protocol.
pub(crate) fn rewrite<B>(
    request: &mut Request<B>,
    asked: &Asked,
    host: &Host,
    to: &Destination,
    proxied: bool,
) -> bool {
    let upgrades = headers::clean_request(request.headers_mut(), proxied);
    let authority = request.uri().authority().map(|a| a.as_str().to_owned());
    if let Ok(path) = asked.path.parse::<Uri>() {
        *request.uri_mut() = path;
    }
    *request.version_mut() = Version::HTTP_11;
    // One that stood in the target alone (HTTP/1.0, HTTP/2) would be lost with it.
    let named = Destination {
        host: host.clone(),
        port: asked
            .host
            .as_ref()
            .and_then(|(_, port)| *port)
            .unwrap_or(to.port),
        ..to.clone()
    };
    if !request.headers().contains_key(HOST)
        && let Ok(value) = HeaderValue::from_str(&authority.unwrap_or_else(|| named.authority()))
    {
        request.headers_mut().insert(HOST, value);
    }
    upgrades
}

/// The stream below a connection that has ended its HTTP.
async fn raw(upgrade: OnUpgrade) -> Option<Prefixed> {
    let upgraded: Upgraded = upgrade.await.ok()?;
    let parts = upgraded.downcast::<TokioIo<Prefixed>>().ok()?;
    let mut stream = parts.io.into_inner();
    stream.put_back(&parts.read_buf);
    Some(stream)
}

impl Session {
    fn new(context: Arc<Context>, mode: Mode, first: Option<Pending>) -> Arc<Self> {
        Arc::new(Self {
            context,
            mode,
            upstream: Upstream::new(first),
            next: Mutex::new(None),
        })
    }

    fn take_next(&self) -> Option<Next> {
        self.next
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }

    fn set_next(&self, next: Next) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(next);
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Body> {
        if let Mode::Refused(refusal) = &self.mode {
            return closing(refusal.response(request.headers()));
        }
        let scheme = match &self.mode {
            Mode::Origin(to) => to.scheme(),
            Mode::Proxy | Mode::Refused(_) => Scheme::Http,
        };
        let asked = match http_asked::read(&request, scheme) {
            Ok(asked) => asked,
            Err(bad) => return closing(plain(StatusCode::BAD_REQUEST, format!("{bad}\n"))),
        };
        match (&self.mode, asked.form) {
            (Mode::Origin(to), Form::Origin | Form::Absolute) => {
                self.forward(to, request, asked).await
            }
            (Mode::Proxy, Form::Absolute | Form::Authority) => {
                Box::pin(self.proxy(request, asked)).await
            }
            (Mode::Proxy, Form::Origin) => closing(plain(StatusCode::BAD_REQUEST, HELP.into())),
            (Mode::Origin(_) | Mode::Refused(_), _) => closing(plain(
                StatusCode::BAD_REQUEST,
                "CONNECT goes to the sandbox's proxy, not to a server\n".into(),
            )),
        }
    }

    /// A request that says where it goes.
    async fn proxy(&self, request: Request<Incoming>, asked: Asked) -> Response<Body> {
        let tunnel = asked.form == Form::Authority;
        let (host, port) = match asked.host.clone() {
            Some((host, Some(port))) => (host, port),
            Some((host, None)) if !tunnel => (host, 80),
            _ => {
                let message = "CONNECT needs a host and a port\n".into();
                return closing(plain(StatusCode::BAD_REQUEST, message));
            }
        };
        let to = proxy::destination(&self.context, host, port, Via::Proxy);
        let known = self.upstream.is_at(&to).await;
        if (tunnel || !known)
            && !dial::is_own_loopback(&self.context, &to)
            && let Err(refusal) = self.decide(to.connect(Transport::Tcp)).await
        {
            return closing(refusal.response(request.headers()));
        }
        if !tunnel {
            return self.forward(&to, request, asked).await;
        }
        match dial::dial(self.context.clone(), to.clone()).await {
            Ok(server) => {
                let client = hyper::upgrade::on(request);
                self.set_next(Next::Tunnel { client, server, to });
                Response::new(Body::from(Bytes::new()))
            }
            Err(error) => failed(&error, &request),
        }
    }

    async fn decide(&self, act: Act) -> Result<(), Box<Refusal>> {
        let decision = asking::submit(&self.context, &act).await;
        if decision.is_allow() {
            Ok(())
        } else {
            Err(Box::new(Refusal::new(&act, decision)))
        }
    }

    /// Decides a request, sends it, and decides its answer.
    async fn forward(
        &self,
        to: &Destination,
        request: Request<Incoming>,
        mut asked: Asked,
    ) -> Response<Body> {
        let host = asked.host.as_ref();
        let host = host.map_or_else(|| to.host.clone(), |(host, _)| host.clone());
        // A synthetic address in the Host header means its name, as it does for the connection.
        let host = host.ip().map_or(host, |ip| self.context.host_of(ip));
        let accept = refusal::accept(request.headers());
        let mut request = request;
        let upgrade = hyper::upgrade::on(&mut request);
        let (mut request, sent) = if dial::is_own_loopback(&self.context, to) {
            let own = |body| Body::passing(Held::nothing(body), Vec::new());
            (request.map(own), None)
        } else {
            match exchange::decide(&self.context, to, &host, request, &mut asked).await {
                Ok((request, sent)) => (request, Some(sent)),
                // The connection stays, where the request has no body that is left unread.
                Err(Answered::Refused(refusal)) => {
                    return refusal.response(&accept).map(Body::from);
                }
                Err(Answered::Broken(why)) => {
                    return closing(plain(StatusCode::BAD_REQUEST, format!("{why}\n")));
                }
            }
        };
        let proxied = matches!(self.mode, Mode::Proxy);
        let upgrades = rewrite(&mut request, &asked, &host, to, proxied);
        if let Some(sent) = &sent {
            request = sent.show(&self.context, to, &host, request);
        }
        let mut response = match self.upstream.send(&self.context, to, request).await {
            Ok(response) => response,
            Err(error) => {
                if let Some(sent) = sent {
                    if let Some(refusal) = sent.found() {
                        return closing(refusal.response(&accept));
                    }
                    sent.failed(&error.to_string());
                }
                return failed_with(&error, &accept);
            }
        };
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            if !upgrades {
                let message = "the server changed the protocol without being asked\n";
                if let Some(sent) = sent {
                    sent.failed(message.trim_end());
                }
                return closing(plain(StatusCode::BAD_GATEWAY, message.into()));
            }
            let mask = secret_use::mask_upgrade(&self.context, to, &mut response);
            if let Some(sent) = sent
                && let Err(Answered::Refused(refusal)) = sent.upgraded(&response)
            {
                return closing(refusal.response(&accept));
            }
            let server = hyper::upgrade::on(&mut response);
            let client = upgrade;
            self.set_next(Next::Upgrade {
                client,
                server,
                mask,
            });
            return response.map(|body| Body::passing(Held::nothing(body), Vec::new()));
        }
        // Whoever looks at its body would not read what the program reads.
        if let Err(bad) = http_asked::check_coding(response.headers()) {
            if let Some(sent) = sent {
                sent.failed(&bad.to_string());
            }
            return closing(plain(StatusCode::BAD_GATEWAY, format!("{bad}\n")));
        }
        headers::clean_response(response.headers_mut(), proxied);
        match sent {
            None => response.map(|body| Body::passing(Held::nothing(body), Vec::new())),
            Some(sent) => match sent.decide(&self.context, to, response).await {
                Ok(response) => response,
                Err(Answered::Refused(refusal)) => refusal.response(&accept).map(Body::from),
                Err(Answered::Broken(why)) => {
                    closing(plain(StatusCode::BAD_GATEWAY, format!("{why}\n")))
                }
            },
        }
    }
}

/// What someone sees who opens the proxy's address itself.
const HELP: &str = "This is the proxy of a Bailiwick sandbox (HTTP and SOCKS5).\n\
    Set it as http_proxy and https_proxy; it serves no pages of its own.\n";

fn failed<B>(error: &DialError, request: &Request<B>) -> Response<Body> {
    failed_with(error, request.headers())
}

/// The answer where a request was allowed but did not succeed; a refusal of the addresses is one
/// of policy.
fn failed_with(error: &DialError, headers: &hyper::HeaderMap) -> Response<Body> {
    match error {
        DialError::Refused(refusal) => closing(refusal.response(headers)),
        DialError::Failed { kind, message } => {
            let status = match kind {
                io::ErrorKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
                _ => StatusCode::BAD_GATEWAY,
            };
            closing(plain(status, format!("{message}\n")))
        }
    }
}

/// An answer after which the connection ends.
fn closing(mut response: Response<Bytes>) -> Response<Body> {
    response
        .headers_mut()
        .insert(hyper::header::CONNECTION, HeaderValue::from_static("close"));
    response.map(Body::from)
}

#[cfg(test)]
#[path = "http_serve_tests.rs"]
mod tests;
