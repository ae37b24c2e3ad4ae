//! Which program has opened a connection, for the record: the kernel knows the socket of one, and whose
//! descriptor a socket is stands in `/proc`.
//!
//! Decision: the connection is passed on first, and nobody waits for this. It takes no more than a tenth
//! of this process's time; of what is over that, and of a program that has ended meanwhile, nothing is
//! told. It is a report: whoever governs the guest could falsify it.

use bailiwick_channel::schema::{Program, ToHost};
use rustix::process::Pid;
use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

/// Connections that wait to be looked for; of further ones nothing is told.
const MOST: usize = 256;
/// For one part of the time that it is looked, so many parts it is not.
const REST: u32 = 9;

/// A program's connection: from, to.
type Connection = (SocketAddrV4, SocketAddrV4);

/// Connections whose programs are looked for.
#[derive(Debug, Default)]
pub(crate) struct Callers {
    /// Those that may not have been passed on yet.
    new: Vec<Connection>,
    waiting: Vec<Connection>,
    /// Until when nothing is looked for.
    rests: Option<Instant>,
}

impl Callers {
    /// Looks for the program of this connection, in the turn after the next.
    pub(crate) fn look_for(&mut self, connection: Connection) {
        if self.new.len() + self.waiting.len() < MOST {
            self.new.push(connection);
        }
    }

    /// The programs of connections, as far as they are still there; called once in each turn, before what
    /// is to be sent is sent.
    pub(crate) fn found(&mut self) -> Vec<ToHost> {
        let new = std::mem::take(&mut self.new);
        let waiting = std::mem::replace(&mut self.waiting, new);
        if waiting.is_empty() {
            return Vec::new();
        }
        let now = Instant::now();
        if self.rests.is_some_and(|until| now < until) {
            self.waiting.extend(waiting);
            return Vec::new();
        }
        let table = fs::read_to_string("/proc/net/tcp").unwrap_or_default();
        let mut sockets = sockets(&table, &waiting);
        let mut told = Vec::new();
        for pid in processes() {
            if sockets.is_empty() {
                break;
            }
            for socket in of_process(pid) {
                if let Some(at) = sockets.iter().position(|(inode, _)| *inode == socket) {
                    let (_, to) = sockets.swap_remove(at);
                    let by = Program {
                        pid: pid.as_raw_nonzero().get().cast_unsigned(),
                        name: name(pid),
                    };
                    told.push(ToHost::Called { by, to });
                }
            }
        }
        self.rests = Some(now + now.elapsed().max(Duration::from_micros(100)) * (REST + 1));
        told
    }
}

/// The sockets of these connections, by their numbers, and where each leads.
fn sockets(table: &str, of: &[Connection]) -> Vec<(u64, SocketAddrV4)> {
    let line = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        let connection = (address(words.nth(1)?)?, address(words.next()?)?);
        let socket = words.nth(6)?.parse().ok()?;
        of.contains(&connection).then_some((socket, connection.1))
    };
    table.lines().filter_map(line).collect()
}

/// An address as `/proc/net/tcp` has it: the bytes of the address as a number of this machine's, the port.
fn address(text: &str) -> Option<SocketAddrV4> {
    let (ip, port) = text.split_once(':')?;
    let ip = u32::from_str_radix(ip, 16).ok()?.to_ne_bytes();
    let port = u16::from_str_radix(port, 16).ok()?;
    Some(SocketAddrV4::new(Ipv4Addr::from(ip), port))
}

/// Every process but this one, those with the lowest numbers first: who has opened a connection comes
/// before whoever has it from him.
fn processes() -> Vec<Pid> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pid = |entry: fs::DirEntry| entry.file_name().to_str()?.parse().ok();
    let mut all: Vec<i32> = entries.filter_map(pid).filter(|pid| *pid > 1).collect();
    all.sort_unstable();
    all.into_iter().filter_map(Pid::from_raw).collect()
}

/// The sockets that a process has, by their numbers.
fn of_process(pid: Pid) -> impl Iterator<Item = u64> {
    let files = fs::read_dir(format!("/proc/{}/fd", pid.as_raw_nonzero()));
    files.into_iter().flatten().flatten().filter_map(|file| {
        let leads = fs::read_link(file.path()).ok()?;
        let number = leads
            .to_str()?
            .strip_prefix("socket:[")?
            .strip_suffix(']')?;
        number.parse().ok()
    })
}

/// A process's name; at most 15 bytes.
fn name(pid: Pid) -> Vec<u8> {
    let mut name = fs::read(format!("/proc/{}/comm", pid.as_raw_nonzero())).unwrap_or_default();
    name.truncate(name.trim_ascii_end().len());
    name
}

#[cfg(test)]
#[path = "callers_tests.rs"]
mod tests;
