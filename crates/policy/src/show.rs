//! The effective policy for people: a policy file that could be loaded again, with the line that
//! made each entry as a comment. What is shown may hold names that a stranger chose, so every
//! text is quoted in a way that neither TOML nor a terminal can take for anything else.

use crate::keys::{self, KeyId};
use crate::load::Loaded;
use crate::quantity::{show_size, show_time};
use crate::show_rules;
use crate::{PathEntry, SecretRule, SecretSource, Sourced};
use bailiwick_event::{Origin, Text};
use std::fmt::Write;

/// The effective policy as commented TOML: each entry with its line, each set with what it stands
/// for here, and the notices at the top.
#[must_use]
pub fn render_show(loaded: &Loaded) -> String {
    let effective = &loaded.effective;
    let mut page = Page {
        text: String::new(),
        section: "",
    };
    page.comment(&format!(
        "workspace: {}",
        Text::from(effective.workspace.as_os_str())
    ));
    let layers: Vec<String> = effective
        .layers
        .iter()
        .map(|l| Text::from(l.as_str()).to_string())
        .collect();
    page.comment(&format!("layers, strongest first: {}", layers.join(", ")));
    page.comment(&format!("hash: {}", effective.hash()));
    // A template is as good as whoever extends it.
    for source in &loaded.sources {
        if !source.trusted && source.path.is_some() {
            page.comment(&format!(
                "not trusted, so it and what it extends only narrow: {}",
                source.file
            ));
        }
    }
    for notice in &loaded.notices {
        for line in notice.lines() {
            page.comment(&format!("note: {line}"));
        }
    }
    for (key, enforces) in [(KeyId::Rules, true), (KeyId::Detections, false)] {
        let rules = effective.rules.iter();
        let of_key = rules.filter(|rule| rule.effect.action().is_some() == enforces);
        let shown = of_key.map(|rule| (show_rules::rule(rule), rule.origin.clone()));
        page.list(key, shown.collect());
    }
    let secrets = effective.secrets.iter();
    let secrets = secrets.map(|entry| (secret(&entry.value), entry.origin.clone()));
    page.list(KeyId::Secrets, secrets.collect());
    let files = &effective.filesystem;
    let shown = |list: &[PathEntry]| {
        list.iter()
            .map(|e| (quote(&path(e)), e.origin.clone()))
            .collect()
    };
    page.list(KeyId::Read, shown(&files.read));
    page.list(KeyId::Write, shown(&files.write));
    page.list(KeyId::Private, shown(&files.private));
    page.list(KeyId::Copy, shown(&files.copy));
    page.list(KeyId::Deny, shown(&files.deny));
    page.list(KeyId::Protect, shown(&files.protect));
    page.limit(KeyId::ProtectAbsent, files.protect_absent.as_ref(), |way| {
        quote(way.name())
    });
    page.limit(KeyId::HostPrograms, files.host_programs.as_ref(), |way| {
        quote(way.name())
    });
    page.list(KeyId::Ordinary, texts(&files.ordinary, Clone::clone));
    page.list(KeyId::Report, texts(&files.report, Clone::clone));
    let network = &effective.network;
    page.sets(loaded);
    page.list(
        KeyId::NetworkAllow,
        texts(&network.allow, ToString::to_string),
    );
    page.list(
        KeyId::NetworkDeny,
        texts(&network.deny, ToString::to_string),
    );
    page.list(
        KeyId::Publish,
        texts(&network.publish, |p| format!("{}:{}", p.listen, p.port)),
    );
    let rules = network
        .http
        .iter()
        .map(|r| (http(&r.value), r.origin.clone()))
        .collect();
    page.list(KeyId::Http, rules);
    let hosts = network.hosts.iter().map(|m| {
        (
            m.value.host.to_string(),
            m.value.address.to_string(),
            m.origin.clone(),
        )
    });
    page.table(KeyId::Hosts, hosts.collect());
    let inspect = network.inspect.iter().map(|entry| {
        let rule = &entry.value;
        let way = rule.inspect.name().to_owned();
        (rule.host.to_string(), way, entry.origin.clone())
    });
    page.table(KeyId::Inspect, inspect.collect());
    page.list(
        KeyId::Roots,
        texts(&network.roots, |path| path.display().to_string()),
    );
    page.limit(KeyId::BodyLimit, network.body_limit.as_ref(), |n| {
        quote(&show_size(*n))
    });
    page.limit(KeyId::BodyBeyond, network.body_beyond.as_ref(), |beyond| {
        quote(beyond.name())
    });
    page.list(
        KeyId::Resolvers,
        texts(&network.resolvers, ToString::to_string),
    );
    page.list(
        KeyId::KeepBodies,
        texts(&network.keep_bodies, ToString::to_string),
    );
    page.limit(KeyId::KeepLimit, network.keep_limit.as_ref(), |n| {
        quote(&show_size(*n))
    });
    page.list(
        KeyId::Pass,
        texts(&effective.environment.pass, Clone::clone),
    );
    let set = effective
        .environment
        .set
        .iter()
        .map(|(n, v)| (n.clone(), v.value.clone(), v.origin.clone()));
    page.table(KeyId::Set, set.collect());
    let ask = &effective.ask;
    page.limit(KeyId::AskDefault, ask.default.as_ref(), |default| {
        quote(default.name())
    });
    page.limit(KeyId::AskTimeout, ask.timeout.as_ref(), |time| {
        quote(&show_time(*time))
    });
    let limits = &effective.limits;
    page.limit(KeyId::Memory, limits.memory.as_ref(), |n| {
        quote(&show_size(*n))
    });
    page.limit(
        KeyId::Processes,
        limits.processes.as_ref(),
        ToString::to_string,
    );
    page.limit(KeyId::Cpu, limits.cpu.as_ref(), |n| {
        format!("{}.{:03}", n / 1000, n % 1000)
    });
    page.limit(KeyId::Wall, limits.wall.as_ref(), |t| quote(&show_time(*t)));
    page.limit(KeyId::FileSize, limits.file_size.as_ref(), |n| {
        quote(&show_size(*n))
    });
    page.limit(
        KeyId::OpenFiles,
        limits.open_files.as_ref(),
        ToString::to_string,
    );
    page.limit(KeyId::Disk, limits.disk.as_ref(), |n| quote(&show_size(*n)));
    page.limit(KeyId::Output, limits.output.as_ref(), |n| {
        quote(&show_size(*n))
    });
    page.list(KeyId::Require, texts(&effective.require, Clone::clone));
    page.list(
        KeyId::Capabilities,
        texts(&effective.capabilities, Clone::clone),
    );
    page.text
}

