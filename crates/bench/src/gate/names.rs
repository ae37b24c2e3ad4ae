//! Rows of names.

use super::authority::NAME;
use super::record::limit;
use super::row::{Draft, Row};
use super::side::{BARE_SIDE, Side, THROUGH};
use super::site::Site;
use super::tally::{NAMES, names_refused};
use crate::load::job::{Flood, Job};
use crate::statistics::{bootstrap, median};
use crate::verdict::Verdict;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// A name that the policy does not know, and what refuses it.
const UNKNOWN: &str = "refused.test";
const UNKNOWN_RULE: &str = "network.default";
const SETTINGS: &str = "/etc/resolv.conf";

/// `resolv.conf` as programs of the sandbox see it.
fn settings(side: &mut Side<'_>) -> Result<String, Verdict> {
    let path = PathBuf::from(SETTINGS);
    Ok(side.ask(&Job::Read { path })?.text)
}

/// The same file with one name server, on the loopback.
fn bare_settings(of_sandbox: &str) -> String {
    let kept = of_sandbox
        .lines()
        .filter(|line| !line.starts_with("nameserver"));
    let mut text = "nameserver 127.0.0.1\n".to_owned();
    for line in kept {
        text.push_str(line);
        text.push('\n');
    }
    text
}

/// A name that is refused, as programs look it up.
pub(super) fn lookup() -> Row {
    const ROW: &str = "refused name, getaddrinfo";
    Row {
        name: ROW.to_owned(),
        workload:
            "getaddrinfo of a name that the policy does not know (A and AAAA), beside the same \
                   where a process answers every datagram with NXDOMAIN and does nothing else (own \
                   network namespace, its loopback, the sandbox's resolv.conf with its address)"
                .to_owned(),
        includes: "the whole call, with the C library's socket; one thread",
        verifier: "each call says that there is no such name; the rows of the run's ledger, of every \
                   kind, exactly (two for a call)",
        long: false,
        least: 50,
        measure: Box::new(|site: &Site, draft: &mut Draft| {
            let mut side = Side::through(site)?;
            let file = site.fixture.base().join("resolv.conf");
            let text = bare_settings(&settings(&mut side)?);
            std::fs::write(&file, text)
                .map_err(|error| Verdict::Inconclusive(format!("{}: {error}", file.display())))?;
            let mut bare = Side::bare(site, Path::new(&file))?;
            let (blocks, each) = if site.quick { (2, 10) } else { (10, 200) };
            for _ in 0..blocks {
                for (name, side) in [(BARE_SIDE, &mut bare), (THROUGH, &mut side)] {
                    draft.settle();
                    let report = side.ask(&Job::Lookups {
                        name: UNKNOWN.to_owned(),
                        count: each,
                    })?;
                    draft.add_us(name, &report.samples);
                }
            }
            let refused = 2 * u64::from(blocks * each);
            side.expected.add(&names_refused(UNKNOWN_RULE), refused);
            draft.close(site, vec![side, bare])?;
            let samples = [draft.of(THROUGH), draft.of(BARE_SIDE)];
            let value = bootstrap(&samples, |medians| medians[0] - medians[1]);
            let name = format!("{ROW}: through the gate more than a bare responder");
            draft
                .limits
                .push(limit(&name, "the medians", "µs", 50.0, value));
            Ok(())
        }),
    }
}

/// Names by the thousand.
pub(super) fn flood() -> Row {
    const ROW: &str = "names, 64 in flight";
    const EACH: [(&str, &str); 2] = [("refused", UNKNOWN), ("allowed", NAME)];
    Row {
        name: ROW.to_owned(),
        workload: "questions for an A record by UDP from one socket, 64 open at a time".to_owned(),
        includes: "each: a block's time over its questions, the client's own work included; \
                   latency: of a single question among the 64",
        verifier: "code, question and number of records of each answer, none asked for twice; the \
                   rows of the run's ledger, of every kind, exactly",
        long: false,
        least: 5,
        measure: Box::new(|site: &Site, draft: &mut Draft| {
            let mut side = Side::through(site)?;
            let text = settings(&mut side)?;
            let server = text
                .lines()
                .filter_map(|line| line.strip_prefix("nameserver "))
                .filter_map(|address| address.trim().parse::<IpAddr>().ok())
                .find(IpAddr::is_ipv4)
                .ok_or_else(|| Verdict::Fail("the sandbox has no name server".to_owned()))?;
            let (blocks, count) = if site.quick { (2, 300) } else { (6, 5000) };
            for _ in 0..blocks {
                for (what, name) in EACH {
                    draft.settle();
                    let allowed = name == NAME;
                    let report = side.ask(&Job::Flood(Flood {
                        server: (server, 53).into(),
                        name: name.to_owned(),
                        count,
                        in_flight: 64,
                        code: if allowed { 0 } else { 3 },
                        answers: u16::from(allowed),
                    }))?;
                    let each = report.total_ns as f64 / 1000.0 / f64::from(count);
                    draft.add(&format!("{what}, each"), "µs", [each]);
                    draft.add_us(&format!("{what}, latency"), &report.samples);
                    let kind = match allowed {
                        true => NAMES.to_owned(),
                        false => names_refused(UNKNOWN_RULE),
                    };
                    side.expected.add(&kind, count.into());
                }
            }
            draft.close(site, vec![side])?;
            for (what, _) in EACH {
                let value = median(draft.of(&format!("{what}, each")));
                let name = format!("{ROW}: {what}, each");
                let includes = "the median; 20,000 answers a second";
                draft.limits.push(limit(&name, includes, "µs", 50.0, value));
            }
            Ok(())
        }),
    }
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
