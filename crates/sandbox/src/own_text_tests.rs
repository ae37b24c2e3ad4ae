use super::*;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::fs;
use std::process::{Child, Command, Stdio};

/// What a process may execute of the file of its program: from where to where, and how many KiB of it are
/// in its memory.
fn text(process: u32) -> ([usize; 2], u64) {
    let program = fs::read_link(format!("/proc/{process}/exe")).unwrap();
    let maps = fs::read_to_string(format!("/proc/{process}/smaps")).unwrap();
    let end = format!(" {}", program.display());
    let mut lines = maps
        .lines()
        .skip_while(|line| !(line.contains(" r-xp ") && line.ends_with(&end)));
    let first = lines.next().unwrap().split_whitespace().next().unwrap();
    let (from, to) = first.split_once('-').unwrap();
    let place = [from, to].map(|at| usize::from_str_radix(at, 16).unwrap());
    let resident = lines.find_map(|line| line.strip_prefix("Rss:")).unwrap();
    let resident = resident.trim().trim_end_matches(" kB").parse();
    (place, resident.unwrap())
}

/// How much of its text a process has in memory where it stops next; it goes on then.
fn at_its_stop(child: &Child) -> u64 {
    let process = Pid::from_child(child);
    let (_, status) = waitpid(Some(process), WaitOptions::UNTRACED)
        .unwrap()
        .unwrap();
    assert!(status.stopped(), "{status:?}");
    let resident = text(child.id()).1;
    kill_process(process, Signal::CONT).unwrap();
    resident
}

/// Whether a process is the one that is looked at.
const LOOKED_AT: &str = "BAILIWICK_TEST_LOOKED_AT";

/// A process is looked at from outside, where it has stopped: whatever it did to look at itself would
/// bring pages back.
#[test]
fn what_was_let_go_is_gone_and_comes_back() {
    if std::env::var_os(LOOKED_AT).is_some() {
        return lets_go();
    }
    let child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "own_text::tests::what_was_let_go_is_gone_and_comes_back",
        ])
        .env(LOOKED_AT, "1")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let all = at_its_stop(&child);
    let left = at_its_stop(&child);
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{output:?}"
    );
    assert!(left < all / 2, "{left} of {all} KiB");
}

/// Stops with all of its text in memory, and again when it has let go of it.
fn lets_go() {
    let words = || format!("{:?}", fs::metadata("/").unwrap().file_type());
    let said = words();
    // Sent to this thread and not to the process: then it has stopped before the call is over.
    let stop = || signal_hook::low_level::raise(libc::SIGSTOP).unwrap();
    let [from, to] = text(std::process::id()).0;
    for at in (from..to).step_by(rustix::param::page_size()) {
        // SAFETY: it lies in what is mapped of this program, for reading as well.
        unsafe { std::ptr::with_exposed_provenance::<u8>(at).read_volatile() };
    }
    stop();
    let_go();
    stop();
    assert_eq!(words(), said);
}
