//! A package client is compared with itself: what it does in a sandbox must be what it does
//! without one — exit status, files, requests as the server saw them — and what is not in the
//! policy must not be seen by the server at all.

use crate::support::{
    Authority, Backend, Finished, Outcome, Sandbox, Scratch, Server, host_command, pass_on,
    run_to_end,
};
use bailiwick_event::{Act, Boundary, Event, Verdict};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A real client and what it is told to do. In `files` and `environment` the text `{workspace}`
/// stands for the workspace, in which `ca.pem` is the certificate to trust.
pub(crate) struct Client {
    /// The package that `packages.py` makes.
    pub(crate) kind: &'static str,
    /// The program; it must be installed.
    pub(crate) program: &'static str,
    /// The names that it needs, the one that it asks first at the front.
    pub(crate) hosts: &'static [&'static str],
    /// Whether it speaks HTTPS to them.
    pub(crate) secure: bool,
    pub(crate) files: &'static [(&'static str, &'static str)],
    pub(crate) environment: &'static [(&'static str, &'static str)],
    /// Variables by which it trusts the server's authority, where the sandbox does not arrange that.
    pub(crate) trust: &'static [(&'static str, &'static str)],
    /// What is run, as a line of shell in the workspace.
    pub(crate) script: &'static str,
    /// What it leaves behind: files or folders of the workspace.
    pub(crate) artefacts: &'static [&'static str],
}

/// The client's server with its packages, and the authority that vouches for it.
struct Registry {
    scratch: Scratch,
    authority: Authority,
    server: Server,
}

/// A run without a sandbox, and what it left behind.
struct Plain {
    finished: Finished,
    artefacts: BTreeMap<PathBuf, Vec<u8>>,
    requests: Vec<String>,
}

/// An authority that programs are to trust.
const NAMED: &str = "roots = [\"{roots}\"]";
/// What has the gate look into all TLS.
const INSPECTED: &str = "inspect = \"always\"\nroots = [\"{roots}\"]";

const LIMIT: Duration = Duration::from_secs(300);

impl Client {
    /// The same exit status, files and requests as without a sandbox, by an authority that the policy names;
    /// nothing refused; every name in the ledger.
    #[track_caller]
    pub(crate) fn works_as_it_does_without_a_sandbox(&self, on: Backend) {
        self.works(on, |_, sandbox| sandbox, NAMED);
    }

    /// The same on a machine that gives no namespaces.
    #[track_caller]
    pub(crate) fn works_without_namespaces(&self) {
        self.works(
            Backend::Process,
            |client, sandbox| client.trusting(sandbox).without_namespaces(),
            "",
        );
    }

    /// The same where the gate looks into its TLS: it trusts nobody but whom the sandbox has it trust,
    /// and every request that the server sees is in the ledger.
    #[track_caller]
    pub(crate) fn works_with_its_tls_inspected(&self, on: Backend) {
        assert!(self.secure, "there is no TLS to look into");
        self.works(on, |_, sandbox| sandbox, INSPECTED);
    }

    /// `network` stands in the policy's `[network]`.
    #[track_caller]
    fn works(&self, on: Backend, made: fn(&Self, Sandbox) -> Sandbox, network: &str) {
        let registry = self.registry();
        let plain = self.plain(&registry);
        let inspected = network == INSPECTED;
        let roots = registry.authority.certificate.to_str().unwrap();
        let network = network.replace("{roots}", roots);
        let outcome = made(self, self.sandbox(on, &registry))
            .policy(&registry.policy(self, self.hosts, &network))
            .run(self.script);

        outcome.success().nothing_refused();
        assert_eq!(outcome.exit_code(), plain.finished.status.code());
        assert_eq!(registry.server.take_requests(), plain.requests);
        assert_eq!(self.artefacts(&outcome.workspace()), plain.artefacts);

        let events = outcome.events();
        assert_eq!(hosts_at(&events, Verdict::Allow), self.names(self.hosts));
        for event in events.iter().filter(|e| e.boundary() == Boundary::Socket) {
            assert_eq!(event.decision.rule.id, "network.hosts", "{event:?}");
        }
        assert_eq!(
            self.requests_in(&events),
            self.requests_seen(&plain, inspected)
        );
        assert!(matches!(
            events.iter().rev().find(|e| e.boundary() == Boundary::Exec),
            Some(Event {
                act: Act::ExecExit { code: 0, .. },
                ..
            })
        ));
    }

    /// It does what it does nowhere but in a machine of its own: nothing is refused, and all its names are
    /// in the ledger. What it printed.
    #[allow(dead_code, reason = "only machines have a system of their own")]
    #[track_caller]
    pub(crate) fn works_in_a_machine(&self) -> String {
        let registry = self.registry();
        let outcome = self
            .trusting(self.sandbox(Backend::Vm, &registry))
            .policy(&registry.policy(self, self.hosts, ""))
            .run(self.script);
        outcome.success().nothing_refused();
        let names = hosts_at(&outcome.events(), Verdict::Allow);
        assert_eq!(names, self.names(self.hosts));
        outcome.stdout()
    }

