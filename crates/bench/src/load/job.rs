//! What the host asks of the load client, and what it says. A report comes out of a sandbox, so it
//! is a claim; what it claims is held against the origin's count and the ledger's rows.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Where requests go.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Target {
    /// The server's name.
    pub name: String,
    /// Its address, where the name is not looked up.
    pub address: Option<SocketAddr>,
    /// A proxy that is asked for a way there.
    pub proxy: Option<SocketAddr>,
    /// The authorities that are trusted, in PEM.
    pub roots: PathBuf,
    /// Whether requests go by HTTP/2.
    pub http2: bool,
    /// The server's port, where its name is looked up.
    pub port: u16,
    /// Whether there is no TLS.
    pub plain: bool,
}

/// Requests over a few connections.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Fetches {
    /// Where they go.
    pub target: Target,
    /// The path.
    pub path: String,
    /// How many.
    pub count: u32,
    /// How many connections at one time.
    pub connections: u32,
    /// Whether the benchmark's own page has to come, and not just any.
    pub page: bool,
}

/// A number of requests that are all the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct What {
    /// The path.
    pub path: String,
    /// How many.
    pub count: u32,
    /// The rule that refuses them; none where the page is to come.
    pub refused_by: Option<String>,
}

/// Questions to a name server.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Flood {
    /// The name server.
    pub server: SocketAddr,
    /// The name that is asked for, as an A record.
    pub name: String,
    /// How many times.
    pub count: u32,
    /// How many questions are open at a time.
    pub in_flight: u16,
    /// The response code that each answer has.
    pub code: u8,
    /// How many records.
    pub answers: u16,
}

/// One piece of work.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Job {
    /// Requests one after the other on one new connection, after one that is no sample.
    Requests { target: Target, what: What },
    /// Each request on a connection of its own, from the connect to the last byte.
    Connections { target: Target, what: What },
    /// One body of so many bytes.
    Download {
        target: Target,
        bytes: u64,
        seconds: u64,
    },
    /// So many connections, each with its share of the requests, all at once.
    Crowd {
        target: Target,
        connections: u32,
        requests: u32,
    },
    /// Requests over a few connections; some may fail.
    Fetch(Fetches),
    /// So many connections, each with one request; they are kept.
    Hold { target: Target, connections: u32 },
    /// One more request on each connection that is kept, and its end.
    AskHeld,
    /// A program, from before its start to its end.
    Command { argv: Vec<String> },
    /// `getaddrinfo` of a name that is not to be found.
    Lookups { name: String, count: u32 },
    /// Questions by UDP.
    Flood(Flood),
    /// A file's text.
    Read { path: PathBuf },
}

impl Job {
    /// After so many seconds it has failed.
    pub(crate) fn seconds(&self) -> u64 {
        match self {
            Self::Download { seconds, .. } => *seconds,
            Self::Hold { .. } | Self::AskHeld => 120,
            _ => 60,
        }
    }
}

/// What came of one.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Report {
    /// Nanoseconds of each act, in the order in which they ended.
    pub samples: Vec<u64>,
    /// Nanoseconds of all of it, from the first act's start to the last one's end.
    pub total_ns: u64,
    /// The CPU time of the client for the whole job.
    pub cpu_ns: u64,
    /// Connections that were made.
    pub connections: u32,
    /// Requests that were answered as they should have been.
    pub requests: u32,
    /// Requests that were not.
    pub failed: u32,
    /// Bytes of the answers' bodies.
    pub bytes: u64,
    /// Who had certified the server, once for each that was seen: the issuer's name in DER, in hex.
    pub issuers: BTreeSet<String>,
    /// What a program printed, or a file holds.
    pub text: String,
    /// What a program said on standard error.
    pub errors: String,
    /// A program's exit code.
    pub code: Option<i32>,
    /// Why the job failed.
    pub broken: Option<String>,
}

impl Report {
    pub(crate) fn broken(why: String) -> Self {
        Self {
            broken: Some(why),
            ..Self::default()
        }
    }
}
