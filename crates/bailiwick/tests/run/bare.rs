//! A machine that gives no namespaces: nothing is started unless the user accepts it, and then
//! Landlock, seccomp and the broker hold.

use crate::support::processes::with_words;
use crate::support::{Finished, Sandbox, binary, host_command, run_to_end};
use std::time::Duration;

/// Runs `bailiwick run FLAGS -- sh -c SCRIPT` where no namespace can be made.
fn run(sandbox: &Sandbox, flags: &[&str], script: &str) -> Finished {
    bailiwick(
        sandbox,
        &[&["run"], flags, &["--", "sh", "-c", script]].concat(),
    )
}

/// Runs `bailiwick` without capabilities, in a user namespace that may have no other below it.
fn bailiwick(sandbox: &Sandbox, words: &[&str]) -> Finished {
    const LOCK: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
        exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let mut command = host_command("unshare");
    command
        .args(["--user", "--map-root-user", "sh", "-c", LOCK, "sh"])
        .arg(binary())
        .args(words)
        .current_dir(sandbox.workspace())
        .env("XDG_STATE_HOME", sandbox.scratch().state())
        .env("XDG_CONFIG_HOME", sandbox.scratch().config())
        .env("HOME", sandbox.scratch().home());
    run_to_end(&mut command, &[], Duration::from_secs(120))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn nothing_is_started_unless_the_user_accepts_it() {
    let sandbox = Sandbox::new();
    let output = run(&sandbox, &[], "touch started");
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(125), "{said}");
    assert!(
        said.contains("not started") && said.contains("remedy"),
        "{said}"
    );
    assert!(!sandbox.workspace().join("started").exists());
}

#[test]
fn files_outside_the_policy_are_closed_and_the_workspace_is_open() {
    let sandbox = Sandbox::new()
        .file("data", "inside\n")
        .home_file(".ssh/id", "the key\n");
    let output = run(
        &sandbox,
        &["--best-effort"],
        "cat data; echo new > new; cat new; rm new; echo t > $TMPDIR/t && cat $TMPDIR/t; \
         cat ~/.ssh/id || echo no key; ls ~/.ssh || echo no list; echo x > ~/x || echo no home; \
         echo x > /tmp/x.$$ || echo no tmp; python3 -c 'print(1)'; ls /usr/bin | wc -l",
    );
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{said}");
    let head = "inside\nnew\nt\nno key\nno list\nno home\nno tmp\n1\n";
    assert!(out.starts_with(head), "{out} {said}");
    assert!(said.starts_with("bailiwick: no namespaces here"), "{said}");
    let left = std::fs::read_dir(sandbox.scratch().state().join("bailiwick/projects"))
        .unwrap()
        .flatten()
        .all(|project| {
            std::fs::read_dir(project.path().join("tmp"))
                .unwrap()
                .next()
                .is_none()
        });
    assert!(left, "the temporary folder stays");
}

#[test]
fn protected_and_denied_names_are_kept_by_the_broker() {
    let sandbox = Sandbox::new()
        .file(".mcp.json", "{}\n")
        .file(".env", "SECRET=1\n")
        .policy("extends = [\"default\"]\n[filesystem]\ndeny = [\"**/.env\"]\n[require]\nlayers = [\"landlock\", \"seccomp\"]\n");
    let policy = sandbox.scratch().root().join("policy-1.toml");
    let output = run(
        &sandbox,
        &["--policy", policy.to_str().unwrap()],
        "cat .env || echo no env; echo x > .mcp.json || echo no write; rm .mcp.json || echo no rm; \
         mv .mcp.json x || echo no mv; mkdir .vscode || echo no mkdir; cp .env e || echo no cp; \
         ln .env e || echo no ln; ls",
    );
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        out, "no env\nno write\nno rm\nno mv\nno mkdir\nno cp\nno ln\n",
        "{said}"
    );
    assert!(said.contains("refused"), "{said}");
}

/// A policy that denies this path below the workspace's parent, and shows its folder of tools.
fn denying(sandbox: &Sandbox, path: &str) -> String {
    let root = sandbox.scratch().root();
    let text = format!(
        "extends = [\"default\"]\n[filesystem]\nread = [\"{0}/tools\"]\ndeny = [\"{0}/{path}\"]\n",
        root.display()
    );
    let policy = sandbox.scratch().write(root.join("denying.toml"), text);
    policy.to_str().unwrap().to_owned()
}

#[test]
fn a_denied_program_is_not_executed_and_those_beside_it_are() {
    let sandbox = Sandbox::new();
    let tools = sandbox.scratch().root().join("tools");
    for name in ["hidden", "open", "below/open"] {
        sandbox
            .scratch()
            .copy_of_program("/bin/true", tools.join(name));
    }
    std::fs::hard_link(tools.join("hidden"), tools.join("second")).unwrap();
    std::os::unix::fs::symlink("../tools/hidden", sandbox.workspace().join("link")).unwrap();
    let policy = denying(&sandbox, "tools/hidden");
    let output = run(
        &sandbox,
        &["--best-effort", "--policy", &policy],
        "cp /bin/true built
         for program in open below/open hidden second; do ../tools/$program; echo $program $?; done
         ./built; echo built $?; ./link; echo link $?",
    );
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    let wanted = "open 0\nbelow/open 0\nhidden 126\nsecond 126\nbuilt 0\nlink 126\n";
    assert_eq!(out, wanted, "{said}");
}

