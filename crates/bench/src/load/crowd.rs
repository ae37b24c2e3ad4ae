//! Many connections at once. They are made and warmed up before the clock starts, so that a
//! throughput is one of requests and not of handshakes.

use super::connection::{Kept, Way};
use super::fetch::nanoseconds;
use super::job::{Report, Target, What};
use super::page::PAGE_PATH;
use std::sync::Arc;
use std::time::Instant;
use tokio::sync::Semaphore;

/// So many connections are being made at a time: fewer than any server's queue holds.
const AT_ONCE: usize = 50;

fn page() -> What {
    What {
        path: PAGE_PATH.to_owned(),
        count: 1,
        refused_by: None,
    }
}

/// Makes connections, each with one request.
async fn open(target: &Target, connections: u32) -> Result<Vec<Kept>, String> {
    let way = Way::to(target)?;
    let gate = Arc::new(Semaphore::new(AT_ONCE));
    let tasks: Vec<_> = (0..connections)
        .map(|_| {
            let (way, gate) = (way.clone(), Arc::clone(&gate));
            tokio::spawn(async move {
                let _one = gate.acquire().await.map_err(|error| error.to_string())?;
                let mut kept = way.connect().await?;
                kept.ask(&page()).await?;
                Ok::<_, String>(kept)
            })
        })
        .collect();
    let mut all = Vec::with_capacity(tasks.len());
    for (n, task) in tasks.into_iter().enumerate() {
        let kept = task.await.map_err(|error| error.to_string())?;
        all.push(kept.map_err(|why| format!("connection {}: {why}", n + 1))?);
    }
    Ok(all)
}

/// Requests over all connections at once. Each connection has the same number of them.
pub(super) async fn crowd(
    target: &Target,
    connections: u32,
    requests: u32,
) -> Result<Report, String> {
    let all = open(target, connections).await?;
    let each = requests / connections.max(1);
    let issuers = all.iter().map(Kept::issuer).collect();
    let start = Instant::now();
    let tasks: Vec<_> = all
        .into_iter()
        .map(|mut kept| {
            tokio::spawn(async move {
                let mut samples = Vec::with_capacity(each as usize);
                for _ in 0..each {
                    let begin = Instant::now();
                    kept.ask(&page()).await?;
                    samples.push(nanoseconds(begin));
                }
                Ok::<_, String>((samples, kept))
            })
        })
        .collect();
    let mut samples = Vec::with_capacity(requests as usize);
    let mut all = Vec::new();
    for task in tasks {
        let (mut one, kept) = task.await.map_err(|error| error.to_string())??;
        samples.append(&mut one);
        // Closed after the clock has stopped.
        all.push(kept);
    }
    Ok(Report {
        total_ns: nanoseconds(start),
        samples,
        connections,
        requests: connections * (each + 1),
        issuers,
        ..Report::default()
    })
}

/// Makes connections and keeps them.
pub(super) async fn hold(
    target: &Target,
    connections: u32,
    held: &mut Vec<Kept>,
) -> Result<Report, String> {
    let start = Instant::now();
    *held = open(target, connections).await?;
    Ok(Report {
        total_ns: nanoseconds(start),
        connections,
        requests: connections,
        issuers: held.iter().map(Kept::issuer).collect(),
        ..Report::default()
    })
}

/// Asks once on each connection that is kept: what still answers has been held.
pub(super) async fn ask_held(held: &mut Vec<Kept>) -> Result<Report, String> {
    let start = Instant::now();
    let mut report = Report::default();
    for (n, mut kept) in std::mem::take(held).into_iter().enumerate() {
        let begin = Instant::now();
        let asked = kept.ask(&page()).await;
        asked.map_err(|why| format!("connection {} of those that were held: {why}", n + 1))?;
        report.samples.push(nanoseconds(begin));
        report.requests += 1;
    }
    report.total_ns = nanoseconds(start);
    Ok(report)
}
