//! Names that do not exist yet are protected as those that do, and git goes on working.

use crate::support::{Sandbox, wait};
use std::time::{Duration, Instant};

#[test]
fn absent_control_names_cannot_be_created_at_any_depth() {
    let sandbox = Sandbox::new();
    for act in [
        "echo x > .mcp.json",
        "mkdir -p a/b && echo x > a/b/.mcp.json",
        "mkdir .vscode",
        "mkdir -p a && mkdir a/.vscode",
        "echo x > .envrc",
        "mkdir -p .claude && echo x > .claude/settings.json",
        "echo x > y && mv y .mcp.json",
        "echo x > y && ln y .mcp.json",
        "ln -s /tmp .vscode",
        "mkdir z && echo x > z/settings.json && mv z .claude",
        "echo x > y && cp y .envrc",
        "python3 -c 'import os; os.mknod(\".mcp.json\")'",
    ] {
        sandbox.run(act).failure().refused_by("filesystem.protect");
        sandbox.host("rm -rf a y z .claude; test ! -e .mcp.json -a ! -e .vscode -a ! -e .envrc");
    }
}

#[test]
fn a_folder_that_is_moved_brings_no_hooks_of_a_module_however_deep() {
    let sandbox = Sandbox::repository();
    let make = "mkdir -p x/a/b/hooks && echo : > x/a/b/hooks/post-checkout";
    for act in [
        format!("{make} && mv x .git/modules"),
        "mkdir x y && ln -s ../../y x/a && mv x .git/modules".to_owned(),
    ] {
        sandbox.run(&act).failure().refused_by("filesystem.protect");
        sandbox.host("rm -rf x y; test ! -e .git/modules");
    }
}

#[test]
fn a_folder_that_leaves_git_brings_no_configuration_of_submodules() {
    // The template protects the file everywhere; this policy has git's configuration looked at.
    let policy = "[filesystem]\nread = [\"/usr\", \"/bin\", \"/lib\", \"/lib64\", \"/etc\"]\n\
                  write = [\"workspace\"]\nprotect = [\"workspace/.git/config\"]\n";
    let sandbox = Sandbox::repository().policy(policy);
    let act = "mkdir .git/x && printf '[submodule \"a\"]\\n\\tupdate = !touch PWNED\\n' > \
               .git/x/.gitmodules && mv .git/x sub";
    sandbox.run(act).failure().refused_by("filesystem.protect");
    sandbox.host("test ! -e .git/x -a ! -e sub");
}

#[test]
fn a_refusal_is_recorded_with_the_path_and_the_policy_line() {
    let sandbox = Sandbox::new();
    let outcome = sandbox.run("echo x > .mcp.json");
    outcome
        .failure()
        .stderr_has("file open")
        .stderr_has(".mcp.json")
        .stderr_has("template:default:");
    assert_eq!(outcome.denied().len(), 1);
}

#[test]
fn ordinary_work_with_files_is_as_without_a_sandbox() {
    let script = "set -e
        mkdir -p d/e; echo 1 > d/e/f; echo 2 >> d/e/f; cp d/e/f g; mv g h; ln h i; ln -s h j
        cat j > k; : > k; truncate -s 5 k; mkfifo p; (cat p > q &) ; echo through > p
        until test -s q; do sleep 0.01; done
        umask 027; touch m; mkdir n; stat -c '%a %n' m n
        echo err >&2; echo out > /dev/stdout; echo x > /dev/null; echo y > /dev/stderr
        exec 3> r; echo open >&3; cat r; rm -r d; ls";
    let plain = Sandbox::new().host(script);
    let sandbox = Sandbox::new();
    let inside = sandbox.run(script);
    inside.success();
    assert_eq!(inside.stdout(), plain);
}

