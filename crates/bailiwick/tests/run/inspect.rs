//! The gate looks into TLS where the policy asks for it: programs do not notice, and nothing leaves
//! that was not decided.

use crate::support::{Authority, Backend, Background, Outcome, Sandbox, Scratch, Server};
use bailiwick_event::{Act, Scheme, Verdict};
use std::os::unix::fs::PermissionsExt;

on_every_backend! {
    a_request_within_tls_is_decided_by_method_and_path,
    a_rule_with_a_condition_sees_what_is_within_tls_of_its_machine_alone,
    what_is_never_looked_into_passes_as_it_is_and_is_refused_where_requests_are_restricted,
    a_server_whose_certificate_is_not_good_is_refused_with_the_reason,
    programs_trust_the_authority_with_and_without_variables_and_find_no_key,
    a_sandbox_that_looks_into_nothing_has_nothing_of_it,
}

/// A server of the host that serves `a.test` and `b.test` by HTTPS.
struct Origin {
    _scratch: Scratch,
    server: Server,
    authority: Authority,
}

impl Origin {
    fn start() -> Self {
        let scratch = Scratch::new();
        for name in ["a.test", "b.test"] {
            for path in ["ok/file", "no/file"] {
                scratch.write(format!("sites/{name}/{path}"), format!("{name} {path}\n"));
            }
        }
        let authority = Authority::new(&scratch, &["a.test", "b.test"]);
        let server = Server::start(&scratch, &scratch.root().join("sites"), &authority);
        Self {
            _scratch: scratch,
            server,
            authority,
        }
    }

    fn roots(&self) -> String {
        format!(
            "roots = [{:?}]\n",
            self.authority.certificate.to_str().unwrap()
        )
    }

    /// A policy by which both names are this server; `network` stands in `[network]`, `rest` after
    /// it.
    fn policy(&self, network: &str, rest: &str) -> String {
        let port = self.server.https;
        format!(
            "extends = [\"default\"]\n[network]\n{network}\n[network.hosts]\n\
             \"a.test\" = \"127.0.0.1:{port}\"\n\"b.test\" = \"127.0.0.1:{port}\"\n{rest}"
        )
    }

    /// What the test's own authority is called in the workspace.
    fn sandbox(&self, on: Backend) -> Sandbox {
        let certificate = std::fs::read(&self.authority.certificate).unwrap();
        Sandbox::on(on).file("origin-ca.pem", certificate)
    }
}

const ONLY_OK: &str =
    "[[network.http]]\nhost = \"a.test:443\"\nmethods = [\"GET\"]\npaths = [\"/ok/**\"]\n";

/// The requests within TLS that were decided, with the answer.
fn requests(outcome: &Outcome) -> Vec<(String, Verdict)> {
    let of = |event: &bailiwick_event::Event| match &event.act {
        Act::Http {
            scheme: Scheme::Https,
            ..
        } => Some((event.act.resource(), event.decision.verdict)),
        _ => None,
    };
    outcome.events().iter().filter_map(of).collect()
}

