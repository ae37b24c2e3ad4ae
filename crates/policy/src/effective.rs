//! The effective policy: what is left when every layer was read. It is the only form in which a
//! policy is enforced, and the form that a session records.

use crate::{HostPrograms, InspectRule, SecretRule, UsedFile};
use bailiwick_event::{Host, HostPattern, Origin};
use bailiwick_rules::Rule;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A value and the line that wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// The line.
    pub origin: Origin,
}

/// What a sandbox may do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Effective {
    /// The workspace: absolute, canonical, exists.
    pub workspace: PathBuf,
    /// The user's home directory: absolute.
    pub home: PathBuf,
    /// The layers that made it, strongest first (`system`, `user`, `project`, `template:default`).
    pub layers: Vec<String>,
    /// Files.
    pub filesystem: FilesystemPolicy,
    /// The network.
    pub network: NetworkPolicy,
    /// Environment variables.
    pub environment: Environment,
    /// Resource limits.
    pub limits: Limits,
    /// `[require] layers`: the layers without which nothing is started. Empty: all of them.
    #[serde(default)]
    pub require: Vec<Sourced<String>>,
    /// `[capos] capabilities`. Empty: a console.
    #[serde(default)]
    pub capabilities: Vec<Sourced<String>>,
    /// `[ask]`.
    #[serde(default, skip_serializing_if = "Ask::is_empty")]
    pub ask: Ask,
    /// `[[secrets]]`, the stronger layer's first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub secrets: Vec<Sourced<SecretRule>>,
    /// `[[rules]]` and `[[detections]]`, those of packs too; the strongest layer's first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<Rule>,
    /// What holds for rules that are added while a session runs.
    #[serde(default, skip_serializing_if = "RuleLocks::is_empty")]
    pub rule_locks: RuleLocks,
    /// Where the list is of folders that sandboxes could write ([`crate::Written`]): a run whose links it
    /// judges, and whose folders it gets. None: nothing is known of other runs.
    #[serde(skip)]
    pub written: Option<PathBuf>,
    /// Files that this policy was read from and that lie where a sandbox could write: no later one may.
    pub used: Vec<UsedFile>,
}

/// `[ask]`: what happens where a rule asks a person.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ask {
    /// Where nobody answers. None: it is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Sourced<Beyond>>,
    /// How long a person has. None: two minutes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout: Option<Sourced<Duration>>,
}

impl Ask {
    /// Whether the policy says nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.default.is_none() && self.timeout.is_none()
    }
}

/// What the system's policy says of rules that come later.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RuleLocks {
    /// Where `rules` is locked: then none is added that allows or rewrites, and none that is there
    /// is changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Origin>,
    /// Where packs are asked to be signed: then none is added.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Origin>,
}

impl RuleLocks {
    /// Whether nothing is locked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rules.is_none() && self.signed.is_none()
    }
}

/// The layers that a policy can require.
pub const LAYERS: [&str; 3] = ["namespaces", "landlock", "seccomp"];

impl Effective {
    /// A policy that grants nothing and limits nothing.
    #[must_use]
    pub fn empty(workspace: PathBuf, home: PathBuf) -> Self {
        Self {
            workspace,
            home,
            layers: Vec::new(),
            filesystem: FilesystemPolicy::default(),
            network: NetworkPolicy::default(),
            environment: Environment::default(),
            limits: Limits::default(),
            require: Vec::new(),
            capabilities: Vec::new(),
            ask: Ask::default(),
            secrets: Vec::new(),
            rules: Vec::new(),
            rule_locks: RuleLocks::default(),
            written: None,
            used: Vec::new(),
        }
    }

    /// Whether nothing may be started without this layer.
    #[must_use]
    pub fn requires(&self, layer: &str) -> bool {
        self.require.is_empty() || self.require.iter().any(|entry| entry.value == layer)
    }

    /// Leaves out what is granted (`read`, `write`, `private`, `copy`) at paths that `keep` does not accept;
    /// of a pattern, the folder that it looks in. What is denied or protected stays so.
    pub fn retain_paths(&mut self, keep: impl Fn(&Path) -> bool) {
        let files = &mut self.filesystem;
        for granted in [
            &mut files.read,
            &mut files.write,
            &mut files.private,
            &mut files.copy,
        ] {
            granted.retain(|entry| match &entry.pattern {
                PathPattern::Path(path) => keep(path),
                PathPattern::Glob { root, .. } => keep(root),
            });
        }
    }
}

