//! What a row of the table is. Every cell is a field: one that is missing does not compile, and one
//! that is empty says why.

use crate::step::Step;

pub(crate) struct Row {
    /// As the documentation calls it.
    pub(crate) client: &'static str,
    pub(crate) needs: Needs,
    pub(crate) h1: Cell,
    pub(crate) h2: Cell,
    pub(crate) websocket: Cell,
    pub(crate) sse: Cell,
}

pub(crate) struct Needs {
    /// A line of shell on the host that succeeds where the client is installed. It stands in a folder
    /// of the tests' own programs, where what it compiles stays.
    pub(crate) installed: &'static str,
    /// Files of that folder that the sandbox has in its workspace.
    pub(crate) programs: &'static [&'static str],
    /// A folder of the host that the sandbox sees besides, as a line of shell prints it; `{reads}` in
    /// a script.
    pub(crate) reads: Option<&'static str>,
    /// The package that `packages.py` makes for it.
    pub(crate) package: Option<&'static str>,
    /// A program that may lie in somebody's home directory.
    pub(crate) home_of: &'static str,
    /// Files of the workspace; `{workspace}` stands for it.
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// The variables by which it is told of the servers' authority where nothing looks into its TLS.
    pub(crate) trust: &'static [&'static str],
}

impl Needs {
    pub(crate) const NOTHING: Self = Self {
        installed: "false",
        programs: &[],
        reads: None,
        package: None,
        home_of: "",
        files: &[],
        environment: &[],
        trust: &[],
    };
}

pub(crate) enum Cell {
    Runs(Run),
    /// Why not.
    Not(&'static str),
}

pub(crate) struct Run {
    /// The name that it asks, which decides what the server offers; all names that packages need.
    pub(crate) hosts: &'static [&'static str],
    /// What has to be negotiated.
    pub(crate) speaks: Speaks,
    /// Whether the client can say what it negotiated.
    pub(crate) reports: bool,
    /// A line of shell in the workspace. `$BASE` is the first host, `$STEPS` what to do there, and
    /// `posted` a file to send.
    pub(crate) script: &'static str,
    pub(crate) steps: &'static [Step],
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Speaks {
    Http1,
    Http2,
}

/// A cell whose client says what it negotiated.
pub(crate) const fn says(
    speaks: Speaks,
    hosts: &'static [&'static str],
    script: &'static str,
    steps: &'static [Step],
) -> Cell {
    cell(speaks, true, hosts, script, steps)
}

/// One whose client cannot: the servers alone say it.
pub(crate) const fn mute(
    speaks: Speaks,
    hosts: &'static [&'static str],
    script: &'static str,
    steps: &'static [Step],
) -> Cell {
    cell(speaks, false, hosts, script, steps)
}

const fn cell(
    speaks: Speaks,
    reports: bool,
    hosts: &'static [&'static str],
    script: &'static str,
    steps: &'static [Step],
) -> Cell {
    Cell::Runs(Run {
        hosts,
        speaks,
        reports,
        script,
        steps,
    })
}

impl Speaks {
    /// What the server logs, and what ALPN can have chosen.
    pub(crate) fn seen(self) -> (&'static str, &'static [&'static str]) {
        match self {
            Self::Http1 => ("HTTP/1.1", &["http/1.1", "none"]),
            Self::Http2 => ("HTTP/2.0", &["h2"]),
        }
    }

    /// What a client that can say it says.
    pub(crate) fn said(self) -> &'static str {
        match self {
            Self::Http1 => "h1",
            Self::Http2 => "h2",
        }
    }
}

impl Row {
    pub(crate) fn cells(&self) -> [(&'static str, &Cell); 4] {
        let Self {
            h1,
            h2,
            websocket,
            sse,
            ..
        } = self;
        [
            ("HTTP/1.1", h1),
            ("HTTP/2", h2),
            ("WebSocket", websocket),
            ("SSE", sse),
        ]
    }
}
