//! fsync and fdatasync, on a thread of their own: requests of other kinds are answered meanwhile. Syncs are done
//! one after the other.

use crate::port::Port;
use crate::wire::Answer;
use rustix::fd::OwnedFd;
use rustix::fs::{fdatasync, fsync};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};

/// So many syncs wait at most; whoever asks for more has all other requests wait.
const WAIT: usize = 64;

/// A file that is to be on the disk, and the request that is answered then.
pub(crate) struct FsyncRequest {
    pub(crate) unique: u64,
    pub(crate) file: Arc<OwnedFd>,
    /// Whether only the contents are to be on the disk.
    pub(crate) data: bool,
}

/// The thread.
#[derive(Debug)]
pub(crate) struct Slow(SyncSender<FsyncRequest>);

impl Slow {
    pub(crate) fn begin(port: Arc<Port>) -> io::Result<Self> {
        let (sender, wanted) = sync_channel::<FsyncRequest>(WAIT);
        let work = move || {
            for FsyncRequest { unique, file, data } in wanted {
                let done = match data {
                    true => fdatasync(&*file),
                    false => fsync(&*file),
                };
                // Where nobody hears it any more, the loop of requests ends.
                let _ = match done {
                    Ok(()) => port.answer(unique, Answer::new()),
                    Err(errno) => port.refuse(unique, errno),
                };
            }
        };
        std::thread::Builder::new()
            .name("fsync".to_owned())
            .spawn(work)?;
        Ok(Self(sender))
    }

    pub(crate) fn ask(&self, request: FsyncRequest) -> Result<(), Errno> {
        self.0.send(request).map_err(|_| Errno::IO)
    }
}
