//! Git checks out a commit with protected names whole, and goes on without those.

use crate::support::{Background, Sandbox, children};
use bailiwick_event::Event;

/// A repository `up` with protected names in it, before and after a commit that changes them.
const UP: &str = "git init -q -b main up; cd up; git config user.name t; git config user.email t@t.test
    mkdir -p .vscode .github sub/.idea/deep; echo 1 > .vscode/tasks.json; echo 1 > .envrc; echo 1 > sub/.idea/deep/w.xml
    mkdir .cursor; ln -s ../sub/b .cursor/rules; ln -s sub/b .mcp.json; for i in .github/ci a sub/b zebra; do echo 1 > $i; done; git add .; git commit -qm one; cd ..; git clone -q up before
    find before -name .git -prune -o -type f -exec touch -d '1 hour ago' {} +; cd up; for i in .vscode/tasks.json .envrc .github/ci a zebra; do echo 2 > $i; done; git commit -qam two";

/// Every file below a folder that is none of git's, and what it says.
const FILES: &str = "find . -path ./.git -prune -o -type f -print | sort | while read f; do echo $f $(cat $f); done";

#[test]
fn a_clone_is_complete_but_for_what_is_withheld() {
    for workers in [1, 3] {
        let sandbox = Sandbox::repository();
        sandbox.host(UP);
        let outcome = sandbox.run(&format!(
            "git -c checkout.workers={workers} -c checkout.thresholdForParallelism=1 clone -q up new 2>&1; cd new && \
             git status --porcelain && echo 3 > c && git add -A && git -c user.name=t -c user.email=t@t.test commit -qm c && git show --format= --name-only && {FILES}"
        ));
        outcome
            .success()
            .stdout_is("c\n./.github/ci 2\n./a 2\n./c 3\n./sub/b 1\n./zebra 2\n")
            .refused_by("filesystem.protect");
        let withheld = ".cursor/rules .envrc .mcp.json .vscode/tasks.json sub/.idea/deep/w.xml";
        let marked = "cd new; ls -d .cursor .mcp.json .vscode 2> /dev/null; git ls-files -v | sed -n 's/^S //p' | tr '\\n' ' '; git status --porcelain";
        assert_eq!(sandbox.host(marked).trim_end(), withheld);
        let told: String = outcome
            .denied()
            .iter()
            .map(|event| event.decision.remedy.to_string() + "\n")
            .collect();
        for file in withheld.split(' ') {
            let remedy = format!("update-index --no-skip-worktree -- {file} && git -C ");
            assert!(told.contains(&remedy), "{file} in {told}");
        }
        let restored = format!(
            "cd new; touch -ch {withheld}; git update-index --no-skip-worktree -- {withheld} && git checkout -q -- {withheld}; \
             git status --porcelain; git ls-files -v | grep -c '^S'; {FILES}"
        );
        let all = "0\n./.envrc 2\n./.github/ci 2\n./.vscode/tasks.json 2\n./a 2\n./c 3\n./sub/.idea/deep/w.xml 1\n./sub/b 1\n./zebra 2\n";
        assert_eq!(sandbox.host(&restored), all);
    }
}

