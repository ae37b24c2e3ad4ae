//! Exactly the files that the policy names, and no others.

use crate::support::{Backend, Outcome, Sandbox, host_command, wait};
use std::ffi::OsStr;

on_every_backend! {
    the_workspace_is_writable_and_keeps_what_was_written,
    the_system_is_readable_and_not_writable,
    the_root_and_what_every_sandbox_has_of_its_own_cannot_be_granted,
    the_rest_of_the_home_directory_does_not_exist,
    existing_hooks_and_configuration_are_readable_and_cannot_be_changed,
    a_denied_file_cannot_be_read_under_any_name,
    what_a_pattern_denies_stays_denied_for_the_next_run,
    what_is_denied_by_its_path_is_denied_when_it_appears_later,
    a_protected_link_is_kept_with_what_it_leads_to,
    a_private_path_is_empty_at_first_and_kept_per_workspace,
    granted_paths_elsewhere_are_what_the_policy_says,
    a_private_folder_that_has_no_place_says_what_becomes_of_what_is_written_and_what_to_do,
    our_own_state_stays_hidden_even_in_a_wide_workspace,
    no_litter_is_left_in_the_workspace,
    a_link_that_a_sandbox_left_does_not_choose_what_the_next_one_sees,
    the_users_policy_cannot_be_written_from_inside_even_where_it_does_not_exist_yet,
    the_folder_of_policies_is_kept_from_the_command_wherever_it_will_be,
    a_link_on_the_way_to_the_products_own_files_is_followed_unless_a_sandbox_may_write_it,
    what_is_lost_at_the_end_is_said_at_the_start,
}

const DEFAULT: &str = "extends = [\"default\"]\n";

fn the_workspace_is_writable_and_keeps_what_was_written(on: Backend) {
    let sandbox = Sandbox::on(on);
    sandbox
        .run("mkdir a && echo text > a/f && mv a b && ln b/f b/g && ln -s f b/h && chmod +x b/f")
        .success();
    assert_eq!(
        std::fs::read_to_string(sandbox.workspace().join("b/h")).unwrap(),
        "text\n"
    );
    let owner = |p: &str| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(sandbox.workspace().join(p))
            .unwrap()
            .uid()
    };
    assert_eq!(
        owner("b/f"),
        owner("."),
        "what is written inside belongs to the user outside"
    );
}

fn the_system_is_readable_and_not_writable(on: Backend) {
    let sandbox = Sandbox::on(on);
    sandbox
        .run("test -r /etc/hostname -o -r /etc/hosts && ls /usr/bin > /dev/null")
        .success();
    for path in ["/etc/x", "/usr/x", "/usr/bin/x"] {
        let written = sandbox.run(&format!("echo x > {path}"));
        match on {
            Backend::Process => written.failure(),
            // It is root in a system of its own, which is gone with the machine.
            Backend::Vm => sandbox.run(&format!("! test -e {path}")).success(),
        };
        assert!(!std::path::Path::new(path).exists(), "{path}");
    }
}

fn the_root_and_what_every_sandbox_has_of_its_own_cannot_be_granted(on: Backend) {
    for path in ["/", "/proc", "/proc/sys", "/dev"] {
        let policy = format!("extends = [\"default\"]\n[filesystem]\nread = [\"{path}\"]\n");
        Sandbox::on(on)
            .policy(&policy)
            .run("true")
            .code(126)
            .stderr_has("cannot be shown")
            .stderr_has("policy-1.toml:3:");
    }
}

fn the_rest_of_the_home_directory_does_not_exist(on: Backend) {
    let sandbox = Sandbox::on(on)
        .home_file(".ssh/id_ed25519", "the key\n")
        .home_file(".aws/credentials", "the key\n")
        .home_file("notes.txt", "the key\n");
    sandbox
        .run("cat ~/.ssh/id_ed25519 ~/.aws/credentials ~/notes.txt; ls -A ~")
        .stdout_lacks("the key")
        .stdout_lacks(".ssh")
        .stdout_lacks("notes.txt")
        .stderr_has("No such file");
    sandbox
        .run("echo mine > ~/.ssh_new && cat ~/.ssh_new")
        .success()
        .stdout_is("mine\n");
    assert!(
        !sandbox.scratch().home().join(".ssh_new").exists(),
        "home is a scratch folder"
    );
}

