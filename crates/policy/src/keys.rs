//! The one table of what a policy file may say. Validation, the JSON Schema, starter files and the
//! reference in `docs/policy.md` all read it, so that none of them can promise a key that another
//! does not know.

pub(crate) use crate::key::{Effect, Key, KeyId, Kind};

/// The tables, in the order in which files are written, and what they are about.
pub(crate) const SECTIONS: &[(&str, &str)] = &[
    (
        "filesystem",
        "Which files are visible, and which may be written. What no entry covers is not there.",
    ),
    (
        "network",
        "Which machines may be reached. Without an entry there is no network at all.",
    ),
    (
        "environment",
        "Which environment variables the command gets; besides them `BAILIWICK=1` and `IS_SANDBOX=1`, by which programs know where they are.",
    ),
    (
        "limits",
        "How much the sandbox may use. What neither the policy nor what it extends says is not limited. A size has a unit, in these letters: B, kB (or KB), MB, GB and TB are powers of 1000, KiB, MiB, GiB and TiB of 1024.",
    ),
    ("ask", "What happens where a rule asks a person."),
    (
        "require",
        "Which layers a machine must have. What is not said is that all are needed.",
    ),
    (
        "capos",
        "What a program holds that runs on the capability kernel (`--backend capos`).",
    ),
    (
        "lock",
        "Only in the system's policy: what weaker layers cannot widen.",
    ),
];

macro_rules! key {
    ($id:ident, $path:literal, $kind:expr, $effect:ident, $default:literal, $example:literal, $doc:literal) => {
        Key {
            id: KeyId::$id,
            path: $path,
            kind: $kind,
            effect: Effect::$effect,
            default: $default,
            doc: $doc,
            example: $example,
        }
    };
}