/// `[filesystem]`. Where entries overlap, the most specific path decides between `read` and
/// `write`; `deny` and `protect` always win over both.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FilesystemPolicy {
    /// Readable and executable; not writable.
    pub read: Vec<PathEntry>,
    /// Readable, executable and writable.
    pub write: Vec<PathEntry>,
    /// Readable and writable, but backed by an empty folder of the product's own that is kept per
    /// workspace: caches. What the user has at that path is not visible.
    pub private: Vec<PathEntry>,
    /// Files that are readable and writable as a copy of the product's own, which is kept per workspace and begins
    /// as the user's is at its first run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub copy: Vec<PathEntry>,
    /// Neither readable nor writable, even below a readable path.
    pub deny: Vec<PathEntry>,
    /// Readable, never writable, even below a writable path.
    pub protect: Vec<PathEntry>,
    /// What is done about protected names that do not exist. None: they are enforced.
    #[serde(default)]
    pub protect_absent: Option<Sourced<ProtectAbsent>>,
    /// What is done about names that programs of the host obey. None: nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_programs: Option<Sourced<HostPrograms>>,
    /// Such names, and names that templates protect, that are ordinary files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ordinary: Vec<Sourced<String>>,
    /// Names that are reported besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub report: Vec<Sourced<String>>,
}

impl FilesystemPolicy {
    /// The lists of what is granted.
    pub(crate) fn granted(&self) -> impl Iterator<Item = &Vec<PathEntry>> {
        [&self.read, &self.write, &self.private, &self.copy].into_iter()
    }

    /// What is done about protected names that do not exist.
    #[must_use]
    pub fn protect_absent(&self) -> ProtectAbsent {
        self.protect_absent
            .as_ref()
            .map_or(ProtectAbsent::Enforce, |way| way.value)
    }
}

/// A value that a policy writes as one word of some; the strictest first.
pub(crate) trait Words: Copy + 'static {
    /// Each value with its word, in their order.
    const ALL: &'static [(Self, &'static str)];

    /// The value of that word.
    fn parse(word: &str) -> Option<Self> {
        let found = Self::ALL.iter().find(|(_, known)| *known == word);
        found.map(|(value, _)| *value)
    }

    /// The value of that place in the order.
    fn at(place: u64) -> Option<Self> {
        let place = usize::try_from(place).ok()?;
        Self::ALL.get(place).map(|(value, _)| *value)
    }
}

/// What is done about protected names that do not exist; the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ProtectAbsent {
    /// Nobody creates them.
    Enforce,
    /// What was created is taken away at the end.
    Sweep,
    /// Nothing.
    Off,
}

impl Words for ProtectAbsent {
    const ALL: &'static [(Self, &'static str)] = &[
        (Self::Enforce, "enforce"),
        (Self::Sweep, "sweep"),
        (Self::Off, "off"),
    ];
}

impl ProtectAbsent {
    /// Its name in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// One path of `[filesystem]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathEntry {
    /// Which paths.
    pub pattern: PathPattern,
    /// The line that wrote it.
    pub origin: Origin,
}

/// Which paths an entry means; always absolute and in the normal form, without `.`, `..` and double
/// slashes.
#[derive(Clone, Debug, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathPattern {
    /// This path and everything below it. Not resolved: symbolic links are the enforcer's matter.
    Path(PathBuf),
    /// Every path that matches, and everything below it.
    Glob {
        /// The folder below which matches are looked for; it has no wildcard in it.
        root: PathBuf,
        /// The glob ([`crate::PathGlob`]), relative to `root`: `**/.env`.
        glob: String,
    },
}

impl PartialEq for PathPattern {
    /// By bytes, which is the same for normal forms; entries are compared by the thousand.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(a), Self::Path(b)) => a.as_os_str() == b.as_os_str(),
            (Self::Glob { root: a, glob: g }, Self::Glob { root: b, glob: h }) => {
                a.as_os_str() == b.as_os_str() && g == h
            }
            _ => false,
        }
    }
}

/// The most bytes of a body that can be held back for a rule.
pub const MAX_HELD: u64 = 64 * 1024 * 1024;

/// The most bytes of a body that can be kept.
pub const MAX_KEPT: u64 = 16 * 1024 * 1024;

