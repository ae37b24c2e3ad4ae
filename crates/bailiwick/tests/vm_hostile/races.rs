//! Programs of a guest race for what is outside of the share, and for what is protected in it: the same
//! program that does it in the monitor's own place (crates/process/tests/monitor).

use crate::{alone, machine, number};
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::time::Duration;

const SOURCE: &str = include_str!("../../../process/tests/monitor/races.c");

/// Its races, in its order; `BAILIWICK_RACES` names fewer.
const ALL: [&str; 10] = [
    "link-out",
    "link-in",
    "hard-link",
    "rename",
    "node",
    "attribute",
    "deep",
    "handle",
    "memory",
    "dots",
];

#[test]
fn no_race_in_a_guest_leads_out_of_the_share_or_to_what_is_protected() {
    let _alone = alone();
    let sandbox = machine();
    let rounds = number("BAILIWICK_RACE_ROUNDS", 30);
    let races = std::env::var("BAILIWICK_RACES").unwrap_or_else(|_| ALL.join(" "));
    let denied = sandbox.workspace().join(".env");
    let policy = format!("extends = [\"default\"]\n[filesystem]\ndeny = [{denied:?}]\n");
    let sandbox = sandbox
        .policy(&policy)
        .file("races.c", SOURCE)
        .file(".env", "canary of .env")
        .file("bailiwick.toml", "")
        .within(Duration::from_secs(600 + rounds));
    // On the host: a compiler in a machine takes its time.
    sandbox.host(
        "git init -q . && echo kept > .git/hooks/kept && cc -O1 -pthread -static -w -o races races.c",
    );
    let outside = sandbox.scratch().write("outside/canary", "canary outside");
    let folder = outside.parent().unwrap().to_owned();
    let before =
        sandbox.host("ls -lR --time-style=full-iso .git/hooks .git/config .env bailiwick.toml");
    let ran = sandbox.run(&format!(
        "cp races /tmp && /tmp/races {} {} {rounds} {races}",
        sandbox.workspace().display(),
        folder.display(),
    ));
    ran.code(0);
    println!("{}", ran.stdout());
    let said = ran.stdout();
    let run = said.lines().filter_map(|line| line.split_once(": "));
    let run: Vec<&str> = run.map(|(race, _)| race).collect();
    assert_eq!(run.join(" "), races, "{said}");
    ran.stdout_lacks("ESCAPED");
    assert_eq!(fs::read_to_string(&outside).unwrap(), "canary outside");
    assert_eq!(fs::metadata(&outside).unwrap().mode() & 0o7777, 0o644);
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
    let after =
        sandbox.host("ls -lR --time-style=full-iso .git/hooks .git/config .env bailiwick.toml");
    assert_eq!(after, before);
    let found = "find . \\( -name .mcp.json -o -name .vscode -o -type c -o -type b \\) -print";
    assert_eq!(sandbox.host(found), "");
    let top = sandbox.scratch().root();
    for folder in [
        top.as_path(),
        top.parent().unwrap(),
        "/".as_ref(),
        "/etc".as_ref(),
    ] {
        for name in ["planted", "planted.d", "planted.plain"] {
            let path = folder.join(name);
            assert!(path.symlink_metadata().is_err(), "{}", path.display());
        }
    }
}