/// Every key, in the order in which files are written.
pub(crate) const KEYS: &[Key] = &[
    key!(
        Extends,
        "extends",
        Kind::Policies,
        Neutral,
        "nothing",
        r#"["agent", "./team.toml"]"#,
        "Templates, and policy files relative to this one, that this file builds on. Of two that say different things the later one holds, and this file over both."
    ),
    key!(
        Packs,
        "packs",
        Kind::Packs,
        Neutral,
        "nothing",
        r#"["credential-exfiltration", "./team-rules.toml"]"#,
        "Packs of rules: names of shipped ones, and files relative to this one. See docs/rules.md."
    ),
    key!(
        Rules,
        "rules",
        Kind::Rules,
        Neutral,
        "nothing",
        r#"[{ id = "no-paste", on = "http.request", when = 'http.request.host.domain("pastebin.com")', action = "deny" }]"#,
        "Rules with a condition, which decide about what the other keys allow; none of them allows what those do not. Of an untrusted project's only those hold that deny, ask or observe. See docs/rules.md."
    ),
    key!(
        Detections,
        "detections",
        Kind::Detections,
        Neutral,
        "nothing",
        r#"[{ id = "long-names", on = "dns.request", when = "dns.request.label.length > 50", severity = "medium" }]"#,
        "Rules with a condition that only report: each event that one is true of is a finding in the record. See docs/rules.md."
    ),
    key!(
        Secrets,
        "secrets",
        Kind::Secrets,
        Widens,
        "none",
        r#"[{ name = "API_KEY", from = "env", hosts = ["api.example.com"] }]"#,
        "Secrets that programs use without having them: inside, a text of the same shape stands for one, and the gate puts the secret in its place on the way to the machines that it is for. A secret has 12 to 4096 characters, none of them a blank or a line end. Not in a project's policy."
    ),
    key!(
        Read,
        "filesystem.read",
        Kind::Paths,
        Widens,
        "the system's programs and libraries",
        r#"["/opt/toolchain"]"#,
        "Readable and executable, not writable."
    ),
    key!(
        Write,
        "filesystem.write",
        Kind::Paths,
        Widens,
        "the workspace",
        r#"["build", "~/.local/share/tool"]"#,
        "Readable, executable and writable. Neither your home directory nor what holds the product's own files."
    ),
    key!(
        Private,
        "filesystem.private",
        Kind::Paths,
        Widens,
        "~/.cache",
        r#"["~/.npm"]"#,
        "Writable, but backed by an empty folder that is kept per workspace. What you have at that path is not visible inside, and what the sandbox writes there is not visible outside."
    ),
    key!(
        Copy,
        "filesystem.copy",
        Kind::Paths,
        Widens,
        "nothing",
        r#"["~/.tool.json"]"#,
        "A file that is readable and writable as a copy, which is kept per workspace: it begins as yours is when the workspace's first run begins, and what the sandbox writes there is not written to yours. For files that a program outside would obey."
    ),
    key!(
        Deny,
        "filesystem.deny",
        Kind::Paths,
        Narrows,
        "the system's credential files",
        r#"["~/.ssh", "**/.env"]"#,
        "Neither readable nor writable, whatever else covers it."
    ),
    key!(
        Protect,
        "filesystem.protect",
        Kind::Paths,
        Narrows,
        "git hooks, editor tasks, agent settings",
        r#"[".git/hooks", ".mcp.json"]"#,
        "Never writable, whatever else covers it, and never made inside where it does not exist (see `protect_absent`). For files that something outside the sandbox would later run."
    ),
    key!(
        ProtectAbsent,
        "filesystem.protect_absent",
        Kind::Protection,
        Limits,
        "enforce",
        r#""enforce""#,
        "What is done about protected names that do not exist yet, and about git's configuration: `enforce` lets nobody create them (every file that is created costs some time), `sweep` takes away at the end what was created, `off` does nothing."
    ),
    key!(
        HostPrograms,
        "filesystem.host_programs",
        Kind::HostPrograms,
        Limits,
        "off",
        r#""protect""#,
        "What is done about the names that programs of the host are known to obey (`docs/host-programs.md`), in every folder that may be written: `protect` keeps those that are obeyed without a question from being made, changed and removed, and reports the others at the end of the run; `report` reports all; `off` does nothing."
    ),
    key!(
        Ordinary,
        "filesystem.ordinary",
        Kind::OrdinaryNames,
        Widens,
        "nothing",
        r#"["mise.toml", ".vscode"]"#,
        "Names of that table, and names that a template protects, that are ordinary files here: they can be written, and are not reported. A name that you protect yourself stays protected, and so does what git obeys."
    ),
    key!(
        Report,
        "filesystem.report",
        Kind::HostNames,
        Narrows,
        "nothing",
        r#"["deploy/*.sh"]"#,
        "Names that are reported besides, wherever they lie in a folder that may be written."
    ),
    key!(
        NetworkAllow,
        "network.allow",
        Kind::Hosts { sets: true },
        Widens,
        "nothing",
        r#"["@pip", "api.example.com", "*.example.org:443"]"#,
        "Machines that may be reached: `host`, `host:port`, `host:*`, `*.domain`, `network/bits`, or a set. Without a port: 80 and 443. `*` does not cover this machine or private networks; name them."
    ),
    key!(
        NetworkDeny,
        "network.deny",
        Kind::Hosts { sets: false },
        Narrows,
        "nothing",
        r#"["evil.example"]"#,
        "Machines that may not be reached, whatever `allow` says. Without a port: every port."
    ),
    key!(
        Publish,
        "network.publish",
        Kind::Publish,
        Widens,
        "nothing",
        r#"["127.0.0.1:3000:3000"]"#,
        "Ports of this machine that lead into the sandbox: `address:port:port inside`, `port:port inside` or `port`. Without an address: 127.0.0.1."
    ),
    key!(
        Hosts,
        "network.hosts",
        Kind::Mappings,
        Widens,
        "nothing",
        r#"{ "registry.test" = "127.0.0.1:8443" }"#,
        "Names that stand for exactly one address and port of this machine or its network, which are what is dialled whatever port a program asks for. It grants the machine; an entry of `http` for it leaves only the requests that it names, at every port. Not in a project's policy."
    ),
    key!(
        Http,
        "network.http",
        Kind::HttpRules,
        Widens,
        "nothing",
        r#"[{ host = "api.example.com:80", methods = ["GET"] }]"#,
        "The only HTTP requests that these machines may be sent. A machine with a rule is allowed at the rule's ports; anything else there is refused. TLS is looked into, unless `inspect` forbids it: then it is refused."
    ),
    key!(
        Inspect,
        "network.inspect",
        Kind::Inspections,
        Widens,
        "auto",
        r#"{ "*" = "auto", "pinned.example.com" = "never" }"#,
        "Whose TLS the gate looks into: `always`, `never` (it passes as it is, decided by the machine's name), or `auto`: where an entry of `http`, a rule or a secret needs to see the requests. The most exact entry holds; one word alone is for all machines. Programs inside trust the certificates that the gate then shows; one that does not, because it has its own list of them, needs `never`."
    ),
    key!(
        Roots,
        "network.roots",
        Kind::Files,
        Widens,
        "none",
        r#"["~/company-ca.pem"]"#,
        "Files of certificates, in PEM, by which servers may be certified, beside those that this machine trusts: the gate trusts them where it looks into TLS, and programs inside where it does not. No sandbox changes them. Not in a project's policy."
    ),
    key!(
        BodyLimit,
        "network.body_limit",
        Kind::Bytes,
        Limits,
        "1MiB",
        r#""4MiB""#,
        "How much of a body the gate holds back where a rule must see it before it passes."
    ),
    key!(
        BodyBeyond,
        "network.body_beyond",
        Kind::Beyond,
        Limits,
        "deny",
        r#""allow""#,
        "What happens to a message whose body is larger than `body_limit`, where a rule decides by it: `deny`, or `allow` by what was seen of it."
    ),
    key!(
        Resolvers,
        "network.resolvers",
        Kind::Resolvers,
        Widens,
        "the name servers of this machine",
        r#"["10.1.2.3", "[2001:db8::53]:5353"]"#,
        "Name servers that the gate asks for allowed names, in this order, in the place of this machine's: for what a connection is made to, where /etc/hosts does not count then, and for records other than addresses. An address, with a port where it is not 53. Not in a project's policy."
    ),
    key!(
        KeepBodies,
        "network.keep_bodies",
        Kind::Hosts { sets: false },
        Widens,
        "nothing",
        r#"["api.anthropic.com"]"#,
        "Machines of whose requests and answers the record keeps the bodies, with what they say: `bailiwick log --har` and `log --body` show them. Their TLS is looked into, unless `inspect` forbids it. Secrets that the gate puts in are not in them; those that a program has itself are. Not in a project's policy."
    ),
    key!(
        KeepLimit,
        "network.keep_limit",
        Kind::Bytes,
        Limits,
        "256KiB",
        r#""1MiB""#,
        "How much of each body is kept, without its coding, at most 16MiB. A session keeps 256 MiB, compressed."
    ),
    key!(
        Pass,
        "environment.pass",
        Kind::Names,
        Widens,
        "locale, terminal, time zone, toolchain roots",
        r#"["LANG", "LC_*"]"#,
        "Variables that pass from the caller; `*` at the end stands for any ending."
    ),
    key!(
        Set,
        "environment.set",
        Kind::Variables,
        Widens,
        "nothing",
        r#"{ CI = "1" }"#,
        "Variables that are set, whatever the caller has."
    ),
    key!(
        Memory,
        "limits.memory",
        Kind::Bytes,
        Limits,
        "no limit",
        r#""4GiB""#,
        "Memory of all processes together."
    ),
    key!(
        Processes,
        "limits.processes",
        Kind::Count,
        Limits,
        "no limit; the template `default` sets 1024",
        "512",
        "Processes and threads at one time."
    ),
    key!(
        Cpu,
        "limits.cpu",
        Kind::Cpus,
        Limits,
        "no limit",
        "2.0",
        "Processors that can be used at one time."
    ),
    key!(
        Wall,
        "limits.wall",
        Kind::Time,
        Limits,
        "no limit",
        r#""1h30m""#,
        "Time after which the command is ended."
    ),
    key!(
        FileSize,
        "limits.file_size",
        Kind::Bytes,
        Limits,
        "no limit",
        r#""2GiB""#,
        "Size of one file."
    ),
    key!(
        OpenFiles,
        "limits.open_files",
        Kind::Count,
        Limits,
        "no limit; the template `default` sets 65536",
        "4096",
        "Open files of one process."
    ),
    key!(
        Disk,
        "limits.disk",
        Kind::Bytes,
        Limits,
        "no limit",
        r#""2GiB""#,
        "By how much the files in the workspace may grow. It is looked at from time to time: a fast program gets somewhat further."
    ),
    key!(
        Output,
        "limits.output",
        Kind::Bytes,
        Limits,
        "no limit",
        r#""64MiB""#,
        "What the command may write to stdout and stderr together, terminal included. What is over it is not passed on, and the run is ended. With this limit the two are pipes inside where they are no terminal."
    ),
    key!(
        Require,
        "require.layers",
        Kind::Layers,
        Widens,
        "every layer",
        r#"["landlock", "seccomp"]"#,
        "The layers without which nothing is started: `namespaces`, `landlock`, `seccomp`. A layer that is not named is used where the machine has it; that it is missing is said at the start and recorded."
    ),
    key!(
        Capabilities,
        "capos.capabilities",
        Kind::Capabilities,
        Widens,
        "console",
        r#"["console", "timer"]"#,
        "The capabilities that the program is given, by their names; `--cap` adds to them. See docs/capos.md."
    ),
    key!(
        AskDefault,
        "ask.default",
        Kind::Beyond,
        Limits,
        "deny",
        r#""deny""#,
        "What happens where nobody can be asked (the run has no terminal), or nobody answers in time."
    ),
    key!(
        AskTimeout,
        "ask.timeout",
        Kind::Time,
        Limits,
        "2m",
        r#""30s""#,
        "How long a person has to answer."
    ),
    key!(
        Lock,
        "lock.keys",
        Kind::Keys,
        Neutral,
        "nothing",
        r#"["network.allow"]"#,
        "Keys that weaker layers can only narrow. A lock on `network.allow` also holds `network.http` and `network.hosts`, a lock on `filesystem.read` also what `write` makes readable. A lock on `rules` keeps weaker layers from rules that allow or rewrite."
    ),
    key!(
        PackKeys,
        "lock.pack_keys",
        Kind::PublicKeys,
        Neutral,
        "nothing",
        r#"["RWQf6LRCGA9i53mlYecO4IzT51TGPpvWucNSCh1CBM0QTaLn73Y7GFO3"]"#,
        "Public keys of minisign. Where there is one, every pack that is not shipped, in whatever layer, needs a signature by one of them in the file beside it whose name ends in .minisig."
    ),
];

