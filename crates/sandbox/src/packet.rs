//! Packets between two processes of the product, and between the product and a client of it: one
//! message each on a sequenced-packet socket, with descriptors. What comes is parsed as hostile.

use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;

/// The two ends of a way for packets.
///
/// # Errors
/// There is no descriptor for them.
pub fn channel() -> io::Result<(OwnedFd, OwnedFd)> {
    Ok(socketpair(
        AddressFamily::UNIX,
        SocketType::SEQPACKET,
        SocketFlags::CLOEXEC,
        None,
    )?)
}

/// A packet is at most this long; a longer one is truncated by the kernel and does not parse.
const PACKET: usize = 16 * 1024;
/// A message of at most this length is made without memory of its own.
const SHORT: usize = 64;
/// A packet carries at most this many descriptors.
pub const DESCRIPTORS: usize = 128;

/// Sends one packet with descriptors.
///
/// # Errors
/// The other side is gone, or the packet is too large.
pub fn send<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptors: &[impl AsFd],
) -> io::Result<()> {
    send_with(socket, message, descriptors, SendFlags::NOSIGNAL)
}

/// Sends one packet with descriptors if there is room for it.
///
/// # Errors
/// There is none ([`io::ErrorKind::WouldBlock`]), or those of [`send`].
pub fn send_now<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptors: &[impl AsFd],
) -> io::Result<()> {
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    send_with(socket, message, descriptors, flags)
}

fn send_with<T: Serialize>(
    socket: impl AsFd,
    message: &T,
    descriptors: &[impl AsFd],
    flags: SendFlags,
) -> io::Result<()> {
    // Short messages with at most one descriptor take no memory: some are sent by a process that
    // shares another's.
    let mut short = [0; SHORT];
    let long;
    let bytes: &[u8] = match postcard::to_slice(message, &mut short) {
        Ok(bytes) => bytes,
        Err(_) => {
            long = postcard::to_allocvec(message).map_err(io::Error::other)?;
            &long
        }
    };
    let (one, several);
    let borrowed: &[BorrowedFd<'_>] = match descriptors {
        [] => &[],
        [descriptor] => {
            one = [descriptor.as_fd()];
            &one
        }
        all => {
            several = all.iter().map(AsFd::as_fd).collect::<Vec<_>>();
            &several
        }
    };
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !borrowed.is_empty() && !ancillary.push(SendAncillaryMessage::ScmRights(borrowed)) {
        return Err(io::Error::other("too many descriptors for one packet"));
    }
    sendmsg(socket, &[IoSlice::new(bytes)], &mut ancillary, flags)?;
    Ok(())
}

/// Sends one packet without descriptors.
///
/// # Errors
/// Those of [`send`].
pub fn tell<T: Serialize>(socket: impl AsFd, message: &T) -> io::Result<()> {
    send(socket, message, &[] as &[OwnedFd])
}

/// Sends one packet without descriptors if there is room for it.
///
/// # Errors
/// Those of [`send_now`].
pub fn tell_now<T: Serialize>(socket: impl AsFd, message: &T) -> io::Result<()> {
    send_now(socket, message, &[] as &[OwnedFd])
}

/// Lets whoever was just told something go first. The kernel wakes the receiver of a packet on the
/// sender's CPU, because a sender mostly sleeps next; one that has more to do would keep it waiting.
pub fn step_aside() {
    rustix::thread::sched_yield();
}

/// Receives one packet; `None` when the other side is gone.
///
/// # Errors
/// What came is no such message, or could not be received.
pub fn receive<T: for<'de> Deserialize<'de>>(
    socket: impl AsFd,
) -> io::Result<Option<(T, Vec<OwnedFd>)>> {
    let mut bytes = vec![0; PACKET];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut slices = [IoSliceMut::new(&mut bytes)];
        match recvmsg(
            &socket,
            &mut slices,
            &mut ancillary,
            RecvFlags::CMSG_CLOEXEC,
        ) {
            // The other side went away with packets unread. What it had said before comes now.
            Err(rustix::io::Errno::INTR | rustix::io::Errno::CONNRESET) => {}
            other => break other?,
        }
    };
    let mut descriptors = Vec::new();
    for message in ancillary.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    if received.bytes == 0 {
        return Ok(None);
    }
    let message = postcard::from_bytes(&bytes[..received.bytes]).map_err(io::Error::other)?;
    Ok(Some((message, descriptors)))
}

/// Bytes of the largest message in a file; the arguments and the environment of one program are at
/// most a quarter of the stack's limit of 8 MiB (execve(2)).
const LARGEST: u64 = 64 << 20;

/// Writes a message of any size into an anonymous file.
///
/// # Errors
/// There is no memory or descriptor for it.
pub fn pack(message: &impl Serialize) -> io::Result<OwnedFd> {
    let bytes = postcard::to_allocvec(message).map_err(io::Error::other)?;
    let mut file = File::from(memfd_create("message", MemfdFlags::CLOEXEC)?);
    file.write_all(&bytes)?;
    Ok(file.into())
}

/// `TMPFS_MAGIC` (statfs(2)).
const IN_MEMORY: i64 = 0x0102_1994;

/// Reads what [`pack`] has written. It is in memory: a file elsewhere could keep its reader waiting.
///
/// # Errors
/// It is no such message.
pub fn unpack<T: for<'de> Deserialize<'de>>(file: impl AsFd) -> io::Result<T> {
    let mut file = File::from(file.as_fd().try_clone_to_owned()?);
    let meta = file.metadata()?;
    if !meta.is_file() || rustix::fs::fstatfs(&file)?.f_type != IN_MEMORY {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let length = meta.len().min(LARGEST);
    let mut bytes = Vec::with_capacity(usize::try_from(length).unwrap_or(0) + 1);
    file.rewind()?;
    file.take(LARGEST).read_to_end(&mut bytes)?;
    postcard::from_bytes(&bytes).map_err(io::Error::other)
}

/// What a command is entered with: a message of any size, and its three streams. None where
/// something of it is missing or is no such thing.
#[must_use]
pub fn unpack_command<T: for<'de> Deserialize<'de>>(
    descriptors: Vec<OwnedFd>,
) -> Option<(T, [OwnedFd; 3])> {
    let [message, stdin, stdout, stderr] = descriptors.try_into().ok()?;
    Some((unpack(message).ok()?, [stdin, stdout, stderr]))
}

/// Paths as their bytes: they need not be text.
#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "the names are serde's"
)]
pub mod raw {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};
    use std::ffi::OsString;
    use std::path::{Path, PathBuf};

    pub fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
        path.as_os_str().serialize(serializer)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(source: D) -> Result<PathBuf, D::Error> {
        OsString::deserialize(source).map(PathBuf::from)
    }
}

/// The same for a list of them.
#[allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "the names are serde's"
)]
pub mod raw_list {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::ffi::OsString;
    use std::path::PathBuf;

    pub fn serialize<S: Serializer>(paths: &[PathBuf], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(paths.iter().map(|path| path.as_os_str()))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<PathBuf>, D::Error> {
        let paths = Vec::<OsString>::deserialize(from)?;
        Ok(paths.into_iter().map(PathBuf::from).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_words_arrive_although_the_other_side_did_not_listen() {
        let (here, there) = channel().unwrap();
        tell(&there, &7_u8).unwrap();
        // Unread packets make the kernel report a reset before anything else.
        tell(&here, &1_u8).unwrap();
        drop(there);
        assert_eq!(receive::<u8>(&here).unwrap().unwrap().0, 7);
        assert!(receive::<u8>(&here).unwrap().is_none());
    }
}
