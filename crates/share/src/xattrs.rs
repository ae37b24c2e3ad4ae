//! Extended attributes: those of users (xattr(7)). Others mean something to the kernel that has them, and a
//! guest's mean nothing on the host.

use crate::nodes::path_of;
use crate::server::Server;
use crate::wire::{Answer, Fields};
use rustix::fs::{FileType, XattrFlags, getxattr, listxattr, removexattr, setxattr};
use rustix::io::Errno;
use std::ffi::CStr;

/// The longest value, and the longest list of names, in bytes (limits.h).
const LONGEST: usize = 65_536;

/// Says a value, or how long it is where it was asked for nothing else.
fn say(value: &[u8], size: usize, answer: &mut Answer) -> Result<(), Errno> {
    match size {
        0 => {
            answer.u32(u32::try_from(value.len()).unwrap_or_default());
            answer.u32(0);
        }
        size if size < value.len() => return Err(Errno::RANGE),
        _ => answer.bytes(value),
    }
    Ok(())
}

impl Server {
    fn path(&mut self, id: u64, name: Option<&CStr>) -> Result<String, Errno> {
        let is_user = name.is_none_or(|name| name.to_bytes().starts_with(b"user."));
        let kind = self.nodes.get(id)?.kind;
        if !is_user || !matches!(kind, FileType::RegularFile | FileType::Directory) {
            return Err(Errno::OPNOTSUPP);
        }
        Ok(path_of(self.nodes.fd(id)?))
    }

    pub(crate) fn getxattr(
        &mut self,
        id: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let size = body.u32()? as usize;
        body.skip(4)?;
        let name = body.text()?;
        let mut value = vec![0; LONGEST];
        let length = getxattr(self.path(id, Some(name))?, name, &mut value[..])?;
        say(value.get(..length).unwrap_or_default(), size, answer)
    }

    pub(crate) fn listxattr(
        &mut self,
        id: u64,
        mut body: Fields<'_>,
        answer: &mut Answer,
    ) -> Result<(), Errno> {
        let size = body.u32()? as usize;
        let mut names = vec![0; LONGEST];
        let length = listxattr(self.path(id, None)?, &mut names[..])?;
        let names = names.get(..length).unwrap_or_default();
        let own = names.split_inclusive(|byte| *byte == 0);
        let own: Vec<&[u8]> = own.filter(|name| name.starts_with(b"user.")).collect();
        say(&own.concat(), size, answer)
    }

    pub(crate) fn setxattr(&mut self, id: u64, mut body: Fields<'_>) -> Result<(), Errno> {
        let (size, flags) = (body.u32()? as usize, body.u32()?);
        let name = body.text()?;
        let value = body.0.get(..size).ok_or(Errno::INVAL)?;
        let flags = XattrFlags::from_bits(flags).ok_or(Errno::INVAL)?;
        setxattr(self.path(id, Some(name))?, name, value, flags)
    }

    pub(crate) fn removexattr(&mut self, id: u64, mut body: Fields<'_>) -> Result<(), Errno> {
        let name = body.text()?;
        removexattr(self.path(id, Some(name))?, name)
    }
}
