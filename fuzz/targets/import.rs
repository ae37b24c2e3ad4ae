//! Configurations of other tools: one letter for the tool (`f`ence, `c`laude in a project, the
//! `u`ser's own of Claude, `s`rt, code`x`), then the file; behind a line `====` a file that it may
//! extend. The policy that is made grants nothing that another reading of the source does not, and
//! every key is in it or told.
#![no_main]

#[path = "../reference/import.rs"]
mod reference;

use bailiwick_event::{Host, PatternHost, Text};
use bailiwick_policy::fuzzing::{import, load};
use bailiwick_policy::network::decide_host;
use bailiwick_policy::{Access, Effective, Imported, PathPattern, PolicyError, Tool};
use libfuzzer_sys::fuzz_target;
use reference::{Entry, Glob, HOME, Machine, Says, WORKSPACE, plain};
use serde_json::Value;
use std::cell::LazyCell;
use std::collections::BTreeSet;
use std::path::Path;

thread_local! {
    /// What a policy has that says nothing.
    static EMPTY: LazyCell<Effective> = LazyCell::new(|| {
        let loaded = load("extends = [\"default\"]").expect("it asks for nothing of the machine");
        loaded.expect("the template is whole").effective
    });
}

/// What every sandbox sees of the system.
const SYSTEM: [&str; 12] = [
    "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix",
    "/snap", "/sys",
];
const PATHS: [&str; 9] = [
    "/nonexistent/home/project/x",
    "/nonexistent/home/project/src/y",
    "/nonexistent/home/project/.env",
    "/nonexistent/home/.ssh/id",
    "/nonexistent/home/data/x",
    "/nonexistent/sibling",
    "/srv/x",
    "/var/lib/x",
    "/x",
];
const HOSTS: [&str; 6] = [
    "a.test",
    "localhost",
    "127.0.0.1",
    "10.0.0.1",
    "169.254.169.254",
    "::1",
];

fuzz_target!(|text: &str| {
    let mut letters = text.chars();
    let (tool, own, file) = match letters.next() {
        Some('f') => (Tool::Fence, false, "project/fence.json"),
        Some('c') => (Tool::Claude, false, "project/.claude/settings.json"),
        Some('u') => (Tool::Claude, true, ".claude/settings.json"),
        Some('s') => (Tool::Srt, false, "project/srt.json"),
        Some('x') => (Tool::Codex, false, "project/config.toml"),
        _ => return,
    };
    let file = format!("{HOME}/{file}");
    let (text, base) = match letters.as_str().split_once("\n====\n") {
        Some((text, base)) => (text, Some(base)),
        None => (letters.as_str(), None),
    };
    let imported = import(tool, &file, text, base);
    assert_eq!(
        imported,
        import(tool, &file, text, base),
        "differs the second time"
    );
    let imported = match imported {
        Ok(imported) => imported,
        Err(PolicyError::Invalid(found)) => {
            assert!(!found.is_empty(), "refused without a reason");
            for diagnostic in found {
                let (file, shown) = (&diagnostic.origin().file, diagnostic.to_string());
                assert!(
                    !file.contains("policy"),
                    "not a mistake of the source: {shown}"
                );
                is_harmless(&shown);
            }
            return;
        }
        Err(error) => panic!("not about the file: {error}"),
    };
    imported
        .left_out
        .iter()
        .for_each(|left| is_harmless(&left.to_string()));

    let trees = match tool {
        Tool::Codex => match toml::from_str(text) {
            Ok(tree) => vec![tree],
            // The importer reads no number of Codex's.
            Err(error) if error.message().contains("number") => return,
            Err(error) => panic!("{error}"),
        },
        _ => vec![json(tool, &file, text, base, &imported)],
    };
    let trees = match base.filter(|_| tool == Tool::Fence && is_extended(&trees[0])) {
        Some(base) => [trees, vec![tree(base)]].concat(),
        None => trees,
    };
    let effective = match load(&imported.policy) {
        Some(Ok(loaded)) => loaded.effective,
        other => panic!(
            "{:?} of\n{}",
            other.map(|r| r.map(|_| ()).map_err(|e| e.to_string())),
            imported.policy
        ),
    };
    let trees: Vec<&Value> = trees.iter().collect();
    let mut says = Says::of(tool, &trees, own);
    let heard = Heard::of(&imported);
    // What is told not to be denied is known not to be.
    says.deny_read.retain(|e| !heard.is_given_up(e));
    says.deny_write.retain(|e| !heard.is_given_up(e));
    says.write.retain(|e| !heard.is_no_name(e));
    grants_no_path(&says, &effective, &imported);
    grants_no_machine(&says, &effective, &imported);
    grants_nothing_else(&says, &effective, &imported);
    says_every_key(&says, &effective, &heard, &trees, &imported);
});

