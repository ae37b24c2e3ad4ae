//! What the broker reads about a program that waits for it. Everything here is the program's own
//! word and can be anything; it is read once.

use crate::kernel;
use rustix::fd::OwnedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;
use std::cell::{OnceCell, RefCell};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// The kernel's limit of a path, with the NUL at its end (`PATH_MAX`).
const PATH_MAX: usize = 4096;

/// A thread that waits for the broker.
pub(super) struct Tracee {
    thread: u32,
    /// Reading it takes the kernel longer than most acts.
    status: OnceCell<Status>,
}

impl Tracee {
    /// The thread of this number, while it waits.
    pub(super) fn new(thread: u32) -> Self {
        Self {
            thread,
            status: OnceCell::new(),
        }
    }

    /// The NUL-terminated text at an address.
    pub(super) fn text(&self, address: u64) -> Result<OsString, Errno> {
        const PAGE: u64 = 4096;
        const SHORT: u64 = 256;
        let mut text = Vec::new();
        while text.len() < PATH_MAX {
            let from = address.wrapping_add(text.len() as u64);
            // Never across a page: the next one may not be there. Most paths are short.
            let most = if text.is_empty() { SHORT } else { PAGE };
            let length = most.min(PAGE - from % PAGE) as usize;
            let mut part = [0; PAGE as usize];
            let read = match kernel::read_memory(self.thread, from, &mut part[..length]) {
                Ok(0) => return Err(Errno::FAULT),
                Ok(read) => read,
                // Not to be looked at at all.
                Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                    return Err(Errno::ACCESS);
                }
                Err(_) => return Err(Errno::FAULT),
            };
            if let Some(end) = part[..read].iter().position(|&b| b == 0) {
                text.extend_from_slice(&part[..end]);
                if text.len() >= PATH_MAX {
                    break;
                }
                return Ok(OsString::from_vec(text));
            }
            text.extend_from_slice(&part[..read]);
        }
        Err(Errno::NAMETOOLONG)
    }

    /// So many bytes at an address.
    pub(super) fn bytes(&self, address: u64, length: usize) -> Result<Vec<u8>, Errno> {
        let mut bytes = vec![0; length];
        match kernel::read_memory(self.thread, address, &mut bytes) {
            Ok(read) if read == length => Ok(bytes),
            // Not to be looked at at all.
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => Err(Errno::ACCESS),
            _ => Err(Errno::FAULT),
        }
    }

    /// Reads memory; how many bytes.
    pub(super) fn memory(&self, address: u64, into: &mut [u8]) -> std::io::Result<usize> {
        kernel::read_memory(self.thread, address, into)
    }

    /// The folder that relative paths mean: a descriptor of the program's, or its working
    /// directory.
    pub(super) fn folder(&self, descriptor: i32) -> Result<OwnedFd, Errno> {
        let path = match descriptor {
            libc::AT_FDCWD => format!("/proc/{}/cwd", self.thread),
            0.. => format!("/proc/{}/fd/{descriptor}", self.thread),
            _ => return Err(Errno::BADF),
        };
        let flags = OFlags::PATH | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Err(Errno::NOENT) => Err(Errno::BADF),
            // A program that is not dumpable: its folder in /proc is the superuser's.
            Err(Errno::ACCESS) if descriptor >= 0 => {
                let process = self.status()?.process;
                kernel::descriptor_of(process, descriptor).map_err(|_| Errno::ACCESS)
            }
            other => other,
        }
    }

    /// Its process, its mode mask and its controlling terminal.
    pub(super) fn status(&self) -> Result<Status, Errno> {
        if let Some(status) = self.status.get() {
            return Ok(*status);
        }
        let status = self.read_status()?;
        Ok(*self.status.get_or_init(|| status))
    }

    fn read_status(&self) -> Result<Status, Errno> {
        // What is wanted of it stands in its first lines.
        let mut text = [0; 512];
        let text = read_status(self.thread, &mut text).map_err(|_| Errno::SRCH)?;
        let field = |name| field(text, name);
        let process = field("Tgid:").and_then(|v| v.parse().ok());
        let parent = field("PPid:").and_then(|v| v.parse().ok());
        let umask = field("Umask:").and_then(|v| u32::from_str_radix(v, 8).ok());
        Ok(Status {
            process: process.ok_or(Errno::SRCH)?,
            parent: parent.ok_or(Errno::SRCH)?,
            thread: self.thread,
            umask: Mode::from_bits_truncate(umask.ok_or(Errno::SRCH)?),
        })
    }

    /// The number of its controlling terminal; none where it has none.
    pub(super) fn terminal(&self) -> Option<u32> {
        let text = std::fs::read(format!("/proc/{}/stat", self.thread)).ok()?;
        // The name of the program stands in brackets and may contain anything.
        let after = text.iter().rposition(|&b| b == b')')? + 1;
        let rest = std::str::from_utf8(&text[after..]).ok()?;
        let number: i64 = rest.split_ascii_whitespace().nth(4)?.parse().ok()?;
        u32::try_from(number).ok().filter(|&number| number != 0)
    }
}

/// Whether a signal waits that the thread has a handler for.
pub(super) fn is_interrupted(thread: u32) -> bool {
    // What is wanted of it stands behind the groups, of which there may be many.
    let text = std::fs::read(format!("/proc/{thread}/status")).unwrap_or_default();
    let set = |name| {
        let set = field(&text, name).and_then(|set| u64::from_str_radix(set, 16).ok());
        set.unwrap_or(0)
    };
    (set("SigPnd:") | set("ShdPnd:")) & !set("SigBlk:") & set("SigCgt:") != 0
}

/// What the kernel says of a thread (proc_pid_status(5)), as much as there is room for: it gives that in one call.
fn read_status(thread: u32, text: &mut [u8]) -> Result<&[u8], Errno> {
    thread_local! {
        /// The thread that was asked about last, and its file: it is likely to be the next one as well.
        static LAST: RefCell<Option<(u32, OwnedFd)>> = const { RefCell::new(None) };
    }
    LAST.with_borrow_mut(|last| {
        // The file is of this very thread, and of no later one with its number: then nothing is read of it.
        if let Some((_, file)) = last.as_ref().filter(|(known, _)| *known == thread)
            && let Ok(read) = rustix::io::pread(file, &mut *text, 0)
        {
            return Ok(read);
        }
        let path = format!("/proc/{thread}/status");
        let file = openat(CWD, path, OFlags::CLOEXEC, Mode::empty())?;
        let read = rustix::io::pread(&file, &mut *text, 0)?;
        *last = Some((thread, file));
        Ok(read)
    })
    .map(|read| &text[..read])
}

/// What a line of it says behind `name`.
fn field<'a>(text: &'a [u8], name: &str) -> Option<&'a str> {
    text.split(|&b| b == b'\n').find_map(|line| {
        let rest = line.strip_prefix(name.as_bytes())?;
        std::str::from_utf8(rest).ok().map(str::trim)
    })
}

/// See [`Tracee::status`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Status {
    pub(super) process: u32,
    pub(super) parent: u32,
    pub(super) thread: u32,
    pub(super) umask: Mode,
}