#[test]
fn errors_are_those_of_the_kernel() {
    let script = "import os, errno
def tried(act):
    try: return act()
    except OSError as e: return errno.errorcode[e.errno]
os.mkdir('d'); open('f', 'w').close(); os.symlink('nowhere', 'l'); os.symlink('loop', 'loop')
for act in [
    lambda: os.mkdir('d'), lambda: os.mkdir('x/y'), lambda: os.mkdir('f/x'),
    lambda: open('d', 'w'), lambda: open('f/', 'w'), lambda: open('x/', 'w'),
    lambda: os.open('f', os.O_CREAT | os.O_EXCL | os.O_WRONLY),
    lambda: os.open('l', os.O_CREAT | os.O_EXCL | os.O_WRONLY),
    lambda: os.open('l', os.O_NOFOLLOW | os.O_WRONLY),
    lambda: open('loop', 'w'), lambda: open('', 'w'), lambda: open('a' * 300, 'w'),
    lambda: os.rename('x', 'y'), lambda: os.rename('d', 'f'), lambda: os.rename('f', 'd'),
    lambda: os.rename('d', 'd/e'), lambda: os.link('x', 'y'), lambda: os.link('f', 'f'),
    lambda: os.symlink('a', 'f'), lambda: os.truncate('d', 0), lambda: os.truncate('x', 0),
    lambda: os.close(os.open('.', os.O_TMPFILE | os.O_WRONLY)),
    lambda: os.open('f', os.O_WRONLY | os.O_DIRECTORY), lambda: os.mkdir('.'), lambda: os.mkdir('/'),
    lambda: os.rename('.', 'x'), lambda: os.open('/proc/1/mem', os.O_RDWR),
]:
    print(tried(act))
open('l', 'w').close(); print(os.path.exists('nowhere'))";
    let sandbox = Sandbox::new().file("errors.py", script);
    let inside = sandbox.run("python3 errors.py");
    inside.success();
    let sandbox = Sandbox::new().file("errors.py", script);
    let plain = sandbox.host("python3 errors.py");
    let (inside, plain) = (inside.stdout(), plain);
    for (n, (inside, plain)) in inside.lines().zip(plain.lines()).enumerate() {
        // The memory of the machine's first process is root's.
        let may_differ = n == 26;
        assert!(
            inside == plain || may_differ,
            "{n}: {inside} instead of {plain}"
        );
    }
}

#[test]
fn a_broker_is_no_way_to_what_it_could_write_itself() {
    let sandbox = Sandbox::new();
    sandbox.run("echo x > /proc/1/comm").failure();
    sandbox.run("echo 0 > /proc/1/oom_score_adj").failure();
    sandbox.run("exec 3<> /proc/1/mem").failure();
    sandbox.run("echo x > /proc/1/fd/1").failure();
    sandbox.run("echo sandboxed > /proc/self/comm").success();
}

#[test]
fn git_changes_its_configuration_as_far_as_that_runs_nothing() {
    let sandbox = Sandbox::repository();
    let outcome = sandbox.run(
        "set -e; git remote add up https://up.test/x; git branch side; git checkout -q side
         echo 2 > g; git add g; git commit -qm two; git stash -q || true; git rebase -q main
         git worktree add -q tree HEAD 2>&1; git config branch.side.description d
         git branch -q --set-upstream-to=main side; git init -q sub; cat .git/config",
    );
    outcome.success().stdout_has("up.test").nothing_refused();
    assert_eq!(outcome.stderr(), "");
    for key in [
        "core.fsmonitor",
        "core.hooksPath",
        "alias.x",
        "include.path",
        "filter.x.clean",
    ] {
        sandbox
            .run(&format!("git config {key} ./evil"))
            .failure()
            .refused_by("filesystem.protect");
    }
    sandbox
        .run("echo '[core] fsmonitor = x' >> .git/config")
        .failure();
    sandbox
        .run("printf '[core]\\n\\tpager = x\\n' > c && mv c .git/config")
        .failure();
    sandbox.run("ln .git/config c && echo evil >> c").failure();
    sandbox.run("git -C sub config core.pager x").failure();
    assert!(!sandbox.host("git config --list --local").contains("evil"));
}

#[test]
fn hooks_of_a_repository_that_is_made_inside_are_protected() {
    let sandbox = Sandbox::new();
    sandbox.run("git init -q r").success();
    sandbox
        .run("mkdir -p r/.git/hooks; echo x > r/.git/hooks/pre-commit")
        .failure()
        .refused_by("filesystem.protect");
    sandbox
        .run("mkdir e e/hooks; echo x > e/hooks/pre-commit; mkdir s; mv e s/.git")
        .failure()
        .refused_by("filesystem.protect");
    sandbox
        .run("mkdir -p s; ln -s ../e s/.git")
        .failure()
        .refused_by("filesystem.protect");
}

