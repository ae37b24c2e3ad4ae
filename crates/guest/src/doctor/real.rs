//! The machine itself.

use super::world::{Act, Ran, World};
use bailiwick_process::State;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::fd::FromRawFd as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// How long a connection may say nothing.
const PATIENCE: Duration = Duration::from_secs(20);
/// The most that is heard of one, in bytes.
const MOST: u64 = 1 << 20;

/// The machine, and what the host has said.
pub(super) struct Real {
    told: Vec<(String, String)>,
}

impl Real {
    pub(super) fn new(told: Vec<(String, String)>) -> Self {
        Self { told }
    }
}

impl World for Real {
    fn at(&self, path: &str) -> PathBuf {
        path.into()
    }

    fn attempt(&self, act: &Act) -> io::Result<()> {
        match act {
            Act::LoadModule => load_module(),
            Act::Socket(family, kind, protocol) => socket(*family, *kind, *protocol),
            Act::MakeDevice(path, blocks, major, minor) => {
                let kind = match blocks {
                    true => rustix::fs::FileType::BlockDevice,
                    false => rustix::fs::FileType::CharacterDevice,
                };
                let number = rustix::fs::makedev(*major, *minor);
                Ok(rustix::fs::mknodat(CWD, path, kind, Mode::RUSR, number)?)
            }
            Act::OpenToWrite(path) => {
                let flags = OFlags::WRONLY | OFlags::CLOEXEC;
                Ok(rustix::fs::open(path, flags, Mode::empty()).map(drop)?)
            }
            Act::Replace(path) => replace(path),
            Act::Seccomp => layer("seccomp"),
            Act::Landlock => layer("landlock"),
        }
    }

    fn shell(&self, script: &str) -> io::Result<Ran> {
        let output = Command::new("sh")
            .args(["-c", script])
            // A terminal stays one.
            .stdin(Stdio::inherit())
            .output()?;
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        said.push_str(&String::from_utf8_lossy(&output.stderr));
        Ok(Ran {
            code: output.status.code().unwrap_or(-1),
            said,
        })
    }

    fn tcp(&self, to: SocketAddr, say: &[u8]) -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&to, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.write_all(say)?;
        let mut heard = Vec::new();
        match stream.take(MOST).read_to_end(&mut heard) {
            // What came before is what it said.
            Err(_) if !heard.is_empty() => Ok(heard),
            Err(error) => Err(error),
            Ok(_) => Ok(heard),
        }
    }

    fn udp(&self, to: SocketAddr, say: &[u8], within: Duration) -> io::Result<Vec<u8>> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket.connect(to)?;
        socket.set_read_timeout(Some(within))?;
        socket.send(say)?;
        let mut heard = vec![0; 4096];
        let length = socket.recv(&mut heard)?;
        heard.truncate(length);
        Ok(heard)
    }

    fn addresses(&self, name: &str) -> io::Result<Vec<SocketAddr>> {
        Ok(name.to_socket_addrs()?.collect())
    }

    fn told(&self, name: &str) -> Option<String> {
        let found = self.told.iter().find(|(told, _)| told == name);
        found.map(|(_, value)| value.clone())
    }

    fn variables(&self) -> Vec<(String, String)> {
        let text = |word: std::ffi::OsString| word.to_string_lossy().into_owned();
        std::env::vars_os()
            .map(|(name, value)| (text(name), text(value)))
            .collect()
    }

    fn now(&self) -> u64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        u64::try_from(now.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
    }

    fn terminal(&self) -> io::Result<(u16, u16)> {
        let size = rustix::termios::tcgetwinsize(rustix::stdio::stdin())?;
        Ok((size.ws_row, size.ws_col))
    }
}

fn load_module() -> io::Result<()> {
    // SAFETY: init_module(2) reads `length` bytes, none, and a string that ends in 0; what is no
    // module changes nothing.
    let done = unsafe {
        libc::syscall(
            libc::SYS_init_module,
            [0_u8; 1].as_ptr(),
            0_usize,
            c"".as_ptr(),
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn socket(family: i32, kind: i32, protocol: i32) -> io::Result<()> {
    // SAFETY: socket(2) takes numbers.
    let fd = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just made and nobody else has it.
    drop(unsafe { std::os::fd::OwnedFd::from_raw_fd(fd) });
    Ok(())
}

/// Puts a file in the place of another, and takes it back if that worked.
fn replace(path: &Path) -> io::Result<()> {
    let mut aside = path.as_os_str().to_owned();
    aside.push(".aside");
    let aside = PathBuf::from(aside);
    std::fs::rename(path, &aside)?;
    let _ = std::fs::rename(&aside, path);
    Ok(())
}

/// Whether a layer of the process backend works here: it is tried in a child.
fn layer(name: &str) -> io::Result<()> {
    let found = bailiwick_process::examine();
    let state = found.into_iter().find(|finding| finding.layer == name);
    match state.map(|finding| finding.state) {
        Some(State::Works) => Ok(()),
        Some(State::Weaker(why) | State::Missing(why)) => {
            Err(io::Error::other(why.replace('\n', " ")))
        }
        None => Err(Errno::NOSYS.into()),
    }
}
