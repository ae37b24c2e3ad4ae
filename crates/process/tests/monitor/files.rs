//! What a monitor sees and may change.

use crate::world::{Ended, World};
use bailiwick_sandbox::OwnAccess;
use std::os::unix::fs::PermissionsExt as _;

crate::tests![
    it_sees_the_policys_files_below_the_share_and_nothing_else,
    a_link_says_what_it_says_on_the_host,
    the_shares_own_folders_cannot_be_changed,
    what_is_shown_is_not_executed,
    what_is_denied_is_masked_below_the_share,
    protected_names_are_refused_and_told_by_the_hosts_path,
    gits_configuration_is_filtered_below_the_share,
    where_a_file_of_git_leads_is_seen_from_the_share,
    what_is_held_back_has_its_name_at_once_and_keeps_its_mode,
    private_folders_appear_below_the_share,
    a_template_is_read_although_it_is_opened_for_writing,
    a_template_needs_no_names_that_are_kept,
    a_devices_node_can_be_opened,
    its_own_files_are_as_they_are_granted,
];

/// Has lines of Python try what they do, and say what came of it.
const TRY: &str = "
import os, errno, stat, mmap, sys
TOP, SHARED = os.environ['TOP'], os.environ['SHARED']
def tried(name, act):
    try:
        act()
        print(name, 'done')
    except OSError as e:
        print(name, errno.errorcode[e.errno])
def write(path, text='x', flags=os.O_CREAT, **at):
    f = os.open(path, os.O_WRONLY | flags, 0o644, **at)
    os.write(f, text.encode())
    os.close(f)
PATH = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW
";

fn run(world: &World, script: &str) -> Ended {
    world.run(&format!("{TRY}{script}"))
}

fn it_sees_the_policys_files_below_the_share_and_nothing_else() {
    let world = World::new(&[
        ("ws/a/file", "text"),
        ("shown/file", "read"),
        ("home/x", ""),
    ])
    .read("shown");
    std::os::unix::fs::symlink("/usr/bin", world.top().join("ws/link")).unwrap();
    let ended = run(
        &world,
        "print(*sorted(os.listdir('/')))
print(*sorted(os.listdir('/share')), *sorted(os.listdir(SHARED)))
print(open(SHARED + '/ws/a/file').read(), open(SHARED + '/shown/file').read())
print(os.path.exists(TOP), os.path.exists(SHARED + '/secret'), os.path.exists(SHARED + '/home'))
print(os.readlink(SHARED + '/ws/link'))
print(sum(name.endswith(('hosts', 'resolv.conf', 'passwd')) for _, _, names in os.walk('/share') for name in names))
",
    );
    let first = world.top();
    let first = first.iter().nth(1).unwrap().to_str().unwrap();
    assert_eq!(
        ended.said(),
        format!(
            "bin dev lib lib64 proc run share tmp usr var\n{first} shown ws\ntext read\n\
             False False False\n/usr/bin\n0\n"
        )
    );
}

fn a_link_says_what_it_says_on_the_host() {
    let world = World::new(&[("shown/file", "read")]).read("alias");
    let top = world.top();
    std::os::unix::fs::symlink(top.join("shown"), top.join("alias")).unwrap();
    let ended = run(
        &world,
        "print(os.readlink(SHARED + '/alias') == TOP + '/shown')
print(open(SHARED + '/shown/file').read(), os.path.exists(SHARED + '/alias/file'))
",
    );
    assert_eq!(ended.said(), "True\nread False\n");
}

