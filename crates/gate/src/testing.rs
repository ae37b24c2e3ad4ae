//! What the tests share: a scripted guard, servers and clients on loopback.

use crate::accept;
use crate::context::Context;
use crate::decider::Decider;
use crate::names::Names;
use crate::outer_proxy::OuterProxy;
use crate::resolver::Resolver;
use crate::secrets::Secret;
use crate::secure::Inspection;
use crate::settings::Settings;
use crate::sockets::{Inside, IpFamily};
use crate::{proxy, transparent};
use bailiwick_event::{Act, Decision, Host, RuleRef};
use std::collections::{HashMap, HashSet};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Condvar, Mutex, OnceLock};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc};

/// ClientHellos, made byte by byte.
pub(crate) mod hello {
    /// A ClientHello handshake message with these extensions.
    pub(crate) fn hello(session: &[u8], extensions: Option<&[(u16, Vec<u8>)]>) -> Vec<u8> {
        let mut body = vec![3, 3];
        body.extend([0x5a; 32]);
        body.push(session.len() as u8);
        body.extend(session);
        body.extend([0, 4, 0x13, 1, 0x13, 2, 1, 0]);
        if let Some(extensions) = extensions {
            let mut all = Vec::new();
            for (kind, data) in extensions {
                all.extend(kind.to_be_bytes());
                all.extend((data.len() as u16).to_be_bytes());
                all.extend(data);
            }
            body.extend((all.len() as u16).to_be_bytes());
            body.extend(all);
        }
        let mut message = vec![1, 0, (body.len() >> 8) as u8, body.len() as u8];
        message.extend(body);
        message
    }

    /// The message in records of these sizes, which repeat.
    pub(crate) fn records(message: &[u8], sizes: &[usize]) -> Vec<u8> {
        let (mut bytes, mut rest) = (Vec::new(), message);
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                return bytes;
            }
            let (fragment, after) = rest.split_at((*size).min(rest.len()));
            bytes.extend([22, 3, 1]);
            bytes.extend((fragment.len() as u16).to_be_bytes());
            bytes.extend(fragment);
            rest = after;
        }
        bytes
    }

    /// A whole hello that asks for `name`.
    pub(crate) fn naming(name: &str) -> Vec<u8> {
        let n = name.len() as u16;
        let mut data = (n + 3).to_be_bytes().to_vec();
        data.push(0);
        data.extend(n.to_be_bytes());
        data.extend(name.as_bytes());
        records(&hello(&[1; 32], Some(&[(0, data)])), &[16_000])
    }
}

type Denies = Box<dyn Fn(&Act) -> bool + Send + Sync>;

/// A guard that allows everything but what its script denies, and remembers what it was told.
pub(crate) struct Script {
    denies: Denies,
    mapping: HashMap<String, SocketAddr>,
    http_only: bool,
    usable: bool,
    inspects: bool,
    servers: Option<SocketAddr>,
    pub(crate) inspection: Option<Inspection>,
    pub(crate) secrets: Vec<Secret>,
    pub(crate) outer_proxy: Option<OuterProxy>,
    told: Mutex<Vec<Act>>,
    more: Condvar,
    noted: Mutex<Vec<Act>>,
}

impl Script {
    pub(crate) fn denying(denies: impl Fn(&Act) -> bool + Send + Sync + 'static) -> Self {
        Self {
            denies: Box::new(denies),
            mapping: HashMap::new(),
            http_only: false,
            usable: true,
            inspects: false,
            servers: None,
            inspection: None,
            secrets: Vec::new(),
            outer_proxy: None,
            told: Mutex::default(),
            more: Condvar::new(),
            noted: Mutex::default(),
        }
    }

    pub(crate) fn allowing() -> Self {
        Self::denying(|_| false)
    }

    pub(crate) fn mapping(mut self, host: &str, address: SocketAddr) -> Self {
        self.mapping.insert(host.to_owned(), address);
        self
    }

    pub(crate) fn http_only(mut self) -> Self {
        self.http_only = true;
        self
    }

