//! Claude Code's settings: permission rules, which its own tools obey, and the `sandbox` block,
//! which the commands that it starts obey. In a policy both hold for everything that runs. What
//! the user would be asked is denied, because in a sandbox nobody can be asked.

use super::draft::Draft;
use super::files::{self, Place};
use super::hosts::{self, Dialect};
use super::tree::Item;
use super::{identity, srt, variables};
use crate::request::Request;
use std::path::Path;

/// `WebFetch(domain:…)`: no ports, those of the web are meant.
const WEB: Dialect = Dialect {
    ports: false,
    any: true,
    every_port: false,
};

/// Why a key of the `sandbox` block is not in the policy, and what to do.
const SANDBOX: &[(&str, &str, &str)] = &[
    ("enabled", "a run is always enclosed", ""),
    (
        "failIfUnavailable",
        "what cannot be enforced is never started",
        "",
    ),
    (
        "autoAllowBashIfSandboxed",
        "nobody is asked before a command is run",
        "",
    ),
    (
        "allowUnsandboxedCommands",
        "no command leaves the sandbox",
        "",
    ),
    (
        "excludedCommands",
        "no command leaves the sandbox: these run inside like any other",
        "start them outside if they need more",
    ),
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
    ("ripgrep", "no helper program is used", ""),
    (
        "credentials",
        "credentials are not masked",
        "hide their files by [filesystem] deny; variables pass only if [environment] pass names them",
    ),
];

/// Why a key of `permissions` is not in the policy, and what to do.
const PERMISSIONS: &[(&str, &str, &str)] = &[
    (
        "disableBypassPermissionsMode",
        "a policy cannot be bypassed from inside",
        "",
    ),
    ("disableAutoMode", "it is a matter of the agent", ""),
];

/// What the mode `plan` means for a rule.
const PLAN: &str = "in the mode \"plan\" nothing is edited";

/// What the paths of a settings file are relative to.
enum Home {
    /// The project, where the command starts.
    Project,
    /// `~/.claude`: the user's own settings.
    User,
}

impl Home {
    fn of(item: &Item<'_>, request: &Request) -> Self {
        let folder = identity(item.source).parent().map(Path::to_path_buf);
        let user = request.home.join(".claude");
        let user = user.canonicalize().unwrap_or(user);
        match folder {
            Some(folder) if folder == user => Self::User,
            _ => Self::Project,
        }
    }

    /// A path of the `sandbox` block.
    fn plain(&self, text: &str) -> String {
        match self {
            _ if text.starts_with("//") => format!("/{}", text.trim_start_matches('/')),
            Self::User if !text.starts_with(['/', '~', '$']) => {
                format!("~/.claude/{}", text.trim_start_matches("./"))
            }
            _ => text.to_owned(),
        }
    }

    /// A path of a rule: `//x` is absolute, `/x` begins at the settings' own root.
    fn rule(&self, text: &str) -> String {
        match (self, text.strip_prefix('/')) {
            (_, Some(rest)) if rest.starts_with('/') => {
                format!("/{}", rest.trim_start_matches('/'))
            }
            (Self::User, Some(rest)) => format!("~/.claude/{rest}"),
            (Self::Project, Some(rest)) => format!("./{rest}"),
            (_, None) => text.to_owned(),
        }
    }
}

/// What happens to what a rule names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Allow,
    Ask,
    Deny,
}

/// Reads a settings file.
pub(super) fn read(draft: &mut Draft, whole: &Item<'_>, request: &Request) {
    let home = Home::of(whole, request);
    // A command may change the folder that it starts in, unless a rule says otherwise.
    draft.workspace = Some("the folder where Claude Code starts is writable".to_owned());
    draft.by_habit = true;
    for (name, item) in whole.keys() {
        match name {
            "permissions" => permissions(draft, &item, &home),
            "sandbox" => sandbox(draft, &item, &home),
            "env" => variables::set(draft, &item),
            "$schema" => draft.leave(&item, "it is a matter of editors", ""),
            _ => draft.leave(
                &item,
                "it is a matter of the agent, or not known here, so nothing of it is in the policy",
                "if it narrows what may be done, write that into the policy by hand",
            ),
        }
    }
    srt::reading(draft, whole, "Claude Code");
}

fn sandbox(draft: &mut Draft, table: &Item<'_>, home: &Home) {
    for (name, item) in draft.table(table) {
        match name {
            "network" => srt::network(draft, &item, srt::DIALECT, &[], &[]),
            "filesystem" => srt::filesystem(draft, &item, &|text| home.plain(text)),
            _ => srt::leave(draft, name, &item, SANDBOX),
        }
    }
}

fn permissions(draft: &mut Draft, table: &Item<'_>, home: &Home) {
    let mut rules = Vec::new();
    let mode_key = table.key("defaultMode");
    let plan = mode_key.is_some_and(|item| item.text() == Some("plan"));
    for (name, item) in draft.table(table) {
        let kind = match name {
            "allow" => Kind::Allow,
            "ask" => Kind::Ask,
            "deny" => Kind::Deny,
            "additionalDirectories" => {
                for (text, item) in draft.texts(&item) {
                    if plan {
                        draft.leave(&item, format!("{PLAN}, so it may be read and no more"), "");
                        files::read(draft, text, &item);
                    } else {
                        files::write(draft, text, &item);
                    }
                }
                continue;
            }
            "defaultMode" => {
                mode(draft, &item);
                continue;
            }
            _ => {
                srt::leave(draft, name, &item, PERMISSIONS);
                continue;
            }
        };
        rules.extend(draft.texts(&item).into_iter().map(|(t, i)| (kind, t, i)));
    }
    // A rule that names a tool alone takes away every exception.
    let closed = |tools: &[&str]| {
        rules
            .iter()
            .any(|(kind, text, _)| *kind != Kind::Allow && tools.contains(text))
    };
    let closed = Closed {
        read: closed(&["Read", "*"]),
        edit: closed(&["Edit", "Write", "*"]),
        web: closed(&["WebFetch", "*"]),
        plan,
    };
    for (kind, text, item) in rules {
        rule(draft, kind, text, &item, home, &closed);
    }
}

