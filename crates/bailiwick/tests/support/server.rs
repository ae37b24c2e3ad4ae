//! The servers of a test are one real HTTP and HTTPS server on loopback which writes down every
//! request: what a sandbox did on the network is read there, not taken from the product's word.

use super::{Authority, Scratch};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A running server; it ends with this value.
pub(crate) struct Server {
    child: Child,
    /// Serves HTTP, and is a forward proxy to every name of the test.
    pub(crate) http: u16,
    /// Serves HTTPS.
    pub(crate) https: u16,
    requests: PathBuf,
}

impl Server {
    /// Serves `sites`, which has a folder for each name: `sites/pypi.test/simple/…`. Bare
    /// repositories (`*.git`) in it are served by git's own CGI program.
    #[track_caller]
    pub(crate) fn start(scratch: &Scratch, sites: &Path, authority: &Authority) -> Self {
        let requests = scratch.write("requests.log", "");
        let mut child = Command::new("python3")
            .arg(scratch.write("server.py", include_str!("server.py")))
            .arg(sites)
            .arg(&authority.leaf)
            .arg(&authority.key)
            .arg(&requests)
            // The server ends when this pipe does: also when the test is killed.
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python3");
        let mut ports = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut ports)
            .unwrap();
        let ports: Vec<u16> = ports
            .split_whitespace()
            .map(|port| port.parse().expect("a port"))
            .collect();
        let [http, https] = ports[..] else {
            let _ = child.kill();
            let _ = child.wait();
            panic!("the test's server did not start; its error is above");
        };
        Self {
            child,
            http,
            https,
            requests,
        }
    }

    /// The requests since the last call (`GET https://pypi.test/simple/hello/`), sorted: a
    /// client may send them at the same time.
    pub(crate) fn take_requests(&self) -> Vec<String> {
        let text = std::fs::read_to_string(&self.requests).unwrap();
        std::fs::write(&self.requests, "").unwrap();
        let mut requests: Vec<_> = text.lines().map(str::to_owned).collect();
        requests.sort();
        requests
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