    /// Looks into all TLS.
    pub(crate) fn inspecting(mut self, inspection: Inspection) -> Self {
        self.inspects = true;
        self.inspection = Some(inspection);
        self
    }

    /// Asks this name server.
    pub(crate) fn asking(mut self, server: SocketAddr) -> Self {
        self.servers = Some(server);
        self
    }

    pub(crate) fn without_usable_addresses(mut self) -> Self {
        self.usable = false;
        self
    }

    /// Everything that was submitted, in one line each.
    pub(crate) fn told(&self) -> Vec<String> {
        let told = self.told.lock().unwrap();
        told.iter()
            .map(|act| format!("{} {}", act.boundary(), act.resource()))
            .collect()
    }

    /// What was recorded when it had happened.
    pub(crate) fn noted(&self) -> Vec<Act> {
        self.noted.lock().unwrap().clone()
    }

    pub(crate) fn acts(&self) -> Vec<Act> {
        self.told.lock().unwrap().clone()
    }

    /// Waits until something was submitted, by another thread.
    pub(crate) fn wait_until_told(&self) {
        let told = self.told.lock().unwrap();
        drop(self.more.wait_while(told, |told| told.is_empty()).unwrap());
    }

    fn tell(&self, act: Act) {
        self.told.lock().unwrap().push(act);
        self.more.notify_all();
    }
}

impl Decider for Script {
    fn submit(&self, act: Act) -> Decision {
        let denied = (self.denies)(&act);
        self.tell(act);
        let rule = RuleRef {
            id: "test.rule".into(),
            origin: bailiwick_event::Origin::built_in(),
        };
        if denied {
            Decision::deny(rule, "the script says so", "change the script")
        } else {
            Decision::allow(rule)
        }
    }

    fn refuse(&self, act: Act, _: Decision) {
        self.tell(act);
    }

    fn note(&self, act: Act, _: Decision) {
        self.noted.lock().unwrap().push(act);
    }

    fn http_only(&self, _: &Host, _: u16) -> bool {
        self.http_only
    }

    fn inspects(&self, _: &Host, _: u16, _: bool) -> bool {
        self.inspects
    }

    fn mapping(&self, host: &Host) -> Option<SocketAddr> {
        self.mapping.get(&host.to_string()).copied()
    }

    fn usable_addresses(&self, _: &Host, _: u16, addresses: &[IpAddr]) -> Vec<IpAddr> {
        if self.usable {
            addresses.to_vec()
        } else {
            Vec::new()
        }
    }
}

/// The test's own loopback, in the place of the sandbox's.
pub(crate) struct Here;

impl Inside for Here {
    fn connect_to(&self, to: SocketAddr) -> io::Result<OwnedFd> {
        Ok(std::net::TcpStream::connect(to)?.into())
    }

    fn datagrams(&self, _: IpFamily) -> io::Result<OwnedFd> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// 127.18.0.0/15 stands for the synthetic range: loopback takes connections to all of it.
pub(crate) fn names() -> Names {
    Names::with(Ipv4Addr::new(127, 18, 0, 0), 100)
}

/// Asks a server that there is not: no test asks this machine's.
pub(crate) fn deaf() -> Resolver {
    Resolver::new(vec![nobody()])
}

/// A gate without its thread: the transparent listener and the proxy, on the test's runtime.
pub(crate) struct Rig {
    pub(crate) script: Arc<Script>,
    pub(crate) context: Arc<Context>,
    port: u16,
    proxy: u16,
}

impl Rig {
    pub(crate) async fn new(script: Script) -> Self {
        let script = Arc::new(script);
        let context = Context::new(
            script.clone(),
            Arc::new(Here),
            names(),
            script
                .servers
                .map_or_else(deaf, |server| Resolver::new(vec![server])),
            HashSet::new(),
            Settings {
                inspection: script.inspection.clone(),
                secrets: script.secrets.clone(),
                outer_proxy: script.outer_proxy.clone(),
            },
        );
        let context = Arc::new(context);
        let limit = Arc::new(Semaphore::new(50));
        let transparent = TcpListener::bind("0.0.0.0:0").await.unwrap();
        let port = transparent.local_addr().unwrap().port();
        let own = context.clone();
        tokio::spawn(accept::run(transparent, limit.clone(), move |stream| {
            transparent::serve(own.clone(), stream).run(())
        }));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = listener.local_addr().unwrap().port();
        let own = context.clone();
        tokio::spawn(accept::run(listener, limit, move |stream| {
            proxy::serve(own.clone(), stream).run(())
        }));
        Self {
            script,
            context,
            port,
            proxy,
        }
    }

