//! What a run leaves in its workspace does not choose what the next one may reach, and what a project
//! names is not read aloud.

use crate::network::Host;
use crate::support::{Authority, Background, Sandbox};

/// A workspace whose project may reach the remotes of its repository, as the user has trusted it.
fn trusted() -> Sandbox {
    let sandbox = Sandbox::repository()
        .fresh_home()
        .file("bailiwick.toml", "[network]\nallow = [\"@git\"]\n");
    sandbox.host("git remote add origin https://code.test/x.git");
    sandbox.bailiwick(["policy", "trust", "--yes"]).success();
    sandbox
}

fn explain(sandbox: &Sandbox, host: &str) -> String {
    let words = ["policy", "show", "--explain", host];
    sandbox.bailiwick(words).success().stdout()
}

#[test]
fn a_remote_that_a_run_adds_is_left_out_of_the_next_until_it_is_trusted() {
    let sandbox = trusted();
    sandbox
        .run("git remote add x https://evil.test/x.git")
        .success()
        .stderr_lacks("policy trust");
    sandbox
        .run("curl -sS -m 60 https://evil.test/")
        .failure()
        .refused_by("network.default")
        .stderr_has("left out: @git evil.test:443 (from .git/config)")
        .stderr_has("`bailiwick policy trust` shows and accepts them");
    let explained = explain(&sandbox, "code.test:443");
    assert!(explained.contains("reachable"), "{explained}");
    sandbox
        .bailiwick(["policy", "trust"])
        .code(2)
        .stdout_is("+ @git evil.test:443 (from .git/config)\n\n")
        .stderr_has("--yes");
    sandbox.bailiwick(["policy", "trust", "--yes"]).success();
    let explained = explain(&sandbox, "evil.test:443");
    assert!(explained.contains("reachable"), "{explained}");
    sandbox.run("true").success().stderr_lacks("policy trust");
}

#[test]
fn a_remote_at_a_port_of_the_host_opens_none_whoever_trusts_it() {
    let host = Host::start();
    let sandbox = trusted();
    let add = format!(
        "git remote add x http://127.0.0.1:{0}/x.git && git remote add y http://169.254.169.254/",
        host.port
    );
    sandbox.run(&add).success();
    let get = format!("curl -sS -m 60 http://127.0.0.1:{}/", host.port);
    let said = format!("no trust lets in: @git 127.0.0.1:{} (from", host.port);
    for _ in 0..2 {
        sandbox
            .run(&get)
            .failure()
            .stderr_has(&said)
            .stderr_has("@git 169.254.169.254:80 (from .git/config)")
            .stderr_has("write it in [network] allow of your own policy");
        sandbox.bailiwick(["policy", "trust", "--yes"]).success();
    }
    assert_eq!(host.heard(), Vec::<String>::new());
}

#[test]
fn a_registry_that_a_run_writes_is_left_out_also_where_the_user_asks_for_the_set() {
    let sandbox = Sandbox::new()
        .home_file(".npmrc", "registry=https://mirror.test/\n")
        .file("bailiwick.toml", "")
        .policy("extends = [\"default\"]\n[network]\nallow = [\"@npm\"]\n");
    sandbox.bailiwick(["policy", "trust", "--yes"]).success();
    sandbox
        .run("echo registry=https://evil.test/ > .npmrc")
        .success()
        .stderr_lacks("policy trust");
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let command = format!("`bailiwick policy trust --policy {}`", policy.display());
    sandbox
        .run("curl -sS -m 60 https://evil.test/")
        .failure()
        .refused_by("network.default")
        .stderr_has("left out: @npm evil.test:443 (from .npmrc)")
        .stderr_has(&command);
    let words = ["policy", "trust", "--policy", policy.to_str().unwrap()];
    sandbox
        .bailiwick(words)
        .code(2)
        .stdout_is("+ @npm evil.test:443 (from .npmrc)\n\n");
    sandbox
        .bailiwick(words.iter().chain(&["--yes"]))
        .success()
        .stdout_has("give to sets");
    sandbox.run("true").success().stderr_lacks("left out");
}