#[test]
fn a_pull_leaves_what_is_protected_and_is_whole_otherwise() {
    let sandbox = Sandbox::repository();
    sandbox.host(UP);
    let pull = format!(
        "git -C before pull -q 2>&1; echo $?; cd before; git status --porcelain; git log --format=%s; {FILES}"
    );
    let outcome = sandbox.run(&pull);
    let kept = "./.envrc 1\n./.github/ci 2\n./.vscode/tasks.json 1\n./a 2\n./sub/.idea/deep/w.xml 1\n./sub/b 1\n./zebra 2\n";
    outcome
        .success()
        .stdout_is(&format!("0\ntwo\none\n{kept}"))
        .refused_by("filesystem.protect");
    // It is withheld again as long as nobody has touched it, and in the way of git afterwards.
    sandbox.host(
        "cd up; for i in .envrc .github/ci a zebra; do echo 3 > $i; done; git commit -qam three",
    );
    let kept = kept.replace("ci 2", "ci 3").replace("a 2", "a 3");
    let kept = kept.replace("zebra 2", "zebra 3");
    sandbox
        .run(&pull)
        .success()
        .stdout_is(&format!("0\nthree\ntwo\none\n{kept}"));
    let there_and_back = "cd before; git checkout -q HEAD~1 && git checkout -q HEAD~1 && git checkout -q main && git status --porcelain";
    sandbox.run(there_and_back).success().stdout_is("");
    sandbox.host("cd up; echo 4 > .envrc; echo 4 > a; git commit -qam more; touch -d '2 hours ago' ../before/.envrc");
    let refused = sandbox.run(&pull);
    let begin = "error: Your local changes to the following files would be overwritten by merge:\n\t.envrc\n";
    let said = refused.stdout();
    assert!(said.starts_with(begin), "{said}");
    assert!(
        said.ends_with(&format!("\nthree\ntwo\none\n{kept}")),
        "{said}"
    );
    // What a commit removes stays as well.
    sandbox.host("cd before; touch -ch .envrc .vscode/tasks.json; git update-index --no-skip-worktree .envrc .vscode/tasks.json; git checkout -q .; \
                  cd ../up; git rm -q .envrc .vscode/tasks.json; git commit -qm four");
    let refused = sandbox.run(&pull).success().denied();
    let files = format!("cd before; git status --porcelain; {FILES}");
    let kept = |envrc: &str, tasks: &str| {
        format!(
            "?? {envrc}\n?? .vscode/\n./{envrc} 3\n./.github/ci 3\n./.vscode/{tasks} 2\n./a 4\n./sub/.idea/deep/w.xml 1\n./sub/b 1\n./zebra 3\n"
        )
    };
    assert_eq!(sandbox.host(&files), kept(".envrc", "tasks.json"));
    // Those are in the way of git until they are elsewhere.
    refused
        .iter()
        .for_each(|event| drop(sandbox.host(&command_of(event))));
    assert_eq!(sandbox.host(&files), kept(".envrc.kept", "tasks.json.kept"));
    sandbox.host("rm before/.envrc.kept before/.vscode/*.kept");
    let back = "cd before; git checkout -q HEAD~1 && git status --porcelain && git checkout -q main && git status --porcelain";
    sandbox.run(back).success().stdout_is("");
}

#[test]
fn what_a_stash_cannot_take_away_is_left_out_as_the_remedy_says() {
    let sandbox = Sandbox::repository();
    sandbox.host("git config user.name t; git config user.email t@t.test; echo 1 > .envrc; echo 1 > g; git add .; git commit -qm 1; echo mine | tee .envrc > g");
    let outcome = sandbox.run("git stash -q");
    outcome.failure().refused_by("filesystem.protect");
    let [refused] = outcome.denied().try_into().expect("one refusal");
    sandbox.host("git reset -q --hard; git stash pop -q");
    let stash = command_of(&refused);
    sandbox.run(&stash).success().nothing_refused();
    let there = sandbox.host("git status --porcelain; cat .envrc g; git stash pop -q; cat g");
    assert_eq!(there, " M .envrc\nmine\n1\nmine\n");
}

/// The command that a remedy tells.
fn command_of(event: &Event) -> String {
    let remedy = event.decision.remedy.to_string();
    let command = remedy.split('`').nth(1).expect("a command is told");
    command.to_owned()
}

#[test]
fn the_command_that_is_told_brings_the_file() {
    let sandbox = Sandbox::repository();
    sandbox.host(UP);
    let outcome = sandbox.run("git clone -q up new && git -C before pull -q");
    let mut brought = 0;
    for event in outcome.denied() {
        let command = command_of(&event);
        sandbox.host(&command);
        brought += 1;
        // What the user writes there meanwhile stays.
        let mine = sandbox.host(&format!(
            "mkdir ../kept; cp -a new before ../kept; for f in */.envrc; do test ! -e $f || echo mine >> $f; done; ({command}) > ../said 2>&1; \
             grep -L mine */.envrc; rm -rf new before; mv ../kept/* .; rmdir ../kept"
        ));
        assert_eq!(mine, "");
    }
    assert_eq!(brought, 7);
    sandbox.host("git -C before checkout -q .");
    let all = format!(
        "for in in before new; do cd $in; git status --porcelain; git ls-files -v | grep -c ^S; {FILES}; cd ..; done"
    );
    let files = "0\n./.envrc 2\n./.github/ci 2\n./.vscode/tasks.json 2\n./a 2\n./sub/.idea/deep/w.xml 1\n./sub/b 1\n./zebra 2\n";
    assert_eq!(sandbox.host(&all), files.repeat(2));
}

