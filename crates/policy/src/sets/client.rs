//! Where a client is installed, and, where nothing else helps, what it says itself. A program that
//! Where a client is installed, and, where nothing else helps, what it says itself. A program that lies in the
//! workspace, where any sandbox could write, or where a link from there leads to, is never started, and the
//! answer of another is not what a file of the workspace says: the client is not told of any.

use super::Search;
use crate::{Foreign, PathPattern, Way};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a client may take to answer.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
/// How much of an answer is read, in bytes.
const MAX_ANSWER: usize = 64 << 10;

/// The programs of this name on PATH, in its order, that no sandbox can have put there.
pub(crate) fn on_path(search: &Search<'_>, name: &str) -> Vec<PathBuf> {
    let path = search.request.variable("PATH").unwrap_or(OsStr::new(""));
    let folders = std::env::split_paths(path).filter(|f| f.is_absolute());
    let there = folders.filter_map(|folder| {
        let file = folder.join(name);
        let way = Way::of(&file).filter(|_| file.is_file())?;
        Some((file, way))
    });
    let there: Vec<(PathBuf, Way)> = there.collect();
    let own = vec![PathPattern::Path(search.workspace.to_path_buf())];
    // Where nobody knows what sandboxes could write, none is started.
    let Ok(foreign) = Foreign::new(own, Some(&search.request.written_file)) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = Vec::new();
    for (file, way) in there {
        let theirs = foreign.holds(&way.real) || foreign.among(&way.links).is_some();
        if !theirs && !search.is_workspaces(&file) && !found.contains(&file) {
            found.push(file);
        }
    }
    found
}

/// What the first program of this name prints, if it ends well in time. `settings` are variables in
/// place of the caller's.
pub(crate) fn ask(
    search: &Search<'_>,
    name: &str,
    arguments: &[&str],
    settings: &[(&str, &str)],
) -> Option<String> {
    ask_within(PATIENCE, search, name, arguments, settings)
}

/// The same with another time.
pub(super) fn ask_within(
    patience: Duration,
    search: &Search<'_>,
    name: &str,
    arguments: &[&str],
    settings: &[(&str, &str)],
) -> Option<String> {
    let program = on_path(search, name).into_iter().next()?;
    let mut child = Command::new(program)
        .args(arguments)
        .env_clear()
        .envs(variables(search, settings))
        .envs(settings.iter().copied())
        // Not in the workspace: its files would configure the client.
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn()
        .ok()?;
    let answer = read_in_time(&mut child, patience);
    if answer.is_none() {
        if let Ok(id) = i32::try_from(child.id())
            && let Some(group) = Pid::from_raw(id)
        {
            let _ = kill_process_group(group, Signal::KILL);
        }
        let _ = child.kill();
    }
    let ended_well = child.wait().is_ok_and(|status| status.success());
    answer.filter(|_| ended_well)
}

/// The caller's variables without what leads to a file of the workspace, and without what
/// `settings` replaces, however its name is written.
fn variables(search: &Search<'_>, settings: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
    let replaced = |name: &OsStr| {
        let mut names = settings.iter().map(|(name, _)| name);
        names.any(|set| name.eq_ignore_ascii_case(set))
    };
    let leads_there = |value: &OsStr| {
        let text = value.to_string_lossy();
        let mut parts = text.split([':', ',', '=', ' ']);
        parts.any(|part| part.starts_with('/') && search.is_workspaces(Path::new(part)))
    };
    let mut kept = Vec::new();
    for (name, value) in &search.request.environment {
        if name == "PATH" {
            let folders = std::env::split_paths(value).filter(|f| !search.is_workspaces(f));
            let path = std::env::join_paths(folders).unwrap_or_default();
            kept.push((name.clone(), path));
        } else if !replaced(name) && !leads_there(value) {
            kept.push((name.clone(), value.clone()));
        }
    }
    kept
}

fn read_in_time(child: &mut Child, patience: Duration) -> Option<String> {
    let mut pipe = child.stdout.take()?;
    fcntl_setfl(&pipe, fcntl_getfl(&pipe).ok()? | OFlags::NONBLOCK).ok()?;
    let deadline = Instant::now() + patience;
    let mut answer = Vec::new();
    let mut block = [0; 4096];
    loop {
        let mut idle = false;
        match pipe.read(&mut block) {
            Ok(0) if child.try_wait().ok()?.is_some() => return String::from_utf8(answer).ok(),
            Ok(0) => idle = true,
            Ok(n) => answer.extend_from_slice(&block[..n]),
            Err(e) if e.kind() == ErrorKind::WouldBlock => idle = true,
            Err(e) if e.kind() == ErrorKind::Interrupted => {}
            Err(_) => return None,
        }
        if answer.len() > MAX_ANSWER || Instant::now() > deadline {
            return None;
        }
        if idle {
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}

#[cfg(test)]
#[path = "client_tests.rs"]
mod tests;
