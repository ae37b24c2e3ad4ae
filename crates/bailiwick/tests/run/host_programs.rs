//! Files that programs of the host obey: those that are obeyed without a question cannot be made, the others are told.

use crate::support::{Backend, Outcome, Sandbox};
use bailiwick_event::Act;

on_every_backend! {
    what_is_obeyed_without_a_question_cannot_be_made_changed_or_removed,
    what_a_command_obeys_is_told_as_far_as_it_is_there,
    what_the_users_links_at_such_names_lead_to_counts_as_well,
}

/// The files that a run was told to have left, by name, with who obeys them.
pub(crate) fn left(outcome: &Outcome) -> Vec<String> {
    let workspace = outcome.workspace();
    let told = outcome
        .events()
        .into_iter()
        .filter_map(|event| match event.act {
            Act::Left { path, tool, .. } => {
                let path = path.to_string();
                let below = path.strip_prefix(&*workspace.to_string_lossy()).unwrap();
                Some(format!("{} {tool}", &below[1..]))
            }
            _ => None,
        });
    let mut told: Vec<String> = told.collect();
    told.sort();
    told
}

fn what_is_obeyed_without_a_question_cannot_be_made_changed_or_removed(on: Backend) {
    for act in [
        "mkdir .zed",
        "mkdir -p a/b; echo x > a/b/mise.toml",
        "echo x > t; mv t .Pre-Commit-Config.yaml",
        "ln -s f .irbrc",
        "ln f x.code-workspace",
        "mkdir h; echo x > h/hgrc; mv h .hg",
        "mkdir .hg; ln -s ../f .hg/hgrc",
        "mkdir .claude; mkdir .claude/skills",
        "mkdir .direnv",
        "echo x > .envrc.local",
        "mkdir .ropeproject; echo x > .ropeproject/config.py",
        "mkdir CVS; echo x > CVS/Root",
        "echo x > there/.nvim.lua",
        "rm there/.nvim.lua",
        "mv there/.nvim.lua n",
        "chmod +x there/.nvim.lua",
        "ln there/.nvim.lua n",
        "truncate -s 0 there/.nvim.lua",
    ] {
        let sandbox = Sandbox::repository_on(on).file("there/.nvim.lua", "mine");
        sandbox
            .run(act)
            .failure()
            .refused_by("filesystem.host_programs");
        assert_eq!(
            sandbox.host("cat there/.nvim.lua; stat -c %a%h there/.nvim.lua"),
            "mine6441\n",
            "{act}"
        );
    }
}

#[test]
fn a_package_manager_removes_what_authors_of_packages_have_left() {
    let sandbox = Sandbox::new()
        .file("node_modules/p/.husky/pre-commit", "theirs")
        .file("node_modules/p/.vscode/tasks.json", "theirs")
        .file("p/.husky/pre-commit", "mine");
    let outcome = sandbox.run("mv node_modules/p node_modules/.p-x && rm -r node_modules/.p-x");
    outcome.success().nothing_refused();
    for act in [
        "rm -r p/.husky",
        "echo x > node_modules/.envrc",
        "mv p/.husky node_modules",
    ] {
        sandbox.run(act).failure();
    }
    sandbox.host("test -e p/.husky/pre-commit -a ! -e node_modules/.envrc");
}

fn what_a_command_obeys_is_told_as_far_as_it_is_there(on: Backend) {
    let sandbox = Sandbox::repository_on(on)
        .file("Makefile", "all:")
        .file("old/package.json", "{}");
    let outcome = sandbox.run(
        "echo x >> Makefile; cat old/package.json; mkdir -p node_modules/a .github/workflows t/u; \
         echo {} > node_modules/a/package.json; echo x > .github/workflows/ci.yml; echo x > t/u/build.rs; mv t v; \
         touch Dockerfile; rm Dockerfile; touch justfile; mv justfile just; echo x > x; mv x CMakeLists.txt; echo x > src.rs",
    );
    outcome.success().nothing_refused();
    let expected = [
        ".github/workflows/ci.yml GitHub Actions",
        "CMakeLists.txt CMake",
        "Makefile make",
        "node_modules npm",
        "v/u/build.rs Cargo",
    ];
    assert_eq!(left(&outcome), expected);
    outcome.stderr_has(
        "bailiwick: made or changed files that programs outside obey: CMakeLists.txt (CMake), v/u/build.rs (Cargo), \
         .github/workflows/ci.yml (GitHub Actions) and 2 more; see `bailiwick log --handover ",
    );
    let session = outcome.session().unwrap().to_owned();
    let told = sandbox.bailiwick(["log", "--handover", &session]).stdout();
    assert_eq!(told.matches("table:host-programs:").count(), 5, "{told}");
    assert!(
        told.contains("Makefile, obeyed by make (command)"),
        "{told}"
    );
    sandbox
        .run("cat Makefile; ls -R > /dev/null")
        .success()
        .stderr_lacks("bailiwick: made");
}