fn a_request_within_tls_is_decided_by_method_and_path(on: Backend) {
    let origin = Origin::start();
    let outcome = origin
        .sandbox(on)
        .policy(&origin.policy(&origin.roots(), ONLY_OK))
        .run(
            "curl -sS https://a.test/ok/file; curl -sS -X DELETE https://a.test/ok/file; \
             curl -sS -H 'Accept: application/json' https://a.test/no/file",
        );
    outcome.success().refused_by("network.http");
    let said = outcome.stdout();
    assert!(
        said.starts_with("a.test ok/file\nrefused by policy: DELETE"),
        "{said}"
    );
    assert!(
        said.contains(r#""retry":false"#) && said.contains(r#""rule":"network.http""#),
        "{said}"
    );
    assert_eq!(
        origin.server.take_requests(),
        ["GET https://a.test/ok/file"]
    );
    let expected = [
        ("GET https://a.test:443/ok/file", Verdict::Allow),
        ("DELETE https://a.test:443/ok/file", Verdict::Deny),
        ("GET https://a.test:443/no/file", Verdict::Deny),
    ];
    assert_eq!(
        requests(&outcome),
        expected.map(|(text, v)| (text.to_owned(), v))
    );
}

fn a_rule_with_a_condition_sees_what_is_within_tls_of_its_machine_alone(on: Backend) {
    let origin = Origin::start();
    let rule = "[[rules]]\nid = \"no-uploads\"\non = \"http.request\"\naction = \"deny\"\n\
        reason = \"nothing is deleted here\"\n\
        when = 'http.request.host == \"a.test\" && http.request.header(\"x-kind\").exists()'\n";
    let outcome = origin
        .sandbox(on)
        .policy(&origin.policy(&origin.roots(), rule))
        .run(
            "curl -sS https://a.test/ok/file; curl -sS -H 'X-Kind: secret' https://a.test/ok/file; \
             curl -sS --cacert origin-ca.pem -H 'X-Kind: secret' https://b.test/ok/file",
        );
    outcome.success().refused_by("no-uploads");
    let said = outcome.stdout();
    assert!(
        said.starts_with("a.test ok/file\nrefused by policy: GET"),
        "{said}"
    );
    assert!(said.contains("nothing is deleted here"), "{said}");
    // What no rule is about stays between the program and its server.
    assert!(said.ends_with("b.test ok/file\n"), "{said}");
    assert_eq!(requests(&outcome).len(), 2);
}

fn what_is_never_looked_into_passes_as_it_is_and_is_refused_where_requests_are_restricted(
    on: Backend,
) {
    let origin = Origin::start();
    let never = format!(
        "{}inspect = {{ \"*\" = \"always\", \"b.test\" = \"never\" }}\n",
        origin.roots()
    );
    let script = "curl -sS https://a.test/ok/file; \
        curl -sS --cacert origin-ca.pem https://b.test/ok/file";
    let outcome = origin
        .sandbox(on)
        .policy(&origin.policy(&never, ""))
        .run(script);
    outcome.success().nothing_refused();
    assert_eq!(outcome.stdout(), "a.test ok/file\nb.test ok/file\n");
    assert_eq!(requests(&outcome).len(), 1);

    let never = "inspect = \"never\"";
    let outcome = origin
        .sandbox(on)
        .policy(&origin.policy(never, ONLY_OK))
        .run("curl -sS --cacert origin-ca.pem https://a.test/ok/file");
    outcome.failure().refused_by("network.hosts");
    assert!(
        outcome.stderr().contains("[network.inspect]"),
        "{}",
        outcome.stderr()
    );
    assert_eq!(origin.server.take_requests().len(), 2);
}

fn a_server_whose_certificate_is_not_good_is_refused_with_the_reason(on: Backend) {
    let origin = Origin::start();
    let outcome = origin
        .sandbox(on)
        .policy(&origin.policy("inspect = \"always\"", ""))
        .run("curl -sS https://a.test/ok/file");
    outcome.success().refused_by("network.certificate");
    let said = outcome.stdout();
    assert!(
        said.contains("UnknownIssuer") && said.contains("[network] roots"),
        "{said}"
    );
    assert_eq!(origin.server.take_requests(), Vec::<String>::new());
}

#[test]
fn a_file_of_roots_that_is_not_there_is_a_mistake_of_the_policy() {
    let outcome = Sandbox::new()
        .policy("extends = [\"default\"]\n[network]\ninspect = \"always\"\nroots = [\"/nonexistent.pem\"]\n")
        .run("true");
    outcome.code(2);
    let said = outcome.stderr();
    assert!(
        said.contains("policy-1.toml:4:10") && said.contains("[network] roots"),
        "{said}"
    );
}

fn programs_trust_the_authority_with_and_without_variables_and_find_no_key(on: Backend) {
    let origin = Origin::start();
    let network = format!("{}inspect = \"always\"", origin.roots());
    let sandbox = origin.sandbox(on).policy(&origin.policy(&network, ""));
    // In a machine its own part of the product lies there, too.
    let text = match on {
        Backend::Process => "-r",
        Backend::Vm => "-rI",
    };
    let outcome = sandbox.run(&format!(
        "curl -sS https://a.test/ok/file && env -i PATH=$PATH curl -sS https://a.test/ok/file && \
         wget -qO- https://a.test/ok/file && python3 -c 'import urllib.request as u; \
         print(u.urlopen(\"https://a.test/ok/file\").read().decode(), end=\"\")' && \
         ! grep {text} 'PRIVATE KEY' /run/bailiwick",
    ));
    outcome.success();
    if on == Backend::Process {
        let written = sandbox.run("echo x >> /run/bailiwick/ca-bundle.pem");
        written.failure();
    }
    assert_eq!(outcome.stdout(), "a.test ok/file\n".repeat(4));
    let key = sandbox.scratch().state().join("bailiwick/authority.pem");
    let mode = std::fs::metadata(&key).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let outcome = sandbox.run(&format!("cat {}", key.display()));
    outcome.failure();
    assert!(!outcome.stdout().contains("KEY"));
}

fn a_sandbox_that_looks_into_nothing_has_nothing_of_it(on: Backend) {
    let sandbox = Sandbox::on(on);
    let place = match on {
        Backend::Process => "/run/bailiwick",
        Backend::Vm => "/run/bailiwick/ca-bundle.pem",
    };
    let outcome = sandbox.run(&format!("env | grep -c CA_BUNDLE; ls -d {place}"));
    outcome.failure();
    assert_eq!(outcome.stdout(), "0\n");
    assert!(
        !sandbox
            .scratch()
            .state()
            .join("bailiwick/authority.pem")
            .exists()
    );
}

#[test]
fn without_namespaces_it_is_the_same() {
    let origin = Origin::start();
    let outcome = origin
        .sandbox(Backend::Process)
        .without_namespaces()
        .policy(&origin.policy(&origin.roots(), ONLY_OK))
        .run("curl -sS https://a.test/ok/file; curl -sS https://a.test/no/file");
    outcome.success().refused_by("network.http");
    let said = outcome.stdout();
    assert!(
        said.starts_with("a.test ok/file\nrefused by policy: GET"),
        "{said}"
    );
}

#[test]
fn a_sandbox_that_waited_looks_into_tls_too_and_not_with_an_authority_that_was_replaced() {
    let origin = Origin::start();
    let sandbox = origin
        .sandbox(Backend::Process)
        .policy(&origin.policy(&origin.roots(), ONLY_OK));
    let script = "curl -sS https://a.test/ok/file; openssl s_client -connect a.test:443 \
        -proxy 127.0.0.1:14829 </dev/null 2>/dev/null | grep ^issuer";
    let mut serve = sandbox.command();
    serve
        .arg("serve")
        .arg("--workspace")
        .arg(sandbox.workspace());
    serve.args(sandbox.options());
    let _serve = Background::of(serve, "sandboxes wait");
    let issuer = |outcome: &Outcome| {
        outcome.success();
        let said = outcome.stdout();
        assert!(said.starts_with("a.test ok/file\nissuer="), "{said}");
        said
    };
    let first = issuer(&sandbox.run(script));
    assert_eq!(first, issuer(&sandbox.run(script)));
    sandbox.bailiwick(["ca", "rotate"]).success();
    assert_ne!(first, issuer(&sandbox.run(script)));
}

#[test]
fn the_authority_is_shown_given_away_and_replaced() {
    let sandbox = Sandbox::new();
    let none = sandbox.bailiwick(["ca", "show"]);
    none.success();
    assert!(
        none.stdout().contains("there is none yet"),
        "{}",
        none.stdout()
    );
    let one = sandbox.bailiwick(["ca", "export"]);
    one.success();
    assert!(
        one.stdout().starts_with("-----BEGIN CERTIFICATE-----"),
        "{}",
        one.stdout()
    );
    assert!(!one.stdout().contains("KEY"));
    assert_eq!(one.stdout(), sandbox.bailiwick(["ca", "export"]).stdout());
    let shown = sandbox.bailiwick(["ca", "show"]).stdout();
    assert!(
        shown.contains("fingerprint: SHA-256 ") && shown.contains("authority.pem"),
        "{shown}"
    );
    sandbox.bailiwick(["ca", "rotate"]).success();
    assert_ne!(one.stdout(), sandbox.bailiwick(["ca", "export"]).stdout());
}

#[test]
fn doctor_tries_the_programs_that_are_there() {
    let outcome = Sandbox::new()
        .within(std::time::Duration::from_secs(300))
        .bailiwick(["doctor", "--tls"]);
    for name in [
        "curl", "wget", "git", "openssl", "python3", "pip", "node", "npm", "apt",
    ] {
        outcome.stdout_has(&format!("{name:<18} works\n"));
    }
    // The toolchain may lie in the home directory of another user, who runs these tests first.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let cargo = std::env::split_paths(&path).any(|folder| folder.join("cargo").is_file());
    let said = if cargo { "works" } else { "not here" };
    outcome.stdout_has(&format!("{:<18} {said}\n", "cargo"));
    outcome.success();
}
