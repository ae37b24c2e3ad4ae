//! Exit codes, streams and the environment are those of the command.

use crate::support::{Backend, Sandbox, host_command};

on_every_backend! {
    the_exit_code_is_the_commands_own,
    a_command_that_is_not_there_is_127_and_one_that_cannot_run_is_126,
    a_command_that_only_the_host_has_is_named_with_the_remedy,
    a_folder_that_the_policy_does_not_grant_is_named_and_not_the_command,
    a_script_without_an_interpreter_line_runs_as_from_a_shell,
    streams_pass_byte_for_byte,
    a_pipe_of_a_gigabyte_is_byte_exact,
    a_reader_that_leaves_ends_the_writer,
    only_named_variables_get_in,
    the_command_starts_where_the_caller_is,
    nothing_runs_on_after_the_command,
    the_last_line_can_be_json,
    streams_can_be_opened_again_by_name,
    a_stream_that_is_in_no_file_system_is_a_stream,
    two_streams_that_are_one_keep_their_order,
}

fn two_streams_that_are_one_keep_their_order(on: Backend) {
    let script = "say='for n in $(seq 100); do echo out $n; echo aside $n >&2; done'
        \"$B\" run -c \"$say\" > both 2>&1
        \"$B\" run -c \"$say\" 2>&1 | cat > piped
        echo before > added
        \"$B\" run -c \"$say\" >> added 2>&1
        \"$B\" run --name box -c 'echo up; cat' < keep > said &
        exec 3> keep
        while ! grep -q up said; do sleep 0.05; done
        \"$B\" exec box -c \"$say\" > entered 2>&1
        exec 3>&-; wait; rm keep said";
    let sandbox = Sandbox::on(on);
    sandbox.host("mkfifo keep");
    let shell = sandbox.shell(script).output().unwrap();
    let complaints = String::from_utf8_lossy(&shell.stderr);
    let line = |n| format!("out {n}\naside {n}\n");
    let expected: String = (1..=100).map(line).collect();
    for (name, before) in [
        ("both", ""),
        ("piped", ""),
        ("added", "before\n"),
        ("entered", ""),
    ] {
        let said = std::fs::read_to_string(sandbox.workspace().join(name)).unwrap();
        assert_eq!(said, format!("{before}{expected}"), "{name}: {complaints}");
    }
}

fn the_exit_code_is_the_commands_own(on: Backend) {
    let sandbox = Sandbox::on(on);
    sandbox.run("exit 0").code(0);
    sandbox.run("exit 7").code(7);
    sandbox.run("kill -TERM $$").code(128 + 15);
    sandbox.run("kill -KILL $$").code(128 + 9);
}

fn a_command_that_is_not_there_is_127_and_one_that_cannot_run_is_126(on: Backend) {
    let sandbox = Sandbox::on(on).file("text", "no program\n");
    sandbox
        .exec(["no-such-command"])
        .code(127)
        .stderr_has("no-such-command: not found");
    sandbox
        .exec(["./text"])
        .code(126)
        .stderr_has("cannot be executed");
    sandbox.exec(["."]).code(126);
}

fn a_command_that_only_the_host_has_is_named_with_the_remedy(on: Backend) {
    let sandbox = Sandbox::on(on).home_file("odd/tool", "#!/bin/sh\n");
    let outside = sandbox.scratch().home().join("odd/tool");
    sandbox
        .exec([&outside])
        .code(127)
        .stderr_has("exists outside")
        .stderr_has("[filesystem] read");
}

fn a_folder_that_the_policy_does_not_grant_is_named_and_not_the_command(on: Backend) {
    let sandbox = Sandbox::on(on).policy("[filesystem]\nread = [\"/usr\", \"/lib\", \"/lib64\"]\n");
    sandbox
        .exec(["/usr/bin/true"])
        .code(126)
        .stderr_has("cannot start in this folder")
        .stderr_lacks("true: ");
}

#[test]
fn wrong_usage_is_2_and_says_how() {
    let sandbox = Sandbox::new();
    sandbox.bailiwick(["run"]).code(2).stderr_has("Usage");
    sandbox
        .bailiwick(["run", "--no-such-flag", "--", "true"])
        .code(2);
    sandbox
        .bailiwick(["run", "--env", "novalue", "--", "true"])
        .code(2)
        .stderr_has("NAME=VALUE");
    sandbox
        .bailiwick(["run", "-c", "true", "--", "true"])
        .code(2);
    sandbox
        .bailiwick(["run", "--policy", "no-such", "--", "true"])
        .code(2)
        .stderr_has("no-such");
}

fn a_script_without_an_interpreter_line_runs_as_from_a_shell(on: Backend) {
    let sandbox = Sandbox::on(on).program("script", "echo ran $1\n");
    sandbox
        .exec(["./script", "well"])
        .success()
        .stdout_is("ran well\n");
}

fn streams_pass_byte_for_byte(on: Backend) {
    let every: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let outcome = Sandbox::on(on).stdin(&every).run("cat; echo to stderr >&2");
    assert!(outcome.success().stdout_bytes() == every);
    outcome.stderr_has("to stderr\n");
}

fn a_pipe_of_a_gigabyte_is_byte_exact(on: Backend) {
    // A machine that is translated takes half a minute for the whole.
    let bytes = match on {
        Backend::Process => 1 << 30,
        Backend::Vm => 64 << 20,
    };
    let all = format!(r"head -c {bytes} /dev/zero | tr '\0' 'x'");
    let script = format!(r#"{all} | "$B" run -- cat | cksum"#);
    let expected = host_command("sh")
        .args(["-c", &format!("{all} | cksum")])
        .output()
        .unwrap();
    let sandbox = Sandbox::on(on);
    let output = sandbox.shell(&script).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&expected.stdout)
    );
}