fn what_the_users_links_at_such_names_lead_to_counts_as_well(on: Backend) {
    let sandbox = Sandbox::repository_on(on);
    sandbox.host(
        "mkdir -p app/scripts .cursor rules shared/vscode cfg docs n tools
        for file in app/scripts/env.sh rules/a.md shared/vscode/settings.json cfg/settings.json real hook docs/agents.md make; do echo mine > $file; done
        ln -s scripts/env.sh app/.envrc; ln -s ../rules .cursor/rules; ln -s shared/vscode .vscode; ln -s cfg .claude
        ln -s second .exrc; ln -s tools/later.sh second; ln real n/.mcp.json; ln hook .git/hooks/pre-commit
        ln -s docs/agents.md CLAUDE.md; ln make Makefile; ln -s nolink/../late.sh .vimrc
        mkdir dz; echo mine > shared/z.json; ln -s ../shared/z.json dz/settings.json; ln -s dz .zed",
    );
    let held = "find . -path ./.git/objects -prune -o ! -type d -printf '%p %l %i %n %m ' -a -type f -exec cksum {} + | sort";
    let before = sandbox.host(held);
    let acts = [
        "echo x > app/.envrc",
        "echo x > app/scripts/env.sh",
        "echo x > t; mv t app/scripts/env.sh",
        "mv app/scripts s",
        "mv app a",
        "ln app/scripts/env.sh e",
        "chmod +x app/scripts/env.sh",
        "echo x > rules/b.md",
        "mkdir rules/c",
        "rm rules/a.md",
        "mv rules r",
        "rm .vscode",
        "echo x > shared/vscode/tasks.json",
        "mv shared s",
        "echo x > cfg/settings.json",
        "mkdir cfg/skills",
        "ln -sfn f second",
        "echo x > tools/later.sh",
        "ln -s ../f tools/later.sh",
        "echo x > real",
        "truncate -s 0 real",
        "echo x >> hook",
        "echo x > shared/z.json",
        "rm dz/settings.json",
        "ln -s tools nolink",
    ];
    let script: String = acts
        .iter()
        .map(|act| format!("({act}) 2>/dev/null && echo '{act}'; rm -f t e\n"))
        .collect();
    let outcome = sandbox.run(&(script + "true"));
    outcome.success().stdout_is("");
    assert_eq!(sandbox.host(held), before);
    let others = "mkdir cfg/todos; echo x > cfg/todos/1; echo x > shared/x; echo x > tools/y; echo x > docs/agents.md; \
        echo x >> make; git status --porcelain > n/x; mv n m; mv docs d";
    let outcome = sandbox.run(others);
    outcome.success().nothing_refused();
    // One that is protected has moved with its folder.
    let told = [
        "CLAUDE.md Claude Code",
        "Makefile make",
        "m/.mcp.json all agents",
    ];
    assert_eq!(left(&outcome), told);
    let refused = sandbox.run("echo x > app/scripts/env.sh");
    refused
        .failure()
        .refused_by("filesystem.protect")
        .stderr_has("app/.envrc leads here; if the command must write this one, add \".envrc\"");
}