/// The tools that may not be used at all without being asked.
struct Closed {
    read: bool,
    edit: bool,
    web: bool,
    /// The mode is `plan`.
    plan: bool,
}

fn mode(draft: &mut Draft, item: &Item<'_>) {
    match draft.word(item) {
        Some("plan") => draft.sealed = Some(item.path.clone()),
        Some(_) => draft.leave(
            item,
            "nobody is asked in a sandbox: what the policy allows is done, everything else refused",
            "",
        ),
        None => {}
    }
}

fn rule(draft: &mut Draft, kind: Kind, text: &str, item: &Item<'_>, home: &Home, closed: &Closed) {
    let (tool, inner) = match text.split_once('(') {
        Some((tool, rest)) => match rest.strip_suffix(')') {
            Some(inner) => (tool, Some(inner)),
            None => {
                draft.wrong.push(item.error(
                    "this rule has no \")\" at its end",
                    "write it like \"Read(~/.ssh/**)\"",
                ));
                return;
            }
        },
        None => (text, None),
    };
    if kind == Kind::Ask && ["Read", "Edit", "Write", "WebFetch"].contains(&tool) {
        draft.leave(
            item,
            "nobody can be asked in a sandbox, so it is denied",
            "remove the entry from the policy if it shall be allowed",
        );
    }
    let edits = ["Edit", "Write"].contains(&tool) && inner.is_some();
    if closed.plan && edits && kind == Kind::Allow {
        draft.leave(item, format!("{PLAN}, so it is not granted"), "");
        return;
    }
    let void = |is_closed: bool| kind == Kind::Allow && is_closed;
    match (tool, inner) {
        ("Read", Some(_)) if void(closed.read) => withdrawn(draft, item),
        ("Edit" | "Write", Some(_)) if void(closed.edit) => withdrawn(draft, item),
        ("WebFetch", Some(_)) if void(closed.web) => withdrawn(draft, item),
        ("Read", Some(path)) => match kind {
            Kind::Allow => files::read(draft, &home.rule(path), item),
            _ => files::deny(draft, &home.rule(path), item),
        },
        ("Edit" | "Write", Some(path)) => match kind {
            Kind::Allow => {
                if tool == "Write" {
                    draft.leave(
                        item,
                        "it is read as Edit(…), though Claude Code itself may pass over Write(…)",
                        "remove the entry from the policy if that is not meant",
                    );
                }
                edit(draft, &home.rule(path), item);
            }
            _ => files::protect(draft, &home.rule(path), item),
        },
        ("Edit" | "Write", None) if kind != Kind::Allow => {
            draft.sealed.get_or_insert_with(|| item.path.clone());
        }
        ("*", None) if kind != Kind::Allow => {
            draft.sealed.get_or_insert_with(|| item.path.clone());
            other(draft, kind, text, item);
        }
        ("WebFetch", Some(inner)) => match inner.strip_prefix("domain:") {
            Some(host) if kind == Kind::Allow => hosts::allow(draft, host, item, WEB),
            Some(host) => hosts::deny(draft, host, item),
            None => other(draft, kind, text, item),
        },
        _ => other(draft, kind, text, item),
    }
}

/// An edit rule may name the workspace, which is writable anyway.
fn edit(draft: &mut Draft, path: &str, item: &Item<'_>) {
    if files::place(path) != Place::Workspace {
        files::write(draft, path, item);
    }
}

fn withdrawn(draft: &mut Draft, item: &Item<'_>) {
    draft.leave(
        item,
        "a rule that names the tool alone comes before it, so it is not granted",
        "",
    );
}

/// A rule about something that is no file and no machine.
fn other(draft: &mut Draft, kind: Kind, text: &str, item: &Item<'_>) {
    let tool = text.split('(').next().unwrap_or(text);
    let what = match tool {
        "Read" | "Edit" | "Write" => "a rule without a path is not carried over",
        "WebFetch" | "WebSearch" => "a rule without a machine is not carried over",
        _ if tool.starts_with("mcp__") => "what a server of tools is asked is not decided here",
        _ => "files and machines are decided here, not commands or tools",
    };
    let means = match kind {
        Kind::Allow => "so nothing is granted by it",
        Kind::Ask => "and nobody is asked, so this is NOT held back",
        Kind::Deny => "so this is NOT denied",
    };
    let instead = match (tool, kind) {
        ("Read" | "Edit" | "Write", Kind::Allow) => "name the paths in [filesystem]",
        ("WebFetch" | "WebSearch", Kind::Allow) => "name the machines in [network] allow",
        (_, Kind::Allow) => "",
        _ => "keep the rule in the agent's own settings, and allow only what the work needs",
    };
    draft.leave(item, format!("\"{text}\": {what}, {means}"), instead);
}
