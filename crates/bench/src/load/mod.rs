//! The load client: one program that stands inside a sandbox and, the same file with the same
//! library and settings, on the host. Where it stands is the only difference between a figure
//! through the gate and a direct one; so it verifies each answer in both places alike.

mod bare;
mod connection;
mod crowd;
mod fetch;
pub(crate) mod job;
mod many;
mod names;
pub(crate) mod page;

pub(crate) use connection::hex;

use crate::inside::print;
use bailiwick_event::Failure;
use job::{Job, Report};
use std::ffi::OsString;
use std::io::BufRead;
use std::time::Duration;

/// Before the jobs: answer names in a network namespace of this process's own.
pub(crate) const BARE: &str = "bare-names";
/// Instead of jobs: be the responder of that namespace.
pub(crate) const RESPOND: &str = "respond";
/// Instead of jobs: look one name up, and print how long that took.
pub(crate) const LOOKUP: &str = "lookup";

/// `bench load [ROLE ARGUMENT]`: does each job that stands on a line of standard input, and prints
/// what came of it as a line of JSON.
///
/// # Errors
/// [`Failure::Usage`] for an unknown role; [`Failure::Fault`] when the process cannot do its work. A
/// job that fails is a report, not an error.
pub fn load(role: &[OsString]) -> Result<(), Failure> {
    let words: Vec<&str> = role.iter().map(|w| w.to_str().unwrap_or("")).collect();
    let fault = |error: std::io::Error| Failure::fault(format!("bench load: {error}"));
    outlive_peers();
    let mut responder = None;
    match words.as_slice() {
        [] => {}
        [BARE, settings] => responder = Some(bare::enter(settings.as_ref()).map_err(fault)?),
        [RESPOND] => return bare::respond().map_err(fault),
        [LOOKUP, name] => return print(&names::lookups(name, 1)),
        _ => return Err(Failure::usage("bench load: an unknown role")),
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(fault)?;
    let done = runtime.block_on(serve());
    if let Some(mut responder) = responder {
        let _ = responder.kill();
        let _ = responder.wait();
    }
    done
}

async fn serve() -> Result<(), Failure> {
    let mut held = Vec::new();
    for line in std::io::stdin().lock().lines() {
        let report = match line.map(|line| serde_json::from_str::<Job>(&line)) {
            Ok(Ok(job)) => within(&job, &mut held).await,
            Ok(Err(error)) => Report::broken(format!("a job that cannot be read: {error}")),
            Err(error) => return Err(Failure::fault(format!("bench load: {error}"))),
        };
        print(&report)?;
    }
    Ok(())
}

/// Does a job, and gives up after its time.
async fn within(job: &Job, held: &mut Vec<connection::Kept>) -> Report {
    let cpu = own_cpu();
    let limit = Duration::from_secs(job.seconds());
    let mut report = match tokio::time::timeout(limit, job.run(held)).await {
        Ok(Ok(report)) => report,
        Ok(Err(why)) => Report::broken(why),
        Err(_) => Report::broken(format!("not done after {} s", limit.as_secs())),
    };
    report.cpu_ns = own_cpu().saturating_sub(cpu);
    report
}

impl Job {
    async fn run(&self, held: &mut Vec<connection::Kept>) -> Result<Report, String> {
        match self {
            Self::Requests { target, what } => fetch::requests(target, what).await,
            Self::Connections { target, what } => fetch::connections(target, what).await,
            Self::Download { target, bytes, .. } => fetch::download(target, *bytes).await,
            Self::Crowd {
                target,
                connections,
                requests,
            } => crowd::crowd(target, *connections, *requests).await,
            Self::Fetch(what) => many::fetch(what).await,
            Self::Hold {
                target,
                connections,
            } => crowd::hold(target, *connections, held).await,
            Self::AskHeld => crowd::ask_held(held).await,
            Self::Command { argv } => fetch::command(argv),
            Self::Lookups { name, count } => Ok(names::lookups(name, *count)),
            Self::Flood(flood) => names::flood(flood).await,
            Self::Read { path } => fetch::read(path),
        }
    }
}

/// A peer that is gone is told by the error of a write, and ends neither client nor server. Programs that
/// are started from here are not concerned: they begin with the default.
pub(crate) fn outlive_peers() {
    // SAFETY: to ignore a signal runs no code.
    unsafe { libc::signal(libc::SIGPIPE, libc::SIG_IGN) };
}

/// The CPU time of this process, in nanoseconds.
pub(crate) fn own_cpu() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    u64::try_from(time.tv_sec * 1_000_000_000 + time.tv_nsec).unwrap_or(0)
}
