//! Whether one entry says all that another says. Decision: a doubtful case is "no". Locks and
//! warnings rest on it, and "no" refuses too much instead of granting too much.

use crate::PathPattern;
use bailiwick_event::{Host, HostPattern, PatternHost, Ports};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Whether every path of `inner` is one of `outer`.
pub(crate) fn path_covers(outer: &PathPattern, inner: &PathPattern) -> bool {
    match (outer, inner) {
        (PathPattern::Path(a), PathPattern::Path(b) | PathPattern::Glob { root: b, .. }) => {
            is_at_or_below(b, a)
        }
        (PathPattern::Glob { root, .. }, PathPattern::Path(b)) => {
            is_at_or_below(b, root) && outer.covers(b).is_some()
        }
        (PathPattern::Glob { .. }, PathPattern::Glob { .. }) => outer == inner,
    }
}

/// [`Path::starts_with`] for paths in the normal form, by their bytes.
fn is_at_or_below(path: &Path, root: &Path) -> bool {
    let (path, root) = (path.as_os_str().as_bytes(), root.as_os_str().as_bytes());
    match path.strip_prefix(root) {
        Some(rest) => rest.is_empty() || rest[0] == b'/' || root == b"/",
        None => false,
    }
}

fn machine_covers(outer: &PatternHost, inner: &PatternHost) -> bool {
    match (outer, inner) {
        (PatternHost::Any, _) => true,
        (PatternHost::Below(a), PatternHost::Below(b)) => {
            a == b
                || b.strip_suffix(a.as_str())
                    .is_some_and(|rest| rest.ends_with('.'))
        }
        (outer, PatternHost::Exact(host)) => at_any_port(outer).covers(host),
        (PatternHost::Network(_, a), PatternHost::Network(net, b)) => {
            a <= b && at_any_port(outer).covers(&Host::from(*net))
        }
        _ => false,
    }
}

fn at_any_port(host: &PatternHost) -> HostPattern {
    HostPattern {
        host: host.clone(),
        ports: Ports::All,
    }
}

/// Whether a denying entry takes away all that an allowing entry grants.
pub(crate) fn deny_covers(deny: &HostPattern, allow: &HostPattern) -> bool {
    let ports = match (deny.ports, allow.ports) {
        (Ports::Unsaid | Ports::All, _) => true,
        (Ports::One(a), Ports::One(b)) => a == b,
        (Ports::One(_), Ports::Unsaid | Ports::All) => false,
    };
    ports && machine_covers(&deny.host, &allow.host)
}

/// Whether an allowing entry grants all that another one grants.
pub(crate) fn allow_covers(outer: &HostPattern, inner: &HostPattern) -> bool {
    let ports = match (outer.ports, inner.ports) {
        (Ports::All, _) | (Ports::Unsaid, Ports::Unsaid | Ports::One(80 | 443)) => true,
        (Ports::One(a), Ports::One(b)) => a == b,
        _ => false,
    };
    // What `*` grants leaves out this machine and private networks, so it covers no entry that
    // could name them.
    let any = matches!(outer.host, PatternHost::Any | PatternHost::Network(_, 0));
    let inner_is_public_name = matches!(&inner.host, PatternHost::Below(_) | PatternHost::Any)
        || matches!(&inner.host, PatternHost::Exact(h @ Host::Name(_)) if !h.is_inward());
    ports
        && machine_covers(&outer.host, &inner.host)
        && (!any || inner_is_public_name || outer.host == inner.host)
}

#[cfg(test)]
#[path = "cover_tests.rs"]
mod tests;
