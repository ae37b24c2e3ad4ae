//! The claim that an import rests on: whatever a source says, its policy reaches no machine and
//! writes no path that the source does not let be reached or written.

use super::Tool;
use crate::fixture::Machine;
use crate::network::decide_host;
use crate::{Access, import};
use bailiwick_event::Host;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const ALLOWED: [&str; 15] = [
    "b.example.org",
    "*.example.org",
    "*.b.example.org:443",
    "B.Example.org.",
    "localhost",
    "localhost:22",
    "10.0.0.1",
    "169.254.169.254",
    "*",
    "*.org",
    "@pip",
    "10.0.0.0/8",
    "b*.example.org",
    "http://b.example.org",
    "b.example.org:*",
];
const DENIED: [&str; 6] = [
    "evil.b.example.org",
    "*.b.example.org",
    "localhost",
    "*:22",
    "*",
    "evil-*.example.org",
];
const HOSTS: [&str; 9] = [
    "b.example.org",
    "example.org",
    "x.b.example.org",
    "evil.b.example.org",
    "evil-1.example.org",
    "other.org",
    "localhost",
    "10.0.0.1",
    "169.254.169.254",
];
const WRITE: [&str; 13] = [
    ".",
    "src",
    "./src/**",
    "~/data",
    "~/data/**",
    "~/d*",
    "~/{data,other}*",
    "/srv/x/",
    "../sibling",
    "**/gen",
    "~",
    "$HOME/data",
    "a\\*b",
];
const DENY_WRITE: [&str; 9] = [
    "src/gen",
    "./x",
    "~/data/keep",
    "**/.env",
    ".",
    "~/data",
    "~/da*",
    "../sibling/y",
    "/srv",
];
const PATHS: [&str; 13] = [
    "~/project/x",
    "~/project/src/y",
    "~/project/src/gen/y",
    "~/project/sub/src/y",
    "~/project/sub/gen/y",
    "~/project/src/.env",
    "~/data/y",
    "~/data/keep/y",
    "~/dx/y",
    "~/other/y",
    "~/sibling/y",
    "~/sibling/z",
    "/srv/x/y",
];

/// What one configuration says, whatever the tool.
#[derive(Clone, Debug)]
struct Says {
    allowed: Vec<&'static str>,
    denied: Vec<&'static str>,
    write: Vec<&'static str>,
    deny_write: Vec<&'static str>,
    deny_read: Vec<&'static str>,
}

fn says() -> impl Strategy<Value = Says> {
    let some = |all: &'static [&'static str], most: usize| {
        prop::sample::subsequence(all.to_vec(), 0..=most.min(all.len()))
    };
    let lists = (
        some(&ALLOWED, 15),
        some(&DENIED, 2),
        some(&WRITE, 4),
        some(&DENY_WRITE, 2),
        some(&["~", "~/data/keep", "src", "**/.env"], 2),
    );
    lists.prop_map(|(allowed, denied, write, deny_write, deny_read)| Says {
        allowed,
        denied,
        write,
        deny_write,
        deny_read,
    })
}

impl Says {
    fn text(&self, tool: Tool) -> String {
        let sandbox = serde_json::json!({
            "network": { "allowedDomains": self.allowed, "deniedDomains": self.denied },
            "filesystem": {
                "allowWrite": self.write,
                "denyWrite": self.deny_write,
                "denyRead": self.deny_read,
                "allowRead": ["."],
            },
        });
        if tool != Tool::Claude {
            return sandbox.to_string();
        }
        // Half of it as rules, which are told apart by their first word.
        let rule = |word: &str, list: &[&str]| -> Vec<String> {
            list.iter().map(|x| format!("{word}{x})")).collect()
        };
        let allow = [
            rule("WebFetch(domain:", &self.allowed),
            rule("Edit(", &self.write),
        ];
        let deny = [rule("WebFetch(domain:", &self.denied)];
        serde_json::json!({
            "permissions": {
                "allow": allow.concat(),
                "deny": deny.concat(),
                "ask": rule("Write(", &self.deny_write),
            },
        })
        .to_string()
    }

    fn reaches(&self, tool: Tool, host: &str, port: u16) -> bool {
        let fits = |entry: &&str| -> bool {
            let (name, at) = match entry.rsplit_once(':') {
                Some((name, at)) if tool == Tool::Srt => (name, at.parse::<u16>().ok()),
                _ => (*entry, None),
            };
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let named = match name.strip_prefix('*') {
                Some("") => true,
                Some(end) => host.ends_with(end),
                None => name == host,
            };
            named && at.is_none_or(|at| at == port)
        };
        let wide = |entry: &&&str| **entry != "*" || tool != Tool::Srt;
        let denied = |entry: &&str| match entry.split_once("-*") {
            Some((start, end)) => host.starts_with(start) && host.ends_with(end),
            None => fits(entry),
        };
        self.allowed.iter().filter(wide).any(fits) && !self.denied.iter().any(denied)
    }

