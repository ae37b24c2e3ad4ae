//! Another tool's configuration becomes a policy that works at once, and what it could not carry
//! over is said.

use crate::support::Sandbox;

const SRT: &str = r#"{
  "network": { "allowedDomains": ["a.test"], "deniedDomains": [] },
  "filesystem": {
    "denyRead": ["secret"],
    "allowWrite": ["src"],
    "denyWrite": ["src/kept"]
  },
  "ignoreViolations": {}
}"#;

#[test]
fn an_imported_policy_is_loaded_and_holds() {
    let sandbox = Sandbox::new()
        .fresh_home()
        .file("srt.json", SRT)
        .file("secret", "the key")
        .file("src/kept", "old")
        .file("top", "old");
    sandbox
        .bailiwick([
            "policy",
            "import",
            "srt",
            "srt.json",
            "--out",
            "imported.toml",
        ])
        .success()
        .stdout_has("imported.toml written")
        .stderr_has("./srt.json:8:23: ignoreViolations: ");
    sandbox
        .bailiwick(["policy", "check", "imported.toml"])
        .success();
    let policy = sandbox.workspace().join("imported.toml");
    let sandbox = sandbox.option("--policy").option(policy);
    sandbox
        .run("echo new > src/made && cat src/made && cat top")
        .success()
        .stdout_is("new\nold");
    for refused in [
        "echo new > top",
        "echo new > another",
        "echo new > src/kept",
        "cat secret",
    ] {
        sandbox.run(refused).failure();
    }
    assert_eq!(sandbox.host("cat top src/kept src/made"), "oldoldnew\n");
}

#[test]
fn the_policy_goes_to_stdout_and_an_existing_file_stays_as_it_is() {
    let sandbox = Sandbox::new()
        .fresh_home()
        .file("srt.json", SRT)
        .file("mine.toml", "# mine\n");
    sandbox
        .bailiwick(["policy", "import", "srt", "srt.json"])
        .success()
        .stdout_has("extends = [\"read-only\"]")
        .stdout_has("\"a.test:*\", # network.allowedDomains[0]")
        .stdout_lacks("ignoreViolations");
    sandbox
        .bailiwick(["policy", "import", "srt", "srt.json", "--out", "mine.toml"])
        .code(2)
        .stderr_has("--out");
    assert_eq!(sandbox.host("cat mine.toml"), "# mine\n");
}

#[test]
fn a_mistake_in_a_source_is_shown_with_its_line_and_nothing_is_written() {
    let sandbox = Sandbox::new()
        .fresh_home()
        .file(
            "bad.json",
            "{\n  \"network\": {\n    \"allowedDomains\": [\"a.test\" \"b.test\"]\n}}",
        )
        .file("bad.toml", "sandbox_mode = \"workspace\"\n");
    sandbox
        .bailiwick(["policy", "import", "fence", "bad.json", "--out", "new.toml"])
        .code(2)
        .stderr_has("./bad.json:3:33: error: a comma")
        .stderr_has("^")
        .stderr_has("help: ");
    sandbox
        .bailiwick(["policy", "import", "codex", "bad.toml"])
        .code(2)
        .stdout_is("")
        .stderr_has("./bad.toml:1:16")
        .stderr_has("workspace-write");
    sandbox
        .bailiwick(["policy", "import", "claude", "none.json"])
        .code(2)
        .stderr_has("there is no such file");
    sandbox
        .bailiwick(["policy", "import", "other", "bad.json"])
        .code(2)
        .stderr_has("fence");
    assert!(!sandbox.workspace().join("new.toml").exists());
}

#[test]
fn a_workspace_under_the_read_only_template_stays_as_it_is() {
    let sandbox = Sandbox::new().template("read-only").file("f", "old");
    sandbox.run("cat f").success().stdout_is("old");
    sandbox.run("echo new > f").failure();
    sandbox.run("echo new > g").failure();
    assert_eq!(sandbox.host("ls; cat f"), "f\nold");
}
