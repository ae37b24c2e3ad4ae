//! What may take long: whoever asks waits for it alone, and everybody else is answered meanwhile.

use crate::port::Port;
use crate::wire::Answer;
use rustix::fd::OwnedFd;
use rustix::fs::{fdatasync, fsync};
use rustix::io::Errno;
use std::io;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};

/// What is to be done, and for which request.
pub(crate) struct Sync {
    pub(crate) unique: u64,
    pub(crate) file: Arc<OwnedFd>,
    /// Whether only the contents are to be on the disk.
    pub(crate) data: bool,
}

/// The thread that does it.
#[derive(Debug)]
pub(crate) struct Slow(Sender<Sync>);

impl Slow {
    pub(crate) fn begin(port: Arc<Port>) -> io::Result<Self> {
        let (sender, wanted) = channel::<Sync>();
        let work = move || {
            for Sync { unique, file, data } in wanted {
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
            .name("slow".to_owned())
            .spawn(work)?;
        Ok(Self(sender))
    }

    pub(crate) fn ask(&self, sync: Sync) -> Result<(), Errno> {
        self.0.send(sync).map_err(|_| Errno::IO)
    }
}
