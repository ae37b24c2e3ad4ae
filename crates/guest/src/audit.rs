//! Which programs are executed: the kernel's audit tells of each, with its words, when it is loaded.
//!
//! Decision: the kernel's own record and not a look into `/proc`, in which a program that ends quickly is
//! not found. Nothing waits for it: where programs start faster than they are told of, what is lost is
//! counted by the kernel and told. It is a report: whoever is the guest's kernel could keep it from
//! being made.

mod record;

use bailiwick_channel::schema::ToHost;
use record::Records;
use rustix::fd::{AsFd as _, BorrowedFd, FromRawFd as _, OwnedFd};
use rustix::io::Errno;
use std::io;

// linux/audit.h
const SET: u16 = 1001;
const ADD_RULE: u16 = 1011;
const NETLINK_AUDIT: i32 = 9;
const ENABLED: u32 = 1;
const PID: u32 = 4;
const BACKLOG: u32 = 0x10;
const WAIT: u32 = 0x20;
const FAILURE: u32 = 2;
/// Records that wait for this process; each is some kilobytes at the most.
const MOST: u32 = 4096;
const EXIT: u32 = 4;
const ALWAYS: u32 = 2;
const EXECVE: usize = 59;
const EXECVEAT: usize = 322;
/// `struct audit_rule_data` without its strings, in bytes: three words, the calls, fields and values.
const RULE: usize = 4 * (3 + 64 + 3 * 64 + 1);
const EXCLUDE: u32 = 5;
const FIELD_SUCCESS: u32 = 104;
const FIELD_TYPE: u32 = 12;
/// Kinds of records that say nothing that others do not: paths, and the title of a process.
const UNUSED: [u32; 2] = [1302, 1327];
const EQUAL: u32 = 0x4000_0000;

/// The kernel's record of executions.
pub(crate) struct Audit {
    socket: OwnedFd,
    records: Records,
    buffer: Vec<u8>,
}

impl Audit {
    /// Asks for it.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: socket(2) takes numbers.
        let socket = unsafe {
            libc::socket(
                libc::AF_NETLINK,
                libc::SOCK_RAW | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK,
                NETLINK_AUDIT,
            )
        };
        if socket < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: it is a new descriptor that nobody else has.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        let audit = Self {
            socket,
            records: Records::default(),
            buffer: vec![0; 16 * 1024],
        };
        audit.order(SET, &status())?;
        audit.order(ADD_RULE, &rule(EXIT, &[EXECVE, EXECVEAT], FIELD_SUCCESS, 1))?;
        // What is not told of is not written either: that is half of what an execution costs.
        for kind in UNUSED {
            audit.order(ADD_RULE, &rule(EXCLUDE, &[], FIELD_TYPE, kind))?;
        }
        Ok(audit)
    }

    /// Gives an order; the answer comes with the records.
    fn order(&self, kind: u16, payload: &[u8]) -> io::Result<()> {
        let length = 16 + payload.len();
        let mut message = Vec::with_capacity(length);
        message.extend_from_slice(&u32::try_from(length).unwrap_or_default().to_ne_bytes());
        message.extend_from_slice(&kind.to_ne_bytes());
        // NLM_F_REQUEST | NLM_F_ACK
        message.extend_from_slice(&5_u16.to_ne_bytes());
        message.extend_from_slice(&1_u32.to_ne_bytes());
        message.extend_from_slice(&0_u32.to_ne_bytes());
        message.extend_from_slice(payload);
        rustix::net::send(&self.socket, &message, rustix::net::SendFlags::empty())?;
        // The kernel answers before the call returns; records may come first.
        let mut buffer = [0; 16 * 1024];
        loop {
            let read = match rustix::io::read(&self.socket, &mut buffer) {
                Ok(read) => read,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error.into()),
            };
            let word = |at: usize| {
                let bytes = buffer.get(..read)?.get(at..at + 4)?;
                <[u8; 4]>::try_from(bytes).ok().map(i32::from_ne_bytes)
            };
            if buffer.get(4..6) == Some(&2_u16.to_ne_bytes()) {
                return match word(16) {
                    Some(0) => Ok(()),
                    Some(errno) => Err(io::Error::from_raw_os_error(-errno)),
                    None => Err(io::ErrorKind::InvalidData.into()),
                };
            }
        }
    }

    /// What to wait for.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Takes what is there, at most so many records; what they say.
    pub(crate) fn take(&mut self, most: usize) -> Vec<ToHost> {
        let mut told = Vec::new();
        for _ in 0..most {
            match rustix::io::read(&self.socket, &mut self.buffer) {
                Ok(read) => {
                    let message = self.buffer.get(..read).unwrap_or_default();
                    told.extend(
                        self.records
                            .take(message)
                            .map(|e| ToHost::Executed(Box::new(e))),
                    );
                }
                Err(Errno::INTR) => {}
                Err(Errno::NOBUFS) => told.push(ToHost::Lost(1)),
                Err(_) => break,
            }
        }
        told
    }
}

/// `struct audit_status`: on, told to this process, in bounds, and nobody waits.
fn status() -> Vec<u8> {
    let mask = ENABLED | PID | BACKLOG | WAIT | FAILURE;
    // mask, enabled, failure, pid, rate, backlog limit, lost, backlog, features, wait, actual wait
    let words = [mask, 1, 0, 1, 0, MOST, 0, 0, 0, 0, 0];
    words
        .iter()
        .flat_map(|word: &u32| word.to_ne_bytes())
        .collect()
}

/// `struct audit_rule_data` for a list, about calls, with one field.
fn rule(list: u32, calls: &[usize], field: u32, value: u32) -> Vec<u8> {
    let mut words = vec![0_u32; RULE / 4];
    let mut set = |at: usize, value: u32| {
        if let Some(word) = words.get_mut(at) {
            *word |= value;
        }
    };
    set(0, list);
    set(1, ALWAYS);
    set(2, 1);
    for call in calls {
        set(3 + call / 32, 1 << (call % 32));
    }
    let (fields, values, flags) = (3 + 64, 3 + 64 + 64, 3 + 64 + 128);
    set(fields, field);
    set(values, value);
    set(flags, EQUAL);
    words.iter().flat_map(|word| word.to_ne_bytes()).collect()
}