fn the_shares_own_folders_cannot_be_changed() {
    let world = World::new(&[("shown/file", "read"), ("ws/file", "")]).read("shown");
    let ended = run(
        &world,
        "top = os.open(SHARED, PATH)
tried('file', lambda: write('new', dir_fd=top))
tried('folder', lambda: os.mkdir('new', dir_fd=top))
tried('share', lambda: write('/share/new'))
tried('link', lambda: os.symlink('x', 'new', dir_fd=top))
tried('node', lambda: os.mkfifo('new', dir_fd=top))
tried('mode', lambda: os.chmod(SHARED, 0o777))
tried('times', lambda: os.utime(SHARED))
tried('rename', lambda: os.rename('ws', 'other', src_dir_fd=top, dst_dir_fd=top))
tried('remove', lambda: os.rmdir('shown', dir_fd=top))
tried('read', lambda: write(SHARED + '/shown/file', flags=0))
tried('beside', lambda: write(SHARED + '/shown/new'))
tried('ws', lambda: write(SHARED + '/ws/new'))
tried('own', lambda: write('/usr/new'))
tried('root', lambda: write('/new'))
tried('tmp', lambda: write('/tmp/new'))
tried('null', lambda: write('/dev/null'))
",
    );
    let mut lines = ended.said().lines();
    for name in [
        "file", "folder", "share", "link", "node", "mode", "times", "rename", "remove", "read",
        "beside",
    ] {
        let (tried, result) = lines.next().unwrap().split_once(' ').unwrap();
        assert_eq!(tried, name);
        assert!(
            ["EROFS", "EACCES", "EBUSY", "EPERM"].contains(&result),
            "{name}: {result}"
        );
    }
    let rest: Vec<&str> = lines.collect();
    assert_eq!(rest[0], "ws done");
    assert!(
        rest[1].starts_with("own E") && rest[2].starts_with("root E"),
        "{rest:?}"
    );
    assert_eq!(rest[3..], ["tmp done", "null done"]);
    assert!(world.top().join("ws/new").exists());
    assert_eq!(ended.refused, []);
}

fn what_is_shown_is_not_executed() {
    let world = World::new(&[("ws/program", "#!/bin/sh\necho ran\n")]);
    let ended = run(
        &world,
        "path = SHARED + '/ws/program'
os.chmod(path, 0o755)
tried('run', lambda: os.execv(path, [path]))
",
    );
    assert_eq!(ended.said(), "run EACCES\n");
}

fn what_is_denied_is_masked_below_the_share() {
    let world = World::new(&[("ws/.env", "key"), ("ws/keys/one", "key"), ("ws/open", "")])
        .deny("ws/.env")
        .deny("ws/keys");
    let ended = run(
        &world,
        "tried('file', lambda: open(SHARED + '/ws/.env').read())
tried('folder', lambda: os.listdir(SHARED + '/ws/keys'))
tried('below', lambda: open(SHARED + '/ws/keys/one').read())
tried('open', lambda: open(SHARED + '/ws/open').read())
",
    );
    assert_eq!(
        ended.said(),
        "file EACCES\nfolder EACCES\nbelow EACCES\nopen done\n"
    );
}