#[test]
fn links_that_lead_out_are_told_and_those_to_the_users_files_refused() {
    let policy =
        "extends = [\"default\"]\n[filesystem]\nwrite = [\"other\"]\ndeny = [\"secret\"]\n";
    let sandbox = Sandbox::new().policy(policy).file("../other/f", "");
    let outcome = sandbox.run(
        "ln -s f inside; ln -s /proc/self/mounts mtab; ln -s /dev/null null; ln -s /usr/bin/env e; ln -s $PWD/../other/f o; mkdir -p d/e; ln -s ../../f d/e/up
        ln -s /nowhere/x d/y; mv d d2; ln -s /nowhere gone; rm gone; ln -s /nowhere moved; mv moved m2; ln -s ~/.cache/c cache",
    );
    outcome.success().nothing_refused();
    let told = outcome.stderr();
    assert!(
        told.contains("d2/y (whoever follows the link to /nowhere/x)"),
        "{told}"
    );
    let cache = sandbox.run("echo ~/.cache/c").stdout();
    let led = [
        ("cache", cache.trim_end()),
        ("d2/y", "/nowhere/x"),
        ("m2", "/nowhere"),
    ];
    let led = led.map(|(name, to)| format!("{name} whoever follows the link to {to}"));
    assert_eq!(left(&outcome), led);
    for (act, rule) in [
        (
            "ln -s ../home/.bashrc package-lock.json",
            "filesystem.protect",
        ),
        ("ln -s ../elsewhere out", "filesystem.protect"),
        ("ln -s d2/../../home/.bashrc out", "filesystem.protect"),
        ("mv d2/e .", "filesystem.protect"),
        // What stands before a `..`, or on the way, may become another link.
        (
            "mkdir -p d/e; ln -s d/e/../../../../../.bashrc out",
            "filesystem.protect",
        ),
        ("mkdir q; ln -s q/../../x out", "filesystem.protect"),
        ("ln -s /proc/self pp", "filesystem.protect"),
        ("ln -s /proc/self/root/etc pp", "filesystem.protect"),
        ("ln -s .git g", "filesystem.protect"),
        ("ln -s .vscode/tasks.json t", "filesystem.protect"),
        ("ln -s $PWD/f ../other/x", "filesystem.protect"),
        ("ln -s ../home/.bashrc ../other/x", "filesystem.protect"),
        ("ln -s ../secret s", "filesystem.deny"),
        ("ln -s ../config/bailiwick/policy.toml p", "filesystem.deny"),
    ] {
        let outcome = sandbox.run(act);
        outcome.failure().refused_by(rule);
    }
    sandbox
        .run("ln -s f ../other/y; ln -s /usr/bin/env ../other/z")
        .success();
}

#[test]
fn what_a_link_at_a_part_of_a_reported_name_leads_to_is_told() {
    let sandbox = Sandbox::new();
    sandbox.host("mkdir -p gh/workflows car 'a b'; ln -s gh .github; ln -s car .cargo; echo all: > 'a b/Makefile'");
    let outcome = sandbox
        .run("echo x > gh/workflows/x.yml; echo x > car/config.toml; echo x > 'a b/Makefile'");
    outcome.success().stderr_has("'a b/Makefile' (make)");
    assert_eq!(
        left(&outcome),
        [
            ".cargo Cargo",
            ".github GitHub Actions",
            "a b/Makefile make"
        ]
    );
}

#[test]
fn a_remote_or_an_upstream_that_is_another_is_told() {
    for act in [
        "git config remote.up.url https://other.test/x",
        "git remote add new https://new.test/x",
        "git branch x && git config branch.main.remote . && git config branch.main.merge refs/heads/x",
    ] {
        let sandbox = Sandbox::repository();
        sandbox.host("git branch -M main; git remote add up https://up.test/x; git config branch.main.remote up; git config branch.main.merge refs/heads/main");
        let outcome = sandbox.run(
            "git remote add other https://new.test/x; git config branch.y.remote other; git init -q n; cd n; git remote add new https://new.test/x",
        );
        assert_eq!(left(&outcome), [""; 0]);
        // As `git maintenance start` leaves it.
        sandbox.host("git config maintenance.strategy incremental");
        let outcome = sandbox.run(act);
        outcome
            .success()
            .stderr_has(".git/config (git, whose remotes or branches lead elsewhere now)");
    }
}