fn a_reader_that_leaves_ends_the_writer(on: Backend) {
    let sandbox = Sandbox::on(on);
    let mut child = sandbox
        .command()
        .args(["run", "--", "yes"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    std::io::Read::read_exact(child.stdout.as_mut().unwrap(), &mut first).unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(128 + 13));
    assert_eq!(&first, b"y\ny\n");
}

fn only_named_variables_get_in(on: Backend) {
    let sandbox = Sandbox::on(on)
        .host_env("AWS_SECRET_ACCESS_KEY", "hidden")
        .host_env("GITHUB_TOKEN", "hidden")
        .host_env("LC_ALL", "C.UTF-8")
        .env("GIVEN", "by hand");
    sandbox
        .run("env")
        .success()
        .stdout_lacks("hidden")
        .stdout_has("LC_ALL=C.UTF-8")
        .stdout_has("GIVEN=by hand")
        .stdout_has("NODE_USE_ENV_PROXY=1");
}

fn the_command_starts_where_the_caller_is(on: Backend) {
    let sandbox = Sandbox::on(on).file("sub/x", "");
    let sub = sandbox.workspace().join("sub");
    let output = sandbox
        .command()
        .current_dir(&sub)
        .args(["run", "--workspace", "..", "--", "pwd"])
        .output()
        .unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim_end(),
        sub.to_str().unwrap()
    );
}

fn nothing_runs_on_after_the_command(on: Backend) {
    let sandbox = Sandbox::on(on);
    sandbox
        .run("(while :; do date > beat; sleep 0.02; done) & until test -e beat; do sleep 0.01; done; exit 3")
        .code(3);
    let beat = sandbox.workspace().join("beat");
    let last = std::fs::metadata(&beat).unwrap().modified().unwrap();
    // Only time tells that nothing happens; on a slow machine less does.
    std::thread::sleep(std::time::Duration::from_millis(200));
    assert_eq!(std::fs::metadata(&beat).unwrap().modified().unwrap(), last);
}

fn the_last_line_can_be_json(on: Backend) {
    let outcome = Sandbox::on(on).option("--json").run("exit 5");
    let line = outcome.code(5).stderr();
    let json: serde_json::Value = serde_json::from_str(line.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&json["exit_code"], &json["refused"]),
        (&5.into(), &0.into())
    );
}

fn streams_can_be_opened_again_by_name(on: Backend) {
    let sandbox = Sandbox::on(on).stdin("in\n");
    sandbox
        .run("cat /dev/stdin; echo out > /dev/stdout; echo err > /dev/stderr")
        .success()
        .stdout_is("in\nout\n")
        .stderr_has("err\n");
    let status = sandbox
        .command()
        .args([
            "run",
            "-c",
            "cat /dev/stdin && echo x > /dev/stdout && echo y > /dev/stderr",
        ])
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}

fn a_stream_that_is_in_no_file_system_is_a_stream(on: Backend) {
    let memory = rustix::fs::memfd_create("out", rustix::fs::MemfdFlags::CLOEXEC).unwrap();
    let status = Sandbox::on(on)
        .command()
        .args(["run", "--", "echo", "text"])
        .stdout(memory.try_clone().unwrap())
        .status()
        .unwrap();
    assert!(status.success());
    let mut text = [0; 5];
    rustix::io::pread(&memory, &mut text, 0).unwrap();
    assert_eq!(&text, b"text\n");
}

#[test]
fn a_command_without_dashes_is_told_how_to_write_it() {
    Sandbox::new()
        .bailiwick(["run", "npm", "test"])
        .code(2)
        .stderr_has("bailiwick run -- npm test");
}

#[test]
fn a_sandbox_in_a_sandbox_says_what_it_is() {
    let outside = crate::support::binary();
    let sandbox = Sandbox::new();
    let scratch = sandbox.scratch();
    scratch.copy_of_program(outside, "workspace/bailiwick");
    sandbox
        .run("mkdir w && cd w && XDG_STATE_HOME=$PWD/../state ../bailiwick run -- true")
        .code(125)
        .stderr_has("this is a sandbox already");
}

#[test]
fn a_traced_start_names_every_stage_and_sums_to_the_whole() {
    let sandbox = Sandbox::new();
    let traced = sandbox.bailiwick(["run", "--trace-startup", "--", "true"]);
    let text = traced.code(0).stderr();
    for stage in [
        "load",
        "parse",
        "policy",
        "plan",
        "namespaces",
        "mounts",
        "gate",
        "Landlock",
        "seccomp",
        "ledger",
        "exec",
        "command",
    ] {
        assert!(
            text.lines().any(|l| l.starts_with(stage)),
            "{stage}: {text}"
        );
    }
    let number = |line: &str, column: usize| -> f64 {
        let words: Vec<&str> = line.split_whitespace().collect();
        words[words.len() - column].parse().unwrap_or(0.0)
    };
    let (total, stages) = text
        .trim_end()
        .rsplit_once('\n')
        .map(|(a, b)| (b, a))
        .unwrap();
    let sum: f64 = stages.lines().skip(1).map(|line| number(line, 1)).sum();
    assert!((sum - number(total, 2)).abs() < 30.0, "{sum}: {text}");
}