    fn writes(&self, tool: Tool, home: &Path, path: &Path) -> bool {
        let workspace = home.join("project");
        let covers = |entry: &&str| {
            let entry = entry.strip_suffix("/**").unwrap_or(entry);
            let entry = match entry.strip_prefix("./") {
                Some("") | None => entry,
                Some(rest) => rest,
            };
            let full = match entry.strip_prefix('~') {
                // A rule of Claude's that begins with one slash begins at the project.
                None if tool == Tool::Claude => workspace.join(entry.trim_start_matches('/')),
                None => workspace.join(entry),
                Some(rest) => home.join(rest.trim_start_matches('/')),
            };
            let full = crate::paths::normalise(&full);
            let literal = full
                .to_string_lossy()
                .replace('{', "[{]")
                .replace('}', "[}]");
            let glob = crate::PathGlob::new(&literal).unwrap();
            path.ancestors()
                .any(|above| glob.is_match(above) || above == full)
        };
        let allowed =
            self.write.iter().any(covers) || tool == Tool::Claude && path.starts_with(&workspace);
        allowed && !self.deny_write.iter().any(covers)
    }
}

fn probe(home: &Path, path: &str) -> PathBuf {
    match path.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => PathBuf::from(path),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_import_grants_a_host_or_a_writable_path_that_its_source_does_not(
        says in says(),
        tool in prop::sample::select(vec![Tool::Fence, Tool::Srt, Tool::Claude]),
    ) {
        let machine = Machine::new().file("source.json", &says.text(tool));
        let file = machine.path("source.json");
        let imported = match import(tool, &file, &machine.request) {
            Ok(imported) => imported,
            Err(e) => panic!("{e}"),
        };
        prop_assert_eq!(&imported, &import(tool, &file, &machine.request).unwrap());
        let loaded = machine
            .file("imported.toml", &imported.policy)
            .policy("./imported.toml")
            .load();
        for host in HOSTS {
            for port in [22, 80, 443, 8443] {
                let granted =
                    decide_host(&loaded.effective.network, &Host::parse(host).unwrap(), port);
                prop_assert!(
                    !granted.is_allow() || says.reaches(tool, host, port),
                    "{}:{} is granted:\n{}", host, port, imported.policy
                );
            }
        }
        let home = loaded.effective.home.clone();
        if says.deny_read.contains(&"~/data/keep") && tool != Tool::Claude {
            let kept = loaded.effective.explain_path(&home.join("data/keep/y")).access;
            prop_assert!(matches!(kept, Access::Hidden | Access::Denied), "{:?}", kept);
        }
        for path in PATHS {
            let path = probe(&home, path);
            let granted = loaded.effective.explain_path(&path).access == Access::Write;
            prop_assert!(
                !granted || says.writes(tool, &home, &path),
                "{:?} is writable:\n{}", path, imported.policy
            );
        }
    }

    #[test]
    fn no_file_makes_an_import_panic(
        text in prop_oneof![".*", "[\\[\\]{}:,\"/* \n\\\\a1-]{0,40}"],
        tool in prop::sample::select(vec![Tool::Fence, Tool::Srt, Tool::Claude, Tool::Codex]),
    ) {
        let machine = Machine::new().file("source", &text);
        let _ = import(tool, &machine.path("source"), &machine.request);
    }

    #[test]
    fn whatever_stands_in_the_lists_the_policy_can_be_loaded(
        texts in prop::collection::vec("[@*./~{}\\[\\]a-c:0-9\"\\\\\n$-]{0,12}", 0..6),
        tool in prop::sample::select(vec![Tool::Fence, Tool::Srt]),
    ) {
        let text = serde_json::json!({
            "network": { "allowedDomains": texts },
            "filesystem": {
                "allowWrite": texts, "denyWrite": texts, "denyRead": texts, "allowRead": texts,
            },
        });
        let machine = Machine::new().file("source", &text.to_string());
        let imported = import(tool, &machine.path("source"), &machine.request).unwrap();
        for left in &imported.left_out {
            prop_assert!(!left.to_string().contains('\n'));
        }
        let machine = machine.file("imported.toml", &imported.policy);
        prop_assert!(crate::check(&machine.path("imported.toml")).is_ok());
    }
}
