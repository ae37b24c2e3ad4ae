//! No run keeps the next one from finding what the policy denies, and what programs of the host obey: not by taking the
//! rights from a folder, and not by making more than is looked at.

use crate::support::{Outcome, Sandbox};
use bailiwick_event::Act;

const DENY: &str = "extends = [\"default\"]\n[filesystem]\ndeny = [\"**/.env\"]\n";

/// Sandboxes with namespaces and without.
fn both() -> impl Iterator<Item = Sandbox> {
    [
        Sandbox::repository(),
        Sandbox::repository().without_namespaces(),
    ]
    .into_iter()
}

/// Those whose supervisor is held to modes, as the sandboxed program is: an ordinary user's, and any without a
/// capability.
fn held_to_modes() -> impl Iterator<Item = Sandbox> {
    let root = rustix::process::geteuid().is_root();
    both().skip(usize::from(root))
}

/// The files that a run was told to have left, with who obeys them.
fn left(outcome: &Outcome) -> Vec<String> {
    let workspace = outcome.workspace().to_string_lossy().into_owned() + "/";
    let told = outcome.events().into_iter();
    let told = told.filter_map(|event| match event.act {
        Act::Left { path, tool, .. } => Some(format!(
            "{} {tool}",
            path.to_string().replace(&workspace, "")
        )),
        _ => None,
    });
    told.collect()
}

#[test]
fn what_a_pattern_denies_in_a_folder_that_a_run_closes_stays_denied() {
    for mode in ["0", "444", "311"] {
        for sandbox in both() {
            let sandbox = sandbox
                .policy(DENY)
                .file("a/app/.env", "the key")
                .file("f2", "");
            sandbox.run(&format!("chmod {mode} a/app")).success();
            let tried = "chmod 755 a/app; cat a/app/.env; mv a/app b; mv a b; cat b/.env b/app/.env; cp -r a c; cat c/app/.env; true";
            let outcome = sandbox.run(tried);
            outcome.stdout_lacks("the key");
            sandbox.host("chmod -R u+rwX .; find . -name .env | grep -q env");
        }
    }
}

#[test]
fn a_folder_that_cannot_be_looked_through_is_denied_as_a_whole_and_told() {
    for sandbox in held_to_modes() {
        let sandbox = sandbox
            .policy(DENY)
            .file("a/app/.env", "the key")
            .file("a/app/f", "mine");
        sandbox.host("chmod 0 a/app");
        let outcome =
            sandbox.run("chmod 755 a/app; cat a/app/f; mv a/app a/b; rmdir a/app; echo x > a/g");
        outcome.success().stdout_lacks("mine").stderr_has(
            "/a/app: the rights to look through it are missing, so all of it is denied, because a pattern of [filesystem] \
             deny may mean what it holds; to give them back, outside of the sandbox, once you know who took them: chmod u+rwX /",
        );
        assert_eq!(outcome.stderr().matches("the rights to look").count(), 1);
        assert_eq!(sandbox.host("stat -c %a a/app; chmod 755 a/app"), "0\n");
        sandbox
            .run("cat a/app/f")
            .stdout_is("mine")
            .stderr_lacks("rights");
    }
}

#[test]
fn a_run_takes_no_rights_from_a_folder_through_which_others_are_protected() {
    const ACCESS_LIST: &str = "import os, struct; os.setxattr(\"app\", \"system.posix_acl_access\", \
        struct.pack(\"<IHHIHHIHHI\", 2, 1, 0, 2**32 - 1, 4, 0, 2**32 - 1, 32, 0, 2**32 - 1))";
    for sandbox in both() {
        sandbox.host(
            "mkdir -p app scripts hooks2 up/n; echo mine > scripts/env.sh; ln -s ../scripts/env.sh app/.envrc
            mkdir hard; echo mine > script; ln script hard/.vimrc
            git init -q up/n; git -C up/n config core.hooksPath ../../hooks2; echo mine > hooks2/pre-commit",
        );
        let held = "stat -c %n%a app up up/n up/n/.git up/n/.git/config";
        let before = sandbox.host(held);
        for act in [
            "chmod 0 app",
            "chmod 444 app",
            "chmod 311 app",
            "chmod 0 hard",
            "chmod 0 up",
            "chmod 0 up/n",
            "chmod 0 up/n/.git",
            "chmod 0 up/n/.git/config",
        ] {
            let outcome = sandbox.run(act);
            outcome.failure();
            outcome.stderr_has("the next run could not find what it protects because of this");
        }
        sandbox
            .run(&format!("python3 -c '{ACCESS_LIST}'"))
            .failure();
        assert_eq!(sandbox.host(held), before);
        sandbox
            .run("chmod 700 app up up/n; mkdir own; chmod 0 own; chmod 600 up/n/.git/config")
            .success();
    }
}

#[test]
fn nothing_is_changed_in_a_folder_that_cannot_be_looked_through() {
    for sandbox in held_to_modes() {
        sandbox.host(
            "mkdir -p a/app scripts; ln -s ../../scripts/env.sh a/app/.envrc; git init -q n
            chmod 0 a/app; chmod 0 n/.git/config; mkdir c; echo mine > c/f; chmod 444 c",
        );
        let held = "find a c n -maxdepth 1 -printf '%p %m\\n' | sort; stat -c %a n/.git/config";
        let before = sandbox.host(held);
        for act in [
            "chmod 755 a/app",
            "rmdir a/app",
            "mv a/app a/b",
            "mv a b",
            "setfacl -m u::rwx a/app || chmod u+x a/app",
            "chmod 755 c",
            "chmod 644 n/.git/config",
            "rm -f n/.git/config",
            "mv n m",
        ] {
            let outcome = sandbox.run(act);
            outcome.failure();
            assert_eq!(sandbox.host(held), before, "{act}");
            outcome.stderr_has(
                "the rights to look through it are missing, so the run could change nothing in it",
            );
        }
        let outcome = sandbox.run("echo x > a/new; mkdir d; mv d e; chmod 755 a/app");
        outcome.failure().refused_by("filesystem.protect");
        outcome.stderr_has("the sandbox could not look through ");
        sandbox.host("chmod 755 a/app c; chmod 644 n/.git/config");
        sandbox
            .run("chmod 700 c; echo x > c/f; mv n m")
            .success()
            .stderr_lacks("rights");
    }
}

