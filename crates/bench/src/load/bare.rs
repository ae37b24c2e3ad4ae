//! The least that a name server can be, to compare the gate's answers with: a process that receives a
//! datagram, sets four bits and sends it back. It stands in a network namespace of its own, whose
//! `resolv.conf` names it, so that the C library does for it exactly what it does in a sandbox.

use rustix::fs::CWD;
use rustix::mount::{MountPropagationFlags, mount_bind, mount_change};
use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::io;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Puts this process into namespaces of its own, with `settings` as its `resolv.conf`, and starts
/// the responder there.
pub(super) fn enter(settings: &Path) -> io::Result<Child> {
    let settings = settings.canonicalize()?;
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    let mut spaces = UnshareFlags::NEWNET | UnshareFlags::NEWNS;
    if !user.is_root() {
        spaces |= UnshareFlags::NEWUSER;
    }
    // SAFETY: the process has one thread and shares no files' table that somebody relies on.
    unsafe { unshare_unsafe(spaces) }?;
    if !user.is_root() {
        std::fs::write("/proc/self/setgroups", "deny")?;
        std::fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
        std::fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))?;
    }
    let private = MountPropagationFlags::PRIVATE | MountPropagationFlags::REC;
    mount_change("/", private)?;
    mount_bind(&settings, "/etc/resolv.conf")?;
    raise_loopback()?;
    let socket = UdpSocket::bind("127.0.0.1:53")?;
    let own = rustix::fs::readlinkat(CWD, "/proc/self/exe", Vec::new())?;
    Command::new(own.to_string_lossy().as_ref())
        .args(["bench", "load", super::RESPOND])
        .stdin(Stdio::from(OwnedFd::from(socket)))
        .stdout(Stdio::null())
        .spawn()
}

/// Answers every question with "there is no such name", until the parent ends.
pub(super) fn respond() -> io::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    let socket = UdpSocket::from(rustix::io::dup(rustix::stdio::stdin())?);
    let mut buffer = [0; 4096];
    loop {
        let (length, from) = socket.recv_from(&mut buffer)?;
        if length >= 12 {
            buffer[2] |= 0x80;
            buffer[3] = 0x83;
            socket.send_to(&buffer[..length], from)?;
        }
    }
}

fn raise_loopback() -> io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: ifreq is a C structure of integers, for which all bits zero is a value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(b"lo") {
        *to = from.cast_signed();
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_UP | libc::IFF_RUNNING) as i16;
    // SAFETY: the descriptor is open, and the request is a live local of the type that this call reads.
    match unsafe {
        libc::ioctl(
            socket.as_raw_fd(),
            libc::SIOCSIFFLAGS as _,
            &raw const request,
        )
    } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