#[test]
fn a_denied_program_where_programs_are_built_keeps_the_run_from_starting() {
    let sandbox = Sandbox::new();
    let hidden = sandbox.workspace().join("hidden");
    sandbox.scratch().copy_of_program("/bin/true", &hidden);
    let policy = denying(&sandbox, "workspace/hidden");
    let output = run(
        &sandbox,
        &["--best-effort", "--policy", &policy],
        "touch started",
    );
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(126), "{said}");
    for part in ["denying.toml:4:", "hidden is a program", "chmod a-x"] {
        assert!(said.contains(part), "{part} {said}");
    }
    assert!(!sandbox.workspace().join("started").exists());
    let made = std::fs::metadata(&hidden).unwrap().permissions();
    let plain = std::os::unix::fs::PermissionsExt::from_mode(0o644);
    std::fs::set_permissions(&hidden, plain).unwrap();
    let output = run(
        &sandbox,
        &["--best-effort", "--policy", &policy],
        "./hidden",
    );
    assert_eq!(output.status.code(), Some(126), "{}", text(&output.stderr));
    std::fs::set_permissions(&hidden, made).unwrap();
}

#[test]
fn there_is_no_network_and_no_way_to_other_processes() {
    let sandbox = Sandbox::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let path = sandbox.scratch().root().join("outside.sock");
    let outside = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
    let path = path.display();
    let output = run(
        &sandbox,
        &["--best-effort"],
        &format!(
            "python3 - <<'END'
import os, socket, signal
def tried(act):
    try: act(); return 'done'
    except OSError as e: return 'refused'
print(tried(lambda: socket.create_connection(('127.0.0.1', {port}))))
print(tried(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
print(tried(lambda: socket.socket(socket.AF_UNIX).connect('/run/docker.sock')))
def datagram():
    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    pair[0].sendto(b'out', '{path}')
print(tried(datagram))
socket.socketpair()
keeper = int(open('/proc/%d/stat' % os.getppid()).read().rsplit(')', 1)[1].split()[1])
print(tried(lambda: os.kill(keeper, signal.SIGKILL)))
print(tried(lambda: os.kill({}, 0)))
print(tried(lambda: open('/proc/%d/mem' % keeper, 'rb')))
END",
            std::process::id()
        ),
    );
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(out, "refused\n".repeat(7), "{said}");
    outside.set_nonblocking(true).unwrap();
    assert!(outside.recv(&mut [0; 8]).is_err(), "it was sent to");
}

#[test]
fn no_variable_names_a_proxy_that_is_not_there_and_the_log_says_what_is_missing() {
    let sandbox = Sandbox::new().without_namespaces();
    let outcome = sandbox.run("env | grep -ci proxy; curl -sS -m 60 http://a.test/");
    outcome
        .stdout_is("0\n")
        .stderr_has("refused by the kernel and not recorded");
    let own = Sandbox::new()
        .without_namespaces()
        .env("HTTP_PROXY", "http://mine.test:1");
    own.run("env | grep -i proxy")
        .stdout_is("HTTP_PROXY=http://mine.test:1\n");
    sandbox
        .bailiwick(["log"])
        .success()
        .stdout_has("missing layers: namespaces; in force: capabilities, landlock (ABI ")
        .stdout_has("refused by the kernel, not recorded");
    let full = Sandbox::new();
    full.run("env | grep -c 127.0.0.1:14829").stdout_is("6\n");
    full.bailiwick(["log"]).stdout_lacks("missing layers");
}

#[test]
fn nothing_is_left_when_the_run_or_its_supervisor_ends() {
    let sandbox = Sandbox::new();
    // Longer than others sleep by a moment that is this test's own.
    let moment = format!("0.{}", std::process::id());
    let sleep = |file: &str| format!("sh -c ': > {file}; exec sleep 4711 {moment}'");
    let output = run(
        &sandbox,
        &["--best-effort"],
        &format!(
            "(setsid {} &) ; ({} & {} &) ; until test -e a -a -e b -a -e c; do sleep 0.01; done",
            sleep("a"),
            sleep("b"),
            sleep("c")
        ),
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    let left = with_words(&format!("sleep\x004711\x00{moment}\x00"));
    assert_eq!(left, [0; 0]);
}

#[test]
fn the_doctor_names_what_is_missing_and_what_is_there() {
    let sandbox = Sandbox::new();
    let output = bailiwick(&sandbox, &["doctor"]);
    let out = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{out}");
    let line = |layer: &str| {
        out.lines()
            .find(|line| line.starts_with(layer))
            .unwrap_or("")
    };
    assert!(
        line("namespaces and private root").ends_with("MISSING"),
        "{out}"
    );
    assert!(
        out.contains("remedy: ") && out.contains("--best-effort"),
        "{out}"
    );
    for layer in ["landlock", "seccomp", "write broker"] {
        assert!(line(layer).ends_with("works"), "{layer}: {out}");
    }
}

#[test]
fn modes_owners_times_and_attributes_are_changed_in_the_workspace_and_nowhere_else() {
    let sandbox = Sandbox::new()
        .file("f", "1\n")
        .file(".vscode/tasks.json", "{}\n")
        .home_file("of-home", "2\n");
    let output = run(
        &sandbox,
        &["--best-effort"],
        "chmod 755 f && touch -d @100 f && cp -p f g && ln -s f l && touch -h -d @200 l && \
         chown -h $(id -u) l && stat -c '%a %Y' f g && stat -c %Y l && python3 - <<'END'
import os
os.setxattr('f', 'user.a', b'1'); print(os.getxattr('f', 'user.a')); os.removexattr('f', 'user.a')
f = os.open('f', os.O_RDWR); os.fchmod(f, 0o700); os.utime(f, (300, 300)); os.setxattr(f, 'user.b', b'2')
print(oct(os.stat('f').st_mode), os.stat('f').st_mtime, os.listxattr('f'))
r, w = os.pipe(); os.fchmod(r, 0o600)
home = os.path.expanduser('~/of-home')
def tried(act):
    try: act(); return 'done'
    except OSError as e: return 'held'
print(*map(tried, [
    lambda: os.chmod(home, 0o777), lambda: os.utime(home), lambda: os.setxattr(home, 'user.a', b'1'),
    lambda: os.chmod('.vscode/tasks.json', 0o777), lambda: os.rename('.vscode', 'x'),
    lambda: os.fchmod(os.open('.vscode/tasks.json', os.O_RDONLY), 0o777),
]))
END
git init -q r && cd r && git -c user.name=t -c user.email=t@t commit -q --allow-empty -m 1 && git log --oneline | wc -l",
    );
    let (out, said) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(
        out,
        "755 100\n755 100\n200\nb'1'\n0o100700 300.0 ['user.b']\nheld held held held held held\n1\n",
        "{said}"
    );
}

#[test]
fn a_run_ends_at_each_limit_that_ends_runs() {
    for (limit, script) in [
        ("output = \"10KB\"", "yes"),
        ("wall = \"1s\"", "sleep 600"),
        (
            "disk = \"4MiB\"",
            "sleep 600 & while :; do head -c 1M /dev/zero >> f; sleep 0.02; done",
        ),
    ] {
        let policy = format!("extends = [\"default\"]\n[limits]\n{limit}\n");
        let sandbox = Sandbox::new().home_file("limited.toml", &policy);
        let policy = sandbox.scratch().home().join("limited.toml");
        let flags = ["--best-effort", "--policy", &policy.to_string_lossy()];
        let output = run(&sandbox, &flags, script);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(137), "{limit}: {said}");
    }
}

#[test]
fn a_folder_with_what_is_denied_or_protected_stays_where_it_is() {
    let sandbox = Sandbox::new()
        .file("secrets/key", "KEY\n")
        .file("src/kept", "as it was\n")
        .file("conf1/a/kept", "as it was\n")
        .file("ops/run.sh", "as it was\n")
        .file(
            "../p.toml",
            "extends = [\"default\"]\n[filesystem]\ndeny = [\"./ws/secrets/key\"]\n\
             protect = [\"./ws/src/kept\", \"./ws/conf?/**\", \"./ws/{ops,x/ops}/*.sh\"]\n",
        );
    let policy = std::fs::read_to_string(sandbox.workspace().join("../p.toml")).unwrap();
    let workspace = sandbox.workspace();
    let policy = policy.replace("./ws", &workspace.display().to_string());
    std::fs::write(sandbox.workspace().join("../p.toml"), policy).unwrap();
    let output = run(
        &sandbox,
        &["--best-effort", "--policy", "../p.toml"],
        "mv secrets s2; cat s2/key secrets/key; mv src src2; echo new > src2/kept; mv conf1 c; \
         echo new > c/a/kept; mv ops o; echo new > o/run.sh; echo new > ops/run.sh; mkdir fine && mv fine fine2 && echo moved",
    );
    assert_eq!(text(&output.stdout), "moved\n", "{}", text(&output.stderr));
    for kept in ["src/kept", "conf1/a/kept", "ops/run.sh"] {
        let text = std::fs::read_to_string(sandbox.workspace().join(kept));
        assert_eq!(text.unwrap(), "as it was\n", "{kept}");
    }
    assert!(
        text(&output.stderr).contains("refused"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn git_reads_the_harmless_part_of_the_users_configuration() {
    let config = "[user]\n\tname = The User\n[core]\n\teditor = touch escaped\n";
    let sandbox = Sandbox::new().home_file(".gitconfig", config);
    let script = "git init -q r && cd r && git config user.name; git config core.editor; \
                  git status --short";
    let output = run(&sandbox, &["--best-effort"], script);
    assert_eq!(
        text(&output.stdout),
        "The User\n",
        "{}",
        text(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
}