fn existing_hooks_and_configuration_are_readable_and_cannot_be_changed(on: Backend) {
    let sandbox = Sandbox::on(on)
        .file(".mcp.json", "{}")
        .file(".vscode/tasks.json", "{}");
    let git = |args: &[&str]| {
        let done = host_command("git")
            .args(args)
            .current_dir(sandbox.workspace())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    std::fs::write(
        sandbox.workspace().join(".git/hooks/pre-commit.sample"),
        "x",
    )
    .unwrap();
    let (_, tried) = sandbox.run_each(&[
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "rm -rf .git/hooks",
        "mv .git/hooks .git/other",
        "mv .git .other",
        "mv .git/config .git/config2",
        "ln -f /bin/sh .git/hooks/post-commit",
        "echo x > .mcp.json",
        "rm .mcp.json",
        "mv .mcp.json x",
        "echo x > .vscode/tasks.json",
        "mv .vscode y",
    ]);
    for attempt in &tried {
        attempt.failure();
    }
    sandbox
        .run("cat .mcp.json .git/config > /dev/null")
        .success();
    assert!(!sandbox.workspace().join(".git/hooks/pre-commit").exists());
    assert!(sandbox.workspace().join(".mcp.json").exists());
    sandbox
        .run("git add -A && git -c user.name=a -c user.email=b commit -qm one && git log --oneline")
        .success()
        .stdout_has("one");
}

fn a_denied_file_cannot_be_read_under_any_name(on: Backend) {
    let policy = format!("{DEFAULT}[filesystem]\ndeny = [\"**/.env\", \"workspace/secret\"]\n");
    let sandbox = Sandbox::on(on)
        .policy(&policy)
        .file(".env", "the key")
        .file("deep/er/.env", "the key")
        .file("secret/file", "the key");
    let (_, tried) = sandbox.run_each(&[
        "cat .env",
        "cat deep/er/.env",
        "cat secret/file",
        "ls secret",
        "chmod 777 .env && cat .env",
        "mv .env other && cat other",
        "ln .env other && cat other",
        "mv secret other; cat other/file",
        "cat /proc/self/cwd/.env",
        "cat /proc/self/root$PWD/.env",
        "rm .env",
    ]);
    for attempt in &tried {
        attempt.failure().lacks("the key");
    }
    assert_eq!(
        std::fs::read_to_string(sandbox.workspace().join(".env")).unwrap(),
        "the key"
    );
}

fn what_a_pattern_denies_stays_denied_for_the_next_run(on: Backend) {
    let policy = format!(
        "{DEFAULT}[filesystem]\ndeny = [\"**/.env\", \"**/config/secrets.yml\", \"workspace/config/*.key\", \"**/vault/**\", \"**/{{a/b,conf/secrets}}.txt\", \"workspace/led/*.pem\", \"workspace/{{b1/x,b2}}/*.key\", \"workspace/b3/{{a,b}}.pem\"]\n"
    );
    let sandbox = Sandbox::on(on)
        .policy(&policy)
        .file("app/config/secrets.yml", "the key")
        .file("config/a.key", "the key")
        .file("cfg/prod.env", "the key")
        .file("app/other/f", "")
        .file("shared/cfg/secrets.yml", "the key")
        .file("shared/v/in/k", "the key")
        .file("shared/cf/secrets.txt", "the key")
        .file("shared/led/a.pem", "the key")
        .file("b1/x/a.key", "the key")
        .file("b2/a.key", "the key")
        .file("b3/b.pem", "the key");
    sandbox.host("ln -s cfg/prod.env .env; ln -s ../cfg/prod.env app/.env; mkdir lib; ln -s ../shared/cfg lib/config; ln -s shared/v vault; ln -s shared/cf conf; ln -s shared/led led");
    sandbox
        .run(
            "cat lib/config/secrets.yml shared/cfg/secrets.yml vault/in/k shared/v/in/k conf/secrets.txt shared/cf/secrets.txt led/a.pem shared/led/a.pem b1/x/a.key b2/a.key b3/b.pem; \
             mv b1 c1; mv b2/a.key b4; mv b3/b.pem b5; \
             rm lib/config vault conf led; mv shared/v v; mv shared/cf cf; mv shared/led l3; mv shared s3; mv shared/cfg shared/c; mv shared/cfg/secrets.yml n; mv lib l2; \
             mv app/config app/z; mv app a2; mv config c2; mv app/config c3; rm .env; mv .env e; ln -sfn x .env; \
             mv cfg c4; mv app/.env e2; rm app/.env; touch keep; ln keep sub.env; mkdir s; ln keep s/.env; \
             python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100, b\"app/config\", -100, b\"s\", 2)'; \
             mv app/other app/o2; touch s/.x",
        )
        .success()
        .stdout_lacks("the key")
        .refused_by("filesystem.deny");
    sandbox.host("test -e s/.env || true; echo the key > s/new; mv s/new s/.env");
    sandbox
        .run("cat $(find . -type f) $(find . -type l); true")
        .success()
        .stdout_lacks("the key");
    assert_eq!(
        sandbox.host("ls app/o2; ls -A s; stat -c %h keep"),
        "f\n.env\n.x\n2\n"
    );
}

fn what_is_denied_by_its_path_is_denied_when_it_appears_later(on: Backend) {
    let policy = format!(
        "{DEFAULT}[filesystem]\ndeny = [\"workspace/.env\", \"workspace/known\", \"workspace/late\"]\n"
    );
    let sandbox = Sandbox::on(on).policy(&policy).file("known", "the key");
    const TRIED: &str = "cat .env; cat known; cat late/file; ls late; cat ./sub/../.env; ln -s .env link; cat link; \
        ln -s late folder; cat folder/file; cat /proc/self/cwd/.env; ln .env hard; cat hard; mv .env moved; cat moved; \
        mv late l2; cat l2/file; cp .env copy; cat copy; grep -r . .; tar cf - .; rm -f .env known; rm -rf late; \
        python3 -c 'import os; d = os.open(\".\", os.O_PATH); f = os.open(\".env\", os.O_PATH, dir_fd=d); \
        print(open(\"/proc/self/fd/%d\" % f).read())'";
    let script = format!("touch up; until test -e go; do sleep 0.01; done; {TRIED}; true");
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| sandbox.run(&script));
        let workspace = sandbox.workspace();
        wait::until("it runs", || workspace.join("up").exists());
        sandbox.host("echo the key > .env; echo the key > new; mv new known; mkdir late sub; echo the key > late/file; touch go");
        run.join().unwrap()
    });
    outcome.success().stdout_lacks("the key");
    outcome.refused_by("filesystem.deny");
    assert_eq!(
        sandbox.host("cat .env known late/file"),
        "the key\n".repeat(3)
    );
}

