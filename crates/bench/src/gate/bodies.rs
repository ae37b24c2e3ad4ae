//! Rows of large bodies: what passes in a second, what it costs in CPU time, and that nothing of it
//! stays in the supervisor.

use super::mitmproxy::Mitmproxy;
use super::record::{limit, once};
use super::row::{Draft, Row, VERIFIER};
use super::side::{DIRECT, Side, THROUGH};
use super::site::Site;
use crate::load::job::{Job, Target};
use crate::load::own_cpu;
use crate::statistics::ratio;
use crate::verdict::Verdict;

const MB: u64 = 1_000_000;

/// One download; its throughput in MB/s and its CPU-seconds per GB: of the client, of the server, and
/// behind the gate of the supervisor.
fn take(
    side: &mut Side<'_>,
    target: Target,
    bytes: u64,
    through: bool,
) -> Result<(f64, f64), Verdict> {
    let supervisor = |side: &Side<'_>| match through {
        true => side.supervisor_cpu(),
        false => Ok(0),
    };
    let (before, gate_before) = (own_cpu(), supervisor(side)?);
    let report = side.ask(&Job::Download {
        target,
        bytes,
        seconds: 60 + bytes / (20 * MB),
    })?;
    let gate = supervisor(side)?.saturating_sub(gate_before);
    // The server is a thread of this process, which does nothing else meanwhile.
    let server = own_cpu().saturating_sub(before);
    let cpu = (gate + server + report.cpu_ns) as f64;
    let rate = bytes as f64 / report.total_ns.max(1) as f64 * 1000.0;
    // Nanoseconds for each byte are seconds for each GB.
    Ok((rate, cpu / bytes as f64))
}

fn names(what: &str) -> (String, String) {
    (format!("{what}, MB/s"), format!("{what}, CPU"))
}

/// A hundred megabytes.
pub(super) fn download() -> Row {
    Row {
        name: "100 MB download".to_owned(),
        workload: "one GET in TLS with a body of 100,000,000 bytes".to_owned(),
        includes: "throughput: from the request to the last byte; CPU: of client, server and \
                   supervisor together, with the connection",
        verifier: VERIFIER,
        long: false,
        least: 5,
        measure: Box::new(|site, draft| {
            let (rounds, bytes) = match site.quick {
                true => (2, 5 * MB),
                false => (8, 100 * MB),
            };
            let mut sides = [Side::direct(site)?, Side::through(site)?];
            for round in 0..=rounds {
                for (name, side) in [DIRECT, THROUGH].into_iter().zip(&mut sides) {
                    draft.settle();
                    let target = side.target();
                    let (rate, cpu) = take(side, target, bytes, name == THROUGH)?;
                    if round > 0 {
                        let (rates, cpus) = names(name);
                        draft.add(&rates, "MB/s", [rate]);
                        draft.add(&cpus, "s/GB", [cpu]);
                    }
                }
            }
            draft.close(site, sides.into())?;
            bounds(draft);
            Ok(())
        }),
    }
}

fn bounds(draft: &mut Draft) {
    let (direct, through) = (names(DIRECT), names(THROUGH));
    let slower = ratio(draft.of(&direct.0), draft.of(&through.0));
    let dearer = ratio(draft.of(&through.1), draft.of(&direct.1));
    draft.limits.push(limit(
        "100 MB download: throughput of direct over that through the gate",
        "the medians; 1 / 0.45",
        "×",
        1.0 / 0.45,
        slower,
    ));
    draft.limits.push(limit(
        "100 MB download: CPU time for each GB through the gate over direct",
        "the medians",
        "×",
        2.3,
        dearer,
    ));
}

const HOLDING: &str = "mitmproxy";
const STREAMING: &str = "mitmproxy, streaming";

/// The same beside a proxy that many know.
pub(super) fn beside_mitmproxy() -> Row {
    const ROW: &str = "100 MB download beside mitmproxy";
    Row {
        name: ROW.to_owned(),
        workload: "one GET in TLS with a body of 100,000,000 bytes, through the gate and through \
                   mitmdump, which holds it back as it does without settings, or passes it on \
                   (stream_large_bodies)"
            .to_owned(),
        includes: "from the request to the last byte; mitmproxy's CPU time is not in any figure",
        verifier: VERIFIER,
        long: false,
        least: 3,
        measure: Box::new(|site: &Site, draft: &mut Draft| {
            let proxies = [
                Mitmproxy::start(site, false)?,
                Mitmproxy::start(site, true)?,
            ];
            let mut sides = vec![Side::through(site)?];
            for (proxy, name) in proxies.iter().zip([HOLDING, STREAMING]) {
                sides.push(Side::by_proxy(site, name, proxy.issuer()?)?);
            }
            let (rounds, bytes) = if site.quick {
                (1, 5 * MB)
            } else {
                (3, 100 * MB)
            };
            for round in 0..=rounds {
                for (n, side) in sides.iter_mut().enumerate() {
                    draft.settle();
                    let (name, target) = match n {
                        0 => (THROUGH, side.target()),
                        1 => (HOLDING, proxies[0].target(site)),
                        _ => (STREAMING, proxies[1].target(site)),
                    };
                    let (rate, _) = take(side, target, bytes, n == 0)?;
                    if round > 0 {
                        draft.add(&names(name).0, "MB/s", [rate]);
                    }
                }
            }
            draft.close(site, sides)?;
            let value = ratio(draft.of(&names(HOLDING).0), draft.of(&names(THROUGH).0));
            draft.limits.push(limit(
                &format!("{ROW}: throughput of mitmproxy over that through the gate"),
                "the medians; 1 / 15; mitmproxy without settings",
                "×",
                1.0 / 15.0,
                value,
            ));
            Ok(())
        }),
    }
}

/// A body that is larger than any memory it may take.
pub(super) fn long_body() -> Row {
    const NAME: &str = "10 GB body";
    Row {
        name: NAME.to_owned(),
        workload: "one GET in TLS with a body of 10,000,000,000 bytes".to_owned(),
        includes: "the highest resident memory of the supervisor in its life (VmHWM)",
        verifier: VERIFIER,
        long: true,
        least: 1,
        measure: Box::new(|site: &Site, draft: &mut Draft| {
            let bytes = if site.quick { 20 * MB } else { 10_000 * MB };
            let mut side = Side::through(site)?;
            draft.settle();
            let target = side.target();
            let (rate, cpu) = take(&mut side, target, bytes, true)?;
            let memory = side.supervisor_memory()?;
            draft.add("throughput", "MB/s", [rate]);
            draft.add("CPU", "s/GB", [cpu]);
            draft.add("supervisor's memory", "MiB", [memory.peak]);
            draft.close(site, vec![side])?;
            let name = format!("{NAME}: supervisor's resident memory");
            let includes = "VmHWM after the download";
            draft
                .limits
                .push(limit(&name, includes, "MiB", 64.0, Some(once(memory.peak))));
            Ok(())
        }),
    }
}
