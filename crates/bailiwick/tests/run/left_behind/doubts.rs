//! Names of which a quick look must not say that they cannot matter: links in the place of folders above what is
//! protected, names that git alone knows, patterns of any depth; and what the user changes while a program idles.

use crate::host_programs::left;
use crate::support::{Background, Sandbox};
use std::ffi::OsString;

/// A repository in which a policy protects `path` besides; the user has made the rest.
pub(super) fn protecting(path: &str, before: &str) -> Sandbox {
    let sandbox = Sandbox::repository();
    let workspace = sandbox.workspace().to_owned();
    sandbox.host(before);
    sandbox.policy(&format!(
        "extends = [\"default\"]\n[filesystem]\nprotect = [\"{}/{path}\"]\n",
        workspace.display()
    ))
}

#[test]
fn links_above_protected_names_stay_and_so_does_where_they_lead() {
    let made = "mkdir real evil; printf '[user]\\nname=a\\n' > real/inc; printf '[core]\\nfsmonitor=evil\\n' > evil/inc; \
        ln -s mid lnk; ln -s real mid; git config include.path ../lnk/inc";
    let sandbox = Sandbox::repository();
    sandbox.host(made);
    let refused = sandbox.run("rm mid && ln -s evil mid");
    refused.failure().refused_by("filesystem.protect");
    assert_eq!(sandbox.host("readlink mid"), "real\n");

    let sandbox = protecting(
        "conf/app/settings.json",
        "mkdir conf other evil; echo mine > other/settings.json; ln -s other mid; ln -s ../mid conf/app",
    );
    for act in ["ln -sfn evil mid", "rm conf/app", "mv conf/app app2"] {
        let refused = sandbox.run(act);
        refused.failure().refused_by("filesystem.protect");
    }
    assert_eq!(sandbox.host("cat conf/app/settings.json"), "mine\n");
}

#[test]
fn what_git_obeys_without_an_entry_is_protected_by_its_other_names() {
    for link in ["ln -s ../cfg/wt", "ln cfg/wt"] {
        let sandbox = Sandbox::repository();
        sandbox.host(&format!(
            "git config extensions.worktreeConfig true; mkdir cfg; printf '[user]\\nname=a\\n' > cfg/wt; {link} .git/config.worktree"
        ));
        sandbox.run("printf '[core]\\nfsmonitor=evil\\n' > cfg/wt");
        assert_eq!(sandbox.host("git config core.fsmonitor; true"), "");
    }
}

#[test]
fn a_descriptor_whose_name_is_gone_does_not_lead_to_another_name() {
    const AFTER: &str = "import fcntl, os, struct, sys
way, fd = sys.argv[1], os.open('f', os.O_RDONLY)
if way == 'unlink': os.unlink('f')
elif way == 'copy': open('f', 'a').close()
elif way == 'rename': os.rename('g', 'f')
path = f'/proc/self/fd/{fd}'
for act in (
    lambda: os.open(path, os.O_WRONLY), lambda: os.open(path, os.O_RDWR | os.O_TRUNC), lambda: os.truncate(path, 0),
    lambda: os.chmod(path, 0o777), lambda: os.fchmod(fd, 0o777), lambda: os.utime(path, (1, 1)), lambda: os.utime(fd, (1, 1)),
    lambda: os.setxattr(path, 'user.x', b'1'), lambda: os.setxattr(fd, 'user.x', b'1'),
    lambda: fcntl.ioctl(fd, 0x40086602, struct.pack('l', 0x80)),
):
    try: act()
    except PermissionError: continue
    print('done')
    break
";
    for namespaces in [true, false] {
        for way in ["unlink", "copy", "rename"] {
            let sandbox = match namespaces {
                true => Sandbox::repository(),
                false => Sandbox::repository().without_namespaces(),
            };
            sandbox
                .host("echo mine > ../outside; chmod 644 ../outside; ln -f ../outside f; echo > g");
            let words = ["python3", "-c", AFTER, way];
            sandbox
                .exec(words)
                .success()
                .stdout_is("")
                .stderr_has("refused; last: file");
            let there = sandbox
                .host("cat ../outside; stat -c %a ../outside; find .. -name outside -mmin +60");
            assert_eq!(there, "mine\n644\n", "{way}");
        }
    }
    // What a program has made and named itself is its own, by whatever name.
    let own = "import os; fd = os.open('x', os.O_RDWR | os.O_CREAT); os.link('x', 'y'); os.unlink('x')
os.fchmod(fd, 0o600); os.write(os.open(f'/proc/self/fd/{fd}', os.O_WRONLY), b'x'); print(open('y').read())";
    let sandbox = Sandbox::repository();
    sandbox
        .exec(["python3", "-c", own])
        .success()
        .stdout_is("x\n");
}