fn a_protected_link_is_kept_with_what_it_leads_to(on: Backend) {
    let policy = format!("{DEFAULT}[filesystem]\nprotect = [\"workspace/conf\"]\n");
    let sandbox = Sandbox::on(on).policy(&policy).file("real", "mine");
    std::os::unix::fs::symlink("real", sandbox.workspace().join("conf")).unwrap();
    sandbox
        .run("for act in 'echo x > real' 'echo x > conf' 'rm conf' 'ln -sfn other conf' 'mv real r'; do sh -c \"$act\" 2> /dev/null && echo $act; done; cat conf")
        .success()
        .stdout_is("mine")
        .refused_by("filesystem.protect");
}

fn a_private_path_is_empty_at_first_and_kept_per_workspace(on: Backend) {
    let sandbox = Sandbox::on(on).home_file(".cache/theirs", "the key");
    sandbox
        .run("ls -A ~/.cache; echo kept > ~/.cache/ours")
        .success()
        .stdout_lacks("theirs");
    sandbox
        .run("cat ~/.cache/ours")
        .success()
        .stdout_is("kept\n");
    assert!(!sandbox.scratch().home().join(".cache/ours").exists());
    let other = Sandbox::on(on);
    other.run("cat ~/.cache/ours").failure();
}

fn granted_paths_elsewhere_are_what_the_policy_says(on: Backend) {
    let sandbox = Sandbox::on(on);
    let root = sandbox.scratch().root();
    std::fs::create_dir_all(root.join("data")).unwrap();
    std::fs::create_dir_all(root.join("out")).unwrap();
    std::fs::write(root.join("data/f"), "text").unwrap();
    let policy = format!(
        "{DEFAULT}[filesystem]\nwrite = [\"{0}/out\"]\nread = [\"{0}/data\"]\n",
        root.display()
    );
    let sandbox = sandbox.policy(&policy);
    let (data, out) = (root.join("data"), root.join("out"));
    sandbox
        .run(&format!(
            "cat {}/f && echo x > {}/g",
            data.display(),
            out.display()
        ))
        .success();
    sandbox
        .run(&format!("echo x > {}/f", data.display()))
        .failure();
    sandbox
        .run(&format!("ls {}/state", root.display()))
        .failure();
    assert!(out.join("g").exists());
}

