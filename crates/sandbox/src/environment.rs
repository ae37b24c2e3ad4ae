//! The command's environment: what the policy names, and the proxy variables. An allow list,
//! because tokens are kept in variables that nobody can list.

use bailiwick_policy::Effective;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Variables that every program may expect.
const BASE: [&str; 6] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM"];
/// Addresses that a program inside reaches by itself.
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// The whole environment of the command: the base, what the policy passes, the proxy, what the
/// policy sets, what the caller adds; later ones win.
pub(crate) fn build(
    policy: &Effective,
    caller: &BTreeMap<OsString, OsString>,
    added: &[(OsString, OsString)],
    cwd: &Path,
) -> Vec<(OsString, OsString)> {
    let mut variables: BTreeMap<OsString, OsString> = BTreeMap::new();
    let passes = |name: &OsStr| {
        BASE.iter().any(|base| name == *base)
            || policy
                .environment
                .pass
                .iter()
                .any(|entry| match entry.value.strip_suffix('*') {
                    Some(prefix) => name.as_bytes().starts_with(prefix.as_bytes()),
                    None => name == entry.value.as_str(),
                })
    };
    for (name, value) in caller {
        if passes(name) {
            variables.insert(name.clone(), value.clone());
        }
    }
    variables.insert("HOME".into(), policy.home.clone().into());
    variables.insert("PWD".into(), cwd.into());
    let proxy = format!("http://127.0.0.1:{}", bailiwick_gate::PROXY_PORT);
    for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] {
        variables.insert(name.to_ascii_lowercase().into(), proxy.clone().into());
        variables.insert(name.into(), proxy.clone().into());
    }
    variables.insert("NO_PROXY".into(), NO_PROXY.into());
    variables.insert("no_proxy".into(), NO_PROXY.into());
    variables.insert("NODE_USE_ENV_PROXY".into(), "1".into());
    variables.insert("BAILIWICK".into(), "1".into());
    for (name, entry) in &policy.environment.set {
        variables.insert(name.into(), entry.value.clone().into());
    }
    variables.extend(added.iter().cloned());
    variables.into_iter().collect()
}
