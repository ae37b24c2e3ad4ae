//! What `boot` and `doctor --backend vm` say before a machine is started.

use crate::support::Sandbox;

#[test]
fn a_boot_refuses_what_is_no_machine() {
    for (words, says) in [
        (&["boot", "--memory", "1MiB"][..], "128MiB is the least"),
        (
            &["boot", "--memory", "4000000GiB"],
            "does not fit in this one",
        ),
        (&["boot", "--cpus", "0"], "0 is not in 1..=8"),
        (&["boot", "--trace", "--json"], "cannot be used with"),
        (&["boot", "extra"], "unexpected argument"),
    ] {
        Sandbox::new().bailiwick(words).code(2).stderr_has(says);
    }
}

#[test]
fn what_cannot_wait_is_refused() {
    for (words, says) in [
        (&["serve", "--backend", "capos"][..], "cannot wait"),
        (&["serve", "--image", "code"], "--backend vm"),
        (&["serve", "--backend", "vm", "--memory", "1MiB"], "least"),
        (
            &["serve", "--backend", "vm", "--disk"],
            "unexpected argument",
        ),
    ] {
        Sandbox::new().bailiwick(words).code(2).stderr_has(says);
    }
}

#[test]
fn a_boot_without_an_image_says_how_to_get_one() {
    let sandbox = Sandbox::new();
    let cache = sandbox.scratch().root().join("no-cache");
    sandbox
        .host_env("XDG_CACHE_HOME", cache)
        .bailiwick(["boot", "--image", "nothing"])
        .failure()
        .stderr_has("nothing");
}

#[test]
fn flags_of_the_checks_of_machines_need_a_machine() {
    for words in [
        &["doctor", "--json"][..],
        &["doctor", "--junit", "file"],
        &["doctor", "--only", "kernel."],
        &["doctor", "--cold"],
        &["doctor", "--image", "code"],
    ] {
        let sandbox = Sandbox::new();
        sandbox.bailiwick(words).code(2).stderr_has("--backend vm");
        assert!(!sandbox.workspace().join("file").exists());
    }
}

#[test]
fn programs_and_machines_are_not_examined_at_once() {
    Sandbox::new()
        .bailiwick(["doctor", "--tls", "--backend", "vm"])
        .code(2)
        .stderr_has("cannot be used with");
}

#[test]
fn a_report_of_machines_that_do_not_start_is_one_of_failure() {
    let sandbox = Sandbox::new();
    let cache = sandbox.scratch().root().join("no-cache");
    let sandbox = sandbox.host_env("XDG_CACHE_HOME", cache);
    let file = sandbox.workspace().join("junit.xml");
    // One that is shipped would be built.
    let image = ["--image", "nowhere"];
    sandbox
        .bailiwick(
            ["doctor", "--backend", "vm", "--junit", "junit.xml"]
                .into_iter()
                .chain(image),
        )
        .code(2);
    let report = std::fs::read_to_string(file).unwrap();
    assert!(report.contains("tests=\"1\" failures=\"1\""), "{report}");
}

#[test]
fn a_policy_with_too_little_memory_for_a_machine_is_told_where_it_stands() {
    for (memory, says) in [
        ("64MiB", "128MiB is the least"),
        ("64MiB", "policy-1.toml:3:"),
        ("4000000GiB", "does not fit in this one"),
    ] {
        let policy = format!("extends = [\"default\"]\n[limits]\nmemory = \"{memory}\"\n");
        let sandbox = Sandbox::new().policy(&policy).option("--backend=vm");
        let outcome = sandbox.run("true");
        outcome.code(2).stderr_has("[limits]").stderr_has(says);
    }
}