/// A pattern as it can be written again; a `*` that is part of a name is a class of itself.
fn path(entry: &PathEntry) -> String {
    let literal = |text: &str| {
        text.chars()
            .map(|c| match c {
                '*' | '?' | '[' => format!("[{c}]"),
                c => c.to_string(),
            })
            .collect::<String>()
    };
    match &entry.pattern {
        crate::PathPattern::Path(path) => literal(&path.to_string_lossy()),
        crate::PathPattern::Glob { root, glob } => format!(
            "{}/{glob}",
            literal(root.to_string_lossy().trim_end_matches('/'))
        ),
    }
}

fn texts<T>(list: &[Sourced<T>], show: impl Fn(&T) -> String) -> Vec<(String, Origin)> {
    list.iter()
        .map(|e| (quote(&show(&e.value)), e.origin.clone()))
        .collect()
}

/// A secret, as a policy has it: where it comes from, and never what it is.
fn secret(secret: &SecretRule) -> String {
    let list = |texts: &mut dyn Iterator<Item = String>| {
        let all: Vec<_> = texts.map(|text| quote(&text)).collect();
        format!("[{}]", all.join(", "))
    };
    let from = match &secret.from {
        SecretSource::Env(name) => format!("env = {}", quote(name)),
        SecretSource::File(path) => format!("file = {}", quote(&path.to_string_lossy())),
        SecretSource::Command(words) => format!("command = {}", list(&mut words.iter().cloned())),
    };
    let hosts = list(&mut secret.hosts.iter().map(ToString::to_string));
    let places = list(&mut secret.places.iter().map(|place| place.name().to_owned()));
    let git = secret.git_user.as_ref();
    let git = git.map_or(String::new(), |user| {
        format!(", git_user = {}", quote(user))
    });
    let name = quote(&secret.name);
    format!("{{ name = {name}, from = {{ {from} }}, hosts = {hosts}, in = {places}{git} }}")
}

