//! One act at a boundary. What the sandboxed program chose is [`Text`], because it is hostile;
//! what the product measured is a number.

use crate::{
    Boundary, Decision, Host, KeptBodies, ModelAnswer, ModelCall, Scheme, Text, Transport, Verdict,
    Via,
};
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::time::Duration;

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(of: &u64) -> bool {
    *of == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_false(of: &bool) -> bool {
    !of
}

/// A resource that a sandbox may use only so much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the names are the policy keys")]
pub enum LimitKind {
    Memory,
    Processes,
    Wall,
    Cpu,
    FileSize,
    OpenFiles,
    Disk,
    Output,
}

impl LimitKind {
    /// The key under `[limits]`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Wall => "wall",
            Self::Cpu => "cpu",
            Self::FileSize => "file_size",
            Self::OpenFiles => "open_files",
            Self::Disk => "disk",
            Self::Output => "output",
        }
    }
}

/// What was tried.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Act {
    /// The session began; the command that was asked for.
    SessionStart {
        /// The backend's name.
        backend: String,
        /// The workspace.
        workspace: Text,
        /// The layers that were active, in the order in which they were set up.
        layers: Vec<String>,
        /// BLAKE3 hash of the effective policy, in hex.
        policy: String,
    },
    /// The session ended in order.
    SessionEnd {
        /// Rows that were written before this one.
        rows: u64,
    },
    /// Rows that could not be kept.
    Overflow {
        /// How many.
        lost: u64,
    },
    /// The run's command is started.
    ExecStart {
        /// The command's words.
        argv: Vec<Text>,
        /// The folder in which it starts.
        cwd: Text,
    },
    /// The run's command ended.
    ExecExit {
        /// As a shell reports it: the exit code, or 128 + the signal.
        code: u8,
        /// Wall-clock nanoseconds from the start of the command to its end.
        duration_ns: u64,
    },
    /// One more command enters the sandbox.
    Enter {
        /// Its number in the session, from 1.
        job: u32,
        /// Its words.
        argv: Vec<Text>,
        /// The folder in which it starts.
        cwd: Text,
    },
    /// A command that entered the sandbox ended.
    Leave {
        /// Its number in the session.
        job: u32,
        /// As a shell reports it.
        code: u8,
        /// Wall-clock nanoseconds from its start to its end.
        duration_ns: u64,
    },
    /// The sandbox was saved, memory and open files included.
    Saved {
        /// Whether it ended with that; else a copy of it goes on besides.
        ended: bool,
    },
    /// The sandbox goes on that another session saved.
    GoesOn {
        /// That session.
        session: Text,
    },
    /// A program was executed in the sandbox, as the sandbox's own kernel tells: a report, which a
    /// program that governs that kernel could falsify.
    Executed {
        /// Its process, as the sandbox numbers it.
        pid: u32,
        /// The process's parent.
        parent: u32,
        /// The file that was loaded.
        executable: Text,
        /// Its words.
        argv: Vec<Text>,
        /// The folder in which it started.
        cwd: Text,
    },
    /// A name is looked up.
    Dns {
        /// The name as it stood in the question.
        qname: Text,
        /// The record type (`A`, `AAAA`, `HTTPS`, …, or `TYPE65280`).
        qtype: String,
        /// How the question came.
        transport: Transport,
    },
    /// Name servers have answered a question that was passed on to them; the answer is not given to
    /// the program yet.
    DnsResponse {
        /// The name as it stood in the question.
        qname: Text,
        /// The record type of the question.
        qtype: String,
        /// How the question came.
        transport: Transport,
        /// The response code: `NOERROR`, `NXDOMAIN`, …
        code: String,
        /// The data of each record, as text.
        answers: Vec<Text>,
        /// The least time to live of the records, in seconds; none where there is none.
        ttl: Option<u32>,
    },
    /// A connection is opened, or a datagram sent.
    Connect {
        /// The canonical name that the gate knows for it, or its address.
        host: Text,
        /// The address that the program used.
        address: Option<IpAddr>,
        /// The port.
        port: u16,
        /// How it travels.
        transport: Transport,
        /// How it reached the gate.
        via: Via,
    },
    /// A program of the sandbox has opened a connection, some time before, as the sandbox's own kernel
    /// tells: a report, which a program that governs that kernel could falsify. It is about the program,
    /// and so at its boundary: what the connection may do is another row, at that of connections.
    Caller {
        /// Its process, as the sandbox numbers it.
        pid: u32,
        /// Its name, at most 15 bytes.
        program: Text,
        /// The canonical name that the gate knows for the address, or the address.
        host: Text,
        /// The address that it used; of the sandbox's own loopback where it went to the proxy or a granted
        /// port.
        address: IpAddr,
        /// The port.
        port: u16,
    },
    /// An allowed name was resolved, on the host, to these addresses.
    Resolved {
        /// The name.
        host: Text,
        /// Its addresses.
        addresses: Vec<IpAddr>,
        /// The port that is to be dialled.
        port: u16,
    },
    /// A TLS client names the server that it wants.
    Tls {
        /// The name in the ClientHello; none where it had none.
        sni: Option<Text>,
        /// The name or address that the connection was decided by.
        host: Text,
        /// The port.
        port: u16,
        /// Whether the gate looks into it: then each request in it is decided as well.
        #[serde(default, skip_serializing_if = "is_false")]
        inspected: bool,
    },
    /// An HTTP request that the gate reads.
    Http {
        /// The method.
        method: Text,
        /// The name in the Host header or in the absolute URI, without the port.
        host: Text,
        /// The canonical name or address that the connection was decided by.
        connected: Text,
        /// The port.
        port: u16,
        /// Path and query.
        path: Text,
        /// How it reached the gate.
        via: Via,
        /// In the clear, or within TLS.
        #[serde(default, skip_serializing_if = "Scheme::is_http")]
        scheme: Scheme,
    },
    /// The answer to a request came, or did not.
    HttpResponse {
        /// The number of the request's row; 0 where it has none.
        request: u64,
        /// The request's method.
        method: Text,
        /// The name that the request asked for.
        host: Text,
        /// The canonical name or address that the connection was decided by.
        connected: Text,
        /// The port.
        port: u16,
        /// The request's path and query.
        path: Text,
        /// In the clear, or within TLS.
        #[serde(default, skip_serializing_if = "Scheme::is_http")]
        scheme: Scheme,
        /// The status code; 0 where no answer came.
        status: u16,
        /// The media type, as the server said it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content_type: Option<Text>,
        /// Bytes of the request's body.
        sent: u64,
        /// Bytes of the answer's body.
        received: u64,
        /// Wall-clock nanoseconds from the decision about the request to the head of the answer.
        first_ns: u64,
        /// Wall-clock nanoseconds from the decision about the request to the end of the answer.
        duration_ns: u64,
        /// How often a secret stood in the answer, and was taken out of it.
        #[serde(default, skip_serializing_if = "is_zero")]
        masked: u64,
        /// Why the answer did not come whole.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        problem: Option<Text>,
        /// The bodies, where the policy keeps them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bodies: Option<Box<KeptBodies>>,
    },
    /// A person was asked about an act, and answered or did not.
    Answered {
        /// The number of the act's row.
        row: u64,
        /// The boundary of the act.
        at: Boundary,
        /// `once`, `always`, `deny`, `timeout` or `nobody`.
        answer: String,
        /// What the act was about.
        about: Text,
    },
    /// A secret was put into a request.
    SecretUsed {
        /// The number of the request's row; 0 where it has none.
        request: u64,
        /// Its name.
        name: Text,
        /// The machine that it was shown to.
        host: Text,
        /// The port.
        port: u16,
        /// Where in the request: `header`, `query` or `body`.
        place: String,
    },
    /// A language model is called.
    ModelRequest(ModelCall),
    /// A language model answered.
    ModelResponse(ModelAnswer),
    /// A file would have been created, written, moved or linked.
    Write {
        /// The kind of call: `open`, `rename`, `mkdir`, …
        operation: String,
        /// The path that would have been written.
        path: Text,
    },
    /// The run has made or changed a file that a program of the host obeys when the user gives a command. It was
    /// there when the run ended.
    Left {
        /// The file, or the folder as a whole.
        path: Text,
        /// Who obeys it.
        tool: String,
        /// When: `command`, `commit`, `push`, `open an editor`, …
        when: String,
    },
    /// A detection is true of an event; the row right before tells which, or the rows before that.
    Finding {
        /// The boundary at which the event was seen.
        at: Boundary,
        /// What the event was about.
        about: Text,
        /// How bad it is: `informational`, `low`, `medium`, `high`, `critical`.
        severity: String,
        /// How sure it is: `low`, `medium`, `high`.
        confidence: String,
        /// The same for findings of one detection on the same values.
        signature: String,
    },
    /// The rules of the session were changed while it ran.
    Rules {
        /// `added`, `updated`, `removed`, `enabled` or `disabled`.
        change: String,
        /// The rule's name.
        rule: Text,
    },
    /// A limit was reached.
    Limit {
        /// Which.
        kind: LimitKind,
        /// The limit, in the key's unit (bytes, count, or nanoseconds).
        limit: u64,
        /// What was seen, in the same unit.
        observed: u64,
    },
}

