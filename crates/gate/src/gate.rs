//! One thread with one runtime serves a whole sandbox. The supervisor's own threads never wait
//! for a hostile connection, and the end of a session is the end of this thread: bounded,
//! whatever the connections do.

use crate::accept::{self, MAX_PUBLISHED};
use crate::callers::Callers;
use crate::context::Context;
use crate::decider::Decider;
use crate::ending::{Asked, Counts, drain};
use crate::expected::{Expected, Way};
use crate::names::Names;
use crate::resolver::Resolver;
use crate::settings::Settings;
use crate::sockets::{Inside, Sockets};
use crate::steps::Step;
use crate::{dns_serve, forward, pool, proxy, transparent, udp};
use bailiwick_event::{Act, Host};
use bailiwick_guard::Guard;
use std::collections::HashSet;
use std::fmt;
use std::io;
use std::net::{IpAddr, TcpListener, UdpSocket};
use std::os::fd::{AsFd, OwnedFd};
use std::pin::Pin;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::Duration;
use tokio::sync::{Semaphore, oneshot};

/// How long [`Gate::stop`] waits. A row can wait for room in a full record, longer than the gate waits for what was tried.
const STOP: Duration = Duration::from_millis(4500);
/// Threads that wait for the host's resolver, at most.
const RESOLVERS: usize = 16;

/// The running gate of one sandbox. Dropping it stops it too, without waiting.
pub struct Gate {
    stop: oneshot::Sender<()>,
    ended: mpsc::Receiver<()>,
    context: Arc<Context>,
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").finish_non_exhaustive()
    }
}

impl Gate {
    /// Starts to serve; it has returned when every socket is served.
    ///
    /// Every act is submitted to `guard` on the gate's thread, before its answer leaves. TLS is looked
    /// into where the guard asks for it; without an inspection that is refused.
    ///
    /// # Errors
    /// Where a descriptor is no socket of its kind, or the thread cannot be had.
    pub fn start(
        sockets: Sockets,
        guard: Arc<Guard>,
        inside: Arc<dyn Inside>,
        settings: Settings,
    ) -> io::Result<Self> {
        let servers = guard.policy().network.resolvers.iter();
        let resolver = Resolver::new(servers.map(|server| server.value).collect());
        Self::start_with(
            sockets,
            Arc::new(guard),
            inside,
            Names::new(),
            resolver,
            settings,
        )
    }

    pub(crate) fn start_with(
        mut sockets: Sockets,
        decider: Arc<dyn Decider>,
        inside: Arc<dyn Inside>,
        names: Names,
        resolver: Resolver,
        settings: Settings,
    ) -> io::Result<Self> {
        let (calls, sockets) = (sockets.calls.take(), sockets);
        let mut listeners = Listeners::new(sockets)?;
        let mut loopback = listeners.loopback_ports()?;
        loopback.extend(calls.iter().flat_map(|calls| &calls.loopback));
        let context = Context::new(decider, inside, names, resolver, loopback, settings);
        let context = Arc::new(context);
        let callers = match calls {
            Some(calls) => Some(Callers::new(calls.source, &context, &mut listeners.doors)?),
            None => None,
        };
        let counts = Counts::default();
        let shared = Arc::clone(&context);
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = mpsc::channel();
        let (end, ended) = mpsc::channel();
        thread::Builder::new().name("gate".into()).spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .max_blocking_threads(RESOLVERS)
                .build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(error))),
            };
            runtime.block_on(async {
                let asked = listeners.asked();
                let serving = listeners.serve(&context, &counts).and(asked);
                match serving {
                    Ok(asked) => {
                        let _ = ready.send(Ok(()));
                        let _ = stopped.await;
                        let lost = drain(&counts, &asked).await as u64;
                        if lost > 0 {
                            context.decider.submit(Act::Overflow { lost });
                        }
                    }
                    Err(error) => drop(ready.send(Err(error))),
                }
            });
            // Does not wait for the host's resolver, which cannot be interrupted.
            runtime.shutdown_background();
            let _ = end.send(());
        })?;
        is_ready
            .recv()
            .unwrap_or_else(|_| Err(io::Error::other("the gate's thread ended at its start")))?;
        if let Some(callers) = callers {
            let serve = || callers.serve();
            thread::Builder::new().name("calls".into()).spawn(serve)?;
        }
        Ok(Self {
            stop,
            ended,
            context: shared,
        })
    }

    /// The host that an address of the sandbox stands for: the name that was bound to it, or the address.
    #[must_use]
    pub fn host_of(&self, address: IpAddr) -> Host {
        self.context.host_of(address)
    }

    /// Ends every connection and the thread; what connections still hold is passed on first, as far
    /// as 150 milliseconds allow, and what has been tried is recorded, as far as two seconds do; what is beyond is
    /// counted. It takes longer where the record is full.
    pub fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.ended.recv_timeout(STOP);
    }
}

/// The sockets as the standard library's types, non-blocking.
struct Listeners {
    tcp: Vec<TcpListener>,
    dns: Vec<UdpSocket>,
    udp: Vec<UdpSocket>,
    proxy: Vec<TcpListener>,
    loopback: Vec<TcpListener>,
    publish: Vec<(TcpListener, u16)>,
    /// Listeners on the host, and what is expected at them.
    doors: Vec<(TcpListener, Arc<Expected>)>,
}

