//! Layers to one policy. Stronger layers are taken first; what a weaker one adds is asked here
//! whether it may: an untrusted project cannot widen anything, and nobody can widen what the
//! system locked. There is no other door into the effective policy.

use crate::cover::{allow_covers, path_covers};
use crate::effective::Words;
use crate::entry::{Entry, Value};
use crate::host_programs::{self, HostPrograms};
use crate::keys::{Effect, KeyId};
use crate::paths::{Bases, expand};
use crate::sets::SetName;
use crate::stack::Layer;
use crate::{Beyond, Effective, PathEntry, PathPattern, ProtectAbsent, SecretSource, Sourced};
use bailiwick_event::{HostPattern, Origin};
use bailiwick_rules::{Action, Rule};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Where an entry comes from, and what its layer may do.
#[derive(Clone, Debug)]
pub(crate) struct Giver {
    pub(crate) layer: Layer,
    /// False: the layer may only narrow.
    pub(crate) trusted: bool,
    pub(crate) bases: Bases,
}

/// A limit that a layer asks for; numbers and times alike, in the key's smallest unit.
#[derive(Clone, Debug)]
struct Wish {
    layer: Layer,
    trusted: bool,
    value: Value,
    origin: Origin,
}

/// A policy in the making.
pub(crate) struct Merge {
    pub(crate) effective: Effective,
    /// Sets that were asked for, strongest first, and by whom.
    pub(crate) sets: Vec<(SetName, Layer, Origin)>,
    locks: BTreeMap<KeyId, Origin>,
    wishes: BTreeMap<KeyId, Vec<Wish>>,
    /// What an untrusted project asked for, to be told if nobody else grants it.
    ignored: Vec<(Entry, Giver)>,
    /// What a lock refused: by lock and file, the key, the first place and how many.
    refused: BTreeMap<(KeyId, Arc<str>), (Origin, usize)>,
    /// Rules that an untrusted project gave, by name: any other layer's takes the place of one.
    untrusted_rules: BTreeSet<String>,
    /// Rules whose name another rule has.
    displaced: Vec<(Rule, Origin)>,
}

impl Merge {
    pub(crate) fn new(effective: Effective) -> Self {
        Self {
            effective,
            sets: Vec::new(),
            locks: BTreeMap::new(),
            wishes: BTreeMap::new(),
            ignored: Vec::new(),
            refused: BTreeMap::new(),
            untrusted_rules: BTreeSet::new(),
            displaced: Vec::new(),
        }
    }

    /// Locks a key; before any entry of a weaker layer is added.
    pub(crate) fn lock(&mut self, key: KeyId, origin: &Origin) {
        self.locks.entry(key).or_insert_with(|| origin.clone());
    }

    /// Where a key was locked.
    pub(crate) fn locked(&self, key: KeyId) -> Option<&Origin> {
        self.locks.get(&key)
    }

    /// Adds an entry; stronger layers first.
    pub(crate) fn add(&mut self, entry: &Entry, giver: &Giver) {
        if widens(entry) {
            if !giver.trusted {
                self.ignored.push((entry.clone(), giver.clone()));
                return;
            }
            if giver.layer != Layer::System
                && let Some(lock) = self.refusing_lock(entry, giver)
            {
                self.refuse(lock, &entry.origin);
                return;
            }
        }
        self.insert(entry, giver);
    }

    pub(crate) fn refuse(&mut self, lock: KeyId, origin: &Origin) {
        let first = || (origin.clone(), 0);
        let count = self
            .refused
            .entry((lock, Arc::clone(&origin.file)))
            .or_insert_with(first);
        count.1 += 1;
    }

    /// The locked key that an entry would widen.
    fn refusing_lock(&self, entry: &Entry, giver: &Giver) -> Option<KeyId> {
        let keys: &[KeyId] = match entry.key.id {
            KeyId::Write => &[KeyId::Write, KeyId::Read],
            KeyId::Http => &[KeyId::Http, KeyId::NetworkAllow],
            KeyId::Hosts => &[KeyId::Hosts, KeyId::NetworkAllow],
            _ => &[entry.key.id],
        };
        let locked = |key: &&KeyId| self.locks.contains_key(key);
        keys.iter()
            .filter(locked)
            .find(|key| !self.within(**key, entry, giver))
            .copied()
    }