#[test]
fn no_line_of_a_file_that_a_project_names_is_told() {
    for key in ["extends", "packs"] {
        for (name, said) in [
            ("~/.netrc", "lies outside of the project's folder"),
            ("/proc/self/environ", "lies outside of the project's folder"),
            ("./out.toml", "lies outside of the project's folder"),
            ("./pipe.toml", "it is not a regular file"),
            ("./.env", ".env:1:"),
        ] {
            let project = format!("{key} = [\"{name}\"]\n");
            let sandbox = Sandbox::new()
                .home_file(".netrc", "machine a.test password s3cret\n")
                .host_env("TOKEN", "s3cret")
                .file(".env", "TOKEN=s3cret\n")
                .file("bailiwick.toml", project);
            sandbox.host("ln -s ../home/.netrc out.toml && mkfifo pipe.toml");
            for outcome in [
                sandbox.run("true"),
                sandbox.bailiwick(["policy", "check"]),
                sandbox.bailiwick(["policy", "show"]),
                sandbox.bailiwick(["policy", "trust"]),
            ] {
                outcome.code(2).stderr_has(said).stderr_lacks("s3cret");
                assert!(!outcome.stdout().contains("s3cret"), "{name}");
            }
        }
    }
}

#[test]
fn a_projects_policy_that_leads_out_of_its_folder_is_not_read() {
    let sandbox = Sandbox::new().home_file(".netrc", "machine a.test password s3cret\n");
    sandbox.host("ln -s ../home/.netrc bailiwick.toml");
    sandbox
        .run("true")
        .code(2)
        .stderr_has("bailiwick.toml cannot be read: it lies outside of the project's folder")
        .stderr_has("--policy")
        .stderr_lacks("s3cret");
}

#[test]
fn a_policy_that_was_used_is_kept_by_runs_that_are_not_given_it() {
    let text = "extends = [\"default\"]\n";
    let sandbox = Sandbox::new()
        .file("policy.toml", text)
        .file("base.toml", text);
    sandbox.host("printf 'extends = [\"./base.toml\"]\\n' > policy.toml");
    let spoil = "echo evil >> policy.toml; mv policy.toml p; rm -f base.toml; true";
    let by = || sandbox.bailiwick(["run", "--policy", "policy.toml", "--", "true"]);
    by().success();
    by().success().stderr_lacks("policy.toml lies");
    sandbox
        .run(spoil)
        .success()
        .refused_by("filesystem.protect");
    assert_eq!(
        sandbox.host("cat policy.toml base.toml"),
        format!("extends = [\"./base.toml\"]\n{text}")
    );
    // One that was not used is told when a run has written it, and again when it is used.
    sandbox.host("rm -r ../state/bailiwick/policies");
    sandbox
        .run("echo '#' >> policy.toml")
        .success()
        .stderr_has("policy.toml (bailiwick)");
    by().success().stderr_has(
        "policy.toml lies where an earlier sandbox could write, and was not used before",
    );
    by().success().stderr_lacks("policy.toml lies");
}

#[test]
fn a_policy_that_a_run_changes_which_had_begun_before_it_was_used_is_told_when_it_is_used_again() {
    let text = "extends = [\"default\"]\n";
    let sandbox = Sandbox::new().file("policy.toml", text);
    let by = || sandbox.bailiwick(["run", "--policy", "policy.toml", "--", "true"]);
    let spoil = "echo begun; read -r line; echo '[network]' >> policy.toml";
    let words = ["run", "--", "sh", "-c", spoil];
    let mut earlier = Background::start(&sandbox, words, "begun");
    by().success().stderr_has(
        "policy.toml lies where an earlier sandbox could write, and was not used before",
    );
    by().success().stderr_lacks("policy.toml lies");
    earlier.types("go\n");
    assert_eq!(earlier.ends(), Some(0));
    let is_told = "policy.toml lies where an earlier sandbox could write, and has changed since it was used last";
    by().success().stderr_has(is_told);
    by().success().stderr_lacks("policy.toml lies");
}

#[test]
fn a_file_of_roots_is_kept_and_only_its_certificates_are_shown() {
    let sandbox = Sandbox::new();
    let authority = Authority::new(sandbox.scratch(), &["company.test"]);
    let certificate = std::fs::read_to_string(&authority.certificate).unwrap();
    let key = "-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\n";
    let roots = sandbox.workspace().join("ca.pem");
    let policy = format!(
        "extends = [\"default\"]\n[network]\nallow = [\"company.test\"]\nroots = [\"{}\"]\n",
        roots.display()
    );
    let sandbox = sandbox
        .file("ca.pem", format!("{key}{certificate}"))
        .policy(&policy);
    sandbox
        .run("cat $NODE_EXTRA_CA_CERTS > seen; echo evil >> ca.pem; rm -f ca.pem; true")
        .success()
        .refused_by("filesystem.protect");
    let seen = sandbox.host("cat seen");
    assert!(seen.contains(certificate.trim()), "{seen}");
    assert!(!seen.contains("SECRET"));
    assert!(sandbox.host("cat ca.pem").ends_with(&certificate));
    // Nobody waits for a pipe in its place.
    sandbox.host("rm ca.pem; mkfifo ca.pem");
    sandbox.run("true").success();
}