fn protected_names_are_refused_and_told_by_the_hosts_path() {
    let world = World::new(&[
        ("ws/bailiwick.toml", "policy"),
        ("ws/a/plain", ""),
        ("ws/b/.mcp.json.new", ""),
        ("ws/c/settings.json", ""),
    ])
    .protect("ws/bailiwick.toml")
    .protect("ws/.mcp.json")
    .protect("ws/.vscode")
    .protect("ws/.claude/settings.json");
    let ended = run(
        &world,
        "ws = os.open(SHARED + '/ws', PATH)
a = os.open('a', PATH, dir_fd=ws)
b = os.open('b', PATH, dir_fd=ws)
tried('create', lambda: write('.mcp.json', dir_fd=a))
tried('mkdir', lambda: os.mkdir('.vscode', dir_fd=a))
tried('rename', lambda: os.rename('.mcp.json.new', '.mcp.json', src_dir_fd=b, dst_dir_fd=b))
tried('folder', lambda: os.rename('c', '.claude', src_dir_fd=ws, dst_dir_fd=ws))
tried('link', lambda: os.link('plain', '.mcp.json', src_dir_fd=a, dst_dir_fd=a))
tried('symlink', lambda: os.symlink('plain', '.vscode', dir_fd=ws))
tried('existing', lambda: write('bailiwick.toml', flags=0, dir_fd=ws))
tried('replace', lambda: os.rename('a/plain', 'bailiwick.toml', src_dir_fd=ws, dst_dir_fd=ws))
tried('remove', lambda: os.unlink('bailiwick.toml', dir_fd=ws))
tried('free', lambda: write('free', dir_fd=a))
tried('free folder', lambda: os.mkdir('free.d', dir_fd=a))
tried('free link', lambda: os.link('plain', 'linked', src_dir_fd=a, dst_dir_fd=a))
tried('free symlink', lambda: os.symlink('plain', 'symlinked', dir_fd=a))
tried('free rename', lambda: os.rename('free', 'moved', src_dir_fd=a, dst_dir_fd=b))
tried('free remove', lambda: os.unlink('moved', dir_fd=b))
tried('elsewhere', lambda: os.mkdir('/tmp/.vscode'))
",
    );
    let lines: Vec<&str> = ended.said().lines().collect();
    assert_eq!(
        lines,
        [
            "create EACCES",
            "mkdir EACCES",
            "rename EACCES",
            "folder EACCES",
            "link EACCES",
            "symlink EACCES",
            "existing EACCES",
            "replace EACCES",
            "remove EACCES",
            "free done",
            "free folder done",
            "free link done",
            "free symlink done",
            "free rename done",
            "free remove done",
            "elsewhere done",
        ],
        "{}",
        ended.errors
    );
    assert_eq!(
        ended.refused_below(&world.top()),
        [
            "ws/a/.mcp.json",
            "ws/a/.vscode",
            "ws/b/.mcp.json",
            "ws/.claude/settings.json",
            "ws/a/.mcp.json",
            "ws/.vscode",
            "ws/bailiwick.toml",
            "ws/bailiwick.toml",
            "ws/bailiwick.toml",
        ]
    );
    assert!(
        ended
            .refused
            .iter()
            .all(|(_, rule)| rule == "filesystem.protect")
    );
}

fn gits_configuration_is_filtered_below_the_share() {
    let config = "[core]\n\tbare = false\n";
    let world = World::new(&[
        ("ws/.git/config", config),
        ("ws/.git/HEAD", "ref: refs/heads/x\n"),
    ])
    .protect("ws/.git/config")
    .protect("ws/.git/hooks");
    let ended = run(
        &world,
        "git = os.open(SHARED + '/ws/.git', PATH)
config = open(SHARED + '/ws/.git/config').read()
def replace(text):
    write('config.lock', config + text, os.O_CREAT | os.O_TRUNC, dir_fd=git)
    os.rename('config.lock', 'config', src_dir_fd=git, dst_dir_fd=git)
tried('remote', lambda: replace('[remote \"o\"]\\n\\turl = https://x.test/\\n'))
tried('pager', lambda: replace('[core]\\n\\tpager = evil\\n'))
tried('write', lambda: write('config', flags=0, dir_fd=git))
tried('hooks', lambda: write('hooks/pre-commit', dir_fd=git))
",
    );
    let lines: Vec<&str> = ended.said().lines().collect();
    assert_eq!(lines[..3], ["remote done", "pager EACCES", "write EACCES"]);
    assert_eq!(
        ended.refused_below(&world.top())[..2],
        ["ws/.git/config", "ws/.git/config"]
    );
    let now = std::fs::read_to_string(world.top().join("ws/.git/config")).unwrap();
    assert!(now.contains("x.test") && !now.contains("evil"), "{now}");
}

