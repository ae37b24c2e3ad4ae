//! Rows of requests one after the other: what the gate adds to each, and what a refusal takes.

use super::authority::NAME;
use super::one_cpu::OneCpu;
use super::record::limit;
use super::row::{Draft, Row, VERIFIER};
use super::side::{DIRECT, Side, THROUGH};
use super::site::{REFUSED_PATH, RULE, Site};
use super::tally::{CONNECTIONS, INSPECTED, NAMES, requests_refused};
use crate::load::job::{Job, Target, What};
use crate::load::page::{PAGE, PAGE_PATH};
use crate::program;
use crate::statistics::{bootstrap, median, ratio};
use crate::verdict::Verdict;

fn page(count: u32) -> What {
    What {
        path: PAGE_PATH.to_owned(),
        count,
        refused_by: None,
    }
}

fn refused(count: u32) -> What {
    What {
        path: REFUSED_PATH.to_owned(),
        count,
        refused_by: Some(RULE.to_owned()),
    }
}

/// How many blocks, and how much in each.
fn amount(site: &Site, blocks: u32, each: u32) -> (u32, u32) {
    match site.quick {
        true => (2, (each / 10).max(2)),
        false => (blocks, each),
    }
}

/// What one block asks of a client.
type Block<'a> = &'a dyn Fn(Target, u32) -> Job;

/// Blocks of both sides in turn.
fn in_turn(
    site: &Site,
    draft: &mut Draft,
    (blocks, each): (u32, u32),
    block: Block<'_>,
) -> Result<(), Verdict> {
    let mut sides = [Side::direct(site)?, Side::through(site)?];
    for round in 0..=blocks {
        for (name, side) in [DIRECT, THROUGH].into_iter().zip(&mut sides) {
            draft.settle();
            // The first block of each side warms up: a sandbox has its first connection once.
            let count = if round == 0 { each.min(10) } else { each };
            let report = side.ask(&block(side.target(), count))?;
            if round > 0 {
                draft.add_us(name, &report.samples);
            }
        }
    }
    draft.close(site, sides.into())
}

/// Where a row's processes and the server run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cpus {
    /// All on one: the figure has the work of each and the change from one to the next.
    One,
    /// Where the scheduler wants them: the figure also has how long a CPU takes that was asleep.
    Any,
}

/// A request on a connection that stays.
pub(super) fn kept_alive(http2: bool, cpus: Cpus) -> Row {
    let (mut name, protocol) = match http2 {
        true => ("kept-alive GET, HTTP/2".to_owned(), "HTTP/2"),
        false => ("kept-alive GET".to_owned(), "HTTP/1.1"),
    };
    let place = match cpus {
        Cpus::One => "client, gate and server on one CPU",
        Cpus::Any => "any CPU",
    };
    if cpus == Cpus::Any {
        name = format!("{name}, {place}");
    }
    Row {
        name: name.clone(),
        workload: format!(
            "GET of {} bytes by {protocol} in TLS, one after the other; {place}",
            PAGE.len()
        ),
        includes: "from the request to the last byte of its answer, on a connection that is there",
        verifier: VERIFIER,
        long: false,
        least: 50,
        measure: Box::new(move |site, draft| {
            let one = match cpus {
                Cpus::One => Some(OneCpu::take().map_err(|error| {
                    Verdict::Inconclusive(format!("no CPU of its own can be had: {error}"))
                })?),
                Cpus::Any => None,
            };
            let block = |target, count| Job::Requests {
                target: Target { http2, ..target },
                what: page(count),
            };
            in_turn(site, draft, amount(site, 12, 250), &block)?;
            drop(one);
            if cpus == Cpus::One {
                let samples = [draft.of(THROUGH), draft.of(DIRECT)];
                let added = bootstrap(&samples, |medians| medians[0] - medians[1]);
                let what = format!("{name}: through the gate more than direct");
                draft
                    .limits
                    .push(limit(&what, "the medians", "µs", 25.0, added));
            }
            Ok(())
        }),
    }
}

/// A refused request on a connection that stays.
pub(super) fn refused_kept_alive() -> Row {
    const NAME: &str = "refused GET, kept alive";
    Row {
        name: NAME.to_owned(),
        workload: "GET that a rule about the path refuses, in TLS, one after the other".to_owned(),
        includes: "from the request to the last byte of the refusal, on a connection that is there",
        verifier: VERIFIER,
        long: false,
        least: 50,
        measure: Box::new(|site, draft| {
            let mut side = Side::through(site)?;
            let (blocks, each) = amount(site, 8, 250);
            for _ in 0..blocks {
                draft.settle();
                let report = side.ask(&Job::Requests {
                    target: side.target(),
                    what: refused(each),
                })?;
                draft.add_us(THROUGH, &report.samples);
            }
            draft.close(site, vec![side])?;
            let value = median(draft.of(THROUGH));
            draft
                .limits
                .push(limit(NAME, "the median", "µs", 60.0, value));
            Ok(())
        }),
    }
}

