//! Tools that live below the home directory work inside, without what lies beside them.

use crate::support::Sandbox;

/// A home directory with a tool in each of the usual places, and credentials next to them.
fn home() -> Sandbox {
    let script = "#!/bin/sh\necho works\n";
    let sandbox = Sandbox::new()
        .home_program(".cargo/bin/cargo", script)
        .home_file(".cargo/credentials.toml", "the key")
        .home_program(".pyenv/shims/python3", script)
        .home_program(".nvm/versions/node/v20/bin/node", script)
        .home_file(".npmrc", "the key")
        .home_program(".local/share/agent/versions/1/agent", script);
    let home = sandbox.scratch().home();
    std::fs::create_dir_all(home.join(".local/bin")).unwrap();
    std::os::unix::fs::symlink(
        "../share/agent/versions/1/agent",
        home.join(".local/bin/agent"),
    )
    .unwrap();
    let folders = [
        ".cargo/bin",
        ".pyenv/shims",
        ".nvm/versions/node/v20/bin",
        ".local/bin",
    ];
    let path: Vec<_> = folders
        .iter()
        .map(|f| home.join(f).display().to_string())
        .collect();
    sandbox.host_env("PATH", format!("{}:/usr/bin:/bin", path.join(":")))
}

#[test]
fn tools_below_the_home_directory_are_found_on_the_path() {
    for tool in ["cargo", "python3", "node", "agent"] {
        home().exec([tool]).success().stdout_is("works\n");
    }
}

#[test]
fn credentials_beside_the_tools_stay_outside() {
    home()
        .run("cat ~/.cargo/credentials.toml ~/.npmrc; true")
        .success()
        .stdout_lacks("the key");
}

#[test]
fn the_tools_cannot_be_changed() {
    home().run("echo x > ~/.cargo/bin/cargo").failure();
    home()
        .run("echo x > ~/.nvm/versions/node/v20/bin/npm")
        .failure();
}

#[test]
fn the_users_own_python_cargo_and_node_work() {
    let sandbox = Sandbox::new();
    sandbox
        .exec(["python3", "-c", "import ssl, json; print('ok')"])
        .success()
        .stdout_is("ok\n");
    sandbox
        .exec(["cargo", "--version"])
        .success()
        .stdout_has("cargo");
    sandbox
        .exec([
            "node",
            "-e",
            "console.log(require('os').userInfo().username.length > 0)",
        ])
        .success()
        .stdout_is("true\n");
}

#[test]
fn npm_looks_for_no_newer_npm_where_it_could_not_ask() {
    let sandbox = Sandbox::new().file(
        "package.json",
        r#"{ "name": "x", "version": "1.0.0", "scripts": { "test": "echo tested" } }"#,
    );
    let outcome = sandbox.run("npm test");
    assert_eq!(outcome.success().stdout_has("tested").stderr(), "");
}