fn where_a_file_of_git_leads_is_seen_from_the_share() {
    let world = World::new(&[
        ("ws/.git/config", ""),
        ("ws/.git/HEAD", "ref: refs/heads/x\n"),
        ("ws/.git/worktrees/tree/HEAD", ""),
        ("ws/evil/HEAD", ""),
    ])
    .protect("ws/.git/config");
    let ws = world.top().join("ws");
    // To whoever sees the share as the root this is a folder of no protected name.
    std::os::unix::fs::symlink(ws.join("evil"), ws.join(".git/worktrees/linked")).unwrap();
    let ended = run(
        &world,
        "ws = os.open(SHARED + '/ws', PATH)
def lead(name, to):
    os.mkdir(name, dir_fd=ws)
    write(name + '/.git', 'gitdir: ' + to + '\\n', dir_fd=ws)
tried('good', lambda: lead('good', TOP + '/ws/.git/worktrees/tree'))
tried('bad', lambda: lead('bad', TOP + '/ws/.git/worktrees/linked'))
tried('far', lambda: lead('far', '../' * 30 + TOP[1:] + '/ws/.git/worktrees/linked'))
tried('end', lambda: os.mkdir('end', dir_fd=ws))
",
    );
    assert_eq!(ended.said(), "good done\nbad done\nfar done\nend done\n");
    assert!(ws.join("good/.git").exists());
    assert!(!ws.join("bad/.git").exists() && !ws.join("far/.git").exists());
    assert_eq!(
        ended.refused_below(&world.top()),
        ["ws/bad/.git", "ws/far/.git"]
    );
}

/// Whoever answers for files looks at what it has made by its name, and opens what is there without a mode.
fn what_is_held_back_has_its_name_at_once_and_keeps_its_mode() {
    let config = "[core]\n\tbare = false\n";
    let world = World::new(&[
        ("ws/.git/config", config),
        ("ws/.git/HEAD", "ref: refs/heads/x\n"),
        ("ws/.git/worktrees/tree/HEAD", ""),
    ])
    .protect("ws/.git/config")
    .protect("ws/.git/hooks");
    let ended = run(
        &world,
        "import time
ws = os.open(SHARED + '/ws', PATH)
def say(name, text, flags, mode):
    f = os.open(name, os.O_WRONLY | flags, mode, dir_fd=ws)
    found = os.stat(name, dir_fd=ws)
    os.write(f, text.encode())
    os.close(f)
    print(name, found.st_size, oct(found.st_mode & 0o777))
new = os.O_CREAT | os.O_EXCL
for name in ('good', 'evil'):
    os.makedirs(SHARED + '/ws/' + name + '/.git')
say('good/.git/config', '[core]\\n\\tbare = false\\n', new, 0o640)
say('evil/.git/config', '[core]\\n\\tpager = evil\\n', new, 0o640)
lead = 'gitdir: ' + TOP + '/ws/.git/worktrees/tree\\n'
os.mkdir('tree', dir_fd=ws)
say('tree/.git', lead, new, 0o640)
while os.stat('tree/.git', dir_fd=ws).st_size == 0: time.sleep(0.01)
say('tree/.git', lead, os.O_TRUNC, 0)
",
    );
    let lead = format!("gitdir: {}/ws/.git/worktrees/tree\n", world.top().display());
    let said = format!(
        "good/.git/config 0 0o640\nevil/.git/config 0 0o640\ntree/.git 0 0o640\n\
         tree/.git {} 0o640\n",
        lead.len()
    );
    assert_eq!(ended.said(), said);
    let ws = world.top().join("ws");
    for (name, text) in [("good/.git/config", config), ("tree/.git", &lead)] {
        let path = ws.join(name);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{name}");
    }
    assert!(!ws.join("evil/.git/config").exists());
    assert_eq!(ended.refused_below(&world.top()), ["ws/evil/.git/config"]);
}

fn private_folders_appear_below_the_share() {
    let world = World::new(&[("home/.cache/mine", "")]).private("home/.cache");
    let ended = run(
        &world,
        "print(os.listdir(SHARED + '/home/.cache'))
write(SHARED + '/home/.cache/new')
print(os.stat(SHARED + '/home/.cache/new').st_uid)
",
    );
    assert_eq!(ended.said(), "[]\n0\n");
    assert!(!world.top().join("home/.cache/new").exists());
}