#[test]
fn the_broker_can_be_switched_off() {
    let sandbox =
        Sandbox::new().policy("extends = [\"default\"]\n[filesystem]\nprotect_absent = \"off\"\n");
    sandbox.run("echo x > .mcp.json").success();
}

#[test]
fn a_sweep_takes_away_what_was_created_and_says_where_it_is() {
    let sandbox = Sandbox::new()
        .file("old/.git/hooks/post-merge", "#!/bin/sh\n")
        .policy("extends = [\"default\"]\n[filesystem]\nprotect_absent = \"sweep\"\n");
    // Files know the time to some milliseconds only.
    sandbox.host("sleep 0.05");
    let outcome = sandbox.run(
        "echo '{}' > .mcp.json; mkdir -p a/.vscode; echo x > a/.vscode/tasks.json; git init -q r;
         echo x > r/.git/hooks/pre-commit; echo kept > kept",
    );
    outcome
        .success()
        .refused_by("filesystem.protect")
        .stderr_has("3 refused");
    let rows = outcome.denied();
    assert_eq!(rows.len(), 3);
    assert!(
        rows.iter()
            .all(|row| row.decision.reason.contains("moved to"))
    );
    let left = sandbox.host("find . -name '.mcp.json' -o -name .vscode -o -name pre-commit -o -name post-merge -o -name kept");
    let mut left: Vec<&str> = left.lines().collect();
    left.sort_unstable();
    assert_eq!(left, ["./kept", "./old/.git/hooks/post-merge"]);
}

#[test]
fn a_program_that_lets_nobody_look_at_it_works_as_well() {
    let sandbox = Sandbox::new();
    sandbox
        .run(
            "python3 - <<'END'
import ctypes, os
ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
open('/dev/null', 'w').write('x')
os.mkdir('d'); open('d/f', 'w').write('x'); os.rename('d/f', 'd/g')
fd = os.open('d', os.O_DIRECTORY)
os.close(os.open('h', os.O_CREAT | os.O_WRONLY, dir_fd=fd))
print(sorted(os.listdir('d')))
try: open('.mcp.json', 'w')
except PermissionError: print('refused')
END",
        )
        .success()
        .stdout_is("['g', 'h']\nrefused\n");
}

#[test]
fn the_brokers_own_rights_are_not_the_commands() {
    let sandbox = Sandbox::new();
    sandbox
        .run("grep -E 'Cap(Inh|Prm|Eff|Amb)' /proc/self/status | awk '{print $2}' | sort -u")
        .success()
        .stdout_is("0000000000000000\n");
    sandbox
        .run(
            "python3 - <<'END'
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
buffer = ctypes.create_string_buffer(8)
here = (ctypes.c_void_p * 2)(ctypes.addressof(buffer), 8)
print(libc.process_vm_readv(os.getpid(), here, 1, here, 1, 0), ctypes.get_errno())
print(libc.syscall(438, os.pidfd_open(1), 0, 0), ctypes.get_errno())
END",
        )
        .success()
        .stdout_is("-1 1\n-1 1\n");
}

/// Leases the file of the first argument until there is the file of the second. Says when it has the lease,
/// and when somebody wants the file and waits.
const LEASE: &str = "import fcntl, os, signal, sys, time
signal.signal(signal.SIGIO, lambda *_: print('asked', flush=True))
held = os.open(sys.argv[1], os.O_RDONLY)
fcntl.fcntl(held, fcntl.F_SETLEASE, fcntl.F_WRLCK)
print('leased', flush=True)
while not os.path.exists(sys.argv[2]): time.sleep(0.01)
";

