//! The servers of a test are one real HTTP and HTTPS server on loopback which writes down every
//! request: what a sandbox did on the network is read there, not taken from the product's word.

use super::{Authority, Program, Scratch};
use std::path::{Path, PathBuf};

/// A running server; it ends with this value.
pub(crate) struct Server {
    _program: Program,
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
        let (program, [http, https]) = Program::start(
            "python3",
            scratch,
            ("server.py", include_str!("server.py")),
            [sites, &authority.leaf, &authority.key, &requests],
        );
        Self {
            _program: program,
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