fn http(rule: &crate::HttpRule) -> String {
    let list = |texts: &[String]| {
        texts
            .iter()
            .map(|t| quote(t))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut text = format!("{{ host = {}", quote(&rule.host.to_string()));
    for (name, values) in [("methods", &rule.methods), ("paths", &rule.paths)] {
        if !values.is_empty() {
            let _ = write!(text, ", {name} = [{}]", list(values));
        }
    }
    text + " }"
}

/// A TOML string in which everything that a terminal could obey is escaped.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        let as_is = c.to_string();
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            _ if Text::from(as_is.as_str()).to_string() == as_is => out.push(c),
            c => {
                let _ = write!(out, "\\U{:08X}", c as u32);
            }
        }
    }
    out + "\""
}

struct Page {
    text: String,
    section: &'static str,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn comment(&mut self, text: &str) {
        let safe: String = text.chars().filter(|c| !c.is_control()).collect();
        self.line(&format!("# {safe}"));
    }

    /// Opens a key's table, if it is not open.
    fn enter(&mut self, id: KeyId) -> &'static str {
        let key = keys::of(id);
        if self.section != key.section() {
            self.section = key.section();
            self.line(&format!("\n[{}]", key.section()));
        }
        key.name()
    }

    fn list(&mut self, id: KeyId, entries: Vec<(String, Origin)>) {
        if entries.is_empty() {
            return;
        }
        let name = self.enter(id);
        self.line(&format!("{name} = ["));
        let width = entries
            .iter()
            .map(|(t, _)| t.chars().count())
            .max()
            .unwrap_or(0)
            .min(48)
            + 1;
        for (text, origin) in entries {
            let text = format!("{text},");
            self.line(&format!("    {text:width$} # {origin}"));
        }
        self.line("]");
    }

    fn table(&mut self, id: KeyId, entries: Vec<(String, String, Origin)>) {
        if entries.is_empty() {
            return;
        }
        self.enter(id);
        // Dotted keys keep the table open for what follows.
        let name = keys::of(id).name();
        for (key, value, origin) in entries {
            self.line(&format!(
                "{name}.{} = {} # {origin}",
                quote(&key),
                quote(&value)
            ));
        }
    }

    fn limit<T>(&mut self, id: KeyId, limit: Option<&Sourced<T>>, show: impl Fn(&T) -> String) {
        if let Some(limit) = limit {
            let name = self.enter(id);
            self.line(&format!(
                "{name} = {} # {}",
                show(&limit.value),
                limit.origin
            ));
        }
    }

    fn sets(&mut self, loaded: &Loaded) {
        for set in &loaded.sets {
            self.enter(KeyId::NetworkAllow);
            self.comment(&format!("{} ({}) stands for:", set.name, set.origin));
            for (pattern, from) in &set.hosts {
                self.comment(&format!("    {pattern}, by {}", Text::from(from.as_str())));
            }
            for (pattern, from) in &set.left_out {
                let from = Text::from(from.as_str());
                self.comment(&format!(
                    "    not trusted, so left out: {pattern}, by {from}"
                ));
            }
        }
    }
}

#[cfg(test)]
#[path = "show_tests.rs"]
mod tests;