    /// Without `removed` in the policy the server sees the requests to the other names and no
    /// other, and the ledger has the refusal.
    #[track_caller]
    pub(crate) fn is_refused_a_host_that_is_not_in_the_policy(&self, on: Backend, removed: &str) {
        let registry = self.registry();
        let plain = self.plain(&registry);
        let others: Vec<_> = self
            .hosts
            .iter()
            .copied()
            .filter(|host| *host != removed)
            .collect();
        assert!(others.len() < self.hosts.len(), "{removed} is not its host");
        let outcome = self
            .trusting(self.sandbox(on, &registry))
            .policy(&registry.policy(self, &others, ""))
            .run(self.script);

        outcome.failure().refused_by("network.default");
        let removed_url = format!("://{removed}/");
        let expected: BTreeSet<_> = plain
            .requests
            .iter()
            .filter(|request| !request.contains(&removed_url))
            .cloned()
            .collect();
        // A set: a client may repeat what it may do after it was refused something else.
        let seen: BTreeSet<_> = registry.server.take_requests().into_iter().collect();
        assert_eq!(seen, expected);
        assert_ne!(self.artefacts(&outcome.workspace()), plain.artefacts);

        let events = outcome.events();
        assert_eq!(hosts_at(&events, Verdict::Allow), self.names(&others));
        self.names_only(&outcome, removed);
    }

    /// Under the template `default` the server sees nothing at all.
    #[track_caller]
    pub(crate) fn is_refused_everything_without_a_policy(&self, on: Backend) {
        let registry = self.registry();
        // A client that fails for another reason would prove nothing.
        let plain = self.plain(&registry);
        let outcome = self.trusting(self.sandbox(on, &registry)).run(self.script);

        outcome.failure().refused_by("network.default");
        assert_eq!(registry.server.take_requests(), Vec::<String>::new());
        assert_ne!(self.artefacts(&outcome.workspace()), plain.artefacts);
        assert_eq!(hosts_at(&outcome.events(), Verdict::Allow), BTreeSet::new());
        self.names_only(&outcome, self.hosts[0]);
    }

    /// Every refusal is about this name, by the rule for what no policy mentions, and says what
    /// to do.
    #[track_caller]
    fn names_only(&self, outcome: &Outcome, host: &str) {
        let denied = outcome.denied();
        assert_eq!(hosts_at(&denied, Verdict::Deny), self.names(&[host]));
        for event in &denied {
            assert_eq!(event.decision.rule.id, "network.default", "{event:?}");
            assert!(event.decision.remedy.contains(host), "{event:?}");
        }
    }

    fn names(&self, hosts: &[&str]) -> BTreeSet<String> {
        hosts.iter().map(|host| (*host).to_owned()).collect()
    }

    #[track_caller]
    fn registry(&self) -> Registry {
        assert!(
            self.found().is_some(),
            "{} is not installed; `scripts/setup --for test` installs it",
            self.program
        );
        let scratch = Scratch::new();
        let sites = scratch.root().join("sites");
        let mut maker = host_command("python3");
        maker
            // The checkout may lie where only another user can read.
            .arg(scratch.write("packages.py", include_str!("packages.py")))
            .arg(self.kind)
            .arg(&sites);
        run_to_end(&mut maker, &[], LIMIT).success();
        let authority = Authority::new(&scratch, self.hosts);
        let server = Server::start(&scratch, &sites, &authority);
        Registry {
            scratch,
            authority,
            server,
        }
    }

    /// Where the program is.
    fn found(&self) -> Option<PathBuf> {
        let path = std::env::var_os("PATH")?;
        std::env::split_paths(&path)
            .map(|folder| folder.join(self.program))
            .find(|file| file.is_file())
    }

    /// The home directory that the program lies in (`~/.rustup/…`): under sudo it is not HOME,
    /// and a toolchain in another's home directory is rightly hidden.
    fn home(&self) -> Option<PathBuf> {
        let found = self.found()?;
        let dotted = |path: &&Path| {
            path.file_name()
                .is_some_and(|name| name.to_string_lossy().starts_with('.'))
        };
        Some(found.ancestors().find(dotted)?.parent()?.to_owned())
    }

