//! The loop of requests.

use crate::data::Handle;
use crate::folders::Listings;
use crate::nodes::{Nodes, ROOT};
use crate::owners::Owners;
use crate::port::{Port, Requests};
use crate::slow::{FsyncRequest, Slow};
use crate::watch::{Watches, Watching};
use crate::wire::{Answer, Fields, PART, Request, op};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::OwnedFd;
use rustix::fs::AtFlags;
use rustix::io::Errno;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::collections::HashMap;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// The protocol's version that is spoken (`FUSE_KERNEL_VERSION`, Linux 6.12).
const VERSION: (u32, u32) = (7, 41);
/// What is asked of the guest's kernel (`FUSE_*` flags of `struct fuse_init_in`).
mod wanted {
    /// Reads do not wait for each other.
    const ASYNC_READ: u32 = 1;
    /// A file is truncated as it is opened, by one request.
    const ATOMIC_O_TRUNC: u32 = 1 << 3;
    /// A write may have more than one page.
    const BIG_WRITES: u32 = 1 << 5;
    /// What a folder holds is told with what each of it is, where that is wanted.
    const DO_READDIRPLUS: u32 = 1 << 13;
    const READDIRPLUS_AUTO: u32 = 1 << 14;
    /// Lookups in one folder do not wait for each other.
    const PARALLEL_DIROPS: u32 = 1 << 18;
    /// A read or write has as many pages as is said here.
    const MAX_PAGES: u32 = 1 << 22;
    /// What a link says is kept.
    const CACHE_SYMLINKS: u32 = 1 << 23;
    /// Folders need not be opened.
    const NO_OPENDIR_SUPPORT: u32 = 1 << 24;
    /// Contents are kept until they are told to be others.
    const EXPLICIT_INVAL_DATA: u32 = 1 << 25;
    /// The host's kernel takes privileges from a file that is written.
    const HANDLE_KILLPRIV_V2: u32 = 1 << 28;

    pub(super) const ALL: u32 = ASYNC_READ
        | ATOMIC_O_TRUNC
        | BIG_WRITES
        | DO_READDIRPLUS
        | READDIRPLUS_AUTO
        | PARALLEL_DIROPS
        | MAX_PAGES
        | CACHE_SYMLINKS
        | NO_OPENDIR_SUPPORT
        | EXPLICIT_INVAL_DATA
        | HANDLE_KILLPRIV_V2;
}
/// After this many requests changes on the host are looked at even if more requests wait.
const TURN: usize = 256;

/// Answers one guest.
pub(crate) struct Server {
    pub(crate) nodes: Nodes,
    pub(crate) handles: HashMap<u64, Handle>,
    pub(crate) next_handle: u64,
    pub(crate) watches: Watches,
    pub(crate) owners: Owners,
    /// The number that stands for each device in the inode numbers that are told ([`Server::inode`]).
    pub(crate) devices: HashMap<(u32, u32), usize>,
    pub(crate) slow: Slow,
    pub(crate) port: Arc<Port>,
    /// [`Port::notified`] at the end of the last look at changes.
    pub(crate) notified: u64,
    pub(crate) listings: Listings,
}

/// How a request is answered.
enum Said {
    /// With what was put together.
    Answer,
    /// By somebody else, later.
    Later,
    /// Not at all.
    Nothing,
}

/// Raises the limit of open files to the hard one. Returns how many descriptors the nodes may hold: half of
/// it, 2^18 at most.
fn raise_limit() -> usize {
    let limit = getrlimit(Resource::Nofile);
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
    let files = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    usize::try_from(files / 2)
        .unwrap_or(usize::MAX)
        .min(1 << 18)
}

/// Answers what is asked on a stream about the files of a folder, until nobody asks any more.
///
/// # Errors
/// The folder cannot be opened, or what comes is no request.
pub fn serve(root: &Path, stream: OwnedFd, watching: Watching) -> io::Result<()> {
    rustix::process::umask(rustix::fs::Mode::empty());
    let most = raise_limit();
    let port = Arc::new(Port::new(stream));
    let mut server = Server {
        nodes: Nodes::new(root, most)?,
        handles: HashMap::new(),
        next_handle: 1,
        watches: Watches::new(watching),
        owners: Owners::default(),
        devices: HashMap::new(),
        slow: Slow::begin(Arc::clone(&port))?,
        port,
        notified: 0,
        listings: Listings::default(),
    };
    // The root is a folder of the sandbox's own. Its device gets the last number, so that the first device of
    // the policy's files keeps its inode numbers.
    let device = server.nodes.get(ROOT)?.key.device;
    server.devices.insert(device, usize::from(u16::MAX));
    server.watch(ROOT)?;
    match server.run() {
        // Whoever asked is gone, and has left answers behind.
        Err(error) if is_gone(&error) => Ok(()),
        ended => ended,
    }
}

fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe
    )
}

impl Server {
    fn run(&mut self) -> io::Result<()> {
        let mut requests = Requests::new();
        let mut answered = 0;
        loop {
            if !self.wait()? {
                continue;
            }
            if !requests.read(self.port.fd())? {
                return Ok(());
            }
            while let Some(bytes) = requests.next()? {
                self.answer(bytes)?;
                answered += 1;
                if answered % TURN == 0 {
                    self.tell_of_changes()?;
                }
            }
        }
    }

