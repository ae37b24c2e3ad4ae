//! Secrets that a program uses without having them.
//!
//! Decision: what stands in the policy is where a secret comes from and whom it may be shown to, and
//! never the secret. Such an entry has its place in the user's own policy and the system's alone: a
//! project that could name the machine could have the secret.

use bailiwick_event::{HostPattern, PatternHost, Ports, Text, closest};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::path::PathBuf;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where a secret comes from; it is read on the host when a run starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretSource {
    /// A variable of the caller.
    Env(String),
    /// A file; the line ends at its end are left out.
    File(PathBuf),
    /// What a command prints; it runs on the host.
    Command(Vec<String>),
}

/// Where in a request a secret may stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SecretPlace {
    /// In a header, also within the Basic scheme.
    Header,
    /// In the query of the URL.
    Query,
    /// In the body.
    Body,
}

impl SecretPlace {
    /// Every place and its name.
    pub const ALL: [(Self, &'static str); 3] = [
        (Self::Header, "header"),
        (Self::Query, "query"),
        (Self::Body, "body"),
    ];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// One of `[[secrets]]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SecretRule {
    /// Its name: the variable that holds what stands for it inside.
    pub name: String,
    /// Where it comes from.
    pub from: SecretSource,
    /// Whom it may be shown to; without a port only by TLS, at 443.
    pub hosts: Vec<HostPattern>,
    /// Where it may stand.
    pub places: Vec<SecretPlace>,
    /// The user name by which git logs in at those machines with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub git_user: Option<String>,
}

/// A mistake: where, what, and how to mend it.
pub(crate) type Mistake = (Range<usize>, String, String);

/// The keys of one table, for messages and the reference: name, example, meaning.
pub(crate) const KEYS: [(&str, &str, &str); 5] = [
    (
        "name",
        r#""ANTHROPIC_API_KEY""#,
        "Its name: inside, the variable of this name holds a text of the same shape that stands for the secret.",
    ),
    (
        "from",
        r#"{ env = "ANTHROPIC_API_KEY" }"#,
        "Where it comes from, on the host: `env = \"NAME\"`, `file = \"~/.config/key\"` or `command = [\"pass\", \"show\", \"key\"]`; `\"env\"` alone is the variable of the same name.",
    ),
    (
        "hosts",
        r#"["api.anthropic.com"]"#,
        "Whom it is shown to, as in `network.allow`, which must allow them too. Without a port only by TLS, at port 443.",
    ),
    (
        "in",
        r#"["header"]"#,
        "Where in a request it may stand: `header` (the default; also within the Basic scheme), `query`, `body`.",
    ),
    (
        "git_user",
        r#""x-access-token""#,
        "The user name by which git logs in with it where those machines ask for one.",
    ),
];

type Item<'a> = Spanned<DeValue<'a>>;

fn text(item: &Item<'_>) -> Option<String> {
    match item.get_ref() {
        DeValue::String(text) => Some(text.to_string()),
        _ => None,
    }
}

fn texts(item: &Item<'_>) -> Option<Vec<(String, Range<usize>)>> {
    match item.get_ref() {
        DeValue::Array(array) => {
            let one = |item: &Item<'_>| Some((text(item)?, item.span()));
            array.iter().map(one).collect()
        }
        _ => None,
    }
}

fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    let first = bytes.next();
    first.is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Reads one of `[[secrets]]`.
pub(crate) fn read(table: &DeTable<'_>, at: Range<usize>) -> Result<SecretRule, Vec<Mistake>> {
    let mut found = Vec::new();
    let mut wrong = |span: Range<usize>, message: String, help: String| {
        found.push((span, message, help));
    };
    let wants = |key: &str| {
        let known = KEYS.iter().find(|(name, ..)| *name == key);
        known.map_or(String::new(), |(name, example, _)| {
            format!("write {name} = {example}")
        })
    };
    let (mut name, mut from, mut hosts, mut places, mut git_user) = (None, None, None, None, None);
    for (key, item) in table.iter() {
        let span = item.span();
        let key_name = key.get_ref().as_ref();
        let mistake = || format!("`secrets.{key_name}` is not of that type");
        match key_name {
            "name" => match text(item).filter(|name| is_name(name)) {
                Some(text) => name = Some(text),
                None => wrong(
                    span,
                    "a secret's name is that of a variable".into(),
                    wants("name"),
                ),
            },
            "from" => match source(item) {
                Ok(source) => from = Some(source),
                Err(message) => wrong(span, message, wants("from")),
            },
            "hosts" => {
                let Some(all) = texts(item).filter(|all| !all.is_empty()) else {
                    wrong(span, mistake(), wants("hosts"));
                    continue;
                };
                let mut patterns = Vec::new();
                for (text, span) in all {
                    match host(&text) {
                        Ok(pattern) => patterns.push(pattern),
                        Err(help) => {
                            let shown = Text::from(&*text);
                            wrong(
                                span,
                                format!("\"{shown}\" names no machine for a secret"),
                                help,
                            );
                        }
                    }
                }
                hosts = Some(patterns);
            }
            "in" => {
                let all = texts(item).filter(|all| !all.is_empty());
                let place = |(text, _): &(String, _)| {
                    let found = SecretPlace::ALL.iter().find(|(_, name)| name == text);
                    found.map(|(place, _)| *place)
                };
                match all.and_then(|all| all.iter().map(place).collect::<Option<Vec<_>>>()) {
                    Some(mut all) => {
                        all.sort_unstable();
                        all.dedup();
                        places = Some(all);
                    }
                    None => wrong(
                        span,
                        "`secrets.in` is a list of header, query and body".into(),
                        wants("in"),
                    ),
                }
            }
            "git_user" => match text(item).filter(|user| {
                !user.is_empty()
                    && !user.contains(|c: char| c.is_control() || "'\"\\$`".contains(c))
            }) {
                Some(user) => git_user = Some(user),
                None => wrong(span, mistake(), wants("git_user")),
            },
            other => {
                let near = closest(other, KEYS.iter().map(|(name, ..)| *name));
                let help = near.map_or_else(
                    || "known here: `name`, `from`, `hosts`, `in`, `git_user`".to_owned(),
                    |near| format!("did you mean `{near}`?"),
                );
                let shown = Text::from(other);
                wrong(
                    key.span(),
                    format!("[[secrets]] has no key \"{shown}\""),
                    help,
                );
            }
        }
    }
    // What is missing may be what another mistake meant.
    let meant = !found.is_empty();
    let mut wrong = |span: Range<usize>, message: String, help: String| {
        found.push((span, message, help));
    };
    for (key, there) in [
        ("name", table.contains_key("name")),
        ("from", table.contains_key("from")),
        ("hosts", table.contains_key("hosts")),
    ] {
        if !there && !meant {
            wrong(at.clone(), format!("a secret needs `{key}`"), wants(key));
        }
    }
    // `from = "env"` is the variable of the secret's own name.
    let from = from.map(|from| match (from, &name) {
        (SecretSource::Env(variable), Some(name)) if variable.is_empty() => {
            SecretSource::Env(name.clone())
        }
        (from, _) => from,
    });
    match (name, from, hosts) {
        (Some(name), Some(from), Some(hosts)) if found.is_empty() => Ok(SecretRule {
            name,
            from,
            hosts,
            places: places.unwrap_or_else(|| vec![SecretPlace::Header]),
            git_user,
        }),
        _ => Err(found),
    }
}

fn host(text: &str) -> Result<HostPattern, String> {
    let pattern = text.parse::<HostPattern>()?;
    match (&pattern.host, pattern.ports) {
        (PatternHost::Any | PatternHost::Network(..), _) => {
            Err("write the machine's name: a secret is for those who may have it".into())
        }
        (_, Ports::All) => Err("write the port: a secret is shown at one".into()),
        _ => Ok(pattern),
    }
}

fn source(item: &Item<'_>) -> Result<SecretSource, String> {
    if text(item).as_deref() == Some("env") {
        return Ok(SecretSource::Env(String::new()));
    }
    let wrong = || "`secrets.from` is one of env, file and command".to_owned();
    let DeValue::Table(table) = item.get_ref() else {
        return Err(wrong());
    };
    let mut all = table.iter();
    let (Some((kind, value)), None) = (all.next(), all.next()) else {
        return Err(wrong());
    };
    match (kind.get_ref().as_ref(), text(value), texts(value)) {
        ("env", Some(name), _) if is_name(&name) => Ok(SecretSource::Env(name)),
        ("file", Some(path), _) if !path.is_empty() && !path.contains(['*', '?', '[']) => {
            Ok(SecretSource::File(path.into()))
        }
        ("command", _, Some(words)) if !words.is_empty() => Ok(SecretSource::Command(
            words.into_iter().map(|(w, _)| w).collect(),
        )),
        _ => Err(wrong()),
    }
}