#[test]
fn no_other_spelling_of_a_configuration_hides_what_it_says() {
    for end in ["/", "/.", "//"] {
        let sandbox = Sandbox::repository();
        let made =
            "git config core.hooksPath pkg/hk; mkdir -p pkg/hk; echo good > pkg/hk/pre-commit";
        sandbox.host(made);
        let package = sandbox.workspace().join("pkg");
        let run = |script: &str| {
            let words = ["run", "-c", script, "--workspace"].map(OsString::from);
            sandbox.bailiwick(words.into_iter().chain([package.clone().into()]))
        };
        let config = sandbox.workspace().join(".git/config");
        let includes = format!("[include]\\npath = {}{end}\\n", config.display());
        run(&format!("printf '{includes}' > config")).success();
        let refused = run("echo bad > hk/pre-commit");
        refused.failure();
        assert!(
            refused.stderr().contains("filesystem.protect"),
            "{}",
            refused.stderr()
        );
        assert_eq!(sandbox.host("cat pkg/hk/pre-commit"), "good\n", "{end}");
    }
}

#[test]
fn a_pattern_means_its_names_at_every_depth() {
    let sandbox = protecting(
        ".tools/*/run.sh",
        "mkdir -p .tools/a real; echo good > real/run.sh; ln -s ../../real .tools/a/b",
    );
    let refused = sandbox.run("echo bad > real/run.sh");
    refused.failure().refused_by("filesystem.protect");

    let sandbox = protecting("[}]{a/b,c}[{]", "echo good > d; ln -s d '}c{'");
    sandbox.run("echo bad > d").failure();
    assert_eq!(sandbox.host("cat d"), "good\n");
}

#[test]
fn what_the_user_changes_while_a_program_idles_counts() {
    for (change, act) in [
        ("git config core.hooksPath hk", "echo bad > hk/pre-commit"),
        ("ln -s hk .vscode", "echo bad > hk/tasks.json"),
    ] {
        let sandbox = Sandbox::repository();
        sandbox.host("mkdir hk");
        // The program has written something of its own, and waits for the user; what was seen by then is old at last.
        let script = format!("echo > /tmp/x; echo begun; read -r line; sleep 0.05; {act}");
        let words = ["run", "--", "sh", "-c", &script];
        let mut run = Background::start(&sandbox, words, "begun");
        sandbox.host(change);
        run.types("go\n");
        assert_ne!(run.ends(), Some(0), "{change}");
        assert_eq!(sandbox.host("ls hk"), "", "{change}");
    }
}

#[test]
fn what_a_descriptor_leads_to_is_decided_by_its_name() {
    let sandbox = Sandbox::repository();
    sandbox.host("git worktree add -q wt -b other 2> /dev/null; git pack-refs --all; mkdir -p .git/info; echo > .git/info/attributes");
    let files = [
        ".git/index",
        ".git/HEAD",
        ".git/packed-refs",
        ".git/worktrees/wt/index",
        ".git/worktrees/wt/gitdir",
        ".git/worktrees/wt/commondir",
        "wt/.git",
    ];
    for file in files {
        let before = sandbox.host(&format!("cat {file} | base64"));
        let outcome = sandbox.run(&format!(
            "python3 -c 'import os, sys\nf = os.open(sys.argv[1], os.O_RDONLY)\n\
             g = os.open(f\"/proc/self/fd/{{f}}\", os.O_RDWR)\nos.pwrite(g, b\"ref: config\", 0); os.truncate(g, 11)' {file}; \
             python3 -c 'import os, sys; os.truncate(sys.argv[1], 3)' {file}"
        ));
        outcome.refused_by("filesystem.protect");
        assert_eq!(
            sandbox.host(&format!("cat {file} | base64")),
            before,
            "{file}"
        );
    }
    // A file that is reported is told, and what has no name is nobody's.
    let outcome = sandbox.run(
        "echo '{}' > package.json; exec 3< package.json; echo x > /proc/self/fd/3; \
         exec 4> gone; rm gone; echo y > /dev/fd/4; cat /dev/fd/4; cat package.json; echo out > /dev/stdout",
    );
    outcome.success().stdout_is("y\nx\nout\n");
}

