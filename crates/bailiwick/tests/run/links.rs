//! No path is shown, and no file obeyed, because of a link that an earlier run could have left.

use crate::support::{Backend, Outcome, Sandbox};
use std::ffi::OsStr;
use std::os::unix::fs::{MetadataExt as _, symlink};
use std::path::{Path, PathBuf};

on_every_backend! {
    a_link_of_an_earlier_run_does_not_choose_what_an_entry_shows,
    a_link_of_a_sandbox_to_what_is_shown_anyway_costs_nothing,
    a_workspace_that_became_a_link_is_refused,
}

const DEFAULT: &str = "extends = [\"default\"]\n";

/// A home directory with a key in it, and a repository in which sandboxes run.
struct Home {
    sandbox: Sandbox,
}

impl Home {
    fn on(on: Backend) -> Self {
        let sandbox = Sandbox::on(on)
            .home_file(".ssh/id", "the key\n")
            .home_file("mono/README", "");
        Self { sandbox }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.sandbox.scratch().home().join(path)
    }

    /// Runs a line of shell in the repository.
    #[track_caller]
    fn in_mono(&self, script: &str) -> Outcome {
        run_in(&self.sandbox, &self.path("mono"), script)
    }

    /// Puts a link where an earlier run could write that leads to the folder of the key.
    #[track_caller]
    fn with_a_planted_link(self, at: &str) -> Self {
        self.in_mono("true").success();
        symlink(self.path(".ssh"), self.path("mono").join(at)).unwrap();
        self
    }
}

/// Runs a line of shell in a folder.
#[track_caller]
fn run_in(sandbox: &Sandbox, workspace: &Path, script: &str) -> Outcome {
    let words = ["run", "-c", script, "--workspace"];
    sandbox.bailiwick(words.iter().map(OsStr::new).chain([workspace.as_os_str()]))
}

fn a_link_of_an_earlier_run_does_not_choose_what_an_entry_shows(on: Backend) {
    for (key, entry) in [
        ("read", "~/mono/pkg"),
        ("read", "~/mono/pkg/id"),
        ("write", "~/mono/pkg"),
        ("read", "~/mono/p*"),
    ] {
        let mut home = Home::on(on).with_a_planted_link("pkg");
        let policy = format!("{DEFAULT}[filesystem]\n{key} = [\"{entry}\"]\n");
        home.sandbox = home.sandbox.policy(&policy);
        let outcome = home.sandbox.run("cat ~/.ssh/id ~/mono/pkg/id");
        outcome
            .code(126)
            .stdout_lacks("the key")
            .stderr_has(
                "mono/pkg is a symbolic link in a folder that an earlier sandbox could write",
            )
            .stderr_has(&format!("rule: filesystem.{key} ("))
            .stderr_has("policy-1.toml:3:")
            .stderr_has("without the link");
    }
}

fn a_link_of_a_sandbox_to_what_is_shown_anyway_costs_nothing(on: Backend) {
    let mut home = Home::on(on);
    home.in_mono("mkdir -p tool/bin node_modules/.bin && echo works > tool/bin/it")
        .success();
    home.in_mono("ln -s ../../tool/bin/it node_modules/.bin/it")
        .success();
    let policy = format!(
        "{DEFAULT}[filesystem]\nread = [\"~/mono/tool\", \"~/mono/node_modules/.bin/it\"]\n"
    );
    home.sandbox = home.sandbox.policy(&policy);
    let outcome = home
        .sandbox
        .run("cat ~/mono/tool/bin/it ~/mono/node_modules/.bin/it");
    outcome.success().stdout_is("works\nworks\n");
    assert_eq!(outcome.stderr(), "");
}

