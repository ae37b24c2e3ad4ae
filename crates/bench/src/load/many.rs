//! A number of requests over a few connections, as a program's HTTP library makes them: connections are
//! made when they are needed and kept, what fails is counted and the rest goes on.

use super::connection::{Kept, Way};
use super::fetch::nanoseconds;
use super::job::{Fetches, Report};
use super::page::PAGE;
use http_body_util::BodyExt;
use std::cell::Cell;
use std::time::Instant;
use tokio::task::LocalSet;

/// All of them. The clock runs from before the first connection.
pub(super) async fn fetch(what: &Fetches) -> Result<Report, String> {
    let way = Way::to(&what.target)?;
    let left = std::rc::Rc::new(Cell::new(what.count));
    let local = LocalSet::new();
    let start = Instant::now();
    let tasks: Vec<_> = (0..what.connections)
        .map(|_| {
            let (way, left, what) = (way.clone(), std::rc::Rc::clone(&left), what.clone());
            local.spawn_local(async move {
                let mut report = Report::default();
                let mut kept = None;
                while let Some(rest) = left.get().checked_sub(1) {
                    left.set(rest);
                    one(&way, &what, &mut kept, &mut report).await;
                }
                report
            })
        })
        .collect();
    local.await;
    let total_ns = nanoseconds(start);
    let mut all = Report::default();
    for task in tasks {
        let mut one = task.await.map_err(|error| error.to_string())?;
        all.samples.append(&mut one.samples);
        all.requests += one.requests;
        all.failed += one.failed;
        all.connections += one.connections;
        all.bytes += one.bytes;
        all.issuers.append(&mut one.issuers);
        if all.errors.is_empty() {
            all.errors = one.errors;
        }
    }
    all.total_ns = total_ns;
    Ok(all)
}

/// One request, with its connection where there is none.
async fn one(way: &Way, what: &Fetches, kept: &mut Option<Kept>, report: &mut Report) {
    let begin = Instant::now();
    match get(way, what, kept, report).await {
        Ok(bytes) => {
            report.samples.push(nanoseconds(begin));
            report.requests += 1;
            report.bytes += bytes;
        }
        Err(why) => {
            *kept = None;
            report.failed += 1;
            report.errors = why;
        }
    }
}

async fn get(
    way: &Way,
    what: &Fetches,
    kept: &mut Option<Kept>,
    report: &mut Report,
) -> Result<u64, String> {
    let connection = match kept {
        Some(connection) => connection,
        None => {
            let connection = way.connect().await?;
            report.connections += 1;
            report.issuers.insert(connection.issuer());
            kept.insert(connection)
        }
    };
    let (head, body) = connection.send(&what.path).await?.into_parts();
    let body = body.collect().await.map_err(|error| error.to_string())?;
    let body = body.to_bytes();
    let close = head.headers.get("connection");
    if close.is_some_and(|value| value.as_bytes().eq_ignore_ascii_case(b"close")) {
        *kept = None;
    }
    match head.status.is_success() && (!what.page || *body == *PAGE.as_bytes()) {
        true => Ok(body.len() as u64),
        false => Err(format!("status {}, {} bytes", head.status, body.len())),
    }
}
