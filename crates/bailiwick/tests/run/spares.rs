//! A run that finds a sandbox waiting (`bailiwick serve`) cannot be told from one that made its own,
//! whatever isolates it, but by the time that it takes.

use crate::support::{Backend, Background, Sandbox};
use std::collections::HashSet;
use std::fs;
use std::time::Duration;

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

/// Whether somebody else watches over a run than the process that was called.
fn was_found(run: &Background) -> bool {
    let pid = run.pid();
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
    children.unwrap().trim().is_empty()
}

/// Runs a script, again and again until its sandbox has waited for it; its exit code.
#[track_caller]
fn found(sandbox: &Sandbox, script: &str) -> i32 {
    for _ in 0..60 {
        let line = format!("echo up; read go; {script}");
        let mut run = Background::start(sandbox, ["run", "-c", &line], "up");
        let found = was_found(&run);
        run.types("go\n");
        let code = run.ends().unwrap();
        if found {
            return code;
        }
        std::thread::sleep(Duration::from_millis(500));
    }
    panic!("every sandbox is made for its run");
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
        assert_eq!(found(&sandbox, script), 7);
        assert_eq!(read("copy"), "inside\n");
        assert_eq!(
            read("folder").trim_end(),
            sandbox.workspace().to_str().unwrap()
        );
        names.insert(read("name"));
        let now = sandbox.host("date +%s").trim().parse::<i64>().unwrap();
        let inside = read("time").trim().parse::<i64>().unwrap();
        assert!((now - inside).abs() <= 2, "{now} outside, {inside} inside");
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
    user_policy(&sandbox, "[limits]\nwall = \"2s\"\n");
    let _serve = serve(&sandbox);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(found(&sandbox, "exit 3"), 3);
    assert_eq!(found(&sandbox, "sleep 60"), 137);
    user_policy(&sandbox, "");
    sandbox.bailiwick(["run", "-c", "sleep 3; exit 6"]).code(6);
}

fn what_others_write_while_it_waits_does_not_count(on: Backend) {
    let sandbox = Sandbox::on(on);
    user_policy(&sandbox, "[limits]\ndisk = \"10MB\"\n");
    let _serve = serve(&sandbox);
    sandbox.host("head -c 8000000 /dev/zero > others");
    // Another file each time: what one run has left is not what the next one writes.
    let write = |bytes: u32| {
        format!("head -c {bytes} /dev/zero > $(mktemp own.XXXXXX); sync; sleep 1; exit 4")
    };
    assert_eq!(found(&sandbox, &write(5_000_000)), 4);
    sandbox.host("rm own.* others");
    assert_eq!(found(&sandbox, &write(12_000_000)), 137);
}
