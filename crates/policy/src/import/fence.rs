//! Fence's configuration. Of a file and what it extends, lists add up and a flag holds if any of
//! them has it, so each is read into the same draft.

use super::draft::{Draft, Line};
use super::fence_templates::{self, TEMPLATES, Template};
use super::hosts::{self, Dialect};
use super::left_out::LeftOut;
use super::tree::{Item, Value};
use super::{Read, files, identity, jsonc, srt};
use crate::keys::KeyId;
use crate::request::Request;
use crate::source_text::ReadError;
use bailiwick_event::{Text, closest};
use std::path::PathBuf;
use std::sync::Arc;

/// How many files may extend one another, as in Fence itself.
const MAX_DEPTH: usize = 10;

/// Fence's words for machines: no ports, every port is meant, and `*` is everything.
const DIALECT: Dialect = Dialect {
    ports: false,
    any: true,
    every_port: true,
};

const COMMAND: &str =
    "files and machines are decided here, not command lines: this command is NOT denied";

/// Why a key of the network is not in the policy, and what to do.
const NETWORK: &[(&str, &str, &str)] = &[
    (
        "upstreamProxy",
        "connections are made directly, not through another proxy",
        "",
    ),
    (
        "defaultAction",
        "what nothing allows is refused, never handed to another proxy",
        "name the machines in [network] allow",
    ),
];

/// Why another key is not in the policy, and what to do.
const OTHERS: &[(&str, &str, &str)] = &[
    ("$schema", "it is a matter of editors", ""),
    (
        "allowPty",
        "every sandbox has a terminal of its own where the caller has one",
        "",
    ),
    (
        "forceNewSession",
        "every sandbox has a session of its own",
        "",
    ),
    (
        "devices",
        "every sandbox has the ordinary devices of its own and no others",
        "",
    ),
    ("macos", "it is a matter of macOS", ""),
    (
        "ports",
        "ports are not published by an import",
        "write them in [network] publish, like \"127.0.0.1:3000:3000\"",
    ),
    (
        "ssh",
        "what is run over ssh is not decided here, so its hosts are not allowed for it",
        "to allow connections, add \"host:22\" to [network] allow",
    ),
];

/// Where the files are that a configuration extends.
pub(super) struct Around<'a> {
    pub(super) request: &'a Request,
    pub(super) read: &'a Read,
}

/// What only the whole chain of files tells.
#[derive(Default)]
struct Chain {
    local: Option<bool>,
    binding: bool,
    closed: bool,
    ports: Vec<Line>,
}

/// Reads a configuration and what it extends; `open` are the files that are being read.
pub(super) fn read(draft: &mut Draft, whole: &Item<'_>, around: &Around<'_>, open: &[PathBuf]) {
    let mut chain = Chain::default();
    one(draft, whole, around, open, &mut chain);
    settle_ports(draft, whole, &mut chain);
    if !chain.closed {
        srt::reading(draft, whole, "Fence");
    }
}

fn one(
    draft: &mut Draft,
    whole: &Item<'_>,
    around: &Around<'_>,
    open: &[PathBuf],
    chain: &mut Chain,
) {
    if let Some(item) = whole.key("extends")
        && let Some(text) = draft.word(&item)
        && !text.is_empty()
    {
        extended(draft, text, &item, around, open, chain);
    }
    for (name, item) in whole.keys() {
        match name {
            "extends" => {}
            "network" => network(draft, &item, chain),
            "filesystem" => filesystem(draft, &item, chain),
            "command" => command(draft, &item),
            "ssh" => {
                for (_, item) in draft.table(&item) {
                    srt::leave(draft, "ssh", &item, OTHERS);
                }
            }
            _ => srt::leave(draft, name, &item, OTHERS),
        }
    }
}

fn network(draft: &mut Draft, table: &Item<'_>, chain: &mut Chain) {
    for (name, item) in table.keys() {
        match name {
            "allowLocalBinding" => chain.binding |= draft.flag(&item).unwrap_or_default(),
            "allowLocalOutbound" => chain.local = draft.flag(&item).or(chain.local),
            "allowLocalOutboundPorts" => {
                if !matches!(item.node.value, Value::List(_)) {
                    draft.texts(&item);
                }
                for port in item.elements() {
                    local_port(draft, &port, chain);
                }
            }
            _ => {}
        }
    }
    let read = ["allowLocalOutbound", "allowLocalOutboundPorts"];
    srt::network(draft, table, DIALECT, &read, NETWORK);
}

