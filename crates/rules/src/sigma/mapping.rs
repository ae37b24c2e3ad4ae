//! Which event type stands for a log source, and which field for a field: one table each.
//!
//! A name that is not in the table has no counterpart, and a rule that needs it is skipped with
//! that name. Nothing is mapped to what merely resembles it: a condition over the wrong field would
//! let through what its author wanted found.

use super::detection_parts::Operand;
use bailiwick_event::fields::{EventType, Field};

/// What stands for a field of Sigma.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target {
    Field(Field),
    /// A header of the request.
    Header(&'static str),
}

impl Target {
    pub(super) fn operand(self) -> Operand {
        match self {
            Self::Field(field) => Operand::Field(field),
            Self::Header(name) => Operand::Header(name.into()),
        }
    }
}

/// Which of the calls on files a log source is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Calls {
    Any,
    Only(&'static str),
    AllBut(&'static str),
}

/// A log source.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) category: &'static str,
    pub(super) on: EventType,
    pub(super) calls: Calls,
    pub(super) fields: &'static [(&'static str, Target)],
}

impl Source {
    pub(super) fn field(&self, name: &str) -> Option<Target> {
        let found = self.fields.iter().find(|(sigma, _)| *sigma == name);
        found.map(|(_, target)| *target)
    }
}

/// A log source whose events are all of its type.
const fn source(
    category: &'static str,
    on: EventType,
    fields: &'static [(&'static str, Target)],
) -> Source {
    Source {
        category,
        on,
        calls: Calls::Any,
        fields,
    }
}

const fn file(category: &'static str, calls: Calls) -> Source {
    Source {
        category,
        on: EventType::File,
        calls,
        fields: FILE,
    }
}

/// Every log source that has a counterpart. Sigma tells files that come to be from files that
/// change, move or vanish by the category; events tell them by the call.
pub(super) static SOURCES: [Source; 11] = [
    source("process_creation", EventType::ProcessExec, PROCESS),
    source("proxy", EventType::HttpRequest, HTTP),
    source("webserver", EventType::HttpRequest, HTTP),
    source("dns", EventType::DnsRequest, DNS),
    source("dns_query", EventType::DnsRequest, DNS),
    file("file_event", Calls::AllBut("unlink")),
    file("file_change", Calls::AllBut("unlink")),
    file("file_rename", Calls::Only("rename")),
    file("file_delete", Calls::Only("unlink")),
    file("file_access", Calls::Any),
    source("network_connection", EventType::Socket, SOCKET),
];

const PROCESS: &[(&str, Target)] = &[
    ("Image", Target::Field(Field::ExecExecutable)),
    ("CommandLine", Target::Field(Field::ExecCommand)),
    ("CurrentDirectory", Target::Field(Field::ExecCwd)),
    ("ParentImage", Target::Field(Field::ExecParent)),
];

/// `c-uri` is the whole address as a forward proxy logs it, scheme and host included; what a web
/// server logs is the path alone and is called the stem. `r-dns` and `cs-host` are the machine that
/// is asked for.
const HTTP: &[(&str, Target)] = &[
    ("c-uri", Target::Field(Field::HttpUrl)),
    ("c-uri-path", Target::Field(Field::HttpPath)),
    ("c-uri-stem", Target::Field(Field::HttpPath)),
    ("cs-uri-stem", Target::Field(Field::HttpPath)),
    ("c-uri-query", Target::Field(Field::HttpQuery)),
    ("cs-uri-query", Target::Field(Field::HttpQuery)),
    ("cs-host", Target::Field(Field::HttpHost)),
    ("r-dns", Target::Field(Field::HttpHost)),
    ("cs-method", Target::Field(Field::HttpMethod)),
    ("c-useragent", Target::Header("user-agent")),
    ("cs-user-agent", Target::Header("user-agent")),
    ("cs-referrer", Target::Header("referer")),
    ("cs-referer", Target::Header("referer")),
    ("cs-cookie", Target::Header("cookie")),
];

const DNS: &[(&str, Target)] = &[
    ("query", Target::Field(Field::DnsName)),
    ("QueryName", Target::Field(Field::DnsName)),
    ("record_type", Target::Field(Field::DnsType)),
    ("QueryType", Target::Field(Field::DnsType)),
    ("Image", Target::Field(Field::CommonExecutable)),
    ("ProcessId", Target::Field(Field::CommonPid)),
];

const FILE: &[(&str, Target)] = &[
    ("TargetFilename", Target::Field(Field::FilePath)),
    ("Image", Target::Field(Field::CommonExecutable)),
    ("ProcessId", Target::Field(Field::CommonPid)),
];

const SOCKET: &[(&str, Target)] = &[
    ("DestinationHostname", Target::Field(Field::SocketHost)),
    ("DestinationIp", Target::Field(Field::SocketAddress)),
    ("DestinationPort", Target::Field(Field::SocketPort)),
    ("Protocol", Target::Field(Field::SocketTransport)),
    ("Image", Target::Field(Field::CommonExecutable)),
    ("ProcessId", Target::Field(Field::CommonPid)),
];