#[test]
fn a_workspace_that_is_the_home_directory_or_the_root_is_refused() {
    let sandbox = Sandbox::new().fresh_home();
    let home = sandbox.scratch().home();
    for workspace in [
        home.to_str().unwrap(),
        "/",
        home.parent().unwrap().to_str().unwrap(),
    ] {
        sandbox
            .bailiwick(["run", "--workspace", workspace, "--", "true"])
            .code(126)
            .stderr_has("workspace.too-wide")
            .stderr_has("--allow-wide-workspace");
    }
}

/// Runs a line of shell with the test's home directory as workspace.
#[track_caller]
fn wide(sandbox: &Sandbox, script: &str) -> Outcome {
    let home = sandbox.scratch().home();
    let words = ["run", "--allow-wide-workspace", "-c", script, "--workspace"];
    sandbox.bailiwick(words.iter().map(OsStr::new).chain([home.as_os_str()]))
}

fn a_private_folder_that_has_no_place_says_what_becomes_of_what_is_written_and_what_to_do(
    on: Backend,
) {
    let sandbox = Sandbox::on(on).fresh_home();
    let home = sandbox.scratch().home();
    let outcome = wide(&sandbox, "mkdir ~/.npm && echo 1 > ~/.npm/kept");
    let npm = home.join(".npm");
    outcome
        .success()
        .stderr_has(".npm does not exist, so this run has no private folder there")
        .stderr_has("is kept in your own")
        .stderr_has(&format!("mkdir -p {}", npm.display()));
    assert!(npm.join("kept").exists(), "as the notice says");
    // What it says to do helps.
    let again = wide(&sandbox, "ls ~/.npm");
    again.success().stdout_is("").stderr_lacks(".npm");
}

fn our_own_state_stays_hidden_even_in_a_wide_workspace(on: Backend) {
    let sandbox = Sandbox::on(on).fresh_home();
    let root = sandbox.scratch().root();
    let outcome = sandbox.bailiwick([
        "run",
        "--allow-wide-workspace",
        "--workspace",
        root.to_str().unwrap(),
        "--",
        "sh",
        "-c",
        "ls state/bailiwick/sessions || echo hidden",
    ]);
    outcome.success().stdout_is("hidden\n");
}