fn a_template_is_read_although_it_is_opened_for_writing() {
    let world = World::new(&[("ram", "0123456789")]).own("ram", "/vm/ram", OwnAccess::Template);
    let ended = run(
        &world,
        "f = os.open('/vm/ram', os.O_RDWR | os.O_CLOEXEC)
m = mmap.mmap(f, 10, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE)
m[0:3] = b'abc'
print(m[:].decode(), os.pread(f, 10, 0).decode())
tried('shared', lambda: mmap.mmap(f, 10, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE))
tried('write', lambda: os.write(f, b'x'))
tried('empty', lambda: os.open('/vm/ram', os.O_RDWR | os.O_TRUNC))
tried('truncate', lambda: os.truncate('/vm/ram', 0))
tried('again', lambda: os.open('/proc/self/fd/%d' % f, os.O_RDWR))
tried('new', lambda: os.open('/vm/ram', os.O_RDWR | os.O_CREAT | os.O_EXCL))
tried('creating', lambda: os.open('/vm/ram', os.O_RDWR | os.O_CREAT))
",
    );
    let lines: Vec<&str> = ended.said().lines().collect();
    assert_eq!(
        lines[..3],
        ["abc3456789 0123456789", "shared EACCES", "write EBADF"]
    );
    for line in &lines[3..5] {
        assert!(
            line.ends_with("EROFS") || line.ends_with("EACCES"),
            "{line}"
        );
    }
    // By its descriptor as by its name: it is opened to be read.
    assert_eq!(lines[5..], ["again done", "new EEXIST", "creating done"]);
    let content = std::fs::read_to_string(world.top().join("ram")).unwrap();
    assert_eq!(content, "0123456789");
}

fn a_template_needs_no_names_that_are_kept() {
    let world = World::new(&[("ram", "0123456789")])
        .own("ram", "/vm/ram", OwnAccess::Template)
        .protect("ws/.vscode")
        .without_broker();
    let ended = run(
        &world,
        "tried('template', lambda: os.open('/vm/ram', os.O_RDWR))
tried('name', lambda: os.mkdir(SHARED + '/ws/.vscode'))
",
    );
    assert_eq!(ended.said(), "template done\nname done\n");
    assert_eq!(ended.refused, []);
}

fn a_devices_node_can_be_opened() {
    let world = World::new(&[]).own("/dev/zero", "/dev/nothing", OwnAccess::Device);
    let ended = run(
        &world,
        "f = os.open('/dev/nothing', os.O_RDWR)
print(os.read(f, 2), os.write(f, b'x'), stat.S_ISCHR(os.fstat(f).st_mode))
",
    );
    assert_eq!(ended.said(), "b'\\x00\\x00' 1 True\n");
}

fn its_own_files_are_as_they_are_granted() {
    let world = World::new(&[("kernel", "image"), ("state/ram", "memory")])
        .own("kernel", "/vm/kernel", OwnAccess::Read)
        .own("state", "/vm/state", OwnAccess::Write);
    let closed = std::os::unix::fs::PermissionsExt::from_mode(0o600);
    std::fs::set_permissions(world.top().join("kernel"), closed).unwrap();
    let ended = run(
        &world,
        "print(open('/vm/kernel').read())
tried('kernel', lambda: write('/vm/kernel', flags=0))
tried('ram', lambda: write('/vm/state/ram', flags=0))
tried('new', lambda: write('/vm/state/new'))
tried('.vscode', lambda: os.mkdir('/vm/state/.vscode'))
",
    );
    let said = ended.said();
    assert!(
        said.starts_with("image\nkernel E") && said.ends_with("ram done\nnew done\n.vscode done\n"),
        "{said}"
    );
    let ram = std::fs::read_to_string(world.top().join("state/ram")).unwrap();
    assert_eq!(ram, "xemory");
}