/// A connection with one request.
pub(super) fn new_connection() -> Row {
    const NAME: &str = "new TLS connection";
    Row {
        name: NAME.to_owned(),
        workload: "TCP, a full TLS handshake and one GET; nothing is resumed".to_owned(),
        includes: "from the connect to the last byte of the answer; not the look-up of the name",
        verifier: VERIFIER,
        long: false,
        least: 50,
        measure: Box::new(|site, draft| {
            let block = |target, count| Job::Connections {
                target,
                what: page(count),
            };
            in_turn(site, draft, amount(site, 10, 40), &block)?;
            let value = ratio(draft.of(THROUGH), draft.of(DIRECT));
            let name = format!("{NAME}: through the gate over direct");
            draft
                .limits
                .push(limit(&name, "the medians", "×", 1.5, value));
            Ok(())
        }),
    }
}

const BY_PROXY: &str = "refused, as the variables say";
const TRANSPARENT: &str = "refused, without the proxy";
const ALLOWED: &str = "allowed, direct";

/// A program of its own for each request.
pub(super) fn fresh_curl() -> Row {
    const ROW: &str = "refused GET, fresh curl";
    Row {
        name: ROW.to_owned(),
        workload: "curl of a path that a rule refuses, beside curl of the page without a sandbox; \
                   all trust the same file of two authorities"
            .to_owned(),
        includes: "fork, exec, the look-up of the name (not without a sandbox, where it is given), \
                   TCP, the proxy's CONNECT where the variables say so, TLS, the answer, exit",
        verifier: "exit code and every byte of what curl printed; the rows of the run's ledger, of \
                   every kind, exactly; the requests that the server has seen, exactly",
        long: false,
        least: 50,
        measure: Box::new(|site, draft| {
            let curl = program::find("curl")
                .ok_or_else(|| Verdict::Absent("curl is not installed".to_owned()))?;
            let curl = curl.path.to_string_lossy().into_owned();
            let (mut direct, mut through) = (Side::direct(site)?, Side::through(site)?);
            let runs = if site.quick { 3 } else { 60 };
            for run in 0..=runs {
                for what in [ALLOWED, BY_PROXY, TRANSPARENT] {
                    let (side, argv) = match what {
                        ALLOWED => (&mut direct, curl_direct(site, &curl)),
                        BY_PROXY => (&mut through, curl_refused(site, &curl, &[])),
                        _ => (&mut through, curl_refused(site, &curl, &["--noproxy", "*"])),
                    };
                    draft.settle();
                    let report = side.ask(&Job::Command { argv })?;
                    let right = match what {
                        ALLOWED => report.text == PAGE,
                        _ => is_refusal(&report.text),
                    };
                    if report.code != Some(0) || !right {
                        let said = [report.text, report.errors].concat();
                        return Err(Verdict::Fail(format!("{what}: curl said {said:?}")));
                    }
                    match what {
                        ALLOWED => direct.asked.pages += 1,
                        _ => {
                            let expected = &mut through.expected;
                            expected.add(&requests_refused(RULE), 1);
                            expected.add(CONNECTIONS, 1);
                            expected.add(INSPECTED, 1);
                            expected.add(NAMES, if what == BY_PROXY { 0 } else { 1 });
                        }
                    }
                    if run > 0 {
                        draft.add(what, "ms", report.samples.iter().map(|ns| *ns as f64 / 1e6));
                    }
                }
            }
            draft.close(site, vec![direct, through])?;
            for what in [BY_PROXY, TRANSPARENT] {
                let value = ratio(draft.of(what), draft.of(ALLOWED));
                let name = format!("{ROW}: {what}, over {ALLOWED}");
                draft
                    .limits
                    .push(limit(&name, "the medians", "×", 1.3, value));
            }
            Ok(())
        }),
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|&word| word.to_owned()).collect()
}

fn curl_direct(site: &Site, curl: &str) -> Vec<String> {
    let to = format!("{NAME}:443:{}", site.origin.address());
    let url = format!("https://{NAME}{PAGE_PATH}");
    words(&[
        curl,
        "-sS",
        "-4",
        "--noproxy",
        "*",
        "--cacert",
        &site.roots(),
        "--connect-to",
        &to,
        &url,
    ])
}

fn curl_refused(site: &Site, curl: &str, more: &[&str]) -> Vec<String> {
    let url = format!("https://{NAME}{REFUSED_PATH}");
    let mut argv = words(&[curl, "-sS", "-4", "--cacert", &site.roots()]);
    argv.extend(words(more));
    argv.push(url);
    argv
}

/// Whether a text is the gate's refusal of the request.
pub(crate) fn is_refusal(text: &str) -> bool {
    let first = format!("refused by policy: GET https://{NAME}:443{REFUSED_PATH}\n");
    text.starts_with(&first) && text.contains(&format!("rule: {RULE} ("))
}