#[test]
fn what_the_user_has_not_committed_is_neither_lost_nor_hidden() {
    let setup = "git config user.name t; git config user.email t@t.test; echo 1 > .envrc; echo 1 > g; git add .; git commit -qm 1; ";
    for (before, act, kept) in [
        ("echo mine >> .envrc", "git restore .", " M .envrc"),
        ("echo mine >> .envrc", "git reset -q --hard", " M .envrc"),
        (
            "echo mine >> .envrc; git stash -q",
            "git stash pop -q",
            "stash",
        ),
        (
            "git checkout -qb two; echo 2 > .envrc; git commit -qam 2; git checkout -q main; git config core.splitIndex true; git update-index --split-index",
            "git checkout -q two",
            " M .envrc",
        ),
    ] {
        let sandbox = Sandbox::repository();
        sandbox.host(&format!("{setup}{before}"));
        sandbox.run(act).refused_by("filesystem.protect");
        let there = sandbox.host("git status --short; git stash list; git branch --show-current; git ls-files -v | grep -c ^S; cat .envrc");
        assert!(there.contains(kept), "{act}: {there}");
        assert!(there.contains("\n0\n"), "{act}: {there}");
        let all = sandbox.host("cat .envrc; git stash list -p");
        assert!(
            all.contains("mine") || !before.contains("mine"),
            "{act}: {all}"
        );
    }
}

#[test]
fn what_stands_for_a_link_is_taken_away_and_nothing_else() {
    let hold = "import os, sys\nos.open('.git/index.lock', os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)\n\
        for name in ('.envrc', '.mcp.json', '.exrc'): os.symlink('f', name)\nprint('held', flush=True)\nsys.stdin.read()\n";
    for kill in [false, true] {
        for bare in [false, true] {
            let sandbox = Sandbox::repository().file("hold.py", hold);
            let sandbox = if bare {
                sandbox.without_namespaces()
            } else {
                sandbox
            };
            sandbox.host(
                "cp $(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))') git",
            );
            let mut command = sandbox.command();
            command.arg("run").args(sandbox.options());
            command.args(["--", "./git", "hold.py"]);
            let mut run = Background::begun(command, "held").expect("nothing ends it before");
            let there = sandbox.host("stat -c '%s %n' .envrc .mcp.json .exrc; rm .envrc; echo mine > .envrc; echo mine > .mcp.json");
            assert_eq!(there, "0 .envrc\n0 .mcp.json\n0 .exrc\n");
            if kill {
                for first in children(run.pid()) {
                    let first = rustix::process::Pid::from_raw(first.cast_signed()).unwrap();
                    let _ = rustix::process::kill_process(first, rustix::process::Signal::KILL);
                }
            } else {
                run.terminate();
            }
            run.ends();
            assert_eq!(
                sandbox.host("cat .envrc .mcp.json; ls .exrc .git/index.lock 2> /dev/null; true"),
                "mine\nmine\n",
                "{kill} {bare}"
            );
        }
    }
}

#[test]
fn nothing_but_a_checkout_of_git_goes_on_without_a_file() {
    for act in [
        "mkdir .vscode",
        "touch .git/index.lock; mkdir .vscode",
        // Its own lock and git's name, and no git folder of its own.
        "touch .git/index.lock; git init -q .vscode",
        "git mv f .envrc",
    ] {
        let sandbox = Sandbox::repository();
        sandbox.run(act).failure().refused_by("filesystem.protect");
        assert_eq!(
            sandbox.host("ls -A; git ls-files -v"),
            ".git\nf\nH f\n",
            "{act}"
        );
    }
}

#[test]
fn a_program_that_is_called_git_is_refused_where_it_goes_through_links() {
    let fake = "import os; os.open('.git/index.lock', os.O_RDWR | os.O_CREAT | os.O_EXCL); os.unlink('link/.envrc')";
    let sandbox = Sandbox::repository().file("fake.py", fake);
    sandbox.host("mkdir deep; echo mine > deep/.envrc; cp $(python3 -c 'import os, sys; print(os.path.realpath(sys.executable))') git");
    let act = "ln -s deep link; git update-index --add --cacheinfo 100644,$(git hash-object deep/.envrc),link/.envrc; ./git fake.py";
    let refused = sandbox.run(act);
    refused.failure().refused_by("filesystem.protect");
    refused.stderr_has("remedy: use another name");
}