#[test]
fn settings_of_git_that_mislead_are_told() {
    for act in [
        "commit.gpgSign false",
        "status.showUntrackedFiles no",
        "user.email x@x.test",
    ] {
        let sandbox = Sandbox::repository();
        sandbox.host("git config user.email u@u.test");
        let outcome = sandbox.run("git config commit.gpgSign true; git config user.signingKey k");
        assert_eq!(left(&outcome), [""; 0]);
        let outcome = sandbox.run(&format!("git config {act}"));
        outcome
            .success()
            .stderr_has(".git/config (git, which signs otherwise");
    }
    // Also where more is told of the same file.
    let sandbox = Sandbox::repository();
    sandbox.host("git config user.email u@u.test; git remote add up https://up.test/x");
    let outcome = sandbox
        .run("git config user.email x@x.test; git config remote.up.url https://x.test/x; true");
    outcome.success().stderr_has(
        ".git/config (git, which signs otherwise, has another author or hides files now; git, whose remotes or branches lead elsewhere now)",
    );
    // His name stood elsewhere until now, is taken away first, or it is a list of what is not shown.
    let sandbox = Sandbox::repository();
    sandbox
        .host("git config --unset user.email; git init -q n; git -C n config user.email u@u.test");
    let acts = "git config user.email x@x.test; git -C n config --unset user.email; git -C n config user.email x@x.test; echo f >> .git/info/exclude; echo '/*' > .git/info/sparse-checkout; git config core.sparseCheckout true; git init -q m; git -C m config user.email x@x.test";
    let told = left(&sandbox.run(acts));
    let files = told
        .iter()
        .filter_map(|told| told.split_once(' '))
        .map(|(file, _)| file);
    assert_eq!(
        files.collect::<Vec<_>>(),
        [
            ".git/config",
            ".git/info/exclude",
            ".git/info/sparse-checkout",
            "n/.git/config"
        ]
    );
}

#[test]
fn a_second_name_of_what_is_reported_is_told() {
    let sandbox = Sandbox::new()
        .file("package.json", "{}")
        .file("Makefile", "")
        .file("pkg/.github/workflows/x.yml", "");
    let outcome = sandbox.run(
        "ln package.json y; echo x > y; rm y; ln pkg/.github/workflows/x.yml z; echo x > z
        exec 3< Makefile; python3 -c 'import os; os.link(\"/proc/self/fd/3\", \"m\", src_dir_fd=3)'; touch f; ln f g",
    );
    outcome.success().nothing_refused();
    let told = [
        "Makefile make",
        "package.json npm",
        "pkg/.github/workflows/x.yml GitHub Actions",
    ];
    assert_eq!(left(&outcome), told);
}

#[test]
fn protected_names_that_move_with_their_folder_are_told() {
    let sandbox = Sandbox::new().file("a/.vscode/tasks.json", "mine");
    let outcome = sandbox.run("mv a b");
    outcome.success();
    assert_eq!(left(&outcome), ["b/.vscode VS Code"]);
}

#[test]
fn a_workspace_in_a_folder_that_is_obeyed_is_told() {
    let sandbox = Sandbox::new().file("sub/.vscode/f", "");
    let mut command = sandbox.command();
    command
        .current_dir(sandbox.workspace().join("sub/.vscode"))
        .args(["run", "--", "true"]);
    let output = command.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(told.contains("VS Code obeys it (open an editor)"), "{told}");
}

#[test]
fn what_a_run_has_written_is_told_however_it_ends() {
    let policy = "extends = [\"default\"]\n[limits]\noutput = \"10kB\"\n";
    let sandbox = Sandbox::new().policy(policy);
    let outcome = sandbox.run("echo x > Makefile; exec yes");
    outcome.code(137);
    assert_eq!(left(&outcome), ["Makefile make"]);
}