    /// Waits for requests, and tells of changes meanwhile. Whether there are requests.
    fn wait(&mut self) -> io::Result<bool> {
        let port = PollFd::from_borrowed_fd(self.port.fd(), PollFlags::IN);
        let changes = PollFd::from_borrowed_fd(self.watches.fd(), PollFlags::IN);
        let mut fds = [port, changes];
        match poll(&mut fds, None) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let [asked, changed] = fds.map(|fd| !fd.revents().is_empty());
        if changed && !asked {
            self.tell_of_changes()?;
        }
        Ok(asked)
    }

    fn answer(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(request) = Request::parse(bytes) else {
            return Err(io::ErrorKind::InvalidData.into());
        };
        // Whoever has to know of everything that was changed asks for this.
        if request.opcode == op::STATFS {
            self.tell_of_changes()?;
        }
        let mut answer = Answer::new();
        match self.act(&request, &mut answer) {
            Ok(Said::Answer) => self.port.answer(request.unique, answer),
            Ok(Said::Later | Said::Nothing) => Ok(()),
            Err(errno) => self.port.refuse(request.unique, errno),
        }
    }

    fn act(&mut self, request: &Request<'_>, answer: &mut Answer) -> Result<Said, Errno> {
        let Request {
            opcode,
            unique,
            node,
            mut body,
        } = *request;
        match opcode {
            op::LOOKUP => self.lookup(node, body.name()?, answer)?,
            op::GETATTR => self.getattr(node, answer)?,
            op::SETATTR => self.setattr(node, body, answer)?,
            op::READLINK => self.readlink(node, answer)?,
            op::SYMLINK => self.symlink(node, body, answer)?,
            op::MKNOD => self.mknod(node, body, answer)?,
            op::MKDIR => self.mkdir(node, body, answer)?,
            op::UNLINK => self.unlink(node, body.name()?, AtFlags::empty())?,
            op::RMDIR => self.unlink(node, body.name()?, AtFlags::REMOVEDIR)?,
            op::RENAME => self.rename(node, body, false)?,
            op::RENAME2 => self.rename(node, body, true)?,
            op::LINK => self.link(node, body, answer)?,
            op::OPEN => self.open(node, body, answer)?,
            op::CREATE => self.create(node, body, answer)?,
            op::TMPFILE => self.tmpfile(node, body, answer)?,
            op::READ => self.read(body, answer)?,
            op::WRITE => self.write(body, answer)?,
            op::RELEASE => self.release(body)?,
            op::FSYNC => {
                self.fsync(unique, body)?;
                return Ok(Said::Later);
            }
            op::FSYNCDIR => {
                let file = Arc::new(self.folder(node)?);
                self.slow.ask(FsyncRequest {
                    unique,
                    file,
                    data: false,
                })?;
                return Ok(Said::Later);
            }
            op::FALLOCATE => self.fallocate(body)?,
            op::LSEEK => self.lseek(body, answer)?,
            op::COPY_FILE_RANGE => self.copy_file_range(body, answer)?,
            op::READDIR => self.readdir(node, body, false, answer)?,
            op::READDIRPLUS => self.readdir(node, body, true, answer)?,
            op::STATFS => self.statfs(node, answer)?,
            op::GETXATTR => self.getxattr(node, body, answer)?,
            op::LISTXATTR => self.listxattr(node, body, answer)?,
            op::SETXATTR => self.setxattr(node, body)?,
            op::REMOVEXATTR => self.removexattr(node, body)?,
            op::INIT => init(body, answer)?,
            // Everything that was written before has been answered: it is the host's.
            op::SYNCFS | op::DESTROY => {}
            op::FORGET => {
                self.forget(node, body.u64()?);
                return Ok(Said::Nothing);
            }
            op::BATCH_FORGET => {
                let count = body.u32()?;
                body.skip(4)?;
                for _ in 0..count {
                    let (node, times) = (body.u64()?, body.u64()?);
                    self.forget(node, times);
                }
                return Ok(Said::Nothing);
            }
            // No request is broken off: this only tells that the caller was killed.
            op::INTERRUPT => return Ok(Said::Nothing),
            _ => return Err(Errno::NOSYS),
        }
        Ok(Said::Answer)
    }

    fn forget(&mut self, node: u64, times: u64) {
        if let Some(watch) = self.nodes.forget(node, times) {
            self.watches.remove(watch);
        }
    }
}

/// The greeting (`struct fuse_init_out`).
fn init(mut body: Fields<'_>, answer: &mut Answer) -> Result<(), Errno> {
    let (_major, _minor) = (body.u32()?, body.u32()?);
    let (ahead, flags) = (body.u32()?, body.u32()?);
    let part = u32::try_from(PART).unwrap_or(u32::MAX);
    answer.u32(VERSION.0);
    answer.u32(VERSION.1);
    answer.u32(ahead.max(part));
    answer.u32(flags & wanted::ALL);
    // Requests in the background at once, and how many of them are too many.
    answer.u16(64);
    answer.u16(48);
    answer.u32(part);
    // Times are kept to the nanosecond.
    answer.u32(1);
    answer.u16(u16::try_from(PART / 4096).unwrap_or(u16::MAX));
    answer.u16(0);
    answer.zeros(64 - 32);
    Ok(())
}

#[cfg(test)]
#[path = "server_tests.rs"]
mod tests;