    /// The client without a sandbox; its names are found by the server's forward proxy.
    #[track_caller]
    fn plain(&self, registry: &Registry) -> Plain {
        let workspace = registry.scratch.workspace();
        let proxy = format!("http://127.0.0.1:{}", registry.server.http);
        let mut command = host_command("sh");
        command
            .args(["-c", self.script])
            .current_dir(&workspace)
            .env_remove("TMPDIR");
        pass_on(&mut command, &["RUSTUP_HOME", "RUSTUP_TOOLCHAIN"]);
        for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
            command.env(name, &proxy);
        }
        for (name, text) in self.files {
            let path = Path::new("workspace").join(name);
            registry.scratch.write(path, expand(text, &workspace));
        }
        for (key, value) in self.environment.iter().chain(self.trust) {
            command.env(key, expand(value, &workspace));
        }
        std::fs::copy(&registry.authority.certificate, workspace.join("ca.pem")).unwrap();
        let finished = run_to_end(&mut command, &[], LIMIT).success();
        let artefacts = self.artefacts(&workspace);
        assert!(!artefacts.is_empty(), "it left nothing to compare");
        let requests = registry.server.take_requests();
        for host in self.hosts {
            let url = format!("://{host}/");
            assert!(requests.iter().any(|r| r.contains(&url)), "{requests:?}");
        }
        Plain {
            finished,
            artefacts,
            requests,
        }
    }

    /// The same workspace and variables in a sandbox.
    fn sandbox(&self, on: Backend, registry: &Registry) -> Sandbox {
        let certificate = std::fs::read(&registry.authority.certificate).unwrap();
        let mut sandbox = Sandbox::on(on).within(LIMIT).file("ca.pem", certificate);
        for name in ["RUSTUP_HOME", "RUSTUP_TOOLCHAIN"] {
            if let Some(value) = std::env::var_os(name) {
                sandbox = sandbox.host_env(name, value);
            }
        }
        if let Some(home) = self.home() {
            sandbox = sandbox.host_env("HOME", home);
        }
        let workspace = sandbox.workspace();
        for (name, text) in self.files {
            sandbox = sandbox.file(name, expand(text, &workspace));
        }
        for (key, value) in self.environment {
            sandbox = sandbox.env(key, expand(value, &workspace));
        }
        sandbox
    }

    /// The same with what makes it trust the server's authority.
    fn trusting(&self, mut sandbox: Sandbox) -> Sandbox {
        let workspace = sandbox.workspace();
        for (key, value) in self.trust {
            sandbox = sandbox.env(key, expand(value, &workspace));
        }
        sandbox
    }

    /// Every file below the artefacts, without what names the workspace itself.
    fn artefacts(&self, workspace: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut files = BTreeMap::new();
        let mut open: Vec<_> = self.artefacts.iter().map(PathBuf::from).collect();
        while let Some(path) = open.pop() {
            let absolute = workspace.join(&path);
            if let Ok(entries) = std::fs::read_dir(&absolute) {
                open.extend(entries.map(|entry| path.join(entry.unwrap().file_name())));
            } else if let Ok(content) = std::fs::read(&absolute) {
                files.insert(path, content);
            }
        }
        files
    }

    /// The requests that the ledger has.
    fn requests_in(&self, events: &[Event]) -> Vec<String> {
        let mut requests: Vec<_> = events
            .iter()
            .filter_map(|event| match &event.act {
                Act::Http {
                    method,
                    host,
                    path,
                    scheme,
                    ..
                } => Some(format!("{method} {}://{host}{path}", scheme.name())),
                _ => None,
            })
            .collect();
        requests.sort();
        requests
    }

    /// Those that it should have: all for HTTP, none for HTTPS that is not looked into.
    fn requests_seen(&self, plain: &Plain, inspected: bool) -> Vec<String> {
        if self.secure && !inspected {
            Vec::new()
        } else {
            plain.requests.clone()
        }
    }
}

impl Registry {
    /// The template `default` and these names, all of which are the test's server.
    fn policy(&self, client: &Client, hosts: &[&str], network: &str) -> String {
        let port = match client.secure {
            true => self.server.https,
            false => self.server.http,
        };
        let lines: Vec<_> = hosts
            .iter()
            .map(|host| format!("\"{host}\" = \"127.0.0.1:{port}\"\n"))
            .collect();
        format!(
            "extends = [\"default\"]\n[network]\n{network}\n[network.hosts]\n{}",
            lines.concat()
        )
    }
}

fn expand(text: &str, workspace: &Path) -> String {
    text.replace("{workspace}", workspace.to_str().unwrap())
}

/// The names that the rows with this verdict are about.
fn hosts_at(events: &[Event], verdict: Verdict) -> BTreeSet<String> {
    events
        .iter()
        .filter(|event| event.decision.verdict == verdict)
        .filter_map(|event| match &event.act {
            Act::Dns { qname, .. } => Some(qname.to_string_lossy()),
            Act::Connect { host, .. } | Act::Http { host, .. } | Act::Tls { host, .. } => {
                Some(host.to_string_lossy())
            }
            _ => None,
        })
        .map(|name| name.trim_end_matches('.').to_ascii_lowercase())
        .collect()
}