impl Listeners {
    fn new(sockets: Sockets) -> io::Result<Self> {
        let publish = sockets.publish.into_iter();
        Ok(Self {
            tcp: all(sockets.tcp, listener)?,
            dns: all(sockets.dns, datagrams)?,
            udp: all(sockets.udp, datagrams)?,
            proxy: all(sockets.proxy, listener)?,
            loopback: all(sockets.loopback, listener)?,
            publish: publish
                .map(|(fd, port)| Ok((listener(fd)?, port)))
                .collect::<io::Result<_>>()?,
            doors: Vec::new(),
        })
    }

    /// Those at which programs of the sandbox ask.
    fn asked(&self) -> io::Result<Asked> {
        let listeners = [&self.tcp, &self.proxy, &self.loopback];
        let datagrams = [&self.dns, &self.udp].into_iter().flatten();
        Ok(Asked {
            listeners: listeners
                .into_iter()
                .flatten()
                .map(TcpListener::try_clone)
                .collect::<io::Result<_>>()?,
            datagrams: datagrams
                .map(|socket| socket.as_fd().try_clone_to_owned())
                .collect::<io::Result<_>>()?,
        })
    }

    fn loopback_ports(&self) -> io::Result<HashSet<u16>> {
        let ports = self.loopback.iter().map(|l| Ok(l.local_addr()?.port()));
        ports.collect()
    }

    /// Starts the tasks; they run until the runtime ends.
    fn serve(self, context: &Arc<Context>, counts: &Counts) -> io::Result<()> {
        tokio::spawn(pool::keep(context.pool.clone()));
        let limit = Arc::new(Semaphore::new(accept::max_connections()));
        // What a sandbox holds open does not keep the host from a published port.
        let publish_limit = Arc::new(Semaphore::new(MAX_PUBLISHED));
        for listener in self.tcp {
            accept_all(listener, &limit, context, counts, transparent::serve)?;
        }
        for listener in self.proxy {
            accept_all(listener, &limit, context, counts, proxy::serve)?;
        }
        for listener in self.loopback {
            accept_all(listener, &limit, context, counts, forward::loopback)?;
        }
        let of_host = counts.of_host();
        for (listener, port) in self.publish {
            accept_all(
                listener,
                &publish_limit,
                context,
                &of_host,
                move |context, stream| forward::publish(context, stream, port),
            )?;
        }
        for (listener, expected) in self.doors {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            let serve = serve_expected(context, counts);
            tokio::spawn(accept::run_expected(
                listener,
                limit.clone(),
                expected,
                serve,
            ));
        }
        for socket in self.dns {
            let socket = tokio::net::UdpSocket::from_std(socket)?;
            tokio::spawn(dns_serve::udp(context.clone(), socket));
        }
        for socket in self.udp {
            let socket = tokio::net::UdpSocket::from_std(socket)?;
            tokio::spawn(udp::record(context.clone(), socket));
        }
        Ok(())
    }
}

fn accept_all<F>(
    listener: TcpListener,
    limit: &Arc<Semaphore>,
    context: &Arc<Context>,
    counts: &Counts,
    serve: F,
) -> io::Result<()>
where
    F: Fn(Arc<Context>, tokio::net::TcpStream) -> Step + Send + 'static,
{
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let (context, counts) = (context.clone(), counts.clone());
    tokio::spawn(accept::run(listener, limit.clone(), move |stream| {
        let (served, undecided) = (counts.served(), counts.undecided());
        let step = serve(context.clone(), stream);
        async move {
            step.run(undecided).await;
            drop(served);
        }
    }));
    Ok(())
}

/// Serves a connection that was expected.
fn serve_expected(
    context: &Arc<Context>,
    counts: &Counts,
) -> impl Fn(tokio::net::TcpStream, Way) -> Pin<Box<dyn Future<Output = ()> + Send>> + use<> {
    let (context, counts) = (context.clone(), counts.clone());
    move |stream, way| {
        let context = context.clone();
        let (served, undecided) = (counts.served(), counts.undecided());
        Box::pin(async move {
            let step = match way {
                Way::Proxy => proxy::serve(context, stream),
                Way::Transparent(wanted) => transparent::carry(context, stream, wanted),
                Way::Loopback(to) => forward::carry(context, stream, to),
            };
            step.run(undecided).await;
            drop(served);
        })
    }
}

fn all<T>(fds: Vec<OwnedFd>, open: fn(OwnedFd) -> io::Result<T>) -> io::Result<Vec<T>> {
    fds.into_iter().map(open).collect()
}

fn listener(fd: OwnedFd) -> io::Result<TcpListener> {
    let listener = TcpListener::from(fd);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn datagrams(fd: OwnedFd) -> io::Result<UdpSocket> {
    let socket = UdpSocket::from(fd);
    socket.set_nonblocking(true)?;
    Ok(socket)
}

#[cfg(test)]
#[path = "gate_tests.rs"]
mod tests;