    /// Whether the system itself grants what an entry asks for, by a locked key. While weaker
    /// layers are added, only what the system grants is in a locked list.
    fn within(&self, key: KeyId, entry: &Entry, giver: &Giver) -> bool {
        let files = &self.effective.filesystem;
        let network = &self.effective.network;
        let environment = &self.effective.environment;
        match &entry.value {
            Value::Text(text)
                if matches!(
                    key,
                    KeyId::Read | KeyId::Write | KeyId::Private | KeyId::Copy
                ) =>
            {
                let asked = expand(text, &giver.bases);
                let granting: &[&Vec<PathEntry>] = match key {
                    KeyId::Read => &[&files.read, &files.write],
                    KeyId::Write => &[&files.write],
                    KeyId::Copy => &[&files.copy, &files.read, &files.write],
                    _ => &[&files.private],
                };
                granting
                    .iter()
                    .copied()
                    .flatten()
                    .any(|g| path_covers(&g.pattern, &asked))
            }
            Value::Text(text) if key == KeyId::Roots => {
                let asked = expand(text, &giver.bases);
                (network.roots.iter()).any(|r| PathPattern::Path(r.value.clone()) == asked)
            }
            Value::Text(text) if key == KeyId::Capabilities => {
                (self.effective.capabilities.iter()).any(|held| held.value == *text)
            }
            Value::Text(text) if key == KeyId::Ordinary => {
                (files.ordinary.iter()).any(|held| held.value == *text)
            }
            Value::Text(text) => environment.pass.iter().any(|p| name_covers(&p.value, text)),
            Value::Variable(name, value) => environment
                .set
                .get(name)
                .is_some_and(|set| set.value == *value),
            Value::Host(host) if key == KeyId::KeepBodies => {
                network.keep_bodies.iter().any(|kept| kept.value == *host)
            }
            Value::Host(host) => self.network_grants(host),
            Value::Set(set) => self
                .sets
                .iter()
                .any(|(s, layer, _)| s == set && *layer == Layer::System),
            Value::Publish(publish) => network.publish.iter().any(|p| p.value == *publish),
            Value::Mapping(mapping) => network.hosts.iter().any(|m| m.value == *mapping),
            Value::Http(rule) if key == KeyId::Http => {
                network.http.iter().any(|r| r.value == *rule)
            }
            Value::Http(rule) => self.network_grants(&rule.host),
            Value::Rule(rule) => self.effective.rules.iter().any(|r| same_rule(r, rule)),
            Value::Secret(secret) => {
                (self.effective.secrets.iter()).any(|known| known.value == **secret)
            }
            Value::Inspect(rule) => network.inspect.iter().any(|r| r.value == *rule),
            Value::Resolver(address) => network.resolvers.iter().any(|r| r.value == *address),
            Value::Number(_) | Value::Time(_) => true,
        }
    }

    /// Whether `allow` grants a host already.
    pub(crate) fn network_grants(&self, host: &HostPattern) -> bool {
        self.effective
            .network
            .allow
            .iter()
            .any(|a| allow_covers(&a.value, host))
    }

