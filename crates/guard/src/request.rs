//! Plain HTTP requests. The server that a request reaches is chosen twice, by the connection and
//! by the Host header; if the rules of only one of them were asked, the other would be the way
//! round. So both are asked.

use crate::refusal::{self, built_in, endpoint};
use bailiwick_event::{Decision, Text};
use bailiwick_policy::NetworkPolicy;
use bailiwick_policy::network::{decide_host, decide_http};

/// Whether a request may be sent.
pub(crate) fn http(
    policy: &NetworkPolicy,
    method: &Text,
    host: &Text,
    connected: &Text,
    port: u16,
    path: &Text,
) -> Decision {
    let (host, connected) = match (refusal::host(host), refusal::host(connected)) {
        (Ok(host), Ok(connected)) => (host, connected),
        (Err(refused), _) | (_, Err(refused)) => return refused,
    };
    let reach = decide_host(policy, &connected, port);
    if !reach.is_allow() {
        return reach.decision;
    }
    let named = decide_host(policy, &host, port);
    if named.decision.rule.id == "network.deny" {
        return named.decision;
    }
    if !named.is_allow() {
        return Decision::deny(
            built_in("network.host-mismatch"),
            format!("the connection is to \"{connected}\", but the request asks for \"{host}\""),
            format!(
                "if that is meant, add \"{}\" to [network] allow",
                endpoint(&host, port)
            ),
        );
    }
    let (method, path) = match (
        std::str::from_utf8(method.as_bytes()),
        std::str::from_utf8(path.as_bytes()),
    ) {
        (Ok(method), Ok(path)) => (method, path),
        _ if !reach.http_only && !named.http_only => return named.decision,
        _ => {
            let rule = if reach.http_only { reach } else { named }.decision.rule;
            return Decision::deny(
                rule,
                "the method or the path of the request is not UTF-8, so no rule can cover it",
                "let the program percent-encode its path",
            );
        }
    };
    let by_connection = decide_http(policy, &connected, port, method, path);
    if host == connected || !by_connection.is_allow() {
        return by_connection.decision;
    }
    decide_http(policy, &host, port, method, path).decision
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
