//! What a session with a disk sees, and `bailiwick cp`.

use crate::{Sandbox, asked, exec, sandbox, start, wait};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};

#[test]
fn the_workspace_is_there_as_a_copy_and_stays_what_it_was() {
    let sandbox = sandbox()
        .policy("extends = [\"default\"]\n[filesystem]\ndeny = [\"workspace/secret\"]\n")
        .file("a/data", "data")
        .program("tool", "#!/bin/sh\necho ran\n")
        .file("secret", "hidden from it");
    let workspace = sandbox.workspace();
    symlink("a/data", workspace.join("link")).unwrap();
    let before = fs::metadata(workspace.join("a/data")).unwrap();
    let ran = sandbox.run(
        "cat link; ./tool; cat secret; stat -c %y a/data; ls; echo changed > a/data; rm link; echo new > new; \
         df --output=source . | tail -1",
    );
    ran.code(0).stdout_has("dataran\n").stdout_lacks("hidden");
    assert_eq!(fs::read(workspace.join("a/data")).unwrap(), b"data");
    let after = fs::metadata(workspace.join("a/data")).unwrap();
    assert_eq!(before.mtime_nsec(), after.mtime_nsec());
    let written = format!("{:09}", before.mtime_nsec());
    ran.stdout_has(&written);
    assert!(workspace.join("link").exists());
    assert!(!workspace.join("new").exists());
}

#[test]
fn a_disk_that_the_workspace_does_not_fit_on_is_told_with_the_remedy() {
    let sandbox = Sandbox::on(crate::Backend::Vm)
        .option("--disk=16MiB")
        .option("--memory=512MiB")
        .file("big", vec![7; 20 << 20]);
    let ran = sandbox.run("echo never");
    ran.code(125)
        .stdout_lacks("never")
        .stderr_has("No space left on device")
        .stderr_has("--disk=SIZE");
    let machines = sandbox.scratch().state().join("bailiwick/machines");
    assert_eq!(
        fs::read_dir(machines).unwrap().count(),
        0,
        "nothing is left"
    );
}

#[test]
fn a_full_disk_of_a_machine_is_an_error_of_the_command() {
    let sandbox = Sandbox::on(crate::Backend::Vm)
        .option("--disk=32MiB")
        .option("--memory=512MiB")
        .file("kept", "kept");
    let ran = sandbox.run(
        "head -c 100M /dev/zero > big || echo full; cat kept; rm big; echo more > more; sync; cat more",
    );
    ran.code(0)
        .stdout_is("full\nkeptmore\n")
        .stderr_has("No space left on device");
    crate::is_in_order(&crate::machines(&sandbox)[0].join("disk"));
}

#[test]
fn files_are_copied_in_and_out_with_what_belongs_to_them() {
    let sandbox = sandbox().file("in/one", "one").file("in/d/two", "two");
    let workspace = sandbox.workspace();
    symlink("nowhere", workspace.join("in/link")).unwrap();
    fs::set_permissions(
        workspace.join("in/d/two"),
        fs::Permissions::from_mode(0o640),
    )
    .unwrap();
    let _run = start(&sandbox, "box", "mkdir -p /tmp/there; echo up; cat");
    sandbox.bailiwick(["cp", "in", "box:/tmp/there"]).code(0);
    let seen = asked(
        &sandbox,
        "box",
        "cd /tmp/there/in; cat one d/two; readlink link; stat -c %a d/two; echo three > three",
    );
    assert_eq!(seen, "onetwonowhere\n640");
    sandbox
        .bailiwick(["cp", "box:/tmp/there/in", "back"])
        .code(0);
    let read = |path: &str| fs::read_to_string(workspace.join("back").join(path)).unwrap();
    assert_eq!(
        read("one") + &read("d/two") + &read("three"),
        "onetwothree\n"
    );
    assert_eq!(
        fs::read_link(workspace.join("back/link")).unwrap().to_str(),
        Some("nowhere")
    );
    // A file, into a folder and under another name.
    sandbox
        .bailiwick(["cp", "box:/tmp/there/in/three", "in"])
        .code(0);
    sandbox
        .bailiwick(["cp", "box:/tmp/there/in/three", "four"])
        .code(0);
    assert_eq!(fs::read(workspace.join("in/three")).unwrap(), b"three\n");
    assert_eq!(fs::read(workspace.join("four")).unwrap(), b"three\n");
}