    fn insert(&mut self, entry: &Entry, giver: &Giver) {
        let origin = &entry.origin;
        let network = &mut self.effective.network;
        match (&entry.value, entry.key.id) {
            (Value::Text(text), KeyId::Pass) => {
                if !self
                    .effective
                    .environment
                    .pass
                    .iter()
                    .any(|p| p.value == *text)
                {
                    self.effective.environment.pass.push(sourced(text, origin));
                }
            }
            (
                Value::Text(text),
                KeyId::Read
                | KeyId::Write
                | KeyId::Private
                | KeyId::Copy
                | KeyId::Deny
                | KeyId::Protect,
            ) => {
                self.insert_path(entry.key.id, expand(text, &giver.bases), origin);
            }
            (Value::Text(text), KeyId::Require) => {
                let require = &mut self.effective.require;
                if !require.iter().any(|r| r.value == *text) {
                    require.push(sourced(text, origin));
                }
            }
            (Value::Text(text), KeyId::Ordinary) => {
                once(&mut self.effective.filesystem.ordinary, text, origin);
            }
            (Value::Text(text), KeyId::Report) => {
                once(&mut self.effective.filesystem.report, text, origin);
            }
            (Value::Text(text), KeyId::Capabilities) => {
                once(&mut self.effective.capabilities, text, origin);
            }
            (Value::Text(text), KeyId::Roots) => {
                if let PathPattern::Path(path) = expand(text, &giver.bases) {
                    once(&mut network.roots, &path, origin);
                }
            }
            (Value::Text(_), _) => {}
            (Value::Rule(rule), _) => self.insert_rule(rule, giver),
            (Value::Set(set), _) => self.sets.push((*set, giver.layer, origin.clone())),
            (Value::Host(host), KeyId::NetworkDeny) => once(&mut network.deny, host, origin),
            (Value::Host(host), KeyId::KeepBodies) => {
                once(&mut network.keep_bodies, host, origin);
            }
            (Value::Host(host), _) => once(&mut network.allow, host, origin),
            (Value::Secret(secret), _) => {
                let mut secret = (**secret).clone();
                if let SecretSource::File(path) = &secret.from
                    && let PathPattern::Path(path) = expand(&path.to_string_lossy(), &giver.bases)
                {
                    secret.from = SecretSource::File(path);
                }
                let secrets = &mut self.effective.secrets;
                if !secrets.iter().any(|known| known.value.name == secret.name) {
                    secrets.push(sourced(&secret, origin));
                }
            }
            (Value::Inspect(rule), _) => {
                if !network.inspect.iter().any(|r| r.value.host == rule.host) {
                    network.inspect.push(sourced(rule, origin));
                }
            }
            (Value::Resolver(address), _) => once(&mut network.resolvers, address, origin),
            (Value::Http(rule), _) => once(&mut network.http, rule, origin),
            (Value::Publish(publish), _) => {
                if !network
                    .publish
                    .iter()
                    .any(|p| p.value.listen == publish.listen)
                {
                    network.publish.push(sourced(publish, origin));
                }
            }
            (Value::Mapping(mapping), _) => {
                if !network.hosts.iter().any(|m| m.value.host == mapping.host) {
                    network.hosts.push(sourced(mapping, origin));
                }
            }
            (Value::Variable(name, value), _) => {
                let set = &mut self.effective.environment.set;
                set.entry(name.clone())
                    .or_insert_with(|| sourced(value, origin));
            }
            (Value::Number(_) | Value::Time(_), id) => {
                self.wishes.entry(id).or_default().push(Wish {
                    layer: giver.layer,
                    trusted: giver.trusted,
                    value: entry.value.clone(),
                    origin: origin.clone(),
                })
            }
        }
    }

    /// Adds a rule; the first of a name is taken. A rule of an untrusted project never keeps another
    /// layer's out.
    fn insert_rule(&mut self, rule: &Rule, giver: &Giver) {
        let rule = Rule {
            locked: giver.layer == Layer::System,
            untrusted: !giver.trusted,
            ..rule.clone()
        };
        let there = self.effective.rules.iter_mut().find(|r| r.id == rule.id);
        match there {
            Some(there) if same_rule(there, &rule) => {
                // From now on it is this layer's, and no weaker one takes its place.
                if giver.trusted && self.untrusted_rules.remove(&rule.id) {
                    *there = rule;
                }
            }
            Some(there) if giver.trusted && self.untrusted_rules.remove(&rule.id) => {
                let lost = std::mem::replace(there, rule);
                self.displaced.push((lost, there.origin.clone()));
            }
            Some(there) => {
                let by = there.origin.clone();
                self.displaced.push((rule, by));
            }
            None => {
                if !giver.trusted {
                    self.untrusted_rules.insert(rule.id.clone());
                }
                self.effective.rules.push(rule);
            }
        }
    }

    /// Adds a path. One path is readable, writable, private or a copy, as the strongest layer has it.
    pub(crate) fn insert_path(&mut self, key: KeyId, pattern: PathPattern, origin: &Origin) {
        let files = &mut self.effective.filesystem;
        let has = |list: &Vec<PathEntry>| list.iter().any(|e| e.pattern == pattern);
        let present = match key {
            KeyId::Deny => has(&files.deny),
            KeyId::Protect => has(&files.protect),
            _ => files.granted().any(has),
        };
        if present {
            return;
        }
        let list = match key {
            KeyId::Deny => &mut files.deny,
            KeyId::Protect => &mut files.protect,
            KeyId::Write => &mut files.write,
            KeyId::Private => &mut files.private,
            KeyId::Copy => &mut files.copy,
            _ => &mut files.read,
        };
        list.push(PathEntry {
            pattern,
            origin: origin.clone(),
        });
    }

