//! A run that finds a sandbox waiting (`bailiwick serve`) cannot be told from one that made its own,
//! whatever isolates it, but by the time that it takes.

use crate::support::{Backend, Background, Sandbox, wait};
use std::collections::HashSet;
use std::fs;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

on_every_backend!(
    a_run_that_finds_a_sandbox_is_like_any_other,
    what_changed_meanwhile_is_in_force,
    a_limit_of_time_begins_with_the_command,
    what_others_write_while_it_waits_does_not_count,
);

fn serve(sandbox: &Sandbox) -> Background {
    Background::start(sandbox, ["serve"], "2 sandboxes wait")
}

/// Has the user's policy add this.
fn user_policy(sandbox: &Sandbox, text: &str) {
    let policy = sandbox.scratch().config().join("bailiwick/policy.toml");
    fs::create_dir_all(policy.parent().unwrap()).unwrap();
    fs::write(&policy, text).unwrap();
}

/// Runs a script, again and again until its sandbox has waited for it; its exit code, and the time of day
/// when it was told to go.
#[track_caller]
fn found_at(sandbox: &Sandbox, script: &str) -> (i32, u64) {
    wait::for_some("a run finds a sandbox", || {
        let line = format!("echo up; read go; {script}");
        let mut run = Background::start(sandbox, ["run", "-c", &line], "up");
        let found = run.has_found_a_sandbox();
        let told = seconds();
        run.types("go\n");
        let code = run.ends().unwrap();
        found.then_some((code, told))
    })
}

/// The same, its exit code alone.
#[track_caller]
fn found(sandbox: &Sandbox, script: &str) -> i32 {
    found_at(sandbox, script).0
}

/// The time of day.
fn seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.unwrap().as_secs()
}

fn a_run_that_finds_a_sandbox_is_like_any_other(on: Backend) {
    let sandbox = Sandbox::on(on).file("data", "inside\n");
    let _serve = serve(&sandbox);
    let script = "cat /tmp/left > copy 2>/dev/null; cat data >> copy; touch /tmp/left
                  date +%s > time; hostname > name
                  pwd > folder; exit 7";
    let read = |name: &str| fs::read_to_string(sandbox.workspace().join(name)).unwrap();
    let mut names = HashSet::new();
    for _ in 0..2 {
        let (code, before) = found_at(&sandbox, script);
        let after = seconds();
        assert_eq!(code, 7);
        assert_eq!(read("copy"), "inside\n");
        assert_eq!(
            read("folder").trim_end(),
            sandbox.workspace().to_str().unwrap()
        );
        names.insert(read("name"));
        let inside = read("time").trim().parse::<u64>().unwrap();
        let outside = before - 2..=after + 2;
        assert!(
            outside.contains(&inside),
            "{outside:?} outside, {inside} inside"
        );
    }
    if on == Backend::Vm {
        assert_eq!(names.len(), 2, "two machines are one: {names:?}");
    }
    let log = sandbox.bailiwick(["log", "--json"]);
    let log = log.success().stdout();
    assert!(log.contains("cat data"), "{log}");
    // What made it warm is on nobody's record.
    assert!(!log.contains("python"), "{log}");
    sandbox.bailiwick(["log", "verify"]).success();
}

fn what_changed_meanwhile_is_in_force(on: Backend) {
    let sandbox = Sandbox::on(on)
        .file(".mcp.json", "{}\n")
        .file("secret", "s\n");
    let _serve = serve(&sandbox);
    // The mount that protects it lies on the old one.
    sandbox.host("echo new > t && mv t .mcp.json");
    let write = "echo x > .mcp.json";
    sandbox.bailiwick(["run", "-c", write]).failure();
    assert_eq!(sandbox.host("cat .mcp.json"), "new\n");
    user_policy(&sandbox, "[filesystem]\ndeny = [\"./secret\"]\n");
    let outcome = sandbox.bailiwick(["run", "-c", "cat secret"]);
    outcome.failure().stdout_is("");
    // Both were thrown away, and the next are made with it.
    assert_ne!(found(&sandbox, "cat secret"), 0);
}

fn a_limit_of_time_begins_with_the_command(on: Backend) {
    let sandbox = Sandbox::on(on);
    // Longer than a command takes that does nothing, on the busiest machine.
    user_policy(&sandbox, "[limits]\nwall = \"6s\"\n");
    let _serve = serve(&sandbox);
    // Only time tells that it does not begin before the command, and that it is gone with the policy.
    std::thread::sleep(Duration::from_secs(7));
    assert_eq!(found(&sandbox, "exit 3"), 3);
    assert_eq!(found(&sandbox, "sleep 60"), 137);
    user_policy(&sandbox, "");
    sandbox.bailiwick(["run", "-c", "sleep 7; exit 6"]).code(6);
}

fn what_others_write_while_it_waits_does_not_count(on: Backend) {
    let sandbox = Sandbox::on(on);
    user_policy(&sandbox, "[limits]\ndisk = \"10MB\"\n");
    let _serve = serve(&sandbox);
    sandbox.host("head -c 8000000 /dev/zero > others");
    // Another file each time: what one run has left is not what the next one writes. For a second it may be
    // looked at; a slow machine looks less often.
    let write = |bytes: u32| {
        format!("head -c {bytes} /dev/zero > $(mktemp own.XXXXXX); sync; sleep 1; exit 4")
    };
    assert_eq!(found(&sandbox, &write(5_000_000)), 4);
    sandbox.host("rm own.* others");
    assert_eq!(found(&sandbox, &write(12_000_000)), 137);
}