#[test]
fn a_copy_that_cannot_be_made_says_why() {
    let sandbox = sandbox().file("one", "one");
    let _run = start(&sandbox, "box", "echo up; cat");
    let copy = |from: &str, to: &str| sandbox.bailiwick(["cp", from, to]);
    copy("box:/not/there", "x")
        .code(2)
        .stderr_has("/not/there: No such file");
    copy("not-there", "box:/tmp")
        .code(2)
        .stderr_has("not-there: No such file");
    copy("one", "box:/not/there")
        .code(2)
        .stderr_has("No such file");
    copy("one", "two").code(2).stderr_has("SESSION:PATH");
    copy("one", "nobody:/tmp").code(2).stderr_has("nobody");
    exec(&sandbox, "box", "true").code(0);
}

#[test]
fn a_limit_on_disk_is_the_size_of_the_disk() {
    let sandbox = sandbox().policy("extends = [\"default\"]\n[limits]\ndisk = \"64MiB\"\n");
    let ran = sandbox.run("df --block-size=1M --output=size . | tail -1");
    let size: u32 = ran.code(0).stdout().trim().parse().unwrap();
    assert!((32..=64).contains(&size), "{size} MiB");
}

#[test]
fn who_has_had_enough_while_a_large_workspace_is_copied_does_not_wait_for_it() {
    let sandbox = sandbox();
    // All of it has to be written in the machine.
    let large = fs::File::create(sandbox.workspace().join("large")).unwrap();
    large.set_len(4 << 30).unwrap();
    let mut command = sandbox.command();
    command
        .arg("run")
        .args(sandbox.options())
        .args(["--", "echo", "never"]);
    let mut child = command
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let machines = sandbox.scratch().state().join("bailiwick/sessions");
    let written = || {
        let sessions = fs::read_dir(&machines).into_iter().flatten().flatten();
        let disks = sessions.map(|session| session.path().join("machine/disk"));
        let blocks = disks.filter_map(|disk| Some(fs::metadata(disk).ok()?.blocks()));
        blocks.max().unwrap_or_default() * 512
    };
    wait::until("some of it is copied", || written() > 64 << 20);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let mut most = 0;
    let ended = wait::for_some("it ends", || {
        most = most.max(written());
        child.try_wait().unwrap()
    });
    assert_eq!(ended.code(), Some(125));
    assert!(most < 4 << 30, "all of it was copied");
}

#[test]
fn no_link_of_a_sessions_chooses_where_its_files_are_copied_to() {
    let sandbox = sandbox().file("victim", "mine");
    let workspace = sandbox.workspace();
    fs::create_dir(workspace.join("got")).unwrap();
    let _run = start(&sandbox, "box", "ln -s ../victim /tmp/out; echo up; cat");
    sandbox.bailiwick(["cp", "box:/tmp/out", "got"]).code(0);
    asked(&sandbox, "box", "rm /tmp/out; echo pwned > /tmp/out");
    sandbox.bailiwick(["cp", "box:/tmp/out", "got"]).code(0);
    let read = |path: &str| fs::read_to_string(workspace.join(path)).unwrap();
    assert_eq!(
        (read("victim"), read("got/out")),
        ("mine".to_owned(), "pwned\n".to_owned())
    );
    assert!(!workspace.join("got/out").is_symlink());
    // Where the workspace is shared, the session makes them itself.
    symlink("got", workspace.join("way")).unwrap();
    symlink("victim", workspace.join("file")).unwrap();
    for to in ["way", "way/other", "file"] {
        sandbox
            .bailiwick(["cp", "box:/tmp/out", to])
            .code(2)
            .stderr_has("is a link");
    }
    assert_eq!(read("victim"), "mine");
}
