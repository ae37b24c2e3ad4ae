//! Races that lead out of the share or to what is protected in it, tried by a program in the monitor's
//! place: what a machine does to its files is done for it in this sandbox, and nothing stands between the two
//! but this. Whether one was won is seen on the host. `BAILIWICK_RACE_ROUNDS` says how many rounds each
//! has.

use crate::world::World;
use bailiwick_sandbox::OwnAccess;
use std::fs;
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

crate::tests![
    no_race_leads_out_of_the_share_or_to_what_is_protected,
    the_races_are_won_where_nothing_stands_in_between,
];

/// Each of them, by its name in the program.
const RACES: [&str; 10] = [
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
/// Rounds of one sandbox; what it was refused is kept until its end.
const AT_ONCE: u64 = 5000;

fn world() -> World {
    World::new(&[
        ("ws/.git/HEAD", "ref: refs/heads/x\n"),
        ("ws/.git/config", "[core]\n\tbare = false\n"),
        ("ws/.git/hooks/kept", "kept"),
        ("ws/.env", "canary of .env"),
        ("ws/bailiwick.toml", "policy"),
        ("outside/canary", "canary outside"),
        ("bin/none", ""),
    ])
    .protect("ws/.git/hooks")
    .protect("ws/.git/config")
    .protect("ws/bailiwick.toml")
    .protect("ws/.mcp.json")
    .protect("ws/.vscode")
    .deny("ws/.env")
    .own("bin", "/races", OwnAccess::Read)
}

/// Everything that is wrong on the host.
fn won(top: &Path) -> Vec<String> {
    let mut all = Vec::new();
    let mut same = |path: &str, text: &str| {
        let path = top.join(path);
        let now = fs::read_to_string(&path).unwrap_or_else(|error| error.to_string());
        let meta = fs::symlink_metadata(&path);
        let plain = meta
            .as_ref()
            .is_ok_and(|meta| meta.nlink() == 1 && meta.is_file() && meta.mode() & 0o7777 == 0o644);
        let marked = rustix::fs::lgetxattr(&path, "user.won", &mut [0; 64]).is_ok();
        if now != text || !plain || marked {
            all.push(format!("{}: {now:?}, {meta:?}", path.display()));
        }
    };
    same("ws/.git/hooks/kept", "kept");
    same("ws/.git/config", "[core]\n\tbare = false\n");
    same("ws/.env", "canary of .env");
    same("ws/bailiwick.toml", "policy");
    same("outside/canary", "canary outside");
    for (folder, expected) in [
        (top.join("outside"), 1),
        (top.join("ws/.git/hooks"), 1),
        // `home` and `private` are the world's.
        (top.to_path_buf(), 6),
    ] {
        // A folder that is gone was moved away, which its files above have told.
        let names = fs::read_dir(&folder).into_iter().flatten().flatten();
        let names: Vec<_> = names.map(|entry| entry.file_name()).collect();
        if names.len() > expected {
            all.push(format!("{}: {names:?}", folder.display()));
        }
    }
    for folder in ["/", "/etc", "/share", "/tmp"] {
        for name in ["planted", "planted.d", "planted.plain", "pre-commit"] {
            let path = Path::new(folder).join(name);
            if path.symlink_metadata().is_ok() {
                all.push(path.display().to_string());
            }
        }
    }
    walk(&top.join("ws"), &mut all);
    all
}

/// What may be nowhere in the workspace: kept names, devices, files with capabilities.
fn walk(top: &Path, all: &mut Vec<String>) {
    let kept = [".mcp.json", ".vscode"];
    let mut folders = vec![top.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let meta = fs::symlink_metadata(&path).unwrap();
            let kind = meta.file_type();
            let named = kept.iter().any(|name| entry.file_name() == *name);
            if named || kind.is_char_device() || kind.is_block_device() {
                all.push(format!("{}: {meta:?}", path.display()));
            }
            let mut value = [0; 64];
            if rustix::fs::lgetxattr(&path, "security.capability", &mut value).is_ok() {
                all.push(format!("{} has capabilities", path.display()));
            }
            // One of a thousand folders is too long a path to be named; it holds nothing else.
            if kind.is_dir() && path.as_os_str().len() < 1000 {
                folders.push(path);
            }
        }
    }
}

/// Makes the program; whether there is what makes it.
fn build(top: &Path) -> bool {
    let source = top.join("bin/races.c");
    fs::write(&source, include_str!("races.c")).unwrap();
    let built = Command::new("cc")
        .args(["-O1", "-static", "-pthread", "-w", "-o"])
        .arg(top.join("bin/races"))
        .arg(source)
        .stderr(Stdio::null())
        .status();
    let built = built.is_ok_and(|status| status.success());
    if !built {
        println!("  there is no compiler of static programs in C: not tried");
    }
    built
}

/// What the looks at the host see is seen: without a sandbox each of these is won at once. The others
/// would write outside of the test's folder.
fn the_races_are_won_where_nothing_stands_in_between() {
    for race in ["link-in", "hard-link", "rename", "attribute", "memory"] {
        let world = world();
        let top = world.top();
        if !build(&top) {
            return;
        }
        // Not every file system keeps what an ordinary user may set.
        if race == "attribute" && !rustix::process::geteuid().is_root() {
            continue;
        }
        // Its two threads need not meet soon where other work has the processors.
        let deadline = Instant::now() + Duration::from_secs(900);
        loop {
            let ran = Command::new(top.join("bin/races"))
                .args([&top.join("ws"), &top.join("outside")])
                .args(["5000", race])
                .stdout(Stdio::null())
                .status();
            assert!(ran.unwrap().success());
            if !won(&top).is_empty() {
                break;
            }
            assert!(Instant::now() < deadline, "{race}");
        }
    }
}

fn no_race_leads_out_of_the_share_or_to_what_is_protected() {
    let rounds = std::env::var("BAILIWICK_RACE_ROUNDS");
    let rounds: u64 = rounds.map_or(300, |text| text.parse().unwrap());
    for race in RACES {
        let mut left = rounds;
        while left > 0 {
            let now = left.min(AT_ONCE);
            left -= now;
            let world = world();
            let top = world.top();
            if !build(&top) {
                return;
            }
            let share = Path::new(crate::world::SHARE).join(top.strip_prefix("/").unwrap());
            let argv = [
                "/races/races".into(),
                share.join("ws").into_os_string(),
                top.join("outside").into_os_string(),
                now.to_string().into(),
                race.into(),
            ];
            let backend = bailiwick_process::ProcessBackend::for_monitor();
            let share = Path::new(crate::world::SHARE);
            let ended = world.start_with(&backend, &argv, share).unwrap().end();
            let said = ended.said();
            print!("  {} refusals, {said}", ended.refused.len());
            assert!(!said.contains("ESCAPED"), "{said}");
            assert_eq!(won(&top), [] as [String; 0], "{race}: {said}");
        }
    }
}
