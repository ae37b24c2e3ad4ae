//! Requests one after the other: what a single program waits for.

use super::connection::Way;
use super::job::{Report, Target, What};
use super::page::{BODY_PATH, is_body};
use crate::measure;
use http_body_util::BodyExt;
use hyper::StatusCode;
use std::ffi::OsString;
use std::path::Path;
use std::time::Instant;

pub(super) fn nanoseconds(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// Requests on one connection. The first is no sample, but it is verified and counted.
pub(super) async fn requests(target: &Target, what: &What) -> Result<Report, String> {
    let mut kept = Way::to(target)?.connect().await?;
    kept.ask(what).await?;
    let mut samples = Vec::with_capacity(what.count as usize);
    let start = Instant::now();
    for _ in 0..what.count {
        let begin = Instant::now();
        kept.ask(what).await?;
        samples.push(nanoseconds(begin));
    }
    Ok(Report {
        total_ns: nanoseconds(start),
        samples,
        connections: 1,
        requests: what.count + 1,
        issuers: [kept.issuer()].into(),
        ..Report::default()
    })
}

/// Each request on a connection of its own.
pub(super) async fn connections(target: &Target, what: &What) -> Result<Report, String> {
    let way = Way::to(target)?;
    let mut report = Report::default();
    let start = Instant::now();
    for _ in 0..what.count {
        let begin = Instant::now();
        let mut kept = way.connect().await?;
        kept.ask(what).await?;
        report.samples.push(nanoseconds(begin));
        report.issuers.insert(kept.issuer());
    }
    report.total_ns = nanoseconds(start);
    (report.connections, report.requests) = (what.count, what.count);
    Ok(report)
}

/// One body, each byte of which is compared. The time is that from the request to the last byte.
pub(super) async fn download(target: &Target, bytes: u64) -> Result<Report, String> {
    let mut kept = Way::to(target)?.connect().await?;
    let start = Instant::now();
    let mut response = kept.send(&format!("{BODY_PATH}{bytes}")).await?;
    let length = response.headers().get("content-length");
    if response.status() != StatusCode::OK
        || length.and_then(|l| l.to_str().ok()) != Some(bytes.to_string().as_str())
    {
        return Err(format!("status {}, length {length:?}", response.status()));
    }
    let mut at = 0;
    while let Some(frame) = response.frame().await {
        let frame = frame.map_err(|error| format!("after {at} bytes: {error}"))?;
        if let Some(data) = frame.data_ref() {
            if !is_body(at, data) {
                return Err(format!("the body differs after byte {at}"));
            }
            at += data.len() as u64;
        }
    }
    let total_ns = nanoseconds(start);
    match at == bytes {
        true => Ok(Report {
            samples: vec![total_ns],
            total_ns,
            connections: 1,
            requests: 1,
            issuers: [kept.issuer()].into(),
            ..Report::default()
        }),
        false => Err(format!("{at} bytes came instead of {bytes}")),
    }
}

/// A program, as the other suites time one.
pub(super) fn command(argv: &[String]) -> Result<Report, String> {
    let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
    let sample = measure::run(&argv, Path::new("."), &[]).map_err(|error| error.to_string())?;
    Ok(Report {
        samples: vec![sample.ns],
        total_ns: sample.ns,
        code: sample.code,
        text: sample.stdout.to_string_lossy(),
        errors: sample.stderr.to_string_lossy(),
        ..Report::default()
    })
}

/// A file as it is seen from here.
pub(super) fn read(path: &Path) -> Result<Report, String> {
    let text = std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))?;
    Ok(Report {
        text,
        ..Report::default()
    })
}