#[test]
fn no_name_beside_a_reference_keeps_it_from_being_settled() {
    let sandbox = Sandbox::repository();
    sandbox.host("git commit -q --allow-empty -m one; git branch other");
    sandbox.run(
        "for name in .other.bailiwick .master.bailiwick .main.bailiwick; do \
         : > .git/refs/heads/$name; done; exec 3>>.git/refs/heads/other; exec 3>&-",
    );
    sandbox.run("git commit -q --allow-empty -m two").success();
    assert_eq!(
        sandbox.host("git rev-parse other"),
        sandbox.host("git rev-parse HEAD~")
    );
}

#[test]
fn a_link_behind_which_a_reported_name_lies_is_told() {
    let sandbox = Sandbox::repository();
    let outcome = sandbox.run(
        "mkdir evil wf e2 plain gradle .github; echo x > evil/config.toml; ln -s evil .cargo; \
         ln -s ../wf .github/workflows; ln -s ../e2 gradle/wrapper; ln -s plain .mvn; \
         echo x > e2/gradle-wrapper.properties; mkdir b; ln -s plain b/.cargo; mv b c",
    );
    assert_eq!(
        left(&outcome),
        [
            ".cargo/config.toml Cargo",
            ".github/workflows GitHub Actions",
            ".mvn Maven",
            "gradle/wrapper Gradle",
        ]
    );
}

#[test]
fn what_is_exchanged_is_told_under_both_names() {
    let exchange = "import ctypes, sys; ctypes.CDLL(None).renameat2(-100, sys.argv[1].encode(), -100, sys.argv[2].encode(), 2)";
    let before = "echo > Makefile; mkdir node_modules; echo > node_modules/i.js; git add -A; git commit -qm two";
    for (make, name, is_told) in [
        ("echo evil > x", "Makefile", "Makefile make"),
        ("ln -s README x", "Makefile", "Makefile make"),
        (
            "mkdir x; echo evil > x/i.js",
            "node_modules",
            "node_modules npm",
        ),
    ] {
        for order in [format!("{name} x"), format!("x {name}")] {
            let sandbox = Sandbox::repository().file("exchange.py", exchange);
            sandbox.host(before);
            let outcome = sandbox.run(&format!("{make}; python3 exchange.py {order}"));
            let left = left(outcome.success());
            assert!(
                left.iter().any(|left| left.starts_with(is_told)),
                "{order}: {left:?}"
            );
        }
    }
}

#[test]
fn a_repository_that_comes_to_the_name_of_another_is_told_where_its_remote_leads_elsewhere() {
    let set = "remote set-url origin https://evil.test/r";
    for (script, is_told) in [
        (
            format!("cp -r lib R; git -C R {set}; mv lib old; mv R lib; rm -rf old"),
            true,
        ),
        (
            format!("git clone -q lib R; git -C R {set}; rm -rf lib; mv R lib"),
            true,
        ),
        ("mv lib R; mv R lib".to_owned(), false),
        (
            "git -C lib remote add other https://evil.test/r".to_owned(),
            false,
        ),
        ("cp -r lib R; rm -rf lib; mv R lib".to_owned(), false),
    ] {
        let sandbox = Sandbox::repository();
        sandbox.host("git init -q lib; cd lib; git config user.name t; git config user.email t@t.test; echo a > f; git add -A; git commit -qm l; git remote add origin https://good.test/r");
        let left = left(sandbox.run(&script).success());
        let told = left
            .iter()
            .any(|left| left.starts_with("lib/.git/config git"));
        assert_eq!(told, is_told, "{script}: {left:?}");
    }
}

