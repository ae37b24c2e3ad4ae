//! A file in the workspace cannot widen what the user gave, and mistakes are shown where they are.

use crate::support::Sandbox;

#[test]
fn a_project_that_widens_is_ignored_until_it_is_trusted() {
    let sandbox = Sandbox::new().fresh_home();
    let outside = sandbox.scratch().root().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("f"), "text").unwrap();
    let sandbox = sandbox
        .file(
            "bailiwick.toml",
            format!(
                "[filesystem]\nread = [\"{}\"]\ndeny = [\"closed\"]\n",
                outside.display()
            ),
        )
        .file("closed", "the key");
    let read = format!("cat {}/f; cat closed", outside.display());
    sandbox
        .run(&read)
        .failure()
        .stdout_is("")
        .stderr_has("bailiwick policy trust");
    sandbox
        .bailiwick(["policy", "trust"])
        .code(2)
        .stdout_has("+read =")
        .stderr_has("--yes");
    sandbox.bailiwick(["policy", "trust", "--yes"]).success();
    sandbox
        .run(&read)
        .failure()
        .stdout_is("text")
        .stderr_lacks("policy trust");
    // One byte more, and it is another file.
    let file = sandbox.workspace().join("bailiwick.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text + "# more\n").unwrap();
    sandbox
        .run(&read)
        .failure()
        .stdout_is("")
        .stderr_has("bailiwick policy trust");
}

#[test]
fn a_mistake_is_shown_with_its_line_and_a_suggestion() {
    let sandbox = Sandbox::new().policy("[filesystem]\nwrte = [\".\"]\n");
    sandbox
        .run("true")
        .code(2)
        .stderr_has("policy-1.toml:2:1")
        .stderr_has("wrte = [\".\"]")
        .stderr_has("^^^^")
        .stderr_has("write");
}

#[test]
fn what_is_wrong_is_told_of_every_file() {
    let sandbox = Sandbox::new()
        .file("a.toml", "[filesystem\n")
        .file("b.toml", "[limits]\nmemory = \"4Gb\"\n")
        .file("c.toml", "extends = [\"default\"]\n");
    sandbox
        .bailiwick(["policy", "check", "a.toml", "b.toml", "none.toml", "c.toml"])
        .code(2)
        .stderr_has("a.toml:1:")
        .stderr_has("b.toml:2:")
        .stderr_has("\"4GB\" (GB is 1000000000 bytes) or \"4GiB\" (GiB is 1073741824 bytes)")
        .stderr_has("there is no file none.toml")
        .stdout_has("c.toml: no mistakes");
}

#[test]
fn a_starter_policy_can_be_made_checked_shown_and_run() {
    let sandbox = Sandbox::new().fresh_home();
    sandbox
        .bailiwick(["policy", "check"])
        .code(2)
        .stderr_has("there is no file bailiwick.toml")
        .stderr_has("bailiwick policy check FILE");
    sandbox.bailiwick(["policy", "new", "agent"]).success();
    sandbox.bailiwick(["policy", "check"]).success();
    sandbox
        .bailiwick(["policy", "new", "agent"])
        .code(2)
        .stderr_has("--output");
    sandbox
        .bailiwick(["policy", "show"])
        .success()
        .stdout_has("[filesystem]");
    let schema = sandbox.bailiwick(["policy", "schema"]).success().stdout();
    assert!(serde_json::from_str::<serde_json::Value>(&schema).is_ok());
    sandbox.run("true").success();
}

#[test]
fn a_path_and_a_host_are_explained_with_the_line_that_decides() {
    let sandbox = Sandbox::new().fresh_home().policy(
        "extends = [\"default\"]\n[filesystem]\ndeny = [\"workspace/secret\"]\n[network]\nallow = [\"a.test\"]\n",
    );
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let explain = |what: &str| {
        let words = [
            "policy",
            "show",
            "--policy",
            policy.to_str().unwrap(),
            "--explain",
            what,
        ];
        sandbox.bailiwick(words).success().stdout()
    };
    assert!(
        explain("./secret").contains("policy-1.toml:3:"),
        "{}",
        explain("./secret")
    );
    assert!(
        explain("a.test:443").contains("policy-1.toml:5:"),
        "{}",
        explain("a.test:443")
    );
    assert!(
        explain("b.test").contains("network.default"),
        "{}",
        explain("b.test")
    );
    assert!(
        explain("nosuchfile").contains("taken as a host, since no file here has this name"),
        "{}",
        explain("nosuchfile")
    );
    for path in ["no/such/file", "~/.ssh"] {
        assert!(!explain(path).contains("taken as a host"), "{path}");
    }
    assert!(
        explain("~/.ssh").contains("hidden"),
        "{}",
        explain("~/.ssh")
    );
}

#[test]
fn a_url_is_not_explained_as_a_path() {
    let sandbox = Sandbox::new();
    let words = [
        "policy",
        "show",
        "--explain",
        "https://api.example.com:8443/x",
    ];
    sandbox
        .bailiwick(words)
        .code(2)
        .stderr_has("write the host alone, with a port or without: api.example.com:8443");
}

#[test]
fn what_a_policy_asks_for_in_vain_is_told_where_it_is_checked_and_where_a_run_starts() {
    let policy = "extends = [\"default\"]\n[network]\nallow = [\"a.test\"]\ninspect = \"never\"\n\
        keep_bodies = [\"a.test\"]\n\
        [[rules]]\nid = \"no-post\"\non = \"http.request\"\naction = \"deny\"\n\
        when = 'http.request.method == \"POST\"'\n\
        [[secrets]]\nname = \"KEY\"\nfrom = { env = \"OUTER\" }\nhosts = [\"b.test\"]\n";
    let sandbox = Sandbox::new()
        .host_env("OUTER", "key-AbCdEfGhIjKlMnOp")
        .file("p.toml", policy);
    let checked = sandbox.bailiwick(["policy", "check", "p.toml"]);
    let ran = sandbox.bailiwick(["run", "--policy", "p.toml", "--", "true"]);
    for said in [checked.success().stdout(), ran.success().stderr()] {
        for told in [
            "p.toml:7:6: warning: the rule \"no-post\" holds nothing back",
            "p.toml:5:16: warning: no bodies within TLS are kept of \"a.test\"",
            "warning: the secret \"KEY\" can reach nobody",
        ] {
            assert!(said.contains(told), "{told}: {said}");
        }
    }
}
