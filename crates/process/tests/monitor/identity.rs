//! Who a monitor is, and when none is started.

use crate::world::{SHARE, World};
use bailiwick_process::ProcessBackend;
use std::fs;
use std::path::Path;
use std::process::Command;

crate::tests![
    it_is_root_inside_and_nobody_outside,
    its_users_files_are_roots,
    a_place_that_is_not_its_own_is_refused,
    a_sandbox_for_commands_starts_no_monitor,
    without_namespaces_there_is_none,
];

/// The lines of a status file that say who a process is.
fn status(text: &str, name: &str) -> String {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.unwrap().trim_start_matches(':').trim().to_owned()
}

fn it_is_root_inside_and_nobody_outside() {
    let world = World::new(&[]);
    let script = "import os
for file in ('status', 'uid_map', 'gid_map', 'setgroups'):
    print(open('/proc/self/' + file).read(), end='')
print(os.getresuid(), os.getresgid())
print('.', flush=True)
input()
";
    let mut live = world.start(script).unwrap();
    let mut said = String::new();
    loop {
        let line = live.hear();
        if line == "." {
            break;
        }
        said += &format!("{line}\n");
    }
    for (name, value) in [
        ("CapInh", "0000000000000000"),
        ("CapPrm", "0000000000000000"),
        ("CapEff", "0000000000000000"),
        ("CapBnd", "0000000000000000"),
        ("CapAmb", "0000000000000000"),
        ("NoNewPrivs", "1"),
        ("Uid", "0\t0\t0\t0"),
        ("Gid", "0\t0\t0\t0"),
    ] {
        assert_eq!(status(&said, name), value, "{name}: {said}");
    }
    assert!(said.contains("(0, 0, 0) (0, 0, 0)"), "{said}");
    let own = rustix::process::geteuid().as_raw();
    let outside = if own == 0 { 60_999 } else { own };
    let first = said.lines().find_map(|line| {
        let map = line.split_whitespace().collect::<Vec<_>>();
        (map.len() == 3 && map[0] == "0" && map[2] == "1").then(|| map[1].to_owned())
    });
    assert_eq!(first, Some(outside.to_string()), "{said}");
    // As the host sees it.
    let children = fs::read_to_string("/proc/thread-self/children").unwrap();
    let init: u32 = children
        .split_whitespace()
        .next_back()
        .unwrap()
        .parse()
        .unwrap();
    let below = fs::read_to_string(format!("/proc/{init}/task/{init}/children")).unwrap();
    for pid in below.split_whitespace().chain([init.to_string().as_str()]) {
        let text = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let ids = [outside; 4].map(|id| id.to_string()).join("\t");
        assert_eq!(status(&text, "Uid"), ids);
        assert_eq!(status(&text, "NoNewPrivs"), "1");
    }
    live.say("");
    live.end().said();
}

fn its_users_files_are_roots() {
    let world = World::new(&[("ws/file", "")]);
    let ended = world.run(
        "import os
ws = os.environ['SHARED'] + '/ws'
open(ws + '/new', 'w').close()
os.mkdir(ws + '/folder')
for name in ('', '/file', '/new', '/folder'):
    found = os.lstat(ws + name)
    print(found.st_uid, found.st_gid)
",
    );
    assert_eq!(ended.said(), "0 0\n".repeat(4));
    let new = rustix::fs::stat(world.top().join("ws/new")).unwrap();
    assert_eq!(new.st_uid, rustix::process::geteuid().as_raw());
}

fn a_place_that_is_not_its_own_is_refused() {
    let world = World::new(&[]);
    for share in ["/tmp/share", "/", "/run", "/usr/share", "share", "/dev"] {
        let backend = ProcessBackend::for_monitor();
        let words = ["/bin/true".into()];
        let failure = world.start_with(&backend, &words, Path::new(share)).err();
        let said = failure.expect(share).to_string();
        assert!(said.contains("remedy"), "{share}: {said}");
    }
}

fn a_sandbox_for_commands_starts_no_monitor() {
    let world = World::new(&[]);
    let words = ["/bin/true".into()];
    let failure = world
        .start_with(&ProcessBackend::new(), &words, Path::new(SHARE))
        .err();
    assert!(failure.unwrap().to_string().contains("not started"));
}

/// The variable that says that this process may make no namespace.
const LOCKED_IN: &str = "BAILIWICK_TEST_LOCKED_IN";

/// Whether this process may make no namespace.
pub(crate) fn is_locked_in() -> bool {
    std::env::var_os(LOCKED_IN).is_some()
}

fn without_namespaces_there_is_none() {
    if is_locked_in() {
        let world = World::new(&[]);
        let said = world.start("print(1)").err().unwrap().to_string();
        assert!(
            said.contains("not started") && said.contains("remedy: "),
            "{said}"
        );
        return;
    }
    const LOCK: &str = "echo 0 > /proc/sys/user/max_user_namespaces && \
        exec setpriv --bounding-set=-all --inh-caps=-all \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--user", "--map-root-user", "sh", "-c", LOCK, "sh"]);
    command
        .arg(std::env::current_exe().unwrap())
        .arg("without_namespaces");
    let output = command.env(LOCKED_IN, "1").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("ok"), "{output:?}");
}