fn local_port(draft: &mut Draft, item: &Item<'_>, chain: &mut Chain) {
    let port = match &item.node.value {
        Value::Number(text) => text.parse::<u16>().ok().filter(|port| *port != 0),
        _ => None,
    };
    match port {
        None => draft
            .wrong
            .push(item.error("this is no port", "write a number from 1 to 65535")),
        Some(port) => chain.ports.push(Line {
            key: KeyId::NetworkAllow,
            name: None,
            value: format!("localhost:{port}"),
            from: item.path.clone(),
            origin: item.origin(),
        }),
    }
}

/// Decides about this machine's own ports, which a later file of the chain may close again.
fn settle_ports(draft: &mut Draft, whole: &Item<'_>, chain: &mut Chain) {
    let local = chain.local.unwrap_or(chain.binding);
    if local && chain.ports.is_empty() {
        draft.leave(
            &whole.key("network").unwrap_or_else(|| whole.clone()),
            "no port of this machine is named in `allowLocalOutboundPorts`, so none can be reached",
            "add the ports to [network] allow, like \"localhost:5432\"",
        );
    }
    for line in std::mem::take(&mut chain.ports) {
        if local {
            draft.lines.push(line);
        } else {
            draft.left.push(LeftOut {
                origin: line.origin,
                key: line.from,
                why: "without `allowLocalOutbound` it has no effect, so it is not allowed"
                    .to_owned(),
                instead: String::new(),
            });
        }
    }
}

fn filesystem(draft: &mut Draft, table: &Item<'_>, chain: &mut Chain) {
    for (name, item) in draft.table(table) {
        match name {
            "allowWrite" | "denyWrite" | "allowRead" | "denyRead" => {
                for (text, item) in draft.texts(&item) {
                    match name {
                        "allowWrite" => files::write(draft, text, &item),
                        "denyWrite" => files::protect(draft, text, &item),
                        "allowRead" => files::read(draft, text, &item),
                        _ => files::deny(draft, text, &item),
                    }
                }
            }
            "defaultDenyRead" => chain.closed |= draft.flag(&item).unwrap_or_default(),
            "strictDenyRead" => {
                if draft.flag(&item).unwrap_or_default() {
                    chain.closed = true;
                    draft.leave(
                        &item,
                        "the system's programs and libraries stay readable",
                        "name in [filesystem] deny what of them must not be read",
                    );
                }
            }
            "allowExecute" => {
                for (_, item) in draft.texts(&item) {
                    draft.leave(
                        &item,
                        "what may be executed may also be listed and read here, so it is not granted",
                        "add it to [filesystem] read if that is meant",
                    );
                }
            }
            "allowGitConfig" => draft.leave(
                &item,
                "git's configuration is protected by the template, and no policy can take that back",
                "configure git outside the sandbox; to let it be read, add ~/.gitconfig to [filesystem] read",
            ),
            "wslInterop" => draft.leave(
                &item,
                "nothing is opened for Windows programs by itself",
                "add \"/init\" to [filesystem] read if they are needed",
            ),
            _ => srt::leave(draft, name, &item, &[]),
        }
    }
}

fn command(draft: &mut Draft, table: &Item<'_>) {
    for (name, item) in draft.table(table) {
        match name {
            "deny" => {
                for (text, item) in draft.texts(&item) {
                    draft.leave(&item, format!("\"{text}\": {COMMAND}"), "allow only the machines and files that the work needs");
                }
            }
            "allow" => draft.leave(&item, "no command is denied, so none needs an exception", ""),
            "useDefaults" => draft.leave(
                &item,
                "files and machines are decided here, not command lines: Fence's default commands are NOT denied",
                "a sandbox has no authority over the system that they could use",
            ),
            _ => draft.leave(&item, "files and machines are decided here, not command lines", ""),
        }
    }
}

