//! The command's environment: what the policy names, and the proxy variables. An allow list,
//! because tokens are kept in variables that nobody can list.

use crate::trust;
use bailiwick_policy::Effective;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Variables that every program may expect.
const BASE: [&str; 6] = ["PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM"];
/// Addresses that a program inside reaches by itself.
const NO_PROXY: &str = "localhost,127.0.0.1,::1";

/// The variables by which programs find the gate's proxy.
fn proxy() -> impl Iterator<Item = (OsString, OsString)> {
    let proxy = format!("http://127.0.0.1:{}", bailiwick_gate::PROXY_PORT);
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    let of = names.map(|name| (name.to_owned(), proxy.clone()));
    let not = ("NO_PROXY".to_owned(), NO_PROXY.to_owned());
    let both = of.into_iter().chain([not]);
    both.flat_map(|(name, value)| [(name.to_ascii_lowercase(), value.clone()), (name, value)])
        .chain([("NODE_USE_ENV_PROXY".to_owned(), "1".to_owned())])
        .map(|(name, value)| (name.into(), value.into()))
}

/// Takes the variables away that name the gate's proxy, for a sandbox that has no gate: a program
/// that believes them waits for nobody. One that says something else is the policy's or the caller's
/// own, and stays.
pub fn without_proxy(environment: &mut Vec<(OsString, OsString)>) {
    let ours: Vec<(OsString, OsString)> = proxy().collect();
    let address = &ours[0].1;
    // What says how to use a proxy goes with it.
    if environment.iter().any(|(_, value)| value == address) {
        environment.retain(|variable| !ours.contains(variable));
    }
}

/// Variables that every command of a sandbox gets.
pub(crate) struct Given {
    /// Variables that name the sandbox's bundle of authorities, and whether they take the place of the caller's own.
    pub(crate) of_bundle: (&'static [&'static str], bool),
    /// What stands for secrets.
    pub(crate) secrets: Vec<(OsString, OsString)>,
}

/// The whole environment of the command: the base, what the policy passes, the proxy, the authorities, what the
/// policy sets, what stands for secrets, what the caller adds; later ones win.
pub(crate) fn build(
    policy: &Effective,
    caller: &BTreeMap<OsString, OsString>,
    given: &Given,
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
    variables.extend(proxy());
    let (of_bundle, overrule) = given.of_bundle;
    for name in of_bundle {
        if overrule || !variables.contains_key(OsStr::new(name)) {
            variables.insert(name.into(), trust::BUNDLE.into());
        }
    }
    // The second is what agents ask for that do without questions: as root some do that in a sandbox alone.
    for name in ["BAILIWICK", "IS_SANDBOX"] {
        variables.insert(name.into(), "1".into());
    }
    for (name, entry) in &policy.environment.set {
        variables.insert(name.into(), entry.value.clone().into());
    }
    variables.extend(given.secrets.iter().cloned());
    variables.extend(added.iter().cloned());
    variables.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_gate_only_what_names_it_is_taken_away() {
        let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
        let mut all: Vec<_> = proxy().collect();
        assert_eq!(all.len(), 9);
        let own = [pair("PATH", "/bin"), pair("https_proxy", "http://mine:1")];
        all.retain(|(name, _)| name != "https_proxy");
        all.extend(own.clone());
        without_proxy(&mut all);
        assert_eq!(all, own);
    }
}