fn a_workspace_that_became_a_link_is_refused(on: Backend) {
    let home = Home::on(on).with_a_planted_link("pkg");
    std::fs::create_dir(home.path(".ssh/deep")).unwrap();
    for way in ["mono/pkg", "mono/pkg/deep", "mono/../mono/pkg"] {
        run_in(&home.sandbox, &home.path(way), "echo x > new; cat id")
            .code(2)
            .stdout_lacks("the key")
            .stderr_has(
                "mono/pkg is a symbolic link in a folder that an earlier sandbox could write",
            )
            .stderr_has(&format!("leads to {}", home.path(".ssh").display()))
            .stderr_has(&format!("--workspace {}", home.path(".ssh").display()));
    }
    assert!(!home.path(".ssh/new").exists());
    // What it says to do works.
    run_in(&home.sandbox, &home.path(".ssh"), "cat id")
        .success()
        .stdout_is("the key\n");
}

#[test]
fn a_workspace_that_a_shell_entered_by_a_link_of_an_earlier_run_is_refused() {
    let home = Home::on(Backend::Process).with_a_planted_link("pkg");
    let mono = home.path("mono").display().to_string();
    let run = |script: &str| {
        let mut shell = home.sandbox.shell(&format!("cd {mono} && {script}"));
        shell.output().unwrap()
    };
    for script in [
        "cd pkg && exec \"$B\" run -c 'echo x > new; cat id'",
        "cd pkg && exec \"$B\" shell </dev/null",
        "cd pkg && exec \"$B\" policy show",
    ] {
        let outcome = run(script);
        let said = String::from_utf8_lossy(&outcome.stderr);
        assert_eq!(outcome.status.code(), Some(2), "{script}: {said}");
        assert!(said.contains("mono/pkg is a symbolic link"), "{said}");
    }
    assert!(!home.path(".ssh/new").exists());
    // Whoever goes to the folder itself means it.
    let outcome = run("cd -P pkg && exec \"$B\" run -c 'cat id'");
    assert_eq!(String::from_utf8_lossy(&outcome.stdout), "the key\n");
}

/// A home directory with a key among the files of programs, and a tool that leads into the workspace.
fn tools() -> Sandbox {
    let sandbox = Sandbox::new()
        .home_file(".local/share/keyrings/login", "the key\n")
        .home_file("private/bin/notes", "the key\n")
        .home_file("private/lib/notes", "the key\n");
    let home = sandbox.scratch().home();
    std::fs::create_dir_all(home.join(".local/bin")).unwrap();
    let tool = sandbox.workspace().join("bin/tool");
    symlink(tool, home.join(".local/bin/tool")).unwrap();
    let folders = [home.join(".local/bin"), home.join("venv/bin")];
    let path = folders.map(|folder| folder.display().to_string()).join(":");
    sandbox.host_env("PATH", format!("{path}:/usr/bin:/bin"))
}

#[test]
fn a_tool_on_the_path_that_a_sandbox_made_a_link_shows_nothing() {
    let sandbox = tools();
    let keyrings = sandbox.scratch().home().join(".local/share/keyrings");
    let keyrings = keyrings.display().to_string();
    sandbox.run("mkdir bin").success();
    sandbox.host(&format!("ln -s {keyrings}/login bin/tool"));
    let other = sandbox.scratch().write("other/x", "");
    let other = other.parent().unwrap();
    for outcome in [
        sandbox.run("cat ~/.local/share/keyrings/login"),
        // Where it is another workspace by now, too.
        run_in(&sandbox, other, "cat ~/.local/share/keyrings/login"),
    ] {
        outcome
            .failure()
            .stdout_lacks("the key")
            .stderr_has("bin/tool is a symbolic link in a folder that")
            .stderr_has(&format!("add \"{keyrings}\" to [filesystem] read"));
    }
    // The remedy works, and nothing more is said.
    let policy = format!("{DEFAULT}[filesystem]\nread = [\"{keyrings}\"]\n");
    let outcome = sandbox
        .policy(&policy)
        .run("cat ~/.local/share/keyrings/login");
    outcome.success().stdout_is("the key\n");
    assert_eq!(outcome.stderr(), "");
}