fn extended(
    draft: &mut Draft,
    text: &str,
    item: &Item<'_>,
    around: &Around<'_>,
    open: &[PathBuf],
    chain: &mut Chain,
) {
    if open.len() > MAX_DEPTH {
        draft.wrong.push(item.error(
            format!("more than {MAX_DEPTH} files extend one another"),
            "extend fewer",
        ));
        return;
    }
    let path = if text == "@base" {
        let Some(path) = user_file(around) else {
            draft.leave(item, "there is no configuration of your own to extend", "");
            return;
        };
        path
    } else if text.contains(['/', '\\']) || text.starts_with('.') {
        let folder = open.last().and_then(|file| file.parent());
        folder.unwrap_or(&around.request.cwd).join(text)
    } else {
        template(draft, text.trim_end_matches(".json"), item, chain);
        return;
    };
    let shown = around.request.shown(&path);
    let source = match (around.read)(&path, &shown) {
        Ok(source) => Arc::new(source),
        Err(why) => {
            draft.wrong.push(item.error(
                format!("{} cannot be read: {why}", Text::from(shown)),
                "a path in `extends` is relative to the file that it stands in",
            ));
            return;
        }
    };
    let id = identity(&source);
    if open.contains(&id) {
        draft.wrong.push(item.error(
            "the files extend one another in a circle",
            "remove this key",
        ));
        return;
    }
    match jsonc::read(&source) {
        Ok(node) => {
            let whole = Item::whole(&source, &node);
            draft.table(&whole);
            let open: Vec<_> = open.iter().cloned().chain([id]).collect();
            one(draft, &whole, around, &open, chain);
        }
        Err(found) => draft.wrong.push(found),
    }
}

/// The file that Fence itself would read for this user.
fn user_file(around: &Around<'_>) -> Option<PathBuf> {
    let home = &around.request.home;
    let config = around
        .request
        .variable("XDG_CONFIG_HOME")
        .map_or_else(|| home.join(".config"), PathBuf::from);
    [
        config.join("fence/fence.jsonc"),
        config.join("fence/fence.json"),
        home.join(".fence.jsonc"),
        home.join(".fence.json"),
    ]
    .into_iter()
    .find(|path| {
        let found = (around.read)(path, "");
        !matches!(found, Err(ReadError::Missing | ReadError::NotAFile))
    })
}

fn template(draft: &mut Draft, name: &str, item: &Item<'_>, chain: &mut Chain) {
    let Some(found) = fence_templates::find(name) else {
        let near = closest(name, TEMPLATES.iter().map(|t| t.name));
        let help = match near {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => {
                let names: Vec<_> = TEMPLATES.iter().map(|t| t.name).collect();
                format!(
                    "known are {}; write a file as \"./base.json\"",
                    names.join(", ")
                )
            }
        };
        draft.wrong.push(item.error(
            format!(
                "Fence's template \"{}\" is not known here",
                Text::from(name)
            ),
            help,
        ));
        return;
    };
    let mut templates: Vec<&Template> = vec![found];
    while let Some(base) = templates.last().and_then(|t| t.extends)
        && let Some(base) = fence_templates::find(base)
    {
        templates.push(base);
    }
    for template in templates.into_iter().rev() {
        let at = |key: &str| Item {
            source: item.source,
            path: format!("extends \"{}\": {key}", template.name),
            node: item.node,
        };
        for text in template.allowed {
            hosts::allow(draft, text, &at("network.allowedDomains"), DIALECT);
        }
        for text in template.denied {
            hosts::deny(draft, text, &at("network.deniedDomains"));
        }
        for text in template.write {
            files::write(draft, text, &at("filesystem.allowWrite"));
        }
        for text in template.deny_write {
            files::protect(draft, text, &at("filesystem.denyWrite"));
        }
        for text in template.deny_read {
            files::deny(draft, text, &at("filesystem.denyRead"));
        }
        for (why, instead) in template.left {
            draft.leave(item, *why, *instead);
        }
        chain.closed |= template.default_deny_read;
        if template.local {
            chain.binding = true;
            chain.local = Some(true);
        }
    }
}
