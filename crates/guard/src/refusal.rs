//! Refusals that no line of a policy wrote, because the product always makes them. Each says why
//! and what to do: a refusal that a person cannot act on is switched off with everything else.

use bailiwick_event::{Decision, Host, Origin, RuleRef, Text};
use std::net::IpAddr;

/// A rule of the product's own.
pub(crate) fn built_in(id: &str) -> RuleRef {
    RuleRef {
        id: id.to_owned(),
        origin: Origin::built_in(),
    }
}

/// A machine and a port as a policy spells them.
pub(crate) fn endpoint(host: &Host, port: u16) -> String {
    match host {
        Host::Ip(IpAddr::V6(ip)) => format!("[{ip}]:{port}"),
        host => format!("{host}:{port}"),
    }
}

/// Reads a name that a program chose.
#[allow(
    clippy::result_large_err,
    reason = "the refusal is the answer, and is passed on as it is"
)]
pub(crate) fn host(text: &Text) -> Result<Host, Decision> {
    let bad = |why: String| {
        Decision::deny(
            built_in("network.bad-name"),
            format!("\"{}\" names no machine: {why}", text.clone().truncated(80)),
            "correct the name in the program, its settings or its proxy variables",
        )
    };
    match std::str::from_utf8(text.as_bytes()) {
        Ok(name) => Host::parse(name).map_err(|e| bad(e.to_string())),
        Err(_) => Err(bad("it is not UTF-8".into())),
    }
}