#[test]
fn a_policy_takes_names_out_and_adds_others() {
    let with = |lines: &str| {
        let sandbox =
            Sandbox::new().policy(&format!("extends = [\"default\"]\n[filesystem]\n{lines}\n"));
        sandbox.run("mkdir -p .zed .vscode deploy; echo x > deploy/x.sh; echo x > Makefile")
    };
    let outcome =
        with("ordinary = [\".zed\", \".vscode\", \"Makefile\"]\nreport = [\"deploy/*.sh\"]");
    outcome.success().nothing_refused();
    assert_eq!(left(&outcome), ["deploy/x.sh deploy/*.sh"]);
    let told = outcome
        .events()
        .into_iter()
        .find(|event| matches!(event.act, Act::Left { .. }));
    let rule = told.unwrap().decision.rule.to_string();
    assert!(
        rule.starts_with("filesystem.report (") && rule.ends_with(":4:11)"),
        "{rule}"
    );
    let outcome = with("host_programs = \"report\"\nordinary = [\".vscode\"]");
    outcome.success().nothing_refused();
    assert_eq!(left(&outcome), [".zed Zed", "Makefile make"]);
    let outcome = with("host_programs = \"off\"\nordinary = [\".vscode\"]");
    outcome.success().nothing_refused();
    assert!(left(&outcome).is_empty());
    let outcome = with("ordinary = [\".vscode\"]");
    outcome.refused_by("filesystem.host_programs");
    outcome.stderr_has("add \".zed\" to `ordinary` under [filesystem] in your own policy");
    with("ordinary = [\".git/hooks\"]")
        .code(2)
        .stderr_has("what git and this product obey stays protected");
}

#[test]
fn nothing_is_told_of_what_belongs_to_the_product() {
    // A cache is the sandbox's own, and nobody outside looks there.
    let outcome = Sandbox::new().run("mkdir -p ~/.cache/x/.zed /tmp/y/.zed; echo x > ~/.cache/x/Makefile; echo x > /tmp/Makefile");
    outcome.success().nothing_refused();
    assert!(left(&outcome).is_empty());
}

#[test]
fn what_links_above_the_workspace_and_in_the_home_directory_lead_to_counts() {
    let sandbox = Sandbox::new()
        .fresh_home()
        .file("scripts/env.sh", "mine")
        .file("bashrc", "mine")
        .file("tool", "mine");
    sandbox.host(
        "chmod 777 ..; mkdir ../de; echo '. ./other' > ../de/.envrc; ln -s workspace/scripts/env.sh ../.envrc; mkdir -p nvim ../home/.config/nvim; echo mine > nvim/init.lua; ln -s $PWD/nvim/init.lua ../home/.config/nvim/init.lua; mkdir -p ../.vscode ../home/.local/bin; ln -s ../workspace/scripts/tasks.json ../.vscode/tasks.json
        ln -s $PWD/bashrc ../home/.bashrc; ln -s $PWD/tool ../home/.local/bin/tool",
    );
    for act in [
        "echo x > scripts/env.sh",
        "mv scripts s",
        "echo x > scripts/tasks.json",
    ] {
        let refused = sandbox.run(act);
        refused.failure().refused_by("filesystem.protect");
    }
    let outcome = sandbox
        .run("echo x > bashrc; echo x > tool; echo x > scripts/other; echo x > other; echo x > nvim/init.lua");
    outcome.success().nothing_refused();
    let told = sandbox
        .host("realpath -s ../home/.bashrc ../home/.config/nvim/init.lua ../home/.local/bin/tool");
    let told: Vec<&str> = told.lines().collect();
    let left = outcome
        .events()
        .into_iter()
        .filter_map(|event| match event.act {
            Act::Left { path, .. } => Some(path.to_string()),
            _ => None,
        });
    assert_eq!(left.collect::<Vec<_>>(), told);
    outcome.stderr_has("whoever reads this link of yours");
    // One in a folder of its own, beside no other.
    let sandbox = Sandbox::new().fresh_home().file("nvim/init.lua", "mine");
    sandbox.host(
        "mkdir -p ../home/.config/nvim; ln -s $PWD/nvim/init.lua ../home/.config/nvim/init.lua",
    );
    let outcome = sandbox.run("echo x > nvim/init.lua");
    outcome
        .success()
        .stderr_has("/.config/nvim/init.lua (whoever reads this link of yours");
}

/// A program that opens `/dev/null` for writing has the supervisor look before it is asked, but not at everything.
#[test]
fn what_is_looked_for_early_is_found_whole_or_looked_for_again() {
    let sandbox = Sandbox::new().fresh_home().file("nvim/init.lua", "mine");
    sandbox.host("mkdir -p ../home/bin ../home/.config/nvim; ln -s $PWD/nvim/init.lua ../home/.config/nvim/init.lua; for i in $(seq 600); do : > ../home/bin/$i; done");
    let outcome = sandbox.run(": > /dev/null; echo x > nvim/init.lua");
    outcome
        .success()
        .stderr_has("/.config/nvim/init.lua (whoever reads this link of yours");
    let sandbox = Sandbox::new();
    sandbox.host(
        "mkdir $(seq 600); git init -q 600/a/b; git -C 600/a/b config core.hooksPath ../hooks-of-b",
    );
    for early in ["", ": > /dev/null; "] {
        let outcome = sandbox.run(&format!("{early}mkdir 600/a/hooks-of-b"));
        outcome.failure().refused_by("filesystem.protect");
    }
}

