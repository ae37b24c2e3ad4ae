//! What a machine that was stopped, copied or never started before has to be told: the time, randomness
//! that no other copy has, and who it is.

use rustix::time::{ClockId, Timespec, clock_settime};
use std::fs::OpenOptions;
use std::io;
use std::os::fd::AsRawFd as _;

/// Sets the clock to nanoseconds since 1970.
pub(crate) fn set(now: u64) -> io::Result<()> {
    let nanoseconds = i64::try_from(now % 1_000_000_000).unwrap_or_default();
    let time = Timespec {
        tv_sec: i64::try_from(now / 1_000_000_000).unwrap_or_default(),
        tv_nsec: nanoseconds,
    };
    Ok(clock_settime(ClockId::Realtime, time)?)
}

/// The most randomness that is taken at once, in bytes.
const POOL: usize = 256;

#[repr(C)]
struct Entropy {
    bits: libc::c_int,
    bytes: libc::c_int,
    pool: [u8; POOL],
}

// linux/random.h
const ADD_ENTROPY: libc::c_ulong = 0x4008_5203;
const RESEED: libc::c_ulong = 0x5207;

/// Mixes randomness into the kernel's pool and has what programs read come from it at once.
pub(crate) fn stir(entropy: &[u8]) -> io::Result<()> {
    let mut pool = [0; POOL];
    let length = entropy.len().min(POOL);
    if let (Some(to), Some(from)) = (pool.get_mut(..length), entropy.get(..length)) {
        to.copy_from_slice(from);
    }
    let entropy = Entropy {
        bits: libc::c_int::try_from(8 * length).unwrap_or_default(),
        bytes: libc::c_int::try_from(length).unwrap_or_default(),
        pool,
    };
    let random = OpenOptions::new().write(true).open("/dev/urandom")?;
    // SAFETY: RNDADDENTROPY (random(4)) reads `bytes` bytes behind a header of two integers; the
    // structure is live and no shorter.
    let added = unsafe { libc::ioctl(random.as_raw_fd(), ADD_ENTROPY as _, &raw const entropy) };
    // SAFETY: RNDRESEEDCRNG takes no argument.
    let again = unsafe { libc::ioctl(random.as_raw_fd(), RESEED as _) };
    match (added, again) {
        (0, 0) => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
