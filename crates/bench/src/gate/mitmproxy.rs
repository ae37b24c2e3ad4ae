//! mitmproxy, where it is installed: the proxy that people know who look into TLS. It gets the same
//! client, the same server and the same body, as it is started without settings, and told to hold no
//! body back.

use super::authority::subject;
use super::site::Site;
use crate::load::job::Target;
use crate::program;
use crate::verdict::Verdict;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// It is a program in Python and takes its time.
const START: Duration = Duration::from_secs(30);

/// The proxy, until it is dropped.
pub(super) struct Mitmproxy {
    child: Child,
    address: SocketAddr,
    folder: PathBuf,
}

impl Mitmproxy {
    /// Starts it and waits until it listens.
    pub(super) fn start(site: &Site, streams: bool) -> Result<Self, Verdict> {
        let doubt = |error: &dyn std::fmt::Display| Verdict::Inconclusive(error.to_string());
        let program = program::find("mitmdump")
            .ok_or_else(|| Verdict::Absent("mitmdump is not on PATH".to_owned()))?;
        let folder = site.fixture.peers();
        // A port that is free now; whoever takes it first has the row fail.
        let free = TcpListener::bind(("127.0.0.1", 0)).and_then(|l| l.local_addr());
        let address = free.map_err(|error| doubt(&error))?;
        let set = |name: &str, value: &str| ["--set".to_owned(), format!("{name}={value}")];
        let origin = site.fixture.policies().join("origin.pem");
        let child = Command::new(&program.path)
            .args(["-q", "--listen-host", "127.0.0.1", "--listen-port"])
            .arg(address.port().to_string())
            .args(set("confdir", &folder.to_string_lossy()))
            .args(set(
                "ssl_verify_upstream_trusted_ca",
                &origin.to_string_lossy(),
            ))
            .args(
                streams
                    .then(|| set("stream_large_bodies", "1m"))
                    .iter()
                    .flatten(),
            )
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| doubt(&error))?;
        let own = Self {
            child,
            address,
            folder,
        };
        let begun = Instant::now();
        while !own.certificate().is_file() || TcpStream::connect(address).is_err() {
            if begun.elapsed() > START {
                return Err(doubt(&"mitmdump does not start"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(own)
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join("mitmproxy-ca-cert.pem")
    }

    /// Who certifies servers.
    pub(super) fn issuer(&self) -> Result<String, Verdict> {
        let text = std::fs::read_to_string(self.certificate())
            .map_err(|error| Verdict::Inconclusive(error.to_string()))?;
        subject(&text).map_err(|failure| Verdict::Inconclusive(failure.to_string()))
    }

    /// The origin, by this proxy.
    pub(super) fn target(&self, site: &Site) -> Target {
        Target {
            proxy: Some(self.address),
            roots: self.certificate(),
            ..site.target(false)
        }
    }
}

impl Drop for Mitmproxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
