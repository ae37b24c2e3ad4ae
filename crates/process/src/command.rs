//! The last steps in the command's own process: from here on nothing of ours is left but the
//! restrictions.

use crate::kernel;
use crate::limits;
use crate::pty::Pty;
use bailiwick_sandbox::Launch;
use rustix::fd::AsFd;
use rustix::fs::Mode;
use rustix::process::{chdir, getpid, setpgid};
use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

/// Becomes the command; returns only where that failed.
pub(crate) fn become_command(launch: &Launch<'_>, pty: Option<&Pty>, umask: Mode) -> io::Error {
    rustix::process::umask(umask);
    match prepare(launch, pty) {
        Ok(()) => execute(launch),
        Err(error) => error,
    }
}

fn prepare(launch: &Launch<'_>, pty: Option<&Pty>) -> io::Result<()> {
    let own = getpid();
    setpgid(None, Some(own))?;
    if let (Some(pty), Some(shape)) = (pty, &launch.terminal) {
        // SIGTTOU is ignored by pid 1 and so still here: a background group may do this.
        rustix::termios::tcsetpgrp(&pty.slave, own)?;
        let [stdin, stdout, stderr] = shape.streams;
        if stdin {
            rustix::stdio::dup2_stdin(pty.slave.as_fd())?;
        }
        if stdout {
            rustix::stdio::dup2_stdout(pty.slave.as_fd())?;
        }
        if stderr {
            rustix::stdio::dup2_stderr(pty.slave.as_fd())?;
        }
    }
    kernel::close_on_exec_from(3)?;
    limits::apply(&launch.policy.limits)?;
    chdir(launch.cwd)?;
    // Every other signal is as pid 1 has set it at its start: unblocked, with its default action.
    kernel::default_signal(libc::SIGTTOU);
    Ok(())
}

fn c_string(bytes: Vec<u8>) -> io::Result<CString> {
    CString::new(bytes).map_err(|_| io::Error::from_raw_os_error(libc::EINVAL))
}

/// Executes the command, found as a shell finds it: by the sandbox's own PATH.
fn execute(launch: &Launch<'_>) -> io::Error {
    let words = launch
        .argv
        .iter()
        .map(|word| c_string(word.clone().into_vec()));
    let variables = launch
        .environment
        .iter()
        .map(|(key, value)| c_string([key.as_bytes(), b"=", value.as_bytes()].concat()));
    let both = words.collect::<io::Result<Vec<_>>>();
    let (argv, environment) = match (both, variables.collect::<io::Result<Vec<_>>>()) {
        (Ok(argv), Ok(environment)) => (argv, environment),
        (Err(error), _) | (_, Err(error)) => return error,
    };
    let path = launch
        .environment
        .iter()
        .find(|(key, _)| key == "PATH")
        .map(|(_, value)| value);
    let mut worst = io::Error::from_raw_os_error(libc::ENOENT);
    for candidate in candidates(&launch.argv[0], path) {
        let Ok(file) = c_string(candidate.into_vec()) else {
            continue;
        };
        let error = kernel::exec(&file, &argv, &environment);
        match error.raw_os_error() {
            Some(libc::ENOENT | libc::ENOTDIR) => {}
            Some(libc::ENOEXEC) => {
                // A script without an interpreter line is the shell's, as with execvp(3).
                let mut shell = vec![c"sh".to_owned(), file];
                shell.extend_from_slice(&argv[1..]);
                return kernel::exec(&c"/bin/sh".to_owned(), &shell, &environment);
            }
            Some(libc::EACCES) => worst = error,
            _ => return error,
        }
    }
    worst
}

/// Where a command of this name may lie.
fn candidates(name: &OsStr, path: Option<&OsString>) -> Vec<OsString> {
    if name.as_bytes().contains(&b'/') {
        return vec![name.to_owned()];
    }
    if name.is_empty() {
        return vec![];
    }
    let default = OsString::from("/usr/local/bin:/usr/bin:/bin");
    std::env::split_paths(path.unwrap_or(&default))
        .map(|folder| {
            if folder.as_os_str().is_empty() {
                Path::new(".").join(name)
            } else {
                folder.join(name)
            }
        })
        .map(OsString::from)
        .collect()
}