    /// Connects as a program does that has looked the name up.
    pub(crate) async fn to(&self, name: &str) -> TcpStream {
        let (address, _) = self.context.names.bind(name).unwrap();
        self.to_address(address.into()).await
    }

    /// The port at which programs find every machine.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    pub(crate) async fn to_address(&self, address: IpAddr) -> TcpStream {
        TcpStream::connect((address, self.port)).await.unwrap()
    }

    pub(crate) async fn to_proxy(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.proxy)).await.unwrap()
    }
}

/// A server that does the same with each of its connections.
pub(crate) async fn server<F, Fut>(serve: F) -> SocketAddr
where
    F: Fn(TcpStream) -> Fut + Send + 'static,
    Fut: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    address
}

/// A server that sends back what it gets.
pub(crate) async fn echo() -> SocketAddr {
    server(|mut stream| async move {
        let (mut read, mut write) = stream.split();
        let _ = tokio::io::copy(&mut read, &mut write).await;
    })
    .await
}

/// A server that says `greeting`, answers whatever comes with `answer`, and tells everything that
/// a connection sent when it has ended.
pub(crate) async fn recording(
    greeting: &'static str,
    answer: &'static str,
) -> (SocketAddr, mpsc::UnboundedReceiver<Vec<u8>>) {
    let (tell, told) = mpsc::unbounded_channel();
    let address = server(move |mut stream| {
        let tell = tell.clone();
        async move {
            let mut all = Vec::new();
            let _ = stream.write_all(greeting.as_bytes()).await;
            while let Ok(n) = stream.read_buf(&mut all).await {
                if n == 0 {
                    break;
                }
                let _ = stream.write_all(answer.as_bytes()).await;
            }
            let _ = tell.send(all);
        }
    })
    .await;
    (address, told)
}

/// An address of loopback at which nothing listens, nor will in another test: its port is taken, by a
/// socket that accepts no connection and by one that hears nobody but itself.
pub(crate) fn nobody() -> SocketAddr {
    static TAKEN: OnceLock<(OwnedFd, UdpSocket, SocketAddr)> = OnceLock::new();
    let take = || {
        loop {
            let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
            let address = udp.local_addr().unwrap();
            udp.connect(address).unwrap();
            if let Ok(tcp) = reserve(address) {
                return (tcp, udp, address);
            }
        }
    };
    TAKEN.get_or_init(take).2
}

/// Takes an address for a listener: only one that knows of it has it, and nobody when that has ended.
pub(crate) fn reserve(address: SocketAddr) -> io::Result<OwnedFd> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, bind, socket_with, sockopt};
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    // As the standard library's listeners do, for one of which there is room then.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    bind(&socket, &address)?;
    Ok(socket)
}

/// Sends bytes and reads until the end.
pub(crate) async fn exchange(stream: &mut TcpStream, bytes: &[u8]) -> String {
    stream.write_all(bytes).await.unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer).await;
    String::from_utf8_lossy(&answer).into_owned()
}

/// Reads until what was read ends with `end`.
pub(crate) async fn read_until(stream: &mut TcpStream, end: &str) -> String {
    let mut all = Vec::new();
    while !all.ends_with(end.as_bytes()) {
        let n = stream.read_buf(&mut all).await.unwrap();
        assert!(n > 0, "it ended after {:?}", String::from_utf8_lossy(&all));
    }
    String::from_utf8(all).unwrap()
}