#[test]
fn an_index_does_not_hide_what_the_user_has_changed() {
    // The entry of `p/.envrc` says what lstat says of the file that the user has changed.
    const LIE: &str = "import glob, hashlib, os, struct, sys
how = sys.argv[3]
shared = ''.join(glob.glob('.git/sharedindex.*'))
index = open(shared or '.git/index', 'rb').read()
stat, at = os.lstat('p/.envrc'), index.index(b'p/.envrc\\0') - 62
times = [part for time in (stat.st_ctime_ns, stat.st_mtime_ns) for part in divmod(time, 10**9)]
new = bytearray(index[:-20])
new[at:at + 24] = struct.pack('>IIIIII', *times, stat.st_dev & 0xffffffff, stat.st_ino & 0xffffffff)
new[at + 28:at + 40] = struct.pack('>III', *map(int, sys.argv[1:3]), stat.st_size)
signed = lambda text: bytes(text) + hashlib.sha1(text).digest()
def put(text, draft, name):
    open(f'.git/{draft}', 'wb').write(text)
    os.rename(f'.git/{draft}', f'.git/{name}')
def change(base, count, entries, replaced):
    bits = lambda ones: struct.pack('>IIQQI', 64, 2, 1 << 33, ones, 0)
    body = base + bits(0) + bits(replaced)
    return b'DIRC' + struct.pack('>II', 2, count) + entries + b'link' + struct.pack('>I', len(body)) + body
moves = {'away': ['p t'], 'another': ['p t', 'q p']}.get(how, [])
for move in moves: os.rename(*move.split())
try:
    if how == 'in place':
        open('.git/index', 'wb').write(signed(new))
        while open('.git/index', 'rb').read()[at:at + 4] != bytes(4): os.stat('.git')
    elif how == 'made':
        os.makedirs('g/objects')
        open('g/index', 'wb').write(signed(new))
        os.mkdir('g/refs')
        assert open('g/index', 'rb').read()[at + 36:at + 40] == bytes(4)
    elif how == 'shared':
        put(signed(new), 'sharedindex_x', 'sharedindex.' + signed(new)[-20:].hex())
        put(signed(change(signed(new)[-20:], 0, b'', 0)), 'index.lock', 'index')
    elif how == 'replaced':
        put(signed(change(index[-20:], 1, new[at:at + 60] + bytes(4), 2)), 'index.lock', 'index')
    else:
        put(signed(new), 'index.lock', 'index')
except PermissionError:
    print('refused')
for move in reversed(moves): os.rename(*reversed(move.split()))
";
    const SPLIT: &str = "git update-index --split-index";
    for (how, before, git) in [
        ("lock", "true", ".git"),
        ("in place", "true", ".git"),
        (
            "lock",
            "mkdir d; echo /d > .git/info/exclude; git init -q --separate-git-dir d/real.git",
            "d/real.git",
        ),
        ("made", "echo /g > .git/info/exclude", ".git"),
        ("away", "true", ".git"),
        ("another", "true", ".git"),
        ("shared", SPLIT, ".git"),
        ("replaced", SPLIT, ".git"),
        ("swept", "true", ".git"),
    ] {
        let mut sandbox = Sandbox::repository();
        if how == "swept" {
            sandbox = sandbox
                .policy("extends = [\"default\"]\n[filesystem]\nprotect_absent = \"sweep\"\n");
        }
        sandbox.host(
            "git branch -M main; mkdir p q; echo 1 | tee p/.envrc > q/.envrc; git add .; git commit -qm one; git switch -qc two; echo 2 > p/.envrc; git commit -qam two; git switch -q main",
        );
        sandbox.host(&format!(
            "{before}; echo mine >> p/.envrc; touch -d '1 hour ago' p/.envrc"
        ));
        let ids = sandbox.host("id -u; id -g");
        let lie = LIE.replace("'.git", &format!("'{git}"));
        let mut words = vec!["python3", "-c", &lie];
        words.extend(ids.split_whitespace());
        words.push(how);
        let refused = if how == "shared" { "refused\n" } else { "" };
        sandbox.exec(words).success().stdout_is(refused);
        let after = "git status --porcelain; git checkout two 2> /dev/null; cat p/.envrc";
        assert_eq!(sandbox.host(after), " M p/.envrc\n1\nmine\n", "{how}");
    }
}