impl Act {
    /// The boundary at which the act is seen.
    #[must_use]
    pub fn boundary(&self) -> Boundary {
        match self {
            Self::SessionStart { .. }
            | Self::SessionEnd { .. }
            | Self::Overflow { .. }
            | Self::Saved { .. }
            | Self::GoesOn { .. }
            | Self::Rules { .. } => Boundary::Session,
            Self::ExecStart { .. }
            | Self::ExecExit { .. }
            | Self::Executed { .. }
            | Self::Caller { .. }
            | Self::Enter { .. }
            | Self::Leave { .. } => Boundary::Exec,
            Self::Dns { .. } | Self::DnsResponse { .. } => Boundary::Dns,
            Self::Connect { .. } | Self::Resolved { .. } | Self::Tls { .. } => Boundary::Socket,
            Self::Http { .. } | Self::HttpResponse { .. } | Self::SecretUsed { .. } => {
                Boundary::Http
            }
            Self::ModelRequest(_) | Self::ModelResponse(_) => Boundary::Model,
            Self::Write { .. } | Self::Left { .. } => Boundary::File,
            Self::Limit { .. } => Boundary::Limit,
            Self::Finding { at, .. } | Self::Answered { at, .. } => *at,
        }
    }

    /// What the act is about, in one line that is safe to show.
    #[must_use]
    pub fn resource(&self) -> String {
        let endpoint = |host: &Text, port: u16| match host.to_string_lossy().contains(':') {
            true => format!("[{host}]:{port}"),
            false => format!("{host}:{port}"),
        };
        // First, because what a program writes behind it can be long.
        let over = |host: &Text, connected: &Text, port: u16| match host == connected {
            true => String::new(),
            false => format!("on a connection to {}: ", endpoint(connected, port)),
        };
        match self {
            Self::SessionStart { workspace, .. } => format!("workspace {workspace}"),
            Self::SessionEnd { rows } => format!("{rows} rows"),
            Self::Overflow { lost } => format!("{lost} rows lost"),
            Self::ExecStart { argv, .. }
            | Self::Enter { argv, .. }
            | Self::Executed { argv, .. } => {
                let words: Vec<_> = argv.iter().map(ToString::to_string).collect();
                words.join(" ")
            }
            Self::ExecExit { code, .. } => format!("exit {code}"),
            Self::Saved { ended: true } => "suspended".to_owned(),
            Self::Saved { ended: false } => "copied".to_owned(),
            Self::GoesOn { session } => format!("goes on from {session}"),
            Self::Left { path, tool, when } => format!("{path}, obeyed by {tool} ({when})"),
            Self::Leave { job, code, .. } => format!("exit {code} of command {job}"),
            Self::Dns { qname, qtype, .. } => format!("{qname} {qtype}"),
            Self::DnsResponse {
                qname,
                qtype,
                code,
                answers,
                ..
            } => match &answers[..] {
                [] => format!("{qname} {qtype}: {code}"),
                answers => {
                    let list: Vec<_> = answers.iter().map(ToString::to_string).collect();
                    format!("{qname} {qtype}: {}", list.join(", "))
                }
            },
            Self::Connect {
                host,
                port,
                transport,
                ..
            } => match transport {
                Transport::Tcp => endpoint(host, *port),
                Transport::Udp => format!("{}/udp", endpoint(host, *port)),
            },
            Self::Caller {
                pid,
                program,
                host,
                port,
                ..
            } => format!("{program} ({pid}) to {}", endpoint(host, *port)),
            Self::Resolved {
                host,
                addresses,
                port,
            } => {
                let list: Vec<_> = addresses.iter().map(ToString::to_string).collect();
                format!("{} at {}", endpoint(host, *port), list.join(", "))
            }
            Self::Tls {
                sni: Some(sni),
                host,
                port,
                ..
            } if sni != host => {
                format!("{sni} on a connection to {}", endpoint(host, *port))
            }
            Self::Tls {
                host,
                port,
                inspected: true,
                ..
            } => format!("{}, inspected", endpoint(host, *port)),
            Self::Tls { host, port, .. } => endpoint(host, *port),
            Self::Http {
                method,
                host,
                port,
                path,
                scheme,
                connected,
                ..
            } => {
                let asked = endpoint(host, *port);
                let over = over(host, connected, *port);
                format!("{over}{} {}://{asked}{path}", short(method), scheme.name())
            }
            Self::HttpResponse {
                method,
                host,
                port,
                path,
                scheme,
                status,
                received,
                problem,
                connected,
                ..
            } => {
                let asked = endpoint(host, *port);
                let over = over(host, connected, *port);
                let what = format!("{over}{} {}://{asked}{path}", short(method), scheme.name());
                match (status, problem) {
                    (0, Some(problem)) => format!("no answer to {what}: {problem}"),
                    (status, Some(problem)) => format!("{status} to {what}, cut short: {problem}"),
                    (status, None) => format!("{status} to {what}, {received} bytes"),
                }
            }
            Self::Answered { answer, about, .. } => format!("answer {answer}: {about}"),
            Self::SecretUsed {
                name,
                host,
                port,
                place,
                ..
            } => format!("secret {name} in the {place} for {}", endpoint(host, *port)),
            Self::ModelRequest(call) => {
                let model = call.model.as_ref();
                let model = model.map_or("a model".into(), Text::to_string);
                format!("{} {model}", call.provider)
            }
            Self::ModelResponse(answer) => answer.shown(),
            Self::Write { operation, path } => format!("{operation} {path}"),
            Self::Rules { change, rule } => format!("rule {rule} {change}"),
            Self::Finding {
                about, severity, ..
            } => format!("{severity} finding: {about}"),
            Self::Limit { kind, limit, .. } => match kind {
                LimitKind::Wall => format!("wall {:?}", Duration::from_nanos(*limit)),
                LimitKind::Memory | LimitKind::FileSize | LimitKind::Disk | LimitKind::Output => {
                    format!("{} {limit} bytes", kind.name())
                }
                _ => format!("{} {limit}", kind.name()),
            },
        }
    }
}

/// The longest method that is shown whole; those of the registry have at most 17 characters.
const METHOD: usize = 32;

/// A method, which is not to push the machine out of sight.
fn short(method: &Text) -> String {
    match method.as_bytes().len() {
        0..=METHOD => method.to_string(),
        _ => format!("{}…", method.clone().truncated(METHOD)),
    }
}

/// One row of the ledger: an act and what was decided about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its number in the session, from 1.
    pub id: u64,
    /// Nanoseconds since the Unix epoch, by the supervisor's clock.
    pub time_ns: u64,
    /// What was tried.
    pub act: Act,
    /// What was decided.
    pub decision: Decision,
}

impl Event {
    /// The boundary at which it was seen.
    #[must_use]
    pub fn boundary(&self) -> Boundary {
        self.act.boundary()
    }

    /// Whether it was refused.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        self.decision.verdict == Verdict::Deny
    }
}

impl From<&Host> for Text {
    fn from(host: &Host) -> Self {
        Self::from(host.to_string())
    }
}
