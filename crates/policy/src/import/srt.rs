//! The sandbox runtime's settings, and what Claude Code's `sandbox` block has in common with
//! them: everything may be read but what is denied, nothing written but what is allowed, and no
//! machine reached but those that are named.

use super::draft::Draft;
use super::files;
use super::hosts::{self, Dialect};
use super::tree::Item;

/// The runtime's words for machines: a port may stand behind each, and without one every port is
/// meant.
pub(super) const DIALECT: Dialect = Dialect {
    ports: true,
    any: false,
    every_port: true,
};

/// Why a key of the network is not in the policy, and what to do.
const NETWORK: &[(&str, &str, &str)] = &[
    (
        "allowUnixSockets",
        "sockets are not allowed one by one: one in a visible folder can be connected to, others cannot",
        "show the socket's folder by [filesystem] read if it is needed",
    ),
    (
        "allowAllUnixSockets",
        "sockets outside the visible folders cannot be connected to",
        "show a socket's folder by [filesystem] read if it is needed",
    ),
    (
        "allowLocalBinding",
        "a sandbox may always listen on its own loopback, which the machine does not see",
        "to reach such a port from the machine, use [network] publish",
    ),
    (
        "deniedDomainReasons",
        "a refusal names the line of the policy instead of a text",
        "",
    ),
    (
        "httpProxyPort",
        "there is no proxy with a port of its own; the gate is reached without one",
        "",
    ),
    (
        "socksProxyPort",
        "there is no proxy with a port of its own; the gate is reached without one",
        "",
    ),
    (
        "mitmProxy",
        "connections are not handed to another proxy; [network.inspect] has the gate look into TLS itself",
        "",
    ),
    (
        "parentProxy",
        "connections are made directly, not through another proxy",
        "",
    ),
    (
        "tlsTerminate",
        "TLS is looked into where [network.inspect] says so, by an authority of this installation's own",
        "",
    ),
    (
        "allowManagedDomainsOnly",
        "whose allowed machines count is a matter of layers here",
        "lock `network.allow` in the system's policy",
    ),
];

/// Why another key is not in the policy, and what to do.
const OTHERS: &[(&str, &str, &str)] = &[
    ("$schema", "it is a matter of editors", ""),
    (
        "ignoreViolations",
        "what is refused is always recorded",
        "read it with `bailiwick log --denied`",
    ),
    (
        "enableWeakerNestedSandbox",
        "every layer is enforced, or nothing is started",
        "see `bailiwick doctor`",
    ),
    (
        "enableWeakerNetworkIsolation",
        "the network's enclosure cannot be weakened",
        "",
    ),
    ("allowAppleEvents", "it is a matter of macOS", ""),
    (
        "mandatoryDenySearchDepth",
        "protected names are protected at every depth",
        "",
    ),
    (
        "allowPty",
        "every sandbox has a terminal of its own where the caller has one",
        "",
    ),
    ("ripgrep", "no helper program is used", ""),
    (
        "credentials",
        "credentials are not masked",
        "hide their files by [filesystem] deny; variables pass only if [environment] pass names them",
    ),
];

/// Why a key is not in the policy: by a table, or because nobody here knows it.
pub(super) fn leave(
    draft: &mut Draft,
    name: &str,
    item: &Item<'_>,
    table: &[(&str, &'static str, &'static str)],
) {
    match table.iter().find(|(known, ..)| *known == name) {
        Some((_, why, instead)) => draft.leave(item, *why, *instead),
        None => draft.leave(
            item,
            "this key is not known here, so nothing of it is in the policy",
            "if it narrows what may be done, write that into the policy by hand",
        ),
    }
}

/// Reads a settings file.
pub(super) fn read(draft: &mut Draft, whole: &Item<'_>) {
    for (name, item) in whole.keys() {
        match name {
            "network" => network(draft, &item, DIALECT, &[], &[]),
            "filesystem" => filesystem(draft, &item, &str::to_owned),
            _ => leave(draft, name, &item, OTHERS),
        }
    }
    reading(draft, whole, "srt");
}

/// Tells that reading is narrower here.
pub(super) fn reading(draft: &mut Draft, whole: &Item<'_>, tool: &str) {
    draft.leave(
        whole,
        format!(
            "{tool} lets everything be read that is not denied; here the system's programs, the workspace and what the policy names are visible"
        ),
        "add what is missing to [filesystem] read",
    );
}

/// Reads a `network` table but the keys `read`, which the caller has; `more` tells of keys that
/// only one tool has.
pub(super) fn network(
    draft: &mut Draft,
    table: &Item<'_>,
    dialect: Dialect,
    read: &[&str],
    more: &[(&str, &'static str, &'static str)],
) {
    let known: Vec<_> = NETWORK.iter().chain(more).copied().collect();
    for (name, item) in draft.table(table) {
        match name {
            "allowedDomains" => {
                for (text, item) in draft.texts(&item) {
                    hosts::allow(draft, text, &item, dialect);
                }
            }
            "deniedDomains" => {
                for (text, item) in draft.texts(&item) {
                    hosts::deny(draft, text, &item);
                }
            }
            name if read.contains(&name) => {}
            _ => leave(draft, name, &item, &known),
        }
    }
}

/// Reads a `filesystem` table; `at` says what a relative path is relative to.
pub(super) fn filesystem(draft: &mut Draft, table: &Item<'_>, at: &dyn Fn(&str) -> String) {
    let keys = draft.table(table);
    let has_exceptions = keys
        .iter()
        .any(|(name, item)| *name == "allowRead" && !item.elements().is_empty());
    for (name, item) in keys {
        match name {
            "allowWrite" => {
                for (text, item) in draft.texts(&item) {
                    files::write(draft, &at(text), &item);
                }
            }
            "allowRead" => {
                for (text, item) in draft.texts(&item) {
                    files::read(draft, &at(text), &item);
                }
            }
            "denyWrite" => {
                for (text, item) in draft.texts(&item) {
                    files::protect(draft, &at(text), &item);
                }
            }
            "denyRead" => {
                for (text, item) in draft.texts(&item) {
                    if has_exceptions && files::is_hidden_anyway(text) {
                        draft.leave(
                            &item,
                            "a deny has no exceptions here, so it is left out: what is below is hidden unless the policy names it or it is a system folder or a toolchain on PATH",
                            "name in [filesystem] deny what of those must not be read",
                        );
                    } else {
                        files::deny(draft, &at(text), &item);
                    }
                }
            }
            _ => leave(
                draft,
                name,
                &item,
                &[
                    (
                        "allowGitConfig",
                        "git's configuration is protected by the template, and no policy can take that back",
                        "configure git outside the sandbox",
                    ),
                    (
                        "allowManagedReadPathsOnly",
                        "whose allowed paths count is a matter of layers here",
                        "lock `filesystem.read` in the system's policy",
                    ),
                ],
            ),
        }
    }
}
