//! Requests, answers and notifications as bytes (linux/fuse.h). Every number is in the order of the
//! machine, which both sides share.

use rustix::io::Errno;
use std::ffi::CStr;

/// The bytes of a request before what it says.
pub(crate) const REQUEST: usize = 40;
/// The bytes of an answer before what it says.
pub(crate) const ANSWER: usize = 16;
/// The most bytes of a file in one request or answer.
pub(crate) const PART: usize = 1 << 20;
/// The longest message, in bytes: a part of a file, and what says which.
pub(crate) const LONGEST: usize = PART + 4096;

/// Notification: what is known of a file is not true any more (`FUSE_NOTIFY_INVAL_INODE`).
pub(crate) const INVAL_INODE: i32 = 2;
/// Notification: what is known of a name is not true any more (`FUSE_NOTIFY_INVAL_ENTRY`).
pub(crate) const INVAL_ENTRY: i32 = 3;
/// Notification: what somebody else did is an event for whoever watches (`images/kernel.patch`).
pub(crate) const EVENT: i32 = 64;

/// What is asked (`enum fuse_opcode`).
pub(crate) mod op {
    pub(crate) const LOOKUP: u32 = 1;
    pub(crate) const FORGET: u32 = 2;
    pub(crate) const GETATTR: u32 = 3;
    pub(crate) const SETATTR: u32 = 4;
    pub(crate) const READLINK: u32 = 5;
    pub(crate) const SYMLINK: u32 = 6;
    pub(crate) const MKNOD: u32 = 8;
    pub(crate) const MKDIR: u32 = 9;
    pub(crate) const UNLINK: u32 = 10;
    pub(crate) const RMDIR: u32 = 11;
    pub(crate) const RENAME: u32 = 12;
    pub(crate) const LINK: u32 = 13;
    pub(crate) const OPEN: u32 = 14;
    pub(crate) const READ: u32 = 15;
    pub(crate) const WRITE: u32 = 16;
    pub(crate) const STATFS: u32 = 17;
    pub(crate) const RELEASE: u32 = 18;
    pub(crate) const FSYNC: u32 = 20;
    pub(crate) const SETXATTR: u32 = 21;
    pub(crate) const GETXATTR: u32 = 22;
    pub(crate) const LISTXATTR: u32 = 23;
    pub(crate) const REMOVEXATTR: u32 = 24;
    pub(crate) const INIT: u32 = 26;
    pub(crate) const READDIR: u32 = 28;
    pub(crate) const FSYNCDIR: u32 = 30;
    pub(crate) const CREATE: u32 = 35;
    pub(crate) const INTERRUPT: u32 = 36;
    pub(crate) const DESTROY: u32 = 38;
    pub(crate) const BATCH_FORGET: u32 = 42;
    pub(crate) const FALLOCATE: u32 = 43;
    pub(crate) const READDIRPLUS: u32 = 44;
    pub(crate) const RENAME2: u32 = 45;
    pub(crate) const LSEEK: u32 = 46;
    pub(crate) const COPY_FILE_RANGE: u32 = 47;
    pub(crate) const SYNCFS: u32 = 50;
    pub(crate) const TMPFILE: u32 = 51;
}

/// What somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    pub(crate) opcode: u32,
    /// Its number, which the answer has too.
    pub(crate) unique: u64,
    /// The file that it is about.
    pub(crate) node: u64,
    pub(crate) body: Fields<'a>,
}

impl<'a> Request<'a> {
    /// The request that these bytes are; none where they are too few.
    pub(crate) fn parse(bytes: &'a [u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let _length = fields.u32().ok()?;
        let opcode = fields.u32().ok()?;
        let unique = fields.u64().ok()?;
        let node = fields.u64().ok()?;
        // Who asks is decided by the guest's kernel, and proves nothing here.
        fields.skip(16).ok()?;
        Some(Self {
            opcode,
            unique,
            node,
            body: fields,
        })
    }
}

/// The fields of a request, one after the other.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], Errno> {
        let (field, rest) = self.0.split_first_chunk().ok_or(Errno::INVAL)?;
        self.0 = rest;
        Ok(*field)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, Errno> {
        self.take().map(u32::from_ne_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, Errno> {
        self.take().map(u64::from_ne_bytes)
    }

    pub(crate) fn skip(&mut self, bytes: usize) -> Result<(), Errno> {
        self.0 = self.0.get(bytes..).ok_or(Errno::INVAL)?;
        Ok(())
    }

    /// Text up to a zero.
    pub(crate) fn text(&mut self) -> Result<&'a CStr, Errno> {
        let text = CStr::from_bytes_until_nul(self.0).map_err(|_| Errno::INVAL)?;
        self.skip(text.count_bytes() + 1)?;
        Ok(text)
    }

    /// The name of something in a folder: one name, and neither the folder itself nor that above it.
    pub(crate) fn name(&mut self) -> Result<&'a CStr, Errno> {
        let text = self.text()?;
        match text.to_bytes() {
            b"" | b"." | b".." => Err(Errno::INVAL),
            name if name.contains(&b'/') => Err(Errno::INVAL),
            _ => Ok(text),
        }
    }
}

/// An answer, or a notification, while it is put together.
#[derive(Debug)]
pub(crate) struct Answer {
    bytes: Vec<u8>,
}

impl Answer {
    pub(crate) fn new() -> Self {
        Self {
            bytes: vec![0; ANSWER],
        }
    }

    pub(crate) fn u16(&mut self, value: u16) {
        self.bytes.extend(value.to_ne_bytes());
    }

    pub(crate) fn u32(&mut self, value: u32) {
        self.bytes.extend(value.to_ne_bytes());
    }

    pub(crate) fn u64(&mut self, value: u64) {
        self.bytes.extend(value.to_ne_bytes());
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn zeros(&mut self, count: usize) {
        self.bytes.resize(self.bytes.len() + count, 0);
    }

    /// Zeros up to a multiple of eight.
    pub(crate) fn pad(&mut self) {
        let full = self.said().next_multiple_of(8) + ANSWER;
        self.bytes.resize(full, 0);
    }

    /// How many bytes it says so far.
    pub(crate) fn said(&self) -> usize {
        self.bytes.len() - ANSWER
    }

    /// Takes back what was said behind so many bytes.
    pub(crate) fn cut(&mut self, said: usize) {
        self.bytes.truncate(ANSWER + said);
    }

    /// So many bytes more, for somebody to fill.
    pub(crate) fn room(&mut self, count: usize) -> &mut [u8] {
        let before = self.bytes.len();
        self.zeros(count);
        self.bytes.get_mut(before..).unwrap_or_default()
    }

    /// The message: `error` is 0, the negative of an error number, or what a notification is of.
    pub(crate) fn message(&mut self, unique: u64, error: i32) -> &[u8] {
        let length = u32::try_from(self.bytes.len()).unwrap_or(u32::MAX);
        let header = [
            &length.to_ne_bytes()[..],
            &error.to_ne_bytes(),
            &unique.to_ne_bytes(),
        ]
        .concat();
        if let Some(to) = self.bytes.get_mut(..ANSWER) {
            to.copy_from_slice(&header);
        }
        &self.bytes
    }
}