/// `[network]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NetworkPolicy {
    /// Machines that may be reached; sets are resolved to their hosts here.
    pub allow: Vec<Sourced<HostPattern>>,
    /// Machines that may not, whatever `allow` says.
    pub deny: Vec<Sourced<HostPattern>>,
    /// `[[network.http]]`: the only plain HTTP requests that these machines may be sent.
    pub http: Vec<Sourced<HttpRule>>,
    /// `[network.hosts]`: names that stand for exactly one address and port of this machine or
    /// its network.
    pub hosts: Vec<Sourced<HostMapping>>,
    /// `[network.inspect]`: whose TLS the gate looks into; the stronger layer's entries first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inspect: Vec<Sourced<InspectRule>>,
    /// `roots`: files of authorities, in PEM, that the gate trusts beside the machine's own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<Sourced<PathBuf>>,
    /// Bytes of a body that are held back for a rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_limit: Option<Sourced<u64>>,
    /// What happens to a message whose body is larger.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub body_beyond: Option<Sourced<Beyond>>,
    /// `resolvers`: the name servers that the gate asks; none: those of the machine.
    #[serde(default)]
    pub resolvers: Vec<Sourced<SocketAddr>>,
    /// `keep_bodies`: the machines of whose requests and answers the record keeps the bodies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub keep_bodies: Vec<Sourced<HostPattern>>,
    /// Bytes of a body that are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keep_limit: Option<Sourced<u64>>,
    /// Ports of the host that lead to a port of the sandbox's loopback.
    pub publish: Vec<Sourced<Publish>>,
    /// Machines that the user's own clients are configured to download from (`@pip`, …): theirs may
    /// be private addresses, as those of a company's mirror are.
    #[serde(default)]
    pub registries: Vec<Host>,
    /// The line that a refusal by default names: where `allow` stands, or would have to stand.
    pub default_origin: Option<Origin>,
}

/// What happens to a message whose body is larger than what is held back of it, where a rule decides
/// by it; the strictest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Beyond {
    /// It is refused.
    Deny,
    /// What was seen of it decides.
    Allow,
}

impl Words for Beyond {
    const ALL: &'static [(Self, &'static str)] = &[(Self::Deny, "deny"), (Self::Allow, "allow")];
}

impl Beyond {
    /// Its name in a policy.
    #[must_use]
    pub fn name(self) -> &'static str {
        Self::ALL[self as usize].1
    }
}

/// An HTTP request that may be sent. A machine that has at least one such rule is allowed
/// (at the rule's ports) and may be sent only what one of its rules covers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HttpRule {
    /// Which machines and ports.
    pub host: HostPattern,
    /// Which methods, in upper case; empty: all.
    pub methods: Vec<String>,
    /// Which paths: `*` stands for any characters but `/`, `**` for any; without the query.
    /// Empty: all.
    pub paths: Vec<String>,
}

/// `"pypi.test" = "127.0.0.1:8443"`: the name, at whatever port the program uses, is this address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostMapping {
    /// The name.
    pub host: Host,
    /// Where it is.
    pub address: SocketAddr,
}

/// `"127.0.0.1:3000:3000"`: the host listens at `listen`, the sandbox at `port`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Publish {
    /// Where the host listens.
    pub listen: SocketAddr,
    /// The port on the sandbox's loopback.
    pub port: u16,
}

/// `[environment]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Names of variables that pass from the caller; a trailing `*` matches a prefix.
    pub pass: Vec<Sourced<String>>,
    /// Variables that are set; they win over `pass`.
    pub set: BTreeMap<String, Sourced<String>>,
}

/// `[limits]`. None: no limit of the product's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Bytes of memory of all processes together.
    pub memory: Option<Sourced<u64>>,
    /// Processes and threads at one time.
    pub processes: Option<Sourced<u64>>,
    /// Thousandths of a CPU.
    pub cpu: Option<Sourced<u64>>,
    /// Wall-clock time of the run.
    pub wall: Option<Sourced<Duration>>,
    /// Bytes of one file.
    pub file_size: Option<Sourced<u64>>,
    /// Open files of one process.
    pub open_files: Option<Sourced<u64>>,
    /// Bytes by which the workspace may grow.
    #[serde(default)]
    pub disk: Option<Sourced<u64>>,
    /// Bytes of stdout and stderr together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Sourced<u64>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_granted_can_be_left_out_and_what_is_denied_stays() {
        let entry = |pattern| PathEntry {
            pattern,
            origin: Origin::built_in(),
        };
        let path = |path: &str| entry(PathPattern::Path(path.into()));
        let glob = |root: &str| {
            entry(PathPattern::Glob {
                root: root.into(),
                glob: "*".to_owned(),
            })
        };
        let mut policy = Effective {
            filesystem: FilesystemPolicy {
                read: vec![path("/usr"), path("/home/tools"), glob("/usr/share")],
                write: vec![path("/ws")],
                private: vec![path("/usr/cache")],
                copy: vec![path("/usr/state")],
                deny: vec![path("/usr/secret")],
                protect: vec![path("/usr/kept")],
                protect_absent: None,
                host_programs: None,
                ordinary: Vec::new(),
                report: Vec::new(),
            },
            ..Effective::empty("/ws".into(), "/home".into())
        };
        policy.retain_paths(|path| !path.starts_with("/usr"));
        let files = policy.filesystem;
        assert_eq!(files.read, [path("/home/tools")]);
        assert_eq!(files.write, [path("/ws")]);
        assert_eq!(files.private, []);
        assert_eq!(files.copy, []);
        assert_eq!(files.deny, [path("/usr/secret")]);
        assert_eq!(files.protect, [path("/usr/kept")]);
    }
}