#[test]
fn whoever_changes_a_leased_file_waits_and_nobody_else_does() {
    let sandbox = Sandbox::repository().file("lease.py", LEASE);
    sandbox
        .run(
            "printf abcdef > data; python3 lease.py data let-go > said & \
             until grep -q leased said; do sleep 0.02; done; \
             { until grep -q asked said; do sleep 0.02; done; : > let-go; } & \
             python3 -c 'import os; os.truncate(\"data\", 3)'; cat data",
        )
        .success()
        .stdout_is("abc");
    // The broker itself reads what is to be git's.
    sandbox
        .run(
            "rm said let-go; cp .git/config lock; python3 lease.py lock let-go > said & \
             until grep -q leased said; do sleep 0.02; done; \
             { mv lock .git/config; echo moved; } & \
             until grep -q asked said; do sleep 0.02; done; \
             mkdir other; echo made; : > let-go; wait",
        )
        .success()
        .stdout_is("made\nmoved\n");
}

#[test]
fn a_leased_command_keeps_nobody_from_ending_the_run() {
    let sandbox = Sandbox::new().file("lease.py", LEASE);
    sandbox.host("cp /bin/true tool");
    let held = sandbox
        .shell("exec python3 lease.py tool let-go > said")
        .spawn()
        .unwrap();
    let _held = Ended(held);
    let has_said = |word: &str| {
        let said = std::fs::read_to_string(sandbox.workspace().join("said"));
        said.is_ok_and(|said| said.contains(word))
    };
    wait::until("the program is leased", || has_said("leased"));
    let mut run = sandbox.command();
    let mut run = Ended(run.args(["run", "--", "./tool"]).spawn().unwrap());
    wait::until("the run waits for it", || has_said("asked"));
    let asked = Instant::now();
    let pid = rustix::process::Pid::from_child(&run.0);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    wait::for_ok("the run ends", || match run.0.try_wait().unwrap() {
        Some(_) => Ok(()),
        None => Err(doing(pid)),
    });
    // Where it waited for the lease it was the kernel that ended that, after 45 s.
    let kernel = std::fs::read_to_string("/proc/sys/fs/lease-break-time").unwrap();
    let kernel = Duration::from_secs(kernel.trim().parse().unwrap());
    assert!(asked.elapsed() < kernel, "it waited for the lease");
}

/// What a process and those that it has started do.
fn doing(pid: rustix::process::Pid) -> String {
    let mut all = vec![pid.as_raw_nonzero().to_string()];
    let mut said = String::new();
    while let Some(pid) = all.pop() {
        let of = |what: &str| {
            let text = std::fs::read_to_string(format!("/proc/{pid}/{what}"));
            text.unwrap_or_default().trim().to_owned()
        };
        let children = of(&format!("task/{pid}/children"));
        all.extend(children.split_whitespace().map(str::to_owned));
        let (stat, at, call) = (of("stat"), of("wchan"), of("syscall"));
        said.push_str(&format!("\n{stat}\n  {at} {call}"));
    }
    said
}

/// A process that does not outlive its test.
struct Ended(std::process::Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn no_link_leads_to_the_users_own_policy() {
    let sandbox = Sandbox::new().home_file("dotfiles/config/other", "x\n");
    let home = sandbox.scratch().home();
    std::os::unix::fs::symlink("dotfiles/config", home.join(".config")).unwrap();
    let policy = "extends = [\"default\"]\n[filesystem]\nwrite = [\"~/dotfiles\"]\n";
    std::fs::write(home.join("p.toml"), policy).unwrap();
    let file = home.join("p.toml");
    let run = |script: &str| {
        let mut command = sandbox.command();
        command
            .env("XDG_CONFIG_HOME", home.join(".config"))
            .env("HOME", &home)
            .args(["run", "--allow-wide-workspace", "--policy"])
            .arg(&file)
            .args(["-c", script]);
        command.output().unwrap()
    };
    run(
        "cd ~/dotfiles; mkdir -p config/bailiwick; echo '[filesystem]' > config/bailiwick/policy.toml; \
         mv config config2; mkdir new && echo fine > new/file",
    );
    assert!(home.join("dotfiles/new/file").exists());
    assert!(home.join("dotfiles/config/other").exists());
    let own = home.join("dotfiles/config/bailiwick/policy.toml");
    assert!(
        !own.exists(),
        "a program has written what the next run obeys"
    );
}
