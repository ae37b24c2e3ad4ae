//! Gives a socket a name. A socket in the file system is a name like any other, which `bind` makes.

use super::act::{Context, Outcome, Refused};
use super::path::{Place, shown};
use super::tracee::Status;
use crate::kernel;
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::FileType;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// The kernel's limit of an address (`sockaddr_storage`).
const LENGTH: usize = 128;
/// Where a path begins in an address of a Unix socket.
const PATH: usize = 2;

impl Context<'_> {
    /// Binds a socket of the program's to the address that it gives, which is read once.
    pub(super) fn bind(
        &self,
        descriptor: i32,
        address: u64,
        length: u64,
    ) -> Result<Outcome, Refused> {
        let length = usize::try_from(length as i32).map_err(|_| Errno::INVAL)?;
        if length > LENGTH {
            return Err(Errno::INVAL.into());
        }
        let address = self.tracee.bytes(address, length)?;
        let Status { process, .. } = self.tracee.status()?;
        let socket = kernel::descriptor_of(process, descriptor)
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::BADF))?;
        self.must_be_waiting()?;
        let family = address
            .first_chunk::<PATH>()
            .map(|family| u16::from_ne_bytes(*family));
        let here = match address.get(PATH..) {
            Some([first, ..]) if family == Some(libc::AF_UNIX as u16) && *first != 0 => {
                let end = address[PATH..]
                    .iter()
                    .position(|&b| b == 0)
                    .map_or(length, |end| PATH + end);
                Some(self.decide_socket(OsStr::from_bytes(&address[PATH..end]))?)
            }
            _ => None,
        };
        // Every way to change what the path means comes here and waits, so that it means the same still.
        kernel::bind(&socket, &address, here.as_ref())
            .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO))?;
        Ok(Outcome::Done)
    }

    /// Decides the name of a socket; the folder from which a relative path leads to it.
    fn decide_socket(&self, path: &OsStr) -> Result<OwnedFd, Refused> {
        if let Place::Entry {
            folder,
            name,
            found: None,
            ..
        } = self.place_of(libc::AT_FDCWD, path, false)?
        {
            let path = shown(folder.as_fd())?.join(&name);
            self.decide(&path)?;
            self.must_be_free(&path)?;
            self.must_be_file(&path, FileType::Socket)?;
            self.take_umask()?;
        }
        Ok(self.tracee.folder(libc::AT_FDCWD)?)
    }
}
