//! `bench http`, and the download of `bench throughput`: what comes through interception into a machine,
//! beside a process sandbox and the same client on the host.

use crate::gate::row::{Draft, Row, VERIFIER};
use crate::gate::side::Side;
use crate::gate::site::Site;
use crate::load::job::{Fetches, Job, Target};
use crate::load::page::PAGE_PATH;
use crate::verdict::Verdict;
use bailiwick_event::{Failure, Host, Text};

const MB: u64 = 1_000_000;
/// Blocks of requests, or downloads.
const ROUNDS: u32 = 5;

/// What is asked for.
#[derive(Clone, Debug)]
pub struct HttpRequests {
    /// An address `http://…` or `https://…`; none for a server of the benchmark's own.
    pub url: Option<String>,
    /// How many requests.
    pub count: u32,
    /// How many connections at one time.
    pub connections: u32,
}

/// An address that is not the benchmark's own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Elsewhere {
    plain: bool,
    host: String,
    port: u16,
    path: String,
}

impl Elsewhere {
    /// Reads an address.
    ///
    /// # Errors
    /// [`Failure::Usage`] for what is none.
    pub(super) fn parse(url: &str) -> Result<Self, Failure> {
        let bad = |why: &str| {
            Failure::usage(format!(
                "\"{}\" is no address to measure: {why}\nhelp: write http://HOST[:PORT]/PATH or \
                 https://HOST[:PORT]/PATH",
                Text::from(url).truncated(100)
            ))
        };
        let (plain, rest) = match (url.strip_prefix("http://"), url.strip_prefix("https://")) {
            (Some(rest), _) => (true, rest),
            (_, Some(rest)) => (false, rest),
            _ => return Err(bad("it begins with neither http:// nor https://")),
        };
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let default = if plain { 80 } else { 443 };
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_| bad("its port is none"))?),
            None => (authority, default),
        };
        Host::parse(host).map_err(|_| bad("its host is none"))?;
        if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(bad("its path has bytes that an address has not"));
        }
        Ok(Self {
            plain,
            host: host.to_owned(),
            port,
            path: if path.is_empty() { "/" } else { path }.to_owned(),
        })
    }

    /// The line of a policy that grants it.
    pub(super) fn grant(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }
}

/// The rows of `bench http`.
pub(super) fn rows(what: &HttpRequests, elsewhere: Option<Elsewhere>) -> Vec<Row> {
    let (count, connections) = (what.count, what.connections);
    let at = match &elsewhere {
        Some(url) => format!("{}:{}{}", url.host, url.port, url.path),
        None => "a server of the benchmark's on loopback, by TLS".to_owned(),
    };
    vec![Row {
        name: "http".to_owned(),
        workload: format!(
            "{count} GETs over {connections} connections at one time, which are kept: {at}; the client \
             is the benchmark's own, on the host, in a process sandbox and in a machine"
        ),
        includes: "a request: until the last byte of its answer, the first of a connection with that \
                   connection; requests a second: all of them, over the time from before the first \
                   connection to the last answer",
        verifier: match elsewhere {
            Some(_) => {
                "each request is answered with success; those that are not are counted, and one \
                        is a fail"
            }
            None => VERIFIER,
        },
        long: false,
        least: ROUNDS,
        measure: Box::new(move |site, draft| {
            measure(site, draft, (count, connections), &elsewhere)
        }),
    }]
}

fn measure(
    site: &Site,
    draft: &mut Draft,
    (count, connections): (u32, u32),
    elsewhere: &Option<Elsewhere>,
) -> Result<(), Verdict> {
    let mut sides = Side::all(site)?;
    let rounds = if site.quick { 2 } else { ROUNDS };
    let mut failed = Vec::new();
    for round in 0..=rounds {
        for side in &mut sides {
            draft.settle();
            let job = Job::Fetch(Fetches {
                target: target(side, elsewhere),
                path: elsewhere
                    .as_ref()
                    .map_or(PAGE_PATH.to_owned(), |url| url.path.clone()),
                count,
                connections,
                page: elsewhere.is_none(),
            });
            let report = match elsewhere {
                Some(_) => side.ask_elsewhere(&job)?,
                None => side.ask(&job)?,
            };
            let name = side.name();
            let tally = draft.counted.entry(name.to_owned()).or_default();
            tally.add("succeeded", report.requests.into());
            tally.add("failed", report.failed.into());
            tally.add("bytes", report.bytes);
            if report.failed > 0 {
                failed.push(format!(
                    "{name}: {} of {count}: {}",
                    report.failed, report.errors
                ));
            }
            if round > 0 {
                draft.add(name, "ms", report.samples.iter().map(|ns| *ns as f64 / 1e6));
                let rate = f64::from(report.requests) * 1e9 / report.total_ns.max(1) as f64;
                draft.add(&format!("{name}, requests a second"), "1/s", [rate]);
            }
        }
    }
    match (elsewhere, failed.is_empty()) {
        (_, false) => Err(Verdict::Fail(format!(
            "requests failed: {}",
            failed.join("; ")
        ))),
        // What a server elsewhere has seen, and how often it closed, nobody here knows.
        (Some(_), true) => Ok(()),
        (None, true) => draft.close(site, sides),
    }
}

fn target(side: &Side<'_>, elsewhere: &Option<Elsewhere>) -> Target {
    match elsewhere {
        Some(url) => Target {
            name: url.host.clone(),
            address: None,
            port: url.port,
            plain: url.plain,
            ..side.target()
        },
        None => side.target(),
    }
}

/// The download of `bench throughput`.
pub(super) fn download() -> Row {
    Row {
        name: "HTTPS download".to_owned(),
        workload:
            "one GET in TLS with a body of 100,000,000 bytes; on the host, in a process sandbox \
                   and in a machine"
                .to_owned(),
        includes: "from the request to the last byte; MB are 10^6 bytes",
        verifier: VERIFIER,
        long: false,
        least: ROUNDS,
        measure: Box::new(|site, draft| {
            let (rounds, bytes) = match site.quick {
                true => (2, 2 * MB),
                false => (ROUNDS, 100 * MB),
            };
            let mut sides = Side::all(site)?;
            for round in 0..=rounds {
                for side in &mut sides {
                    draft.settle();
                    let report = side.ask(&Job::Download {
                        target: side.target(),
                        bytes,
                        seconds: 60 + bytes / MB,
                    })?;
                    if round > 0 {
                        let rate = bytes as f64 * 1000.0 / report.total_ns.max(1) as f64;
                        draft.add(side.name(), "MB/s", [rate]);
                    }
                }
            }
            draft.close(site, sides)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_with_what_it_leaves_out() {
        let parsed = |url| Elsewhere::parse(url).unwrap();
        let plain = parsed("http://127.0.0.1:8080/a?b=c");
        assert_eq!(
            (plain.plain, plain.port, plain.path.as_str()),
            (true, 8080, "/a?b=c")
        );
        assert_eq!(parsed("https://example.test").grant(), "example.test:443");
        assert_eq!(parsed("https://example.test").path, "/");
    }

    #[test]
    fn what_is_no_address_is_told() {
        for url in [
            "ftp://x/",
            "example.test",
            "http://:80/",
            "http://x:y/",
            "http://a b/",
            "http://x/ y",
        ] {
            let failure = Elsewhere::parse(url).unwrap_err();
            assert!(matches!(failure, Failure::Usage { .. }), "{url}: {failure}");
        }
    }
}
