//! What checks look at and act upon. There are two worlds: the machine, and one in which a test has
//! broken something that no policy and no setting of a machine can break.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Something that a program tries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Ask the kernel to load a module.
    LoadModule,
    /// Make a socket: family, type, protocol.
    Socket(i32, i32, i32),
    /// Make a file of a device: path, whether of blocks, major, minor.
    MakeDevice(PathBuf, bool, u32, u32),
    /// Open a file to write into it.
    OpenToWrite(PathBuf),
    /// Put another file in its place.
    Replace(PathBuf),
    /// Have a filter of system calls refuse one, and see it refused.
    Seccomp,
    /// Have Landlock refuse a file, and see it refused.
    Landlock,
}

/// What a program said.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ran {
    /// Its exit code.
    pub(crate) code: i32,
    /// Its stdout and, behind it, its stderr.
    pub(crate) said: String,
}

impl Ran {
    /// The last line that says something.
    pub(crate) fn last(&self) -> &str {
        let mut lines = self.said.lines().rev();
        lines
            .find(|line| !line.trim().is_empty())
            .unwrap_or("it said nothing")
    }
}

/// A machine as its programs see it.
pub(crate) trait World {
    /// Where a path of the machine is.
    fn at(&self, path: &str) -> PathBuf;
    /// Tries something.
    fn attempt(&self, act: &Act) -> io::Result<()>;
    /// Runs a line of shell.
    fn shell(&self, script: &str) -> io::Result<Ran>;
    /// Connects, says this, and hears what comes until the other side has ended.
    fn tcp(&self, to: SocketAddr, say: &[u8]) -> io::Result<Vec<u8>>;
    /// Sends a datagram and hears one.
    fn udp(&self, to: SocketAddr, say: &[u8], within: Duration) -> io::Result<Vec<u8>>;
    /// The addresses of a name.
    fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>>;
    /// What the host has said.
    fn told(&self, name: &str) -> Option<String>;
    /// The variables of this program.
    fn variables(&self) -> Vec<(String, String)>;
    /// Nanoseconds since 1970.
    fn now(&self) -> u64;
    /// The size of the terminal on stdin: lines and characters in a line.
    fn terminal(&self) -> io::Result<(u16, u16)>;
}

/// What the host has said, or what is wrong.
pub(crate) fn told(world: &dyn World, name: &str) -> Result<String, String> {
    world
        .told(name)
        .ok_or_else(|| format!("the host has not said {name}=…, so nothing was tried"))
}

/// The contents of a file of the machine, as text.
pub(crate) fn read(world: &dyn World, path: &str) -> io::Result<String> {
    let bytes = std::fs::read(world.at(path))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// What a folder of the machine holds, sorted.
pub(crate) fn list(world: &dyn World, path: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(world.at(path))? {
        names.push(entry?.file_name().to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names)
}
