//! The decision about an act, without any effect: the same act gets the same answer, whichever
//! boundary saw it and however often it is asked.

use crate::refusal::built_in;
use crate::{connection, name, request};
use bailiwick_event::{Act, Decision, LimitKind, Origin, RuleRef};
use bailiwick_policy::{Effective, Limits};

/// Decides.
pub(crate) fn decide(policy: &Effective, act: &Act) -> Decision {
    let network = &policy.network;
    match act {
        Act::SessionStart { .. }
        | Act::SessionEnd { .. }
        | Act::Overflow { .. }
        | Act::ExecStart { .. }
        | Act::ExecExit { .. }
        | Act::Executed { .. }
        | Act::Caller { .. }
        | Act::Enter { .. }
        | Act::Saved { .. }
        | Act::GoesOn { .. }
        | Act::Finding { .. }
        | Act::Rules { .. }
        | Act::HttpResponse { .. }
        | Act::SecretUsed { .. }
        | Act::Answered { .. }
        | Act::ModelRequest(_)
        | Act::ModelResponse(_)
        | Act::Leave { .. } => Decision::allow(built_in("run")),
        Act::Dns { qname, .. } | Act::DnsResponse { qname, .. } => name::lookup(network, qname),
        Act::Connect {
            host,
            port,
            transport,
            via,
            ..
        } => connection::connect(network, host, *port, *transport, *via),
        Act::Resolved {
            host,
            addresses,
            port,
        } => connection::resolved(network, host, addresses, *port),
        Act::Tls {
            sni,
            host,
            port,
            inspected,
        } => connection::tls(network, sni.as_ref(), host, *port, *inspected),
        Act::Http {
            method,
            host,
            connected,
            port,
            path,
            ..
        } => request::http(network, method, host, connected, *port, path),
        // The backend that performs the acts decides them (the policy's names are its rules); none
        // is ever asked for here, and if one were it would not be allowed.
        Act::Write { .. } | Act::Left { .. } => Decision::deny(
            built_in("file.write"),
            "writes are decided where they are performed",
            "report this with the output of `bailiwick log`",
        ),
        Act::Limit { kind, .. } => limit(&policy.limits, *kind),
    }
}

fn limit(limits: &Limits, kind: LimitKind) -> Decision {
    let origin = match kind {
        LimitKind::Memory => limits.memory.as_ref().map(|l| &l.origin),
        LimitKind::Processes => limits.processes.as_ref().map(|l| &l.origin),
        LimitKind::Wall => limits.wall.as_ref().map(|l| &l.origin),
        LimitKind::Cpu => limits.cpu.as_ref().map(|l| &l.origin),
        LimitKind::FileSize => limits.file_size.as_ref().map(|l| &l.origin),
        LimitKind::OpenFiles => limits.open_files.as_ref().map(|l| &l.origin),
        LimitKind::Disk => limits.disk.as_ref().map(|l| &l.origin),
        LimitKind::Output => limits.output.as_ref().map(|l| &l.origin),
    };
    let key = kind.name();
    let remedy = match origin {
        Some(origin) => format!("raise {key} under [limits] in {origin}"),
        None => format!("set {key} under [limits] in your policy"),
    };
    let rule = RuleRef {
        id: format!("limits.{key}"),
        origin: origin.cloned().unwrap_or_else(Origin::built_in),
    };
    Decision::deny(rule, format!("the limit on {key} was reached"), remedy)
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
