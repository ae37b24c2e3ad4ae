//! What a key of a policy file is.

/// What a key is to the code that merges layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum KeyId {
    Extends,
    Packs,
    Rules,
    Detections,
    Secrets,
    Read,
    Write,
    Private,
    Copy,
    Deny,
    Protect,
    ProtectAbsent,
    HostPrograms,
    Ordinary,
    Report,
    NetworkAllow,
    NetworkDeny,
    Publish,
    Hosts,
    Http,
    Inspect,
    Roots,
    BodyLimit,
    BodyBeyond,
    Resolvers,
    KeepBodies,
    KeepLimit,
    Pass,
    Set,
    Memory,
    Processes,
    Cpu,
    Wall,
    FileSize,
    OpenFiles,
    Disk,
    Output,
    Require,
    Capabilities,
    AskDefault,
    AskTimeout,
    Lock,
    PackKeys,
}

/// What a value looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Names of templates and paths of policy files.
    Policies,
    /// Paths and globs.
    Paths,
    /// Hosts; `sets` says whether `@pip` and the like may stand there.
    Hosts { sets: bool },
    /// `listen:port` pairs.
    Publish,
    /// A table from host names to `address:port`.
    Mappings,
    /// A table from hosts to whether their TLS is looked into.
    Inspections,
    /// Paths of files, without wildcards.
    Files,
    /// Addresses of name servers, with a port or without.
    Resolvers,
    /// An array of tables.
    HttpRules,
    /// An array of tables: rules that decide.
    Rules,
    /// An array of tables: rules that report.
    Detections,
    /// An array of tables: secrets.
    Secrets,
    /// Names of shipped packs and paths of pack files.
    Packs,
    /// Public keys of minisign.
    PublicKeys,
    /// A host, inside a rule.
    Host,
    /// HTTP methods, inside a rule.
    Methods,
    /// Request paths, inside a rule.
    RequestPaths,
    /// Names of environment variables, with a `*` at the end or not.
    Names,
    /// A table from variables to values.
    Variables,
    /// A number of bytes.
    Bytes,
    /// A whole number from 1.
    Count,
    /// A number of processors.
    Cpus,
    /// A length of time.
    Time,
    /// Keys of this table.
    Keys,
    /// A way of protecting names.
    Protection,
    /// What is done about names that programs of the host obey.
    HostPrograms,
    /// Names that programs of the host obey.
    HostNames,
    /// The same, of those that are protected or reported already.
    OrdinaryNames,
    /// What happens beyond a limit.
    Beyond,
    /// Names of layers.
    Layers,
    /// Names of capabilities.
    Capabilities,
}

impl Kind {
    /// The value in words, for messages and the reference.
    pub(crate) fn describe(self) -> &'static str {
        match self {
            Self::Policies => "a list of templates and policy files",
            Self::Paths => "a list of paths",
            Self::Hosts { .. } => "a list of hosts",
            Self::Publish => "a list of addresses and ports",
            Self::Mappings => "a table of names and addresses",
            Self::Inspections => "auto, always or never, or a table of hosts with one of them each",
            Self::Files => "a list of files",
            Self::HttpRules | Self::Rules | Self::Detections | Self::Secrets => {
                "an array of tables"
            }
            Self::Resolvers => "a list of addresses",
            Self::Packs => "a list of packs",
            Self::PublicKeys => "a list of public keys",
            Self::Host => "a host",
            Self::Methods => "a list of methods",
            Self::RequestPaths => "a list of request paths",
            Self::Names => "a list of variable names",
            Self::Variables => "a table of variables",
            Self::Bytes => "a size",
            Self::Count => "a whole number",
            Self::Cpus => "a number",
            Self::Time => "a length of time",
            Self::Keys => "a list of keys",
            Self::Protection => "enforce, sweep or off",
            Self::HostPrograms => "protect, report or off",
            Self::HostNames | Self::OrdinaryNames => "a list of names",
            Self::Beyond => "deny or allow",
            Self::Layers => "a list of layers",
            Self::Capabilities => "a list of capabilities",
        }
    }
}

/// What an entry does to a sandbox's authority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    /// It can only add.
    Widens,
    /// It can only take away.
    Narrows,
    /// A number: lower takes away.
    Limits,
    /// Neither.
    Neutral,
}

/// One key.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) id: KeyId,
    /// With its table: `filesystem.read`.
    pub(crate) path: &'static str,
    pub(crate) kind: Kind,
    pub(crate) effect: Effect,
    /// What holds when no layer says anything, in words.
    pub(crate) default: &'static str,
    pub(crate) doc: &'static str,
    /// A value in TOML.
    pub(crate) example: &'static str,
}

impl Key {
    /// The key without its table.
    pub(crate) fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }

    /// The table, or "" for the top of the file.
    pub(crate) fn section(&self) -> &'static str {
        self.path
            .rsplit_once('.')
            .map_or("", |(section, _)| section)
    }
}
