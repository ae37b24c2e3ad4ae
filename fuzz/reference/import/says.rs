//! What a configuration grants and denies, read from the tools' documentation: each list entry
//! with the key that it stands at. The whole file is a tree that other libraries have read.

use super::glob::{Glob, HOME, WORKSPACE};
use bailiwick_event::Host;
use bailiwick_policy::Tool;
use serde_json::Value;

/// An entry of a list.
pub struct Entry {
    /// The file (0 is the one that is imported, 1 what it extends) and the key.
    pub key: (usize, String),
    pub text: String,
    pub glob: Glob,
}

/// A machine, and what the tool that has the entry makes of one without a port.
pub struct Machine {
    pub key: (usize, String),
    pub text: String,
    pub ports: bool,
    pub web: bool,
}

#[derive(Default)]
pub struct Says {
    pub allow: Vec<Machine>,
    pub deny: Vec<Machine>,
    pub read: Vec<Entry>,
    pub write: Vec<Entry>,
    pub deny_read: Vec<Entry>,
    pub deny_write: Vec<Entry>,
    /// Variables that are set.
    pub set: Vec<(String, Value)>,
    /// Variables that pass.
    pub pass: Vec<(String, String)>,
    /// The workspace is writable without an entry.
    pub workspace: bool,
    /// Nothing of the workspace is.
    pub sealed: bool,
    /// Everything is granted.
    pub everything: bool,
    /// Every machine at every port.
    pub network: bool,
    /// Every entry that writes keeps these folders below it.
    pub kept: &'static [&'static str],
    /// A template of the tool's grants what is not looked at here.
    pub template: bool,
    pub local_ports: Vec<u16>,
}

/// The elements of a list at a key, with their own keys.
fn texts(table: &Value, key: &str, path: &str) -> Vec<(String, String)> {
    let list = table.get(key).and_then(Value::as_array);
    let texts = list.into_iter().flatten().enumerate();
    texts
        .filter_map(|(i, value)| Some((format!("{path}{key}[{i}]"), value.as_str()?.to_owned())))
        .collect()
}

impl Says {
    /// Reads a configuration; `files` are its tree and what it extends, the latter last. `own`:
    /// it lies in the agent's folder in the home directory.
    pub fn of(tool: Tool, files: &[&Value], own: bool) -> Self {
        let mut says = Self::default();
        match tool {
            Tool::Fence => says.fence(files),
            Tool::Srt => says.runtime(0, files[0], "", &|text| (text.to_owned(), WORKSPACE)),
            Tool::Claude => says.claude(files[0], own),
            Tool::Codex => says.codex(files[0]),
        }
        says
    }