/// The keys of one `[[network.http]]` table.
pub(crate) const HTTP_KEYS: &[Key] = &[
    key!(
        Http,
        "network.http.host",
        Kind::Host,
        Neutral,
        "required",
        r#""api.example.com:80""#,
        "Which machines, as in `network.allow`."
    ),
    key!(
        Http,
        "network.http.methods",
        Kind::Methods,
        Neutral,
        "every method",
        r#"["GET"]"#,
        "Which methods, in upper case."
    ),
    key!(
        Http,
        "network.http.paths",
        Kind::RequestPaths,
        Neutral,
        "every path",
        r#"["/v1/**"]"#,
        "Which paths, without the query: `*` stands for any characters but `/`, `**` for any. A path that could be read in two ways (`/a/../b`, `%2f`) fits none."
    ),
];

/// The key with this path.
pub(crate) fn find(path: &str) -> Option<&'static Key> {
    KEYS.iter().find(|k| k.path == path)
}

/// The key with this id.
#[allow(
    clippy::indexing_slicing,
    reason = "the table is in the order of the ids; a test holds it"
)]
pub(crate) fn of(id: KeyId) -> &'static Key {
    &KEYS[id as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_its_ids_and_knows_every_section() {
        for (i, key) in KEYS.iter().enumerate() {
            assert_eq!(key.id as usize, i, "{}", key.path);
            let section = key.section();
            assert!(
                section.is_empty() || SECTIONS.iter().any(|(s, _)| *s == section),
                "{section}"
            );
        }
        assert_eq!(KeyId::PackKeys as usize + 1, KEYS.len());
    }
}
