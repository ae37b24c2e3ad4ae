//! Names: looked up as programs do (`getaddrinfo` of the C library), and asked for by the thousand in
//! datagrams that are written here, so that no library's own work is in the rate.

use super::fetch::nanoseconds;
use super::job::{Flood, Report};
use std::ffi::CString;
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;

/// A question that has no answer after this is lost, and the flood has failed.
const PATIENCE: Duration = Duration::from_secs(2);

/// Looks a name up that is not to be found.
pub(super) fn lookups(name: &str, count: u32) -> Report {
    let mut report = Report::default();
    let start = Instant::now();
    for _ in 0..count {
        let begin = Instant::now();
        let code = lookup(name);
        let took = nanoseconds(begin);
        if code != libc::EAI_NONAME {
            return Report::broken(format!("getaddrinfo of {name} says {code}"));
        }
        report.samples.push(took);
    }
    report.total_ns = nanoseconds(start);
    report.requests = count;
    report
}

/// What `getaddrinfo` returns.
fn lookup(name: &str) -> i32 {
    let Ok(name) = CString::new(name) else {
        return libc::EAI_FAIL;
    };
    // SAFETY: addrinfo is a C structure of integers and pointers, for which all bits zero is a value.
    let mut hints: libc::addrinfo = unsafe { std::mem::zeroed() };
    hints.ai_socktype = libc::SOCK_STREAM;
    let mut found = std::ptr::null_mut();
    // SAFETY: the name ends with a zero, the hints are a live local, and what is found is given back.
    unsafe {
        let code = libc::getaddrinfo(
            name.as_ptr(),
            std::ptr::null(),
            &raw const hints,
            &raw mut found,
        );
        if code == 0 {
            libc::freeaddrinfo(found);
        }
        code
    }
}

/// Asks for one name, with a number of questions open at a time.
pub(super) async fn flood(flood: &Flood) -> Result<Report, String> {
    let say = |error: std::io::Error| error.to_string();
    let socket = UdpSocket::bind("0.0.0.0:0").await.map_err(say)?;
    socket.connect(flood.server).await.map_err(say)?;
    let mut question = question(&flood.name);
    // By the number of each question, when it was sent.
    let mut open: Vec<Option<Instant>> = vec![None; 1 << 16];
    let mut report = Report::default();
    let (mut sent, mut answered) = (0, 0);
    let mut answer = [0; 4096];
    let start = Instant::now();
    while answered < flood.count {
        while sent < flood.count && sent - answered < u32::from(flood.in_flight) {
            let number = (sent & 0xffff) as u16;
            question[..2].copy_from_slice(&number.to_be_bytes());
            open[usize::from(number)] = Some(Instant::now());
            socket.send(&question).await.map_err(say)?;
            sent += 1;
        }
        let length = tokio::time::timeout(PATIENCE, socket.recv(&mut answer))
            .await
            .map_err(|_| format!("no answer to one of the questions up to {sent}"))?
            .map_err(say)?;
        let number = checked(&answer[..length], &question, flood)?;
        let since = open[usize::from(number)].take();
        let since = since.ok_or("an answer to a question that was not open")?;
        report.samples.push(nanoseconds(since));
        answered += 1;
    }
    report.total_ns = nanoseconds(start);
    report.requests = answered;
    Ok(report)
}

/// The number of an answer that is what it should be.
fn checked(answer: &[u8], question: &[u8], flood: &Flood) -> Result<u16, String> {
    let head: &[u8; 12] = answer.first_chunk().ok_or("an answer that is too short")?;
    let word = |at: usize| u16::from_be_bytes([head[at], head[at + 1]]);
    let right = head[2] & 0x80 != 0
        && head[3] & 0x0f == flood.code
        && word(4) == 1
        && word(6) == flood.answers
        && answer.get(12..question.len()) == Some(&question[12..]);
    match right {
        true => Ok(word(0)),
        false => Err(format!(
            "an answer with code {}, {} questions and {} records",
            head[3] & 0x0f,
            word(4),
            word(6)
        )),
    }
}

/// A question for the A record of a name (RFC 1035 §4.1).
fn question(name: &str) -> Vec<u8> {
    let mut bytes = vec![0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0];
    for label in name.split('.') {
        bytes.push(u8::try_from(label.len()).unwrap_or(63));
        bytes.extend(label.as_bytes());
    }
    bytes.extend([0, 0, 1, 0, 1]);
    bytes
}

#[cfg(test)]
#[path = "names_tests.rs"]
mod tests;