    fn entries(
        &mut self,
        (file, table, path): (usize, &Value, &str),
        at: &dyn Fn(&str) -> (String, &'static str),
    ) {
        let lists = [
            ("allowRead", &mut self.read),
            ("allowWrite", &mut self.write),
            ("denyRead", &mut self.deny_read),
            ("denyWrite", &mut self.deny_write),
        ];
        for (key, list) in lists {
            list.extend(texts(table, key, path).into_iter().map(|(key, text)| {
                let (whole, folder) = at(&text);
                Entry {
                    key: (file, key),
                    glob: Glob::new(&whole, folder, false),
                    text,
                }
            }));
        }
    }

    fn machines(&mut self, (file, table, path): (usize, &Value, &str), ports: bool) {
        for (key, list) in [
            ("allowedDomains", &mut self.allow),
            ("deniedDomains", &mut self.deny),
        ] {
            list.extend(
                texts(table, key, path)
                    .into_iter()
                    .map(|(key, text)| Machine {
                        key: (file, key),
                        text,
                        ports,
                        web: false,
                    }),
            );
        }
    }

    /// The settings of the sandbox runtime, which Claude Code has as a block.
    fn runtime(
        &mut self,
        file: usize,
        table: &Value,
        path: &str,
        at: &dyn Fn(&str) -> (String, &'static str),
    ) {
        self.entries(
            (file, &table["filesystem"], &format!("{path}filesystem.")),
            at,
        );
        self.machines((file, &table["network"], &format!("{path}network.")), true);
        // A machine's `*` means nothing to it.
        self.allow
            .retain(|m| m.text != "*" && !m.text.starts_with("*:"));
    }

    fn fence(&mut self, files: &[&Value]) {
        let (mut local, mut binding) = (None, false);
        // The file itself comes last, so that what it says of a flag holds.
        for (file, table) in files.iter().enumerate().rev() {
            self.entries((file, &table["filesystem"], "filesystem."), &|text| {
                (text.to_owned(), WORKSPACE)
            });
            let network = &table["network"];
            self.machines((file, network, "network."), false);
            local = network["allowLocalOutbound"].as_bool().or(local);
            binding |= network["allowLocalBinding"] == true;
            let ports = network["allowLocalOutboundPorts"].as_array();
            let ports = ports.into_iter().flatten().filter_map(Value::as_u64);
            self.local_ports
                .extend(ports.filter_map(|port| u16::try_from(port).ok()));
            let extends = table["extends"].as_str().unwrap_or("");
            self.template |= !extends.is_empty() && extends != "@base" && !extends.contains('/');
        }
        if !self.template && !local.unwrap_or(binding) {
            self.local_ports.clear();
        }
    }

    fn claude(&mut self, whole: &Value, own: bool) {
        let block = |text: &str| match text.strip_prefix("//") {
            Some(rest) => (format!("/{rest}"), WORKSPACE),
            None if own => (text.to_owned(), "/nonexistent/home/.claude"),
            None => (text.to_owned(), WORKSPACE),
        };
        self.runtime(0, &whole["sandbox"], "sandbox.", &block);
        let rule = |text: &str| match (text.strip_prefix("//"), text.strip_prefix('/')) {
            (Some(rest), _) => format!("/{rest}"),
            (_, Some(rest)) if own => format!("{HOME}/.claude/{rest}"),
            (_, Some(rest)) => format!("./{rest}"),
            _ => text.to_owned(),
        };
        let permissions = &whole["permissions"];
        let plan = permissions["defaultMode"] == "plan";
        let list = |name| texts(permissions, name, "permissions.");
        let narrow: Vec<_> = list("ask").into_iter().chain(list("deny")).collect();
        let bare = |tools: &[&str]| {
            narrow
                .iter()
                .any(|(_, text)| tools.contains(&text.as_str()))
        };
        let (no_edit, no_web) = (
            plan || bare(&["Edit", "Write", "*"]),
            bare(&["WebFetch", "*"]),
        );
        let no_read = bare(&["Read", "*"]);
        for (grants, (key, text)) in list("allow")
            .into_iter()
            .map(|r| (true, r))
            .chain(narrow.iter().cloned().map(|r| (false, r)))
        {
            let Some((name, inner)) = text.strip_suffix(')').and_then(|text| text.split_once('('))
            else {
                continue;
            };
            let key = (0, key);
            if name == "WebFetch"
                && let Some(host) = inner.strip_prefix("domain:")
            {
                let machine = Machine {
                    key,
                    text: host.to_owned(),
                    ports: false,
                    web: true,
                };
                match grants {
                    true if no_web => {}
                    true => self.allow.push(machine),
                    false => self.deny.push(machine),
                }
                continue;
            }
            let glob = Glob::new(&rule(inner), WORKSPACE, false);
            let entry = Entry {
                key,
                text: inner.to_owned(),
                glob,
            };
            match (name, grants) {
                ("Read", true) if !no_read => self.read.push(entry),
                ("Read", false) => self.deny_read.push(entry),
                ("Edit" | "Write", true) if !no_edit => self.write.push(entry),
                ("Edit" | "Write", false) => self.deny_write.push(entry),
                _ => {}
            }
        }
        let more = texts(permissions, "additionalDirectories", "permissions.");
        let more = more.into_iter().map(|(key, text)| Entry {
            key: (0, key),
            glob: Glob::new(&text, WORKSPACE, false),
            text,
        });
        match plan {
            true => self.read.extend(more),
            false => self.write.extend(more),
        }
        self.workspace = !no_edit;
        self.sealed = no_edit;
        self.variables(&whole["env"]);
    }

    fn codex(&mut self, whole: &Value) {
        let chosen = whole["profile"]
            .as_str()
            .map(|name| &whole["profiles"][name]);
        let own = chosen.and_then(|profile| profile["sandbox_mode"].as_str());
        let mode = own
            .or(whole["sandbox_mode"].as_str())
            .unwrap_or("read-only");
        self.everything = mode == "danger-full-access";
        if mode == "workspace-write" {
            self.workspace = true;
            self.kept = &[".git", ".codex", ".agents"];
            let table = &whole["sandbox_workspace_write"];
            self.network = table["network_access"] == true;
            let roots = texts(table, "writable_roots", "sandbox_workspace_write.");
            self.write
                .extend(roots.into_iter().map(|(key, text)| Entry {
                    key: (0, key),
                    glob: Glob::new(&text, WORKSPACE, true),
                    text,
                }));
        }
        let environment = &whole["shell_environment_policy"];
        self.variables(&environment["set"]);
        let exclude = texts(environment, "exclude", "");
        let secrets = environment["ignore_default_excludes"] == true;
        let inherit = environment["inherit"].as_str().unwrap_or("all");
        self.pass = texts(environment, "include_only", "shell_environment_policy.");
        self.pass.retain(|(_, name)| {
            let upper = name.to_ascii_uppercase();
            let secret = ["KEY", "SECRET", "TOKEN"]
                .iter()
                .any(|word| upper.contains(word));
            let out = |pattern: &str| fits(&pattern.to_ascii_uppercase(), &upper);
            let excluded = exclude.iter().any(|(_, pattern)| out(pattern));
            let core = [
                "HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME", "TMPDIR", "TEMP", "TMP",
            ];
            let inherited = inherit == "all" || inherit == "core" && core.contains(&name.as_str());
            inherited && (secrets || !secret) && !excluded
        });
    }

    fn variables(&mut self, table: &Value) {
        let pairs = table.as_object().into_iter().flatten();
        self.set
            .extend(pairs.map(|(name, value)| (name.clone(), value.clone())));
    }

    /// Whether the tool lets a path be written.
    pub fn writes(&self, path: &str) -> bool {
        if self.everything {
            return true;
        }
        let below = |folder: &str| path == folder || path.starts_with(&format!("{folder}/"));
        if below(WORKSPACE) && self.sealed
            || self.deny_write.iter().any(|e| e.glob.covers(path, false))
        {
            return false;
        }
        let keeps = |rest: &str| {
            let first = rest.trim_start_matches('/').split('/').next();
            self.kept.iter().any(|name| first == Some(name))
        };
        // Of a root that is kept, whatever root the path is reached by.
        let kept_of_workspace = path.strip_prefix(WORKSPACE).is_some_and(keeps);
        let kept_of_root = |entry: &Entry| {
            self.kept.iter().any(|name| {
                let glob = Glob::new(&format!("{}/{name}", entry.text), WORKSPACE, true);
                glob.covers(path, false)
            })
        };
        let kept = self.workspace && kept_of_workspace || self.write.iter().any(kept_of_root);
        let named = self.write.iter().any(|e| e.glob.covers(path, true));
        !kept && (self.template || named || self.workspace && below(WORKSPACE))
    }

    /// Whether the tool forbids to read a path, whatever else it says.
    pub fn hides(&self, path: &str) -> bool {
        let denied = |e: &Entry| {
            let rule = !e.key.1.contains("denyRead");
            let excepted = !rule && self.read.iter().any(|r| r.glob.covers(path, true));
            e.glob.covers(path, false) && !excepted
        };
        self.deny_read.iter().any(denied)
    }

    /// Whether an entry speaks for a path to be seen at all.
    pub fn names(&self, path: &str) -> bool {
        let all = || self.read.iter().chain(&self.write);
        self.template || all().any(|e| e.glob.covers(path, true))
    }

    /// Whether the tool lets a machine be reached.
    pub fn reaches(&self, host: &Host, port: u16) -> bool {
        let local = self.local_ports.contains(&port) && is_here(host);
        let named = self.allow.iter().any(|m| m.allows(host, port));
        let granted = self.everything || self.network || self.template || local || named;
        granted && !self.deny.iter().any(|m| m.denies(host, port))
    }
}

/// Names and addresses that programs use for this machine alike.
fn is_here(host: &Host) -> bool {
    let text = host.to_string();
    text == "localhost"
        || text.ends_with(".localhost")
        || ["127.0.0.1", "::1", "0.0.0.0", "::"].contains(&text.as_str())
}

impl Machine {
    /// The name, and the port where one stands behind it.
    pub fn split(&self) -> (&str, Option<u16>) {
        let colons = self.text.matches(':').count();
        let port = self
            .text
            .rsplit_once(':')
            .filter(|(name, _)| colons == 1 || name.ends_with(']'));
        let number = |text: &str| {
            text.parse()
                .ok()
                .filter(|_| text.bytes().all(|b| b.is_ascii_digit()))
        };
        match port.map(|(name, port)| (name, number(port))) {
            Some((name, Some(port))) => (name, Some(port)),
            _ => (&self.text, None),
        }
    }

    fn allows(&self, host: &Host, port: u16) -> bool {
        let (name, own) = self.split();
        let ports = match own {
            Some(own) => self.ports && own == port,
            None => !self.web || port == 80 || port == 443,
        };
        ports
            && match name.strip_prefix("*.").map(Host::parse) {
                Some(Ok(above)) => below(&above, host),
                Some(Err(_)) => false,
                None if name == "*" => true,
                None => Host::parse(name)
                    .is_ok_and(|own| own == *host || is_here(&own) && is_here(host)),
            }
    }

    fn denies(&self, host: &Host, port: u16) -> bool {
        let (name, own) = self.split();
        if own.is_some_and(|own| own != port) {
            return false;
        }
        if !name.contains('*') {
            return Host::parse(name).is_ok_and(|own| own == *host);
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-*".contains(c);
        let host = host.to_string();
        name.chars().all(plain) && fits(name.to_ascii_lowercase().trim_end_matches('.'), &host)
    }
}

fn below(above: &Host, host: &Host) -> bool {
    host.ip().is_none() && host.to_string().ends_with(&format!(".{above}"))
}

/// Whether a text has the form of a pattern in which `*` stands for any characters.
fn fits(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
            let ends = (0..=text.len()).filter(|n| text.is_char_boundary(*n));
            ends.into_iter().any(|n| fits(rest, &text[n..]))
        }),
    }
}