    /// Settles the limits and tells what was not granted; `project` is the project's file.
    pub(crate) fn finish(mut self, project: &str) -> (Effective, Vec<String>) {
        let mut notices = Vec::new();
        for (key, wishes) in std::mem::take(&mut self.wishes) {
            let lock = self.locks.get(&key).cloned();
            let (held, raised) = settle(key, &wishes, lock.is_some());
            if let Some(held) = held {
                self.set_limit(key, held);
            }
            for wish in raised {
                self.refuse(key, &wish.origin);
            }
        }
        let files = &mut self.effective.filesystem;
        if !files.ordinary.is_empty() {
            let names: Vec<String> = (files.ordinary.iter())
                .map(|name| name.value.clone())
                .collect();
            let workspace = &self.effective.workspace;
            files.protect.retain(|entry| {
                let name = host_programs::ordinary_name(entry, workspace);
                name.is_none_or(|name| !names.contains(&name))
            });
        }
        let unheard: Vec<_> = self
            .ignored
            .iter()
            .filter(|(e, g)| !self.grants(e, g))
            .collect();
        if let Some(((first, _), more)) = unheard.split_first() {
            let count = match more.len() {
                0 => "an entry".to_owned(),
                n => format!("{} entries", n + 1),
            };
            notices.push(format!(
                "{project}: {count} of this project's policy would widen what the sandbox may do and had no effect (`{}` at {}); read it, then run `bailiwick policy trust`",
                first.key.path, first.origin
            ));
        }
        for (lost, by) in &self.displaced {
            notices.push(format!(
                "{} had no effect: the rule at {by} has the name \"{}\" too",
                lost.origin, lost.id
            ));
        }
        for ((key, _), (origin, count)) in &self.refused {
            let path = crate::keys::of(*key).path;
            let lock = self
                .locks
                .get(key)
                .map(ToString::to_string)
                .unwrap_or_default();
            let more = if *count > 1 {
                format!(" and {} more of that file", count - 1)
            } else {
                String::new()
            };
            notices.push(format!(
                "{origin}{more} had no effect: `{path}` is locked by {lock}"
            ));
        }
        (self.effective, notices)
    }

    /// Whether the finished policy has what an ignored entry asked for.
    fn grants(&self, entry: &Entry, giver: &Giver) -> bool {
        let files = &self.effective.filesystem;
        let has = |list: &Vec<PathEntry>, pattern: &PathPattern| {
            list.iter().any(|e| e.pattern == *pattern)
        };
        match (&entry.value, entry.key.id) {
            (Value::Text(text), KeyId::Pass) => self
                .effective
                .environment
                .pass
                .iter()
                .any(|p| name_covers(&p.value, text)),
            (Value::Text(text), KeyId::Read) => {
                let pattern = expand(text, &giver.bases);
                has(&files.read, &pattern) || has(&files.write, &pattern)
            }
            (Value::Text(text), KeyId::Write) => has(&files.write, &expand(text, &giver.bases)),
            (Value::Text(text), KeyId::Private) => has(&files.private, &expand(text, &giver.bases)),
            (Value::Text(text), KeyId::Copy) => has(&files.copy, &expand(text, &giver.bases)),
            (Value::Set(set), _) => self.sets.iter().any(|(s, ..)| s == set),
            _ => self.within(entry.key.id, entry, giver),
        }
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "a limit above u64 nanoseconds is 584 years"
    )]
    fn set_limit(&mut self, key: KeyId, wish: &Wish) {
        let origin = &wish.origin;
        if let (Value::Number(place), KeyId::ProtectAbsent) = (&wish.value, key) {
            let way = ProtectAbsent::at(*place);
            self.effective.filesystem.protect_absent = way.map(|way| sourced(&way, origin));
            return;
        }
        if let (Value::Number(place), KeyId::HostPrograms) = (&wish.value, key) {
            let way = HostPrograms::at(*place);
            self.effective.filesystem.host_programs = way.map(|way| sourced(&way, origin));
            return;
        }
        let network = &mut self.effective.network;
        match (&wish.value, key) {
            (Value::Time(time), KeyId::AskTimeout) => {
                self.effective.ask.timeout = Some(sourced(time, origin));
                return;
            }
            (Value::Number(n), KeyId::AskDefault) => {
                let default = Beyond::at(*n).map(|default| sourced(&default, origin));
                self.effective.ask.default = default;
                return;
            }
            (Value::Number(n), KeyId::BodyLimit) => network.body_limit = Some(sourced(n, origin)),
            (Value::Number(n), KeyId::KeepLimit) => network.keep_limit = Some(sourced(n, origin)),
            (Value::Number(n), KeyId::BodyBeyond) => {
                network.body_beyond = Beyond::at(*n).map(|beyond| sourced(&beyond, origin));
            }
            _ => {}
        }
        let limits = &mut self.effective.limits;
        match (&wish.value, key) {
            (Value::Time(time), _) => limits.wall = Some(sourced(time, origin)),
            (Value::Number(n), KeyId::Memory) => limits.memory = Some(sourced(n, origin)),
            (Value::Number(n), KeyId::Processes) => limits.processes = Some(sourced(n, origin)),
            (Value::Number(n), KeyId::Cpu) => limits.cpu = Some(sourced(n, origin)),
            (Value::Number(n), KeyId::FileSize) => limits.file_size = Some(sourced(n, origin)),
            (Value::Number(n), KeyId::OpenFiles) => limits.open_files = Some(sourced(n, origin)),
            (Value::Number(n), KeyId::Disk) => limits.disk = Some(sourced(n, origin)),
            (Value::Number(n), KeyId::Output) => limits.output = Some(sourced(n, origin)),
            _ => {}
        }
    }
}