fn no_litter_is_left_in_the_workspace(on: Backend) {
    let sandbox = Sandbox::on(on)
        .file("a", "")
        .file(".git/hooks/x", "")
        .file(".git/config", "");
    let list = || {
        let found = host_command("find")
            .arg(sandbox.workspace())
            .output()
            .unwrap();
        let mut lines: Vec<_> = found
            .stdout
            .split(|b| *b == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        lines.sort();
        lines
    };
    let before = list();
    sandbox.run("true").success();
    assert_eq!(list(), before);
}

fn a_link_that_a_sandbox_left_does_not_choose_what_the_next_one_sees(on: Backend) {
    let policy = format!("{DEFAULT}[filesystem]\nread = [\"workspace/a/out\"]\n");
    let sandbox = Sandbox::on(on).policy(&policy).file("a/out/key", "mine");
    let secret = sandbox.scratch().write("secret/key", "the key");
    let secret = secret.parent().unwrap().display().to_string();
    sandbox.host(&format!("mv a b; mkdir a; ln -s {secret} a/out"));
    sandbox
        .run("cat a/out/key")
        .code(126)
        .stdout_lacks("the key")
        .stderr_has("symbolic link in a folder that a sandbox may write")
        .stderr_has("policy-1.toml:3:");
}

fn the_users_policy_cannot_be_written_from_inside_even_where_it_does_not_exist_yet(on: Backend) {
    let sandbox = Sandbox::on(on).fresh_home();
    let home = sandbox.scratch().home();
    std::fs::create_dir(home.join(".config")).unwrap();
    let policy = sandbox
        .policy(&format!("{DEFAULT}[filesystem]\nwrite = [\"~/.config\"]\n"))
        .option("--allow-wide-workspace")
        .host_env("XDG_CONFIG_HOME", home.join(".config"));
    policy.run("echo mine > ~/.config/mine").success();
    policy
        .run("mkdir -p ~/.config/bailiwick; echo x > ~/.config/bailiwick/policy.toml")
        .failure();
    assert!(home.join(".config/mine").exists());
    assert!(!home.join(".config/bailiwick/policy.toml").exists());
}

fn the_folder_of_policies_is_kept_from_the_command_wherever_it_will_be(on: Backend) {
    let sandbox = Sandbox::on(on).fresh_home();
    let home = sandbox.scratch().home();
    let sandbox = sandbox.host_env("XDG_CONFIG_HOME", home.join(".config"));
    let script = "echo x > ~/.config/bailiwick/policy.toml || echo kept";
    wide(&sandbox, script).success().stdout_is("kept\n");
    // Behind a link to what is not there yet.
    std::fs::remove_dir_all(home.join(".config")).unwrap();
    std::os::unix::fs::symlink("dot/config", home.join(".config")).unwrap();
    let script =
        "mkdir -p dot/config/bailiwick; echo x > dot/config/bailiwick/policy.toml || echo kept";
    wide(&sandbox, script).success().stdout_is("kept\n");
    std::fs::remove_dir_all(home.join("dot")).unwrap();
    std::fs::create_dir(home.join("dot")).unwrap();
    let dot = home.join("dot");
    let words = ["run", "-c", "true", "--workspace", dot.to_str().unwrap()];
    let refused = sandbox.bailiwick(words);
    refused.code(126).stderr_has("contains the user's policy");
    // Where it cannot be made nothing is started.
    std::fs::write(home.join("dot/config"), "").unwrap();
    wide(&sandbox, "true")
        .code(125)
        .stderr_has("cannot be made");
}

fn a_link_on_the_way_to_the_products_own_files_is_followed_unless_a_sandbox_may_write_it(
    on: Backend,
) {
    let sandbox = Sandbox::on(on).fresh_home();
    let home = sandbox.scratch().home();
    let elsewhere = sandbox.scratch().root().join("elsewhere");
    std::fs::create_dir_all(elsewhere.join("state")).unwrap();
    std::os::unix::fs::symlink(&elsewhere, home.join(".local")).unwrap();
    let granted = |folder: &std::path::Path| {
        format!(
            "{DEFAULT}[filesystem]\nwrite = [\"{}\"]\n",
            folder.display()
        )
    };
    let state = home.join(".local/state");
    // Also where it leads into what is granted: the product's own files are hidden there.
    let open = sandbox.host_env("XDG_STATE_HOME", &state);
    let open = open.policy(&granted(&elsewhere));
    let words = ["run", "--allow-wide-workspace", "--policy", "POLICY", "-c"];
    let run = |policy: &str, script: &str| {
        let policy = open.scratch().root().join(policy);
        let words = words.map(|word| match word {
            "POLICY" => policy.to_str().unwrap().to_owned(),
            word => word.to_owned(),
        });
        open.bailiwick(words.iter().map(String::as_str).chain([script]))
    };
    let script = "echo 1 > ~/.cache/x && ls ~/.local/state/bailiwick; true";
    run("policy-1.toml", script).success().stdout_is("");
    open.scratch().write("wide.toml", granted(&home));
    run("wide.toml", "true")
        .code(125)
        .stderr_has("a symbolic link that a sandbox may have put there")
        .stderr_has("remedy: set XDG_STATE_HOME")
        .stderr_lacks("container");
    // None of the product's own folders is a link.
    let projects = elsewhere.join("state/bailiwick/projects");
    std::fs::rename(&projects, elsewhere.join("moved")).unwrap();
    std::os::unix::fs::symlink("../../moved", &projects).unwrap();
    run("policy-1.toml", "true")
        .code(125)
        .stderr_has("projects, a symbolic link that a sandbox may have put there");
    std::fs::remove_file(&projects).unwrap();
    // A private folder behind a link that is shown.
    let text = format!(
        "{DEFAULT}[filesystem]\nread = [\"{0}\"]\nprivate = [\"{0}/share\"]\n",
        home.join(".local").display()
    );
    open.scratch().write("behind.toml", text);
    run("behind.toml", "true")
        .code(125)
        .stderr_has("without the link")
        .stderr_lacks("container");
}

fn what_is_lost_at_the_end_is_said_at_the_start(on: Backend) {
    let sandbox = Sandbox::on(on)
        .fresh_home()
        .policy(&format!("{DEFAULT}[filesystem]\nwrite = [\"~/results\"]\n"));
    sandbox
        .run("true")
        .success()
        .stderr_has("results may be written but does not exist");
    Sandbox::on(on)
        .fresh_home()
        .policy(&format!(
            "{DEFAULT}[filesystem]\nwrite = [\"~/one\", \"~/two\"]\n"
        ))
        .run("true")
        .success()
        .stderr_has("two may be written but do not exist")
        .stderr_has("make them first");
}

#[test]
fn the_products_cache_is_hidden_also_where_a_policy_grants_it() {
    let sandbox = Sandbox::new().fresh_home();
    let guest = sandbox
        .scratch()
        .write("cache/bailiwick/guest/init", "the guest's");
    let cache = sandbox.scratch().root().join("cache");
    let policy = format!("{DEFAULT}[filesystem]\nwrite = [{cache:?}]\n");
    let sandbox = sandbox.host_env("XDG_CACHE_HOME", &cache).policy(&policy);
    let sandbox = sandbox.option("--allow-wide-workspace");
    let script = format!(
        "cd {}; echo mine > own; cat own bailiwick/guest/init; ls bailiwick
        echo x > bailiwick/guest/init; echo x > bailiwick/new; mv bailiwick aside; true",
        cache.display()
    );
    sandbox.run(&script).success().stdout_is("mine\n");
    assert_eq!(std::fs::read_to_string(&guest).unwrap(), "the guest's");
    assert_eq!(
        std::fs::read_dir(cache.join("bailiwick")).unwrap().count(),
        1
    );
}

#[test]
fn a_policy_that_opens_the_home_directory_is_refused_as_a_workspace_would_be() {
    let text = "extends = [\"default\"]\n\n[filesystem]\nwrite = [\".\"]\n";
    let sandbox = Sandbox::new().home_file("bailiwick.toml", text);
    let file = sandbox.scratch().home().join("bailiwick.toml");
    let words = [OsStr::new("run"), OsStr::new("--policy"), file.as_os_str()];
    let run = |more: &[&str]| {
        let more = more.iter().map(OsStr::new);
        sandbox.bailiwick(words.into_iter().chain(more))
    };
    run(&["-c", "echo x > ~/.bashrc"])
        .code(126)
        .stderr_has("is the home directory: no sandbox may write that as a whole")
        .stderr_has("rule: filesystem.write (")
        .stderr_has("bailiwick.toml:4:10)")
        .stderr_has("remedy: name the folders that are needed");
    assert!(!sandbox.scratch().home().join(".bashrc").exists());
    sandbox
        .bailiwick([OsStr::new("policy"), OsStr::new("check"), file.as_os_str()])
        .code(2)
        .stderr_has("bailiwick.toml:4:10: error:")
        .stderr_has("is the home directory");
    // Both of what the remedy says work.
    run(&["--allow-wide-workspace", "-c", "echo x > ~/.bashrc"]).success();
    assert!(sandbox.scratch().home().join(".bashrc").exists());
    std::fs::create_dir(sandbox.scratch().home().join("data")).unwrap();
    let narrower = text.replace("\".\"", "\"data\"");
    sandbox.scratch().write("home/bailiwick.toml", narrower);
    run(&["-c", "echo x > ~/data/x"]).success();
}
