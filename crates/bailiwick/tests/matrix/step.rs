//! What a client does at a server, and what must come of it.

use crate::origin::{EVENTS, HEADERS, Served, sha256};
use crate::support::host_command;
use std::path::Path;

/// How many requests are made at once.
const TOGETHER: usize = 12;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// Two mebibytes with their length.
    Large,
    /// The same, compressed on the way.
    Gzip,
    /// The same without a length.
    Chunked,
    /// A thousand bytes of it.
    Range,
    /// Its head.
    Head,
    /// Headers that are easily lost.
    Headers,
    /// The two mebibytes twelve times at once.
    Together,
    /// A file sent, and what came back.
    Echo,
    /// Server-sent events, the last of which waits for the client to have seen the first.
    Events,
    /// A text and a file through a WebSocket, and what came back.
    WebSocket,
    /// A unary call of gRPC with its trailers.
    Unary,
    /// A streaming one, the last message of which waits as the last event does.
    Stream,
    /// One in which each side waits for the other's words.
    Talk,
    /// One that fails.
    Fails,
    /// A call to a language model whose answer comes whole, by its path.
    Whole(&'static str),
    /// One whose answer is streamed, the last words of which wait as the last event does.
    Streamed(&'static str),
    /// A package, by its file below the sites.
    Package(&'static str),
    /// A repository, by its folder below the sites.
    Clone(&'static str),
    /// A commit sent to the branch `sent` of one.
    Push(&'static str),
}

impl Step {
    /// As `$STEPS` has it.
    pub(crate) fn name(self) -> String {
        let last = |path: &'static str| path.rsplit("v1/").next().unwrap().split('/').next();
        match self {
            Self::Whole(path) => last(path).unwrap().to_owned(),
            Self::Streamed(path) => format!("{}-stream", last(path).unwrap()),
            Self::Package(_) => "package".into(),
            Self::Clone(_) => "clone".into(),
            Self::Push(_) => "push".into(),
            simple => format!("{simple:?}").to_ascii_lowercase(),
        }
    }

    /// What the client has to say: which step, in what protocol, with which status, and what came.
    pub(crate) fn line(self, protocol: &str, served: &Served, posted: &[u8]) -> String {
        let words = EVENTS.join(" ");
        let (status, came) = match self {
            Self::Large | Self::Gzip | Self::Chunked | Self::Together => {
                ("200", sha256(&served.large))
            }
            Self::Range => ("206", sha256(&served.large[1000..2000])),
            Self::Headers => ("203", headers()),
            Self::Head => ("200", served.large.len().to_string()),
            Self::Echo => ("200", sha256(posted)),
            Self::Events | Self::Whole(_) | Self::Streamed(_) => ("200", words),
            Self::WebSocket => ("101", format!("hello {}", sha256(posted))),
            Self::Unary => ("arrived", sha256(posted)),
            Self::Stream | Self::Talk => ("arrived", words),
            Self::Fails => ("NOT_FOUND", "no such thing".to_owned()),
            Self::Package(file) => {
                let file = std::fs::read(served.sites.join(file)).unwrap();
                ("-", sha256(&file))
            }
            Self::Clone(repository) => ("-", commit(&served.sites.join(repository), "main")),
            Self::Push(repository) => ("-", commit(&served.sites.join(repository), "sent")),
        };
        format!("{} {protocol} {status} {came}", self.name())
    }

    /// The requests that it takes, with the bodies that matter; none where that is the client's matter.
    pub(crate) fn requests(self, posted: &[u8]) -> Option<Vec<(&'static str, String, String)>> {
        let none = sha256(b"");
        let one = |method, path: &str, body: &[u8]| (method, path.to_owned(), sha256(body));
        let seen = one("POST", "/seen", b"");
        Some(match self {
            Self::Large | Self::Range => vec![("GET", "/large".into(), none)],
            Self::Gzip => vec![("GET", "/gzip".into(), none)],
            Self::Chunked => vec![("GET", "/chunked".into(), none)],
            Self::Head => vec![("HEAD", "/large".into(), none)],
            Self::Headers => vec![("GET", "/headers".into(), none)],
            Self::Together => (1..=TOGETHER)
                .map(|n| ("GET", format!("/large?{n}"), none.clone()))
                .collect(),
            Self::Echo => vec![one("POST", "/echo", posted)],
            Self::Events => vec![("GET", "/events".into(), none), seen],
            Self::WebSocket => vec![("GET", "/websocket".into(), none)],
            Self::Unary => vec![one("POST", "/echo.Echo/Unary", &framed(posted))],
            Self::Stream => vec![
                one("POST", "/echo.Echo/Stream", &framed(b"begin")),
                one("POST", "/echo.Echo/Seen", &framed(b"seen")),
            ],
            Self::Talk => {
                let [first, last] = EVENTS.map(|word| framed(word.as_bytes()));
                vec![one("POST", "/echo.Echo/Talk", &[first, last].concat())]
            }
            Self::Fails => vec![one("POST", "/echo.Echo/Fails", &framed(b"begin"))],
            // What the SDK sends is its own matter; it is compared between runs.
            Self::Whole(path) => vec![("POST", path.to_owned(), String::new())],
            Self::Streamed(path) => vec![("POST", path.to_owned(), String::new()), seen],
            Self::Package(_) | Self::Clone(_) | Self::Push(_) => return None,
        })
    }
}

/// The lines of a head as a client hashes them.
fn headers() -> String {
    let line = |(name, value): (&str, &str)| match value {
        "long" => format!("{name}: {}\n", "0123456789".repeat(1_000)),
        short => format!("{name}: {short}\n"),
    };
    sha256(HEADERS.map(line).concat().as_bytes())
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u32::try_from(message.len()).unwrap();
    [&[0], &length.to_be_bytes()[..], message].concat()
}

/// The commit of a branch.
fn commit(repository: &Path, branch: &str) -> String {
    let git = host_command("git")
        .args(["-c", "safe.directory=*", "--git-dir"])
        .arg(repository)
        .args(["rev-parse", "--verify", branch])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&git.stdout).trim().to_owned();
    match git.status.success() {
        true => said,
        false => format!("(there is no branch {branch})"),
    }
}
