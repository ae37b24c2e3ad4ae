//! `bench channel`: loads the channel of one machine, in a process of its own, because a machine is begun
//! before there is any thread. What comes out of the guest is compared as it comes.

use super::known::{Known, PAGE};
use crate::inside::print;
use bailiwick_event::Failure;
use bailiwick_vm::{ChannelLoad, MachineShape, load_channel};
use rustix::fs::{MemfdFlags, Mode, OFlags, memfd_create, open};
use rustix::pipe::{PipeFlags, pipe_with};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::thread::JoinHandle;
use std::time::Duration;

/// Pages that are made at once.
const PAGES: usize = 256;

/// What came of it; nanoseconds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Loaded {
    pub accelerator: String,
    pub pings: Vec<u64>,
    pub to_guest: Vec<u64>,
    pub to_host: Vec<u64>,
    /// How many times so many bytes came out of the guest, each as it should be: those that it made, and
    /// those that it was sent.
    pub compared: usize,
}

/// `bench channel`: pings, and `bytes` (whole MiB) so many times each way; prints what came of it.
///
/// # Errors
/// A [`Failure`] where the machine does not start, its channel breaks, or a byte is another.
pub fn channel(
    shape: &MachineShape,
    pings: usize,
    bytes: u64,
    rounds: usize,
) -> Result<(), Failure> {
    let fault = |error: io::Error| Failure::fault(format!("bench channel: {error}"));
    let known = known(bytes).map_err(fault)?;
    let path = format!("/proc/self/fd/{}", known.as_raw_fd());
    let source = || {
        Ok(open(
            &path,
            OFlags::RDONLY | OFlags::CLOEXEC,
            Mode::empty(),
        )?)
    };
    let readers: RefCell<Vec<JoinHandle<io::Result<u64>>>> = RefCell::default();
    let sink = || -> io::Result<OwnedFd> {
        let (from, to) = pipe_with(PipeFlags::CLOEXEC)?;
        let expected = File::from(source()?);
        let reader =
            std::thread::Builder::new().spawn(move || compare(File::from(from), expected))?;
        readers.borrow_mut().push(reader);
        Ok(to)
    };
    let load = ChannelLoad {
        pings,
        rounds,
        bytes,
        source: &source,
        sink: &sink,
    };
    let times = load_channel(shape, &load)?;
    let mut compared = 0;
    for reader in readers.into_inner() {
        match reader.join() {
            Ok(Ok(read)) if read == bytes => compared += 1,
            Ok(Ok(read)) => {
                return Err(Failure::fault(format!(
                    "bench channel: {read} bytes came instead of {bytes}"
                )));
            }
            Ok(Err(error)) => return Err(fault(error)),
            Err(_) => return Err(Failure::fault("bench channel: nothing was compared")),
        }
    }
    let ns = |all: &[Duration]| all.iter().map(|took| took.as_nanos() as u64).collect();
    print(&Loaded {
        accelerator: times.accelerator.to_string(),
        pings: ns(&times.pings),
        to_guest: ns(&times.to_guest),
        to_host: ns(&times.to_host),
        compared,
    })
}

/// The bytes that both sides know.
fn known(bytes: u64) -> io::Result<File> {
    let mut file = File::from(memfd_create("known", MemfdFlags::CLOEXEC)?);
    let mut known = Known::new();
    for block in 0..bytes / (PAGES * PAGE) as u64 {
        file.write_all(known.pages(block * PAGES as u64, PAGES))?;
    }
    Ok(file)
}

/// Reads to the end; how many bytes there were.
///
/// # Errors
/// A byte is another.
fn compare(mut from: impl io::Read, mut expected: impl io::Read) -> io::Result<u64> {
    let (mut found, mut wanted) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    let mut read = 0;
    loop {
        let length = from.read(&mut found)?;
        if length == 0 {
            return Ok(read);
        }
        expected.read_exact(&mut wanted[..length])?;
        if found[..length] != wanted[..length] {
            let same = found
                .iter()
                .zip(&wanted)
                .take_while(|(a, b)| a == b)
                .count();
            return Err(io::Error::other(format!(
                "byte {} is another",
                read + same as u64
            )));
        }
        read += length as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_that_is_another_or_missing_is_found() {
        let mut bytes = vec![3; 100_000];
        let expected = bytes.clone();
        assert_eq!(compare(&bytes[..], &expected[..]).unwrap(), 100_000);
        assert_eq!(compare(&bytes[..99_999], &expected[..]).unwrap(), 99_999);
        bytes[70_000] ^= 1;
        let error = compare(&bytes[..], &expected[..]).unwrap_err().to_string();
        assert_eq!(error, "byte 70000 is another");
        assert!(compare(&bytes[..5], &expected[..4]).is_err());
    }

    #[test]
    fn the_known_bytes_are_as_many_as_are_asked_for() {
        assert_eq!(known(3 << 20).unwrap().metadata().unwrap().len(), 3 << 20);
    }
}
