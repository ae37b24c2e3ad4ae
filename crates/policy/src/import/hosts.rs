//! Another tool's word for a machine to ours. Strict on purpose: a text that means nothing there
//! must not mean something here, or `@name` would become a set and `10.0.0.0/8` a network.

use super::draft::Draft;
use super::tree::Item;
use crate::keys::KeyId;
use bailiwick_event::{HostPattern, PatternHost, Ports, Text};

/// What a tool's entry may look like, and which ports it means.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Dialect {
    /// Whether an entry may end in a port.
    pub(crate) ports: bool,
    /// Whether `*` may stand for every machine.
    pub(crate) any: bool,
    /// What an entry without a port opens: every port, or those of the web.
    pub(crate) every_port: bool,
}

/// A machine that may be reached.
pub(crate) fn allow(draft: &mut Draft, text: &str, item: &Item<'_>, dialect: Dialect) {
    let Some(mut pattern) = granted(text, dialect) else {
        draft.leave(
            item,
            format!("\"{text}\" names no machine that a policy can allow, so it is not granted"),
            "add what it means to [network] allow, like \"api.example.com\" or \"*.example.com\"",
        );
        return;
    };
    if pattern.host == PatternHost::Any {
        draft.leave(
            item,
            "a policy's \"*\" does not cover this machine or private networks",
            "name those that are needed in [network] allow, like \"localhost:5432\"",
        );
    }
    if dialect.every_port && pattern.ports == Ports::Unsaid {
        pattern.ports = Ports::All;
    }
    draft.add(KeyId::NetworkAllow, &pattern.to_string(), item);
}

fn granted(text: &str, dialect: Dialect) -> Option<HostPattern> {
    let pattern: HostPattern = text.parse().ok()?;
    let port = match pattern.ports {
        Ports::Unsaid => true,
        Ports::One(_) => dialect.ports,
        Ports::All => false,
    };
    let host = match &pattern.host {
        PatternHost::Any => dialect.any,
        PatternHost::Exact(_) => true,
        // No tool takes a wildcard for all of a top-level domain.
        PatternHost::Below(domain) => domain.contains('.'),
        PatternHost::Network(..) => false,
    };
    (port && host).then_some(pattern)
}

/// A machine that may not be reached. What a policy cannot say is denied more widely.
pub(crate) fn deny(draft: &mut Draft, text: &str, item: &Item<'_>) {
    if text.parse::<HostPattern>().is_ok() {
        draft.add(KeyId::NetworkDeny, text, item);
        return;
    }
    let Some((_, ending)) = text.rsplit_once('*') else {
        draft.wrong.push(item.error(
            format!(
                "\"{}\" names no machine, so nothing can be denied by it",
                Text::from(text)
            ),
            "write the machine alone, like \"evil.example.com\", or remove the entry",
        ));
        return;
    };
    let wider = format!("*{ending}");
    let wider = match wider.parse::<HostPattern>() {
        Ok(_) if ending.starts_with('.') => wider,
        _ => "*".to_owned(),
    };
    draft.leave(
        item,
        format!("\"{text}\" cannot be said exactly; \"{wider}\" is denied"),
        "write what is meant in [network] deny",
    );
    draft.add(KeyId::NetworkDeny, &wider, item);
}