#[test]
fn what_a_run_makes_takes_no_place_from_the_users_links() {
    for sandbox in both() {
        let sandbox = sandbox.policy(DENY);
        sandbox.host(
            "mkdir scripts; for n in 0 1 2 3 4 5 6 7 8 9; do mkdir u$n; echo mine > scripts/$n.sh; ln -s ../scripts/$n.sh u$n/.envrc; done
            python3 - <<'END'
import os
os.mkdir('a0')
open('a0/Makefile', 'w').close()
for i in range(10100):
    os.link('a0/Makefile', f'a0/x{i}.tf')
    os.mkdir(f'a0/{i}')
    os.symlink('../Makefile', f'a0/{i}/Makefile')
    os.symlink('../Makefile', f'a0/{i}/.env')
END
",
        );
        let outcome = sandbox.run("for file in scripts/*; do echo x > $file; done");
        outcome.failure().refused_by("filesystem.protect");
        assert_eq!(sandbox.host("cat scripts/*"), "mine\n".repeat(10));
        outcome.stderr_has("/.envrc leads here");
        outcome.stderr_has("there are more than 10000 links at names that are reported");
        let outcome = sandbox.run("echo x > scripts/other; echo x > a0/Makefile");
        outcome.failure().stderr_has(
            "a0: there is more in it than is looked through, so the run could change nothing in it",
        );
        assert_eq!(sandbox.host("cat scripts/other a0/Makefile"), "x\n");
    }
}

#[test]
fn what_is_left_in_a_folder_that_a_run_closes_is_told() {
    for sandbox in held_to_modes() {
        let sandbox = sandbox.file("app/package.json", "{}");
        let outcome = sandbox.run(
            "echo x > app/package.json; echo x > app/Makefile; ln -s /nowhere app/out; chmod 0 app
            mkdir q; echo x > q/Makefile; mkdir -p q/.github/workflows; echo x > q/.github/workflows/x.yml; mv q r; chmod 311 r
            mkdir -p s/t; mv s u; chmod 444 u/t",
        );
        outcome.success();
        // What is obeyed at a command comes last.
        let expected = [
            "app/out whoever follows the link",
            "r several programs",
            "u/t several programs",
            "app/Makefile make",
            "app/package.json npm",
        ];
        assert_eq!(left(&outcome), expected);
        let session = outcome.session().unwrap().to_owned();
        let told = sandbox
            .bailiwick(["log", "--handover", "--json", &session])
            .stdout();
        assert!(told.contains("it cannot be looked through"), "{told}");
        sandbox.host("chmod -R u+rwX app r u");
    }
}

/// Makes a working tree of a linked one, while the folder of its hooks is closed or while all of it is.
const CLOSES: &str = "import os, shutil, subprocess, sys, time
subprocess.run('git worktree add -q wt -b wt --no-checkout', shell=True)
text = open('wt/.git').read()
def git():
    open('t/.git', 'w').write(text)
    waits = lambda: os.path.exists('t/.git') and open('t/.git').read() != text
    while waits(): time.sleep(0.01)
def hook():
    os.makedirs('t/tools/hooks', exist_ok=True)
    open('t/tools/hooks/pre-commit', 'w').write('#!/bin/sh\\ntouch PWNED\\n')
    os.chmod('t/tools/hooks/pre-commit', 0o755)
if sys.argv[1] == 'hooks':
    hook(); os.chmod('t/tools', 0)
    try: git()
    finally: os.chmod('t/tools', 0o755)
else:
    os.makedirs('t/s'); folder = os.open('t/s', os.O_RDONLY); git(); os.chmod('t', 0)
    try: os.close(os.open('x', os.O_WRONLY | os.O_CREAT, 0o644, dir_fd=folder))
    finally: os.chmod('t', 0o755)
    hook()
";

#[test]
fn what_lies_in_a_folder_that_is_closed_for_a_moment_counts_as_there() {
    for closes in ["hooks", "all"] {
        for sandbox in both() {
            let sandbox = sandbox
                .file("closes.py", CLOSES)
                .file("tools/hooks/pre-commit", "#!/bin/sh\n");
            sandbox.host("chmod +x tools/hooks/pre-commit; git config core.hooksPath tools/hooks");
            sandbox.run(&format!("python3 closes.py {closes}"));
            sandbox.host("cd t; test ! -e .git -o ! -e tools/hooks/pre-commit");
        }
    }
}

#[test]
fn the_folder_of_a_file_of_commands_stays_open() {
    for sandbox in both() {
        let commands = "{\"hooks\":{\"x\":[{\"command\":\"scripts/x.sh\"}]}}";
        let sandbox = sandbox.file(".claude/settings.json", commands);
        let outcome = sandbox.run("chmod 755 .claude; chmod 0 .claude");
        outcome.failure().refused_by("filesystem.protect");
    }
}