#[test]
fn what_a_file_of_commands_names_is_told_when_the_run_makes_it() {
    for (file, text, made) in [
        (
            ".mcp.json",
            r#"{"mcpServers":{"a":{"command":"node","args":["dist/index.js"]}}}"#,
            "dist/index.js",
        ),
        (
            ".vscode/tasks.json",
            r#"{"tasks":[{"command":"sh bld/x.sh"}]}"#,
            "bld/x.sh",
        ),
        (
            ".claude/settings.json",
            r#"{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"sh hk/x.sh"}]}]}}"#,
            "hk/x.sh",
        ),
        (
            "mise.toml",
            "[env]\n_.source = \"scripts/ms.sh\"\n",
            "scripts/ms.sh",
        ),
        ("mise.toml", "[env]\n_.path = [\"mp\"]\n", "mp/ls"),
        (".envrc", "PATH_add tools\n", "tools/ls"),
        (".envrc", "export PATH=\"$(pwd)/tools:$PATH\"\n", "tools/ls"),
        (".envrc", "export PATH=\"${PWD}/tools:$PATH\"\n", "tools/ls"),
        (".envrc", "load_prefix here\n", "here/bin/ls"),
        (".envrc", "D=$PWD/b\nPATH_add \"$D\"\n", "b/ls"),
        (".envrc", "PATH_add \\\n  b\n", "b/ls"),
        (
            "mise.toml",
            "[env]\n_.path = [\n  \"{{ config_root }}/b\",\n]\n",
            "b/ls",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers":{"a":{"command":"node","args":["dist"]}}}"#,
            "dist/index.js",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers":{"a":{"command":"node","args":["dist/index"]}}}"#,
            "dist/index.js",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers":{"a":{"command":"python","args":["-m","tools.server"]}}}"#,
            "tools/server.py",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers":{"a":{"command":"uv","args":["--directory","srv","run","main.py"]}}}"#,
            "srv/main.py",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers":{"a":{"command":"node","args":["server.js"],"cwd":"srv"}}}"#,
            "srv/server.js",
        ),
        (
            ".mcp.json",
            r#"{"mcpServers":{"a":{"command":"sh","args":["-c","cd srv && ./go.sh"]}}}"#,
            "srv/go.sh",
        ),
    ] {
        let folder = std::path::Path::new(made).parent().unwrap().display();
        for make in [
            format!("mkdir -p {folder}; echo > {made}"),
            format!("mkdir -p x/{folder}; echo > x/{made}; mv x/* ."),
        ] {
            let sandbox = Sandbox::repository().file(file, text);
            let left = left(sandbox.run(&make).success());
            assert_eq!(left.len(), 1, "{text} {make}: {left:?}");
            let top = std::path::Path::new(made).iter().next().unwrap();
            assert!(
                left[0].starts_with(top.to_str().unwrap()),
                "{text} {make}: {left:?}"
            );
        }
    }
}

#[test]
fn a_working_tree_that_becomes_another_repositorys_is_told_where_its_remote_leads_elsewhere() {
    let anew = "git init -q TREE; git -C TREE remote add origin https://evil.test/r";
    let before = "git worktree add -q wt -b w; git init -q ../s; \
        git -C ../s -c user.name=t -c user.email=t@t.test commit -q --allow-empty -m s; \
        git -c protocol.file.allow=always submodule --quiet add ../s sm; git add -A; git commit -qm s; git remote add origin https://good.test/r; test -f sm/.git";
    for script in [
        format!("rm wt/.git; {}", anew.replace("TREE", "wt")),
        format!("rm sm/.git; {}", anew.replace("TREE", "sm")),
        format!("rm -rf sm; {}", anew.replace("TREE", "sm")),
    ] {
        let sandbox = Sandbox::repository();
        sandbox.host(before);
        let left = left(sandbox.run(&script).success());
        let is_told = |left: &String| {
            left.ends_with("lead elsewhere now") || left.contains(".git/config git")
        };
        assert!(left.iter().any(is_told), "{script}: {left:?}");
    }
}