#[test]
fn what_files_of_commands_call_is_protected_and_folders_on_path_are_told() {
    let sandbox = Sandbox::repository();
    sandbox.host(
        "mkdir -p scripts bin tools/in src sub/lib .claude .cursor
        printf 'source_env_if_exists scripts/setup.sh\nPATH_add bin\nwatch_file src/a.json src/gen.sh\nuse flake\n' > .envrc
        printf '. lib/env\nexport PATH=$PWD/lib:$PATH\n' > sub/.envrc; echo '. scripts/inner.sh' > scripts/setup.sh
        for f in scripts/inner.sh tools/fmt.sh tools/in/check.py src/a.json sub/lib/env src/main.rs src/gen.sh; do echo mine > $f; done; chmod +x src/gen.sh
        echo '{\"hooks\":{\"Stop\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"\\\"$CLAUDE_PROJECT_DIR\\\"/tools/fmt.sh x\"}]}]},\"permissions\":{\"allow\":[\"Bash(node src/gen.js)\",\"Edit(src/main.rs)\"]}}' > .claude/settings.json
        printf 'exclude: src/conf.py\nrepos:\n- repo: local\n  hooks:\n  - entry: cd tools && cd in && ./z\n    files: src/conf.py\n' > .pre-commit-config.yaml
        echo '{\"hooks\":{\"stop\":[{\"command\":\"python3 $CURSOR_PROJECT_DIR/tools/in/check.py\"},{\"command\":\"cd tools && .\\/x\"}]}}' > .cursor/hooks.json
        mkdir -p .husky/_ ci srv part d1 d2; git config core.hooksPath .husky/_; echo '. \"$0/h\"' > .husky/_/pre-commit; echo ci/lint.sh > .husky/pre-commit
        printf 'set -eu\necho checking what is staged\nDIR=part\n. \"$DIR/env.sh\"\nfor f in d1/*.sh; do . $f; done\nfor f in d2/*; do $f; done\nfor f in src/*; do lint $f; done\nfind src | xargs lint\n\"$INSTALL_PYTHON\" -mpre_commit x\n' > .husky/commit-msg
        for f in src/gen.js src/conf.py tools/in/z tools/x ci/lint.sh ci/hook.sh ci/enter.sh srv/main.js part/env.sh d1/a.sh; do echo mine > $f; done; chmod +x tools/x tools/in/z ci/*.sh
        printf 'pre-commit:\n  commands:\n    a:\n      glob: src/*\n      run: ./ci/hook.sh && lint src/*\n' > lefthook.yml; printf '[hooks]\nenter = \"./ci/enter.sh\"\n[env]\n_.path=[\"bin\"]\n' > mise.toml
        echo '{\"mcpServers\":{\"a\":{\"command\":\"node\",\"args\":[\"srv/main.js\"]}}}' > .mcp.json",
    );
    // What the words of a text are called does not keep another from being found.
    let words = "set echo checking what is staged hooks Stop type command permissions allow Bash node Edit exclude repos \
        repo local entry files pre-commit commands run";
    let decoys = format!(
        "for d in {words}; do mkdir $d; for f in {words}; do echo > $d/$f; done; chmod +x $d/*; done"
    );
    sandbox.run(&decoys).success();
    for act in [
        "scripts/setup.sh",
        "scripts/inner.sh",
        "tools/fmt.sh",
        "tools/in/check.py",
        "sub/lib/env",
        "tools/x",
        "ci/lint.sh",
        "ci/hook.sh",
        "ci/enter.sh",
        "part/env.sh",
        "d1/a.sh",
        "d1/new.sh",
        "d2/new",
        "tools/in/z",
        "pre_commit.py",
        "pre_commit.so",
        "json.py",
        "keyword.pyc",
    ] {
        let refused = sandbox.run(&format!("echo x > {act}"));
        refused.failure().refused_by("filesystem.protect");
    }
    let refused = sandbox.run("echo x > ci/lint.sh");
    refused.stderr_has("remedy: programs outside run or obey it, by the hook pre-commit; write");
    let shown = sandbox.bailiwick(["policy", "show", "--explain", "ci/lint.sh"]);
    shown.stdout_has("ci/lint.sh: protected by filesystem.protect (template:default:");
    shown.stdout_has("by the hook pre-commit; it cannot be made");
    sandbox.run("mv sub s2").failure();
    let outcome = sandbox.run("echo x > bin/ls; echo x > src/a.json; echo x > src/gen.sh; echo x > src/main.rs; echo x > src/new; echo x > src/gen.js; echo x > src/conf.py; echo x > tools/new.sh; echo x > sub/lib/ls; echo x > srv/main.js; echo x > x.py");
    outcome.success().nothing_refused();
    outcome.stderr_has("programs outside run or obey files in folders that may be written");
    let told = ["bin direnv", "srv/main.js all agents", "sub/lib direnv"];
    assert_eq!(left(&outcome), told);
}

#[test]
fn a_folder_with_more_than_is_looked_through_of_what_is_called_is_closed() {
    let sandbox = Sandbox::new();
    sandbox.host("mkdir d .claude; for i in $(seq 300); do echo > d/$i.sh; done; echo \"{\\\"a\\\":\\\"d $(seq -s '.sh ' 300).sh\\\"}\" > .claude/settings.json");
    let refused = sandbox.run("echo x > f; echo x > d/new");
    refused.failure().refused_by("filesystem.protect");
    refused.stderr_has("d: there is more in it than is looked through");
    assert_eq!(sandbox.host("cat f; ls d | wc -l"), "x\n300\n");
}

#[test]
fn what_gits_variables_in_the_environment_lead_to_counts_as_gits_configuration() {
    let sandbox = Sandbox::repository().file("../git.config", "[core]\n\thooksPath = one\n[url \"/srv/\"]\n\tinsteadOf = near:\n[url \"https://host.test/\"]\n\tinsteadOf = far:\n");
    let file = sandbox.workspace().parent().unwrap().join("git.config");
    let sandbox = sandbox
        .host_env("GIT_CONFIG_GLOBAL", file)
        .host_env("GIT_CONFIG_COUNT", "2")
        .host_env("GIT_CONFIG_KEY_0", "user.name")
        .host_env("GIT_CONFIG_VALUE_0", "t")
        .host_env("GIT_CONFIG_KEY_1", "diff.x.textconv")
        .host_env("GIT_CONFIG_VALUE_1", "./two.sh");
    for act in [
        "mkdir one",
        "mkdir -p n/one; echo x > n/one/pre-commit; git init -q n",
        "echo x > two.sh",
    ] {
        sandbox.run(act).failure().refused_by("filesystem.protect");
    }
    // What is no path becomes one by the user's configuration.
    let remote = sandbox.run("git remote add x near:s || git remote add y far:s; git remote");
    remote
        .success()
        .refused_by("filesystem.protect")
        .stdout_is("y\n");
}

#[test]
fn an_index_that_has_other_protected_files_than_before_is_told() {
    let sandbox = Sandbox::repository().file(".vscode/tasks.json", "mine");
    sandbox.host("git add .; git commit -qm two; echo two > g");
    let outcome = sandbox.run(
        "git add g; git commit -qm three; git rm -q --cached f; cp -r . /tmp/c; cp -r /tmp/c c",
    );
    assert_eq!(left(&outcome), [""; 0]);
    for how in [
        "git update-index --add --cacheinfo 100644,$id,.lfsconfig",
        "cp .git/index x; GIT_INDEX_FILE=$PWD/x git update-index --add --cacheinfo 100644,$id,.lfsconfig; rm .git/index; cat x > .git/index; rm x",
    ] {
        let outcome = sandbox.run(&format!("id=$(echo x | git hash-object -w --stdin); {how}"));
        let told = left(&outcome);
        assert!(
            told.contains(&".lfsconfig git, whose index has another version of it now".to_owned()),
            "{told:?}"
        );
        sandbox.host("git reset -q");
    }
}