/// Nothing that a terminal obeys.
fn is_harmless(shown: &str) {
    let control = shown.chars().find(|c| c.is_control() && *c != '\n');
    assert_eq!(control, None, "{shown:?}");
}

fn tree(text: &str) -> Value {
    serde_json::from_str(&plain(text)).unwrap_or_else(|e| panic!("{e}: {}", plain(text)))
}

/// The file's tree; without comments it means the same.
fn json(tool: Tool, file: &str, text: &str, base: Option<&str>, imported: &Imported) -> Value {
    let again = import(tool, file, &plain(text), base.map(plain).as_deref());
    let again = again.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.policy, imported.policy, "comments mean something");
    let told = |imported: &Imported| -> Vec<_> {
        let left = imported.left_out.iter();
        left.map(|l| (l.key.clone(), l.why.clone())).collect()
    };
    assert_eq!(told(&again), told(imported), "comments mean something");
    tree(text)
}

/// Whether a configuration of Fence extends the file that there is.
fn is_extended(tree: &Value) -> bool {
    let text = tree["extends"].as_str().unwrap_or_default();
    if text == "@base" || !text.contains('/') {
        return text == "@base";
    }
    // Every other path leads nowhere, and is refused.
    true
}

/// What the user is told: the comments of the policy, and what is left out.
struct Heard {
    comments: BTreeSet<String>,
    told: Vec<((usize, String), String)>,
}

impl Heard {
    fn of(imported: &Imported) -> Self {
        let comment = |line: &str| line.rsplit_once(" # ").map(|(_, key)| key.to_owned());
        let told = imported.left_out.iter().map(|left| {
            let extended =
                [r"./base.json", "~/.config/fence/fence.jsonc"].contains(&&*left.origin.file);
            ((usize::from(extended), left.key.clone()), left.why.clone())
        });
        Self {
            comments: imported.policy.lines().filter_map(comment).collect(),
            told: told.collect(),
        }
    }

    /// Whether the user is told that an entry denies nothing; that it is hidden anyway is said of
    /// home directories alone.
    fn is_given_up(&self, entry: &Entry) -> bool {
        let homes = ["/home", "/root", "/Users", HOME];
        let home = homes.iter().any(|home| entry.glob.covers(home, false));
        let mut told = self.told.iter().filter(|(told, _)| *told == entry.key);
        told.any(|(_, why)| {
            why.contains("NOT denied") || home && why.contains("a deny has no exceptions")
        })
    }

    /// Whether the user is told that a folder is not granted, and nothing in it protected.
    fn is_no_name(&self, entry: &Entry) -> bool {
        let mut told = self.told.iter().filter(|(told, _)| *told == entry.key);
        told.any(|(_, why)| why.contains("Codex knows no wildcards"))
    }

