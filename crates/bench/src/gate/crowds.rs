//! Rows of many connections at once.

use super::record::{limit, once};
use super::row::{Draft, Row, VERIFIER};
use super::side::{DIRECT, Side, THROUGH};
use super::site::Site;
use crate::load::job::Job;
use crate::statistics::ratio;
use crate::verdict::Verdict;
use rustix::process::{Resource, getrlimit};

/// How many are at once.
pub(super) const SIZES: [u32; 4] = [1, 10, 50, 200];
/// The largest crowd, and the one that it is compared with.
const LARGEST: u32 = 1000;
const COMPARED: u32 = 50;
/// Connections that do nothing.
const IDLE: u32 = 10_000;

fn rate(of: &str) -> String {
    format!("{of}, requests/s")
}

/// A machine that gives too few descriptors cannot say anything about so many connections: the gate
/// serves as many as three fifths of them.
fn needs_descriptors(connections: u32) -> Result<(), Verdict> {
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    match limit / 5 * 3 >= u64::from(connections) {
        true => Ok(()),
        false => Err(Verdict::Inconclusive(format!(
            "{limit} descriptors (`ulimit -Hn`) are too few for {connections} connections"
        ))),
    }
}

/// One crowd on one side.
fn take(
    draft: &mut Draft,
    side: &mut Side<'_>,
    name: &str,
    size: u32,
    requests: u32,
) -> Result<(), Verdict> {
    draft.settle();
    let report = side.ask(&Job::Crowd {
        target: side.target(),
        connections: size,
        requests,
    })?;
    let done = report.samples.len() as f64;
    draft.add_us(name, &report.samples);
    let seconds = report.total_ns.max(1) as f64 / 1e9;
    draft.add(&rate(name), "1/s", [done / seconds]);
    Ok(())
}

const INCLUDES: &str = "latency: from the request to the last byte of its answer; throughput: of \
    requests on connections that are there, from the first one's start to the last one's end";

/// A crowd beside the same without a sandbox.
pub(super) fn crowd(size: u32) -> Row {
    Row {
        name: format!("crowd of {size}"),
        workload: format!("GET of the page by {size} kept-alive connections at once"),
        includes: INCLUDES,
        verifier: VERIFIER,
        long: false,
        least: 3,
        measure: Box::new(move |site, draft| {
            let requests = match (site.quick, size) {
                (true, _) => size * 3,
                (false, 1) => 2000,
                (false, _) => 6000,
            };
            let mut sides = [Side::direct(site)?, Side::through(site)?];
            for _ in 0..if site.quick { 1 } else { 3 } {
                for (name, side) in [DIRECT, THROUGH].into_iter().zip(&mut sides) {
                    take(draft, side, name, size, requests)?;
                }
            }
            draft.close(site, sides.into())
        }),
    }
}

/// The largest crowd, beside one that a server is used to.
pub(super) fn largest() -> Row {
    Row {
        name: "crowd of 1,000".to_owned(),
        workload: format!(
            "GET of the page by {LARGEST} kept-alive connections at once, and by {COMPARED}"
        ),
        includes: INCLUDES,
        verifier: VERIFIER,
        long: false,
        least: 3,
        measure: Box::new(|site: &Site, draft: &mut Draft| {
            needs_descriptors(LARGEST)?;
            let mut side = Side::through(site)?;
            let mut direct = Side::direct(site)?;
            let (rounds, requests) = match site.quick {
                true => (1, 2 * LARGEST),
                false => (3, 10 * LARGEST),
            };
            let of = |size: u32, name: &str| format!("{size}, {name}");
            for _ in 0..rounds {
                for size in [COMPARED, LARGEST] {
                    take(draft, &mut direct, &of(size, DIRECT), size, requests)?;
                    take(draft, &mut side, &of(size, THROUGH), size, requests)?;
                }
                let memory = side.supervisor_memory()?;
                draft.add("supervisor's memory", "MiB", [memory.peak]);
            }
            draft.close(site, vec![side, direct])?;
            let few = rate(&of(COMPARED, THROUGH));
            let many = rate(&of(LARGEST, THROUGH));
            let value = ratio(draft.of(&few), draft.of(&many));
            draft.limits.push(limit(
                "crowd of 1,000: throughput of 50 over that of 1,000, through the gate",
                "the medians; 1 / 0.9",
                "×",
                1.0 / 0.9,
                value,
            ));
            Ok(())
        }),
    }
}

/// Connections that are held.
pub(super) fn idle() -> Row {
    const NAME: &str = "10,000 idle connections";
    Row {
        name: NAME.to_owned(),
        workload: format!(
            "{IDLE} connections with one GET each, held, and then one more GET on each"
        ),
        includes: "the supervisor's resident memory (VmRSS) while all are held",
        verifier: VERIFIER,
        long: true,
        least: 1,
        measure: Box::new(|site: &Site, draft: &mut Draft| {
            let connections = if site.quick { 100 } else { IDLE };
            needs_descriptors(connections)?;
            let mut side = Side::through(site)?;
            let before = side.supervisor_memory()?;
            draft.settle();
            let opened = side.ask(&Job::Hold {
                target: side.target(),
                connections,
            })?;
            std::thread::sleep(std::time::Duration::from_secs(1));
            let held = side.supervisor_memory()?;
            let asked = side.ask(&Job::AskHeld)?;
            if asked.requests != connections {
                let why = format!("{} of {connections} were held", asked.requests);
                return Err(Verdict::Fail(why));
            }
            draft.add("before", "MiB", [before.now]);
            draft.add("held", "MiB", [held.now]);
            let each = opened.total_ns as f64 / f64::from(connections) / 1000.0;
            draft.add("to open one", "µs", [each]);
            draft.close(site, vec![side])?;
            let name = format!("{NAME}: supervisor's resident memory");
            let value = Some(once(held.now));
            draft.limits.push(limit(
                &name,
                "VmRSS while they are held",
                "MiB",
                400.0,
                value,
            ));
            Ok(())
        }),
    }
}