/// Which wish holds, and which ones a lock refused. The strongest trusted layer holds; where the
/// system locked the key a weaker one may lower it, and an untrusted project always may.
fn settle(id: KeyId, wishes: &[Wish], locked: bool) -> (Option<&Wish>, Vec<&Wish>) {
    // Where nobody else says anything, the strictest holds, and nothing is lower than that.
    let strictest = matches!(
        id,
        KeyId::ProtectAbsent | KeyId::AskDefault | KeyId::BodyBeyond
    );
    let lower = |a: &Wish, b: &Wish| match (&a.value, &b.value) {
        (Value::Number(a), Value::Number(b)) => a < b,
        (Value::Time(a), Value::Time(b)) => a < b,
        _ => false,
    };
    let mut raised = Vec::new();
    let mut trusted = wishes.iter().filter(|w| w.trusted);
    let mut held = trusted.next();
    if locked && let Some(system) = held.filter(|w| w.layer == Layer::System) {
        let mut lowered = None;
        for wish in trusted.filter(|w| w.layer != Layer::System) {
            if lower(system, wish) {
                raised.push(wish);
            } else if lowered.is_none() && lower(wish, system) {
                lowered = Some(wish);
            }
        }
        held = lowered.or(held);
    }
    for wish in wishes.iter().filter(|w| !w.trusted) {
        if held.map_or(!strictest, |h| lower(wish, h)) {
            held = Some(wish);
        }
    }
    (held, raised)
}

/// Whether an entry may add to what a sandbox may do.
fn widens(entry: &Entry) -> bool {
    entry.key.effect == Effect::Widens
        || matches!(&entry.value, Value::Rule(rule)
            if matches!(rule.effect.action(), Some(Action::Allow | Action::Rewrite)))
}

/// Whether two rules say the same, wherever they stand.
fn same_rule(a: &Rule, b: &Rule) -> bool {
    let with = |rule: &Rule| Rule {
        origin: b.origin.clone(),
        locked: b.locked,
        untrusted: b.untrusted,
        ..rule.clone()
    };
    with(a) == *b
}

fn sourced<T: Clone>(value: &T, origin: &Origin) -> Sourced<T> {
    Sourced {
        value: value.clone(),
        origin: origin.clone(),
    }
}

fn once<T: Clone + PartialEq>(list: &mut Vec<Sourced<T>>, value: &T, origin: &Origin) {
    if !list.iter().any(|e| e.value == *value) {
        list.push(sourced(value, origin));
    }
}

/// Whether a name with a star at its end, or without, says all that another says.
fn name_covers(outer: &str, inner: &str) -> bool {
    match outer.strip_suffix('*') {
        Some(stem) => inner.starts_with(stem),
        None => outer == inner,
    }
}