    /// Whether a key, or what it lies in, is told or stands as a comment.
    fn has(&self, key: &(usize, String)) -> bool {
        let within = |inner: &str, outer: &str| {
            let rest = inner.strip_prefix(outer);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let mut told = self.told.iter().filter(|((file, _), _)| *file == key.0);
        told.any(|((_, told), _)| within(&key.1, told) || within(told, &key.1))
            || self
                .comments
                .contains(&Text::from(key.1.as_str()).to_string())
    }
}

fn access(effective: &Effective, path: &str) -> Access {
    effective.explain_path(Path::new(path)).access
}

fn lies_below(path: &str, folder: &str) -> bool {
    Path::new(path).starts_with(folder)
}

fn grants_no_path(says: &Says, effective: &Effective, imported: &Imported) {
    let lists = [&says.read, &says.write, &says.deny_read, &says.deny_write];
    let entries = lists.into_iter().flatten();
    let files = &effective.filesystem;
    let known = EMPTY.with(|empty| {
        [
            empty.filesystem.read.clone(),
            empty.filesystem.write.clone(),
        ]
        .concat()
    });
    let granted = files
        .write
        .iter()
        .chain(&files.read)
        .filter(|e| !known.contains(e));
    let granted = granted.map(|entry| match &entry.pattern {
        PathPattern::Path(path) => path.display().to_string(),
        PathPattern::Glob { root, glob } => root.join(glob).display().to_string(),
    });
    let granted = granted.flat_map(|text| Glob::new(&text, WORKSPACE, false).probes());
    let near = granted.chain(entries.flat_map(|entry| entry.glob.probes()));
    let paths: BTreeSet<String> = near.chain(PATHS.map(str::to_owned)).take(120).collect();
    let own = [
        WORKSPACE,
        "/nonexistent/home/.cache",
        "/var/lib/dpkg",
        "/var/lib/apt",
    ];
    for path in paths {
        // The folder where a command starts is always seen; what is in it need not be.
        let hides = says.hides(&path) && path != WORKSPACE;
        let writes = says.writes(&path);
        let by_template = SYSTEM
            .iter()
            .chain(&own)
            .any(|folder| lies_below(&path, folder));
        let unseen = !by_template && !says.names(&path);
        if writes && !hides && !unseen {
            continue;
        }
        let access = access(effective, &path);
        let policy = &imported.policy;
        assert!(
            writes || access != Access::Write,
            "{path} is writable:\n{policy}"
        );
        let visible = !matches!(access, Access::Hidden | Access::Denied);
        assert!(!hides || !visible, "{path} is visible:\n{policy}");
        assert!(
            !unseen || !visible,
            "{path} is {access:?}, and nothing names it:\n{policy}"
        );
    }
}

/// Machines that an entry may mean, and some that it must not.
fn near(machine: &Machine) -> Vec<Host> {
    let name = machine.split().0;
    let name = name.rsplit_once('*').map_or(name, |(_, end)| end);
    let name = name.trim_start_matches('.');
    let all = [
        name.to_owned(),
        format!("a.{name}"),
        format!("evil{name}"),
        format!("evil-{name}"),
        format!("a.b.{name}"),
    ];
    all.iter()
        .filter_map(|name| Host::parse(name).ok())
        .collect()
}

fn grants_no_machine(says: &Says, effective: &Effective, imported: &Imported) {
    let entries = || says.allow.iter().chain(&says.deny);
    let mut hosts: BTreeSet<Host> = entries().flat_map(near).take(60).collect();
    hosts.extend(effective.network.allow.iter().take(60).filter_map(
        |entry| match &entry.value.host {
            PatternHost::Exact(host) => Some(host.clone()),
            PatternHost::Below(domain) => Host::parse(&format!("b.{domain}")).ok(),
            PatternHost::Any | PatternHost::Network(..) => None,
        },
    ));
    hosts.extend(HOSTS.iter().filter_map(|host| Host::parse(host).ok()));
    let mut ports = BTreeSet::from([22, 80, 443]);
    ports.extend(entries().filter_map(|machine| machine.split().1).take(6));
    ports.extend(says.local_ports.iter().take(6));
    for host in &hosts {
        for port in &ports {
            let granted = decide_host(&effective.network, host, *port).is_allow();
            let by = &imported.policy;
            assert!(
                !granted || says.reaches(host, *port),
                "{host}:{port} is granted:\n{by}"
            );
        }
    }
}

fn grants_nothing_else(says: &Says, effective: &Effective, imported: &Imported) {
    let by = &imported.policy;
    let network = &effective.network;
    assert!(network.hosts.is_empty() && network.http.is_empty(), "{by}");
    assert!(
        network.publish.is_empty() && network.registries.is_empty(),
        "{by}"
    );
    assert!(effective.require.is_empty(), "{by}");
    assert_eq!(effective.filesystem.protect_absent, None, "{by}");
    EMPTY.with(|empty| {
        assert_eq!(effective.limits, empty.limits, "{by}");
        for entry in &effective.filesystem.private {
            let known = empty.filesystem.private.contains(entry);
            assert!(known, "{entry:?} is a folder of its own:\n{by}");
        }
        for name in &effective.environment.pass {
            let given = says.pass.iter().any(|(_, pass)| *pass == name.value);
            assert!(
                given || empty.environment.pass.contains(name),
                "{name:?} passes:\n{by}"
            );
        }
    });
    for (name, value) in &effective.environment.set {
        let secret = ["KEY", "TOKEN", "SECRET", "PASSWORD"];
        let upper = name.to_ascii_uppercase();
        assert!(
            !secret.iter().any(|word| upper.contains(word)),
            "{name} is set:\n{by}"
        );
        let given = says.set.iter().any(|(given, text)| {
            given == name && text.as_str().is_none_or(|text| text == value.value)
        });
        let usual = EMPTY.with(|empty| empty.environment.set.get(name).is_some_and(|v| v == value));
        assert!(given || usual, "{name} is set:\n{by}");
    }
}

/// Keys that stand at their end and say how others are read.
const FLAGS: [&str; 9] = [
    "extends",
    "network.allowLocalOutbound",
    "filesystem.defaultDenyRead",
    "filesystem.strictDenyRead",
    "permissions.defaultMode",
    "profile",
    "sandbox_mode",
    "sandbox_workspace_write.network_access",
    "shell_environment_policy.ignore_default_excludes",
];

/// Every key is in the policy, or told, or nothing is lost without it.
fn says_every_key(
    says: &Says,
    effective: &Effective,
    heard: &Heard,
    trees: &[&Value],
    imported: &Imported,
) {
    for (file, tree) in trees.iter().enumerate() {
        let mut leaves = Vec::new();
        walk(tree, String::new(), &mut leaves);
        for (path, leaf) in leaves {
            let key = (file, path);
            let flag = FLAGS.contains(&key.1.as_str()) || key.1.starts_with("profiles.");
            let bare = matches!(leaf.as_str(), Some("Edit" | "Write"));
            if heard.has(&key) || flag || bare || leaf.is_null() {
                continue;
            }
            let kept = is_kept(says, effective, heard, &key, leaf);
            assert!(kept, "{key:?} is lost:\n{}", imported.policy);
        }
    }
}

fn walk<'a>(value: &'a Value, path: String, leaves: &mut Vec<(String, &'a Value)>) {
    match value {
        // A time, as the library for TOML has it.
        Value::Object(pairs) if pairs.contains_key("$__toml_private_datetime") => {
            leaves.push((path, value));
        }
        Value::Object(pairs) => {
            // A key without a name is told as the whole file.
            let nameless = |name: &str| path.is_empty() && name.is_empty();
            for (name, value) in pairs.iter().filter(|(name, _)| !nameless(name)) {
                let path = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                walk(value, path, leaves);
            }
        }
        Value::Array(values) => {
            for (i, value) in values.iter().enumerate() {
                walk(value, format!("{path}[{i}]"), leaves);
            }
        }
        leaf => leaves.push((path, leaf)),
    }
}

/// Whether an entry that is not heard of holds, because another one says the same or more.
fn is_kept(
    says: &Says,
    effective: &Effective,
    heard: &Heard,
    key: &(usize, String),
    leaf: &Value,
) -> bool {
    let at = |list: &[Entry]| list.iter().position(|entry| entry.key == *key);
    // What stands in a list twice is told once.
    let told = |list: &[Entry], n: usize| {
        let same = |entry: &&Entry| entry.text == list[n].text;
        list.iter().filter(same).any(|entry| heard.has(&entry.key))
    };
    let known = |list: &[Entry], n: usize| !list[n].glob.is_unsure() || told(list, n);
    // What may not be read may not be written either, and is said once.
    let wider = !says.deny_read.is_empty() && at(&says.deny_write).is_some();
    for list in [&says.deny_read, &says.deny_write] {
        if let Some(n) = at(list) {
            return wider || known(list, n);
        }
    }
    for (list, least) in [(&says.read, Access::Read), (&says.write, Access::Write)] {
        let Some(n) = at(list) else { continue };
        if told(list, n) {
            return true;
        }
        // What nobody knows the meaning of may be in the workspace, which needs no entry.
        let Some(path) = list[n].glob.probes().pop() else {
            return true;
        };
        if least == Access::Write && (says.hides(&path) || !says.writes(&path)) {
            return true;
        }
        let access = access(effective, &path);
        let taken = matches!(access, Access::Denied | Access::Protected | Access::Write);
        return taken || access == least;
    }
    let same = |list: &[Machine], n: usize| {
        let of = |machine: &&Machine| machine.text == list[n].text;
        list.iter()
            .filter(of)
            .any(|machine| heard.has(&machine.key))
    };
    for list in [&says.allow, &says.deny] {
        if let Some(n) = list.iter().position(|machine| machine.key == *key) {
            let port = list[n].split().1.unwrap_or(443);
            let spelled = near(&list[n]).iter().any(|host| {
                decide_host(&effective.network, host, port).is_allow() == says.reaches(host, port)
            });
            return same(list, n) || spelled;
        }
    }
    let port = leaf.as_u64().and_then(|port| u16::try_from(port).ok());
    let local = port.is_some_and(|port| says.local_ports.contains(&port));
    let pass = &effective.environment.pass;
    local
        || pass
            .iter()
            .any(|pass| Some(pass.value.as_str()) == leaf.as_str())
}
