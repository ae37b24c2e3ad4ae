use super::*;
use crate::kernel;
use rustix::process::{Pid, WaitOptions, waitpid};
use tempfile::TempDir;

/// The exit code of a command, or the error by which it was not executed, behind 1000.
fn run(folders: &str, words: &[&str]) -> i32 {
    let command = Command {
        argv: words.iter().map(Into::into).collect(),
        cwd: "/".into(),
        environment: vec![("PATH".into(), folders.into())],
    };
    let image = Image::new(&command).unwrap();
    let mut failed = 0;
    let pid = kernel::spawn(&mut || {
        failed = 1000 + image.execute().raw_os_error();
        127
    })
    .unwrap();
    let (_, status) = waitpid(Pid::from_raw(pid), WaitOptions::empty())
        .unwrap()
        .unwrap();
    match failed {
        0 => status.exit_status().unwrap(),
        failed => failed,
    }
}

/// Writes a script through another process. Were it open for writing in this one for a moment, a
/// child that another test starts in that moment would hold it open, and executing it would fail
/// with `ETXTBSY`.
fn script(folder: &Path, name: &str, text: &str, mode: u32) {
    let written = std::process::Command::new("sh")
        .args([
            "-c",
            "printf %s \"$1\" > \"$2\" && chmod \"$3\" \"$2\"",
            "sh",
        ])
        .args([text, folder.join(name).to_str().unwrap()])
        .arg(format!("{mode:o}"))
        .status();
    assert!(written.unwrap().success());
}

#[test]
fn a_command_is_found_as_a_shell_finds_it() {
    let both = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let [first, second] = both.each_ref().map(TempDir::path);
    let path = format!(
        "/nowhere:{}:{}:/usr/bin:/bin",
        first.display(),
        second.display()
    );
    script(second, "tool", "#!/bin/sh\nexit 7", 0o755);
    assert_eq!(run(&path, &["tool"]), 7);
    // One that may not be executed hides no other.
    script(first, "tool", "#!/bin/sh\nexit 8", 0o644);
    assert_eq!(run(&path, &["tool"]), 7);
    script(first, "tool", "#!/bin/sh\nexit 8", 0o755);
    assert_eq!(run(&path, &["tool"]), 8);
    script(first, "data", "", 0o644);
    assert_eq!(run(&path, &["data"]), 1000 + libc::EACCES);
    assert_eq!(run(&path, &["no-such-command"]), 1000 + libc::ENOENT);
    assert_eq!(run(&path, &[""]), 1000 + libc::ENOENT);
    let whole = second.join("tool");
    assert_eq!(run("", &[whole.to_str().unwrap()]), 7);
}

#[test]
fn a_script_without_an_interpreter_line_is_the_shells() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().display().to_string();
    script(
        folder.path(),
        "plain",
        "test \"$1 $2\" = 'a b' && exit 9",
        0o755,
    );
    assert_eq!(run(&path, &["plain", "a", "b"]), 9);
}

#[test]
fn what_no_string_of_c_can_hold_is_an_error() {
    let command = Command {
        argv: vec!["a\0b".into()],
        cwd: "/".into(),
        environment: vec![],
    };
    let error = Image::new(&command).err().unwrap();
    assert_eq!(error.raw_os_error(), Some(libc::EINVAL));
}
