//! Programs on the capability kernel, as a user runs them. They need QEMU, the kernel and its programs
//! (`scripts/capos-kernel`), and fail where these are not there.
#![allow(missing_docs, reason = "tests are named after what they prove")]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a helper that cannot do its work fails the test that called it"
)]
#![allow(dead_code, unused_imports, reason = "helpers of other tests")]

#[path = "../support/mod.rs"]
mod support;

use std::path::PathBuf;
use support::Sandbox;

/// Where the kernel and its programs were built.
fn built(name: &str) -> PathBuf {
    let own = std::env::current_exe().unwrap();
    let target = own.ancestors().nth(3).unwrap();
    let path = target.join("capos/x86_64-unknown-none/release").join(name);
    assert!(
        path.is_file(),
        "{}: built by scripts/capos-kernel",
        path.display()
    );
    path
}

fn capos() -> Sandbox {
    Sandbox::new()
        .host_env("BAILIWICK_CAPOS_KERNEL", built("kernel"))
        .option("--backend")
        .option("capos")
}

#[test]
fn a_programs_console_is_stdout_and_its_code_comes_out() {
    let outcome = capos().exec([built("hello")]);
    outcome.code(0);
    assert_eq!(outcome.stdout(), "hello\n");
    assert_eq!(outcome.stderr(), "");
}

#[test]
fn a_program_holds_what_it_is_given_and_nothing_else() {
    let given = capos()
        .option("--cap")
        .option("console")
        .option("--cap")
        .option("timer")
        .option("--cap")
        .option("system_info")
        .option("--cpus")
        .option("2");
    let outcome = given.exec([built("hello")]);
    outcome.code(2);
    assert_eq!(
        outcome.stdout(),
        "hello\na clock that runs\nbailiwick capos cpus=2\n"
    );
    let silent = capos()
        .option("--cap")
        .option("timer")
        .exec([built("hello")]);
    silent.code(100);
    assert_eq!(silent.stdout(), "");
}

#[test]
fn a_policy_says_what_programs_hold_and_an_untrusted_projects_gives_nothing() {
    let held = "extends = [\"default\"]\n[capos]\ncapabilities = [\"console\", \"timer\"]\n";
    let outcome = capos().policy(held).exec([built("hello")]);
    outcome.code(1);
    assert_eq!(outcome.stdout(), "hello\na clock that runs\n");
    let more = capos().policy(held).option("--cap").option("system_info");
    more.exec([built("hello")]).code(2);
    let wrong = capos().policy("[capos]\ncapabilities = [\"tmer\"]\n");
    let outcome = wrong.exec([built("hello")]);
    outcome.code(2);
    assert!(
        outcome.stderr().contains("did you mean \"timer\"?"),
        "{}",
        outcome.stderr()
    );
    let project = capos().file("bailiwick.toml", held);
    let outcome = project.exec([built("hello")]);
    outcome.code(0);
    assert_eq!(outcome.stdout(), "hello\n");
    assert!(
        outcome.stderr().contains("capos.capabilities"),
        "{}",
        outcome.stderr()
    );
}

#[test]
fn what_it_was_given_is_on_record() {
    let sandbox = capos()
        .option("--cap")
        .option("console")
        .option("--cap")
        .option("timer");
    sandbox.exec([built("hello")]).code(1);
    let log = sandbox.bailiwick(["log", "--json"]);
    log.code(0);
    assert!(
        log.stdout().contains("capabilities: console, timer"),
        "{}",
        log.stdout()
    );
}

#[test]
fn a_program_that_crashes_says_which_and_cannot_speak_as_the_kernel() {
    let outcome = capos().exec([built("crash")]);
    outcome.code(139);
    assert_eq!(outcome.stdout(), "capos: init exit=0\n");
    let said = outcome.stderr();
    assert!(
        said.contains("the program crashed: process init (1)"),
        "{said}"
    );
    assert!(said.contains("page fault at 0x"), "{said}");
}

#[test]
fn a_program_that_lacks_a_capability_says_which_and_what_to_do() {
    let outcome = capos().exec([built("needs")]);
    outcome.code(139);
    assert_eq!(outcome.stdout(), "begins\n");
    let said = outcome.stderr();
    let lacked = "the program crashed: process init (1), thread 1: it was not given \"timer\"";
    assert!(said.contains(lacked), "{said}");
    let remedy = "remedy: add --cap timer (the first --cap takes the place of the default, console";
    assert!(said.contains(remedy), "{said}");
    let given = capos().option("--cap").option("console");
    given
        .option("--cap")
        .option("timer")
        .exec([built("needs")])
        .code(0);
}

#[test]
fn a_machine_of_32_mib_is_enough() {
    let outcome = capos()
        .option("--memory")
        .option("32MiB")
        .exec([built("hello")]);
    outcome.code(0);
}

#[test]
fn what_is_no_program_of_this_kernel_is_told_as_that() {
    for (words, said) in [
        (vec!["/bin/true"], "it is not linked to fixed addresses"),
        (vec!["/nowhere"], "/nowhere: No such file"),
        (vec!["/bin/true", "word"], "gets capabilities and no words"),
    ] {
        let outcome = capos().exec(words);
        outcome.code(2);
        assert!(outcome.stderr().contains(said), "{}", outcome.stderr());
    }
    let outcome = capos()
        .option("--cap")
        .option("tmer")
        .exec([built("hello")]);
    outcome.code(2);
    assert!(
        outcome.stderr().contains("there are console, "),
        "{}",
        outcome.stderr()
    );
    let other = Sandbox::new()
        .option("--cap")
        .option("timer")
        .exec(["true"]);
    other.code(2);
    assert!(
        other.stderr().contains("add --backend capos"),
        "{}",
        other.stderr()
    );
}

#[test]
fn the_doctor_starts_the_kernel_and_fails_where_that_is_not_there() {
    let doctor = ["doctor", "--backend", "capos"];
    let all = "all 2 checks of the machine passed\n";
    capos().bailiwick(doctor).code(0).stdout_has(all);
    let missing = Sandbox::new().host_env("BAILIWICK_CAPOS_KERNEL", "/nonexistent/kernel");
    let found = missing.bailiwick(doctor);
    found.code(1).stdout_has("/nonexistent/kernel");
}