#[test]
fn a_virtual_environment_of_a_sandbox_brings_no_folder_along() {
    let sandbox = tools();
    let home = sandbox.scratch().home();
    std::fs::create_dir_all(home.join("venv/bin")).unwrap();
    run_in(&sandbox, &home.join("venv"), "touch pyvenv.cfg").success();
    symlink(home.join("private/bin/notes"), home.join("venv/bin/python")).unwrap();
    sandbox
        .run("cat ~/private/lib/notes")
        .failure()
        .stdout_lacks("the key")
        .stderr_has(
            "bin/python is a symbolic link in a folder that an earlier sandbox could write",
        );
}

#[test]
fn a_policy_file_that_a_sandbox_made_a_link_is_not_obeyed() {
    let sandbox = Sandbox::new().file("p.toml", DEFAULT);
    let open = format!("{DEFAULT}[network]\nallow = [\"a.test\"]\n");
    let other = sandbox.scratch().write("other.toml", open);
    sandbox.run("rm p.toml").success();
    sandbox.host(&format!("ln -s {} p.toml", other.display()));
    let sandbox = sandbox.option("--policy").option("./p.toml");
    sandbox
        .run("true")
        .code(2)
        .stderr_has("the policy ./p.toml cannot be used")
        .stderr_has("p.toml is a symbolic link in a folder that a sandbox may write")
        .stderr_has("name it itself");
}

#[test]
fn folders_are_remembered_once_and_for_the_user_alone() {
    let home = Home::on(Backend::Process);
    let list = home.sandbox.scratch().state().join("bailiwick/written");
    let mono = home.path("mono").display().to_string();
    home.in_mono("true").success();
    assert_eq!(std::fs::read_to_string(&list).unwrap(), format!("{mono}\n"));
    let before = std::fs::metadata(&list).unwrap();
    assert_eq!(before.mode() & 0o777, 0o600);
    std::fs::create_dir(home.path("mono/deep")).unwrap();
    home.in_mono("true").success();
    run_in(&home.sandbox, &home.path("mono/deep"), "true").success();
    let after = std::fs::metadata(&list).unwrap();
    assert_eq!(after.ino(), before.ino(), "it was only read");
    // What is only read, and what is private, is none of it.
    let policy = format!("{DEFAULT}[filesystem]\nread = [\"~/.ssh\"]\nwrite = [\"~/out\"]\n");
    std::fs::create_dir(home.path("out")).unwrap();
    let sandbox = home.sandbox.policy(&policy);
    sandbox.run("true").success();
    let text = std::fs::read_to_string(&list).unwrap();
    assert_eq!(text.lines().count(), 3, "{text}");
    assert!(
        text.contains("/home/out\n") && text.contains("/workspace\n"),
        "{text}"
    );
}

#[test]
fn without_its_list_of_folders_nothing_is_started() {
    let home = Home::on(Backend::Process);
    home.in_mono("true").success();
    let list = home.sandbox.scratch().state().join("bailiwick/written");
    std::fs::write(&list, "no path\n").unwrap();
    home.in_mono("true")
        .code(125)
        .stderr_has("bailiwick/written")
        .stderr_has("line 1 is no absolute path")
        .stderr_has("remedy: mend it, or remove it");
    std::fs::remove_file(&list).unwrap();
    home.in_mono("true").success();
}

#[test]
fn without_namespaces_a_link_of_an_earlier_run_shows_nothing_either() {
    let mut home = Home::on(Backend::Process);
    home.sandbox = home.sandbox.without_namespaces();
    let words = |home: &Home, script: &str| {
        let mono = home.path("mono");
        let words = ["run", "--best-effort", "-c", script, "--workspace"];
        home.sandbox
            .bailiwick(words.iter().map(OsStr::new).chain([mono.as_os_str()]))
    };
    words(&home, "true").success();
    symlink(home.path(".ssh"), home.path("mono/pkg")).unwrap();
    let policy = format!("{DEFAULT}[filesystem]\nread = [\"~/mono/pkg\"]\n");
    home.sandbox = home.sandbox.policy(&policy);
    home.sandbox
        .run("cat ~/mono/pkg/id")
        .code(126)
        .stdout_lacks("the key")
        .stderr_has("an earlier sandbox could write");
}
