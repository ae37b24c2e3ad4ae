//! The start of the machine, and what becomes of a failure in it: the host is told, or where there is no
//! channel yet the console is, and the machine ends.

use crate::agent::Agent;
use crate::jobs;
use crate::network::Network;
use crate::power;
use crate::reached::Log;
use crate::root;
use crate::share::Doors;
use crate::stages::Stages;
use bailiwick_channel::{Line, Pump, Role};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use std::io;

/// How the channel's name ends: it is the first port of its device.
const CHANNEL: &[u8] = b"p1";
/// The same of the port that leads to the host's files.
const FILES: &[u8] = b"p2";

/// Runs the machine to its end.
pub(crate) fn run() -> ! {
    let mut stages = Stages::default();
    stages.mark("kernel");
    rustix::process::umask(Mode::empty());
    // The kernel's log is what the host keeps of a machine that has not spoken. Programs have no such
    // device.
    let begun = root::begin();
    let log = rustix::fs::open(
        c"/dev/kmsg",
        OFlags::WRONLY | OFlags::CLOEXEC,
        Mode::empty(),
    );
    if let Err((what, error)) = start(begun, stages) {
        let line = format!("bailiwick-guest: {what}: {error}\n");
        let _ = log.map(|log| rustix::io::write(log, line.as_bytes()));
    }
    power::off()
}

trait Step<T> {
    fn step(self, what: &'static str) -> Result<T, (&'static str, io::Error)>;
}
impl<T, E: Into<io::Error>> Step<T> for Result<T, E> {
    fn step(self, what: &'static str) -> Result<T, (&'static str, io::Error)> {
        self.map_err(|error| (what, error.into()))
    }
}

fn start(begun: Result<(), Errno>, mut stages: Stages) -> Result<(), (&'static str, io::Error)> {
    begun.step("the kernel's file systems")?;
    let log = Log::open().step("the kernel's log")?;
    stages.mark("base");
    root::image().step("the image")?;
    stages.mark("image");
    root::overlay().step("the overlay")?;
    stages.mark("overlay");
    let channel = port(CHANNEL).step("the channel")?;
    let doors = doors().step("the port of the host's files")?;
    stages.mark("channel");
    root::complete().step("the root")?;
    root::enter().step("the root")?;
    stages.mark("root");
    let network = Network::new().step("the network")?;
    stages.mark("network");
    jobs::give_up().step("the capabilities of commands")?;
    let line = Line::new(channel, Role::Guest).step("the channel")?;
    let agent = Agent::new(network, log, stages, doors, &line).step("the agent")?;
    match Pump::new(line, agent).run() {
        Ok(()) => Ok(()),
        Err(fault) => Err(("the channel", io::Error::other(fault.to_string()))),
    }
}

/// What leads to the host's files.
fn doors() -> io::Result<Doors> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    Ok(Doors {
        port: port(FILES)?,
        fuse: rustix::fs::open(c"/dev/fuse", flags, Mode::empty())?,
    })
}

/// Opens a port, as soon as the kernel has found its device.
fn port(name: &[u8]) -> io::Result<OwnedFd> {
    if let Some(port) = found(name)? {
        return Ok(port);
    }
    let watch = inotify::init(inotify::CreateFlags::CLOEXEC)?;
    inotify::add_watch(&watch, c"/dev", inotify::WatchFlags::CREATE)?;
    loop {
        if let Some(port) = found(name)? {
            return Ok(port);
        }
        let _ = poll(&mut [PollFd::new(&watch, PollFlags::IN)], None);
        let _ = rustix::io::read(&watch, &mut [0; 4096]);
    }
}

/// A port, where it is there: its file has the number of its device and its own.
fn found(ends: &[u8]) -> io::Result<Option<OwnedFd>> {
    for entry in std::fs::read_dir("/dev")? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(b"vport") && name.ends_with(ends) {
            let flags = OFlags::RDWR | OFlags::CLOEXEC;
            return Ok(Some(rustix::fs::open(entry.path(), flags, Mode::empty())?));
        }
    }
    Ok(None)
}
