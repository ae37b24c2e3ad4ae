//! Objects of a repository as somebody has left them who may write there. Git takes an object for what its name says
//! and compares neither when it checks a file out; here nothing is believed before its content was hashed.
//!
//! Formats: gitformat-pack(5) and "Loose objects" in git's user manual. The work is bounded by a [`Budget`].

mod commits;
mod pack;

pub(crate) use commits::{Brought, Changed, changed, changed_tree, entry_at};
pub(crate) use pack::Pack;

use flate2::bufread::ZlibDecoder;
use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use sha1::{Digest, Sha1};
use sha2::Sha256;
use std::cell::{Cell, OnceCell};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// An object of which all has to be in memory has at most so many bytes.
const LARGEST: u64 = 64 << 20;
/// No link says more: PATH_MAX of Linux.
const LONGEST: usize = 4096;
/// Reading an object costs so much of a budget besides its content.
const EACH: u64 = 128;

/// The kind of an object, as its header calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Commit,
    Tree,
    Blob,
    Tag,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Commit, Self::Tree, Self::Blob, Self::Tag];

    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Tree => "tree",
            Self::Blob => "blob",
            Self::Tag => "tag",
        }
    }
}

/// Why an object is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Nothing has its name.
    Absent,
    /// It is not what its name says, or no object at all.
    Broken,
    /// It is too large, or the budget is used up.
    TooMuch,
}

impl From<io::Error> for Fault {
    fn from(_: io::Error) -> Self {
        Self::Broken
    }
}

/// How many bytes of objects may be unpacked yet.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

impl Budget {
    pub(crate) fn new(bytes: u64) -> Self {
        Self(Cell::new(bytes))
    }

    fn take(&self, bytes: u64) -> Result<(), Fault> {
        let left = self.0.get().checked_sub(bytes.saturating_add(EACH));
        self.0.set(left.unwrap_or(0));
        left.map(drop).ok_or(Fault::TooMuch)
    }
}

/// The hash that names an object, by the width of the name: SHA-1 of 20 bytes, SHA-256 of 32.
enum Name {
    Sha1(Sha1),
    Sha256(Sha256),
}

impl Name {
    fn begin(width: usize, kind: Kind, size: u64) -> Self {
        let mut name = match width {
            32 => Self::Sha256(Sha256::new()),
            _ => Self::Sha1(Sha1::new()),
        };
        name.add(format!("{} {size}\0", kind.name()).as_bytes());
        name
    }

    fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hash) => hash.update(bytes),
            Self::Sha256(hash) => hash.update(bytes),
        }
    }

    fn end(self) -> Vec<u8> {
        match self {
            Self::Sha1(hash) => hash.finalize().to_vec(),
            Self::Sha256(hash) => hash.finalize().to_vec(),
        }
    }

    fn is(self, id: &[u8]) -> Result<(), Fault> {
        match self.end() == id {
            true => Ok(()),
            false => Err(Fault::Broken),
        }
    }
}

/// The id of a file with this content, where ids have so many bytes.
pub(super) fn id_of_file(content: &[u8], width: usize) -> Vec<u8> {
    let mut name = Name::begin(width, Kind::Blob, content.len() as u64);
    name.add(content);
    name.end()
}

/// Whether content has this name.
fn is_named(id: &[u8], kind: Kind, content: &[u8]) -> Result<(), Fault> {
    let mut name = Name::begin(id.len(), kind, content.len() as u64);
    name.add(content);
    name.is(id)
}

/// Unpacks exactly `size` bytes, a part at a time.
fn unpack(packed: &mut impl Read, size: u64, take: &mut dyn FnMut(&[u8])) -> Result<(), Fault> {
    let mut part = [0; 16 << 10];
    let mut left = size;
    loop {
        let count = packed.read(&mut part)?;
        left = left.checked_sub(count as u64).ok_or(Fault::Broken)?;
        if count == 0 {
            return match left {
                0 => Ok(()),
                _ => Err(Fault::Broken),
            };
        }
        take(&part[..count]);
    }
}

/// All of it, where it may be in memory.
fn unpack_whole(packed: &mut impl Read, size: u64) -> Result<Vec<u8>, Fault> {
    if size > LARGEST {
        return Err(Fault::TooMuch);
    }
    let mut content = Vec::new();
    unpack(packed, size, &mut |part| content.extend_from_slice(part))?;
    Ok(content)
}

/// An object in a file of its own, up to its content.
struct Loose<R> {
    kind: Kind,
    size: u64,
    content: R,
}

impl Loose<BufReader<ZlibDecoder<BufReader<File>>>> {
    fn open(file: File) -> Result<Self, Fault> {
        let mut content = BufReader::new(ZlibDecoder::new(BufReader::new(file)));
        let mut header = Vec::new();
        (&mut content).take(32).read_until(0, &mut header)?;
        let header = header.strip_suffix(&[0]).ok_or(Fault::Broken)?;
        let header = std::str::from_utf8(header).map_err(|_| Fault::Broken)?;
        let (kind, size) = header.split_once(' ').ok_or(Fault::Broken)?;
        let kind = Kind::ALL.into_iter().find(|known| known.name() == kind);
        let plain = size.bytes().all(|byte| byte.is_ascii_digit());
        let size = size.parse().ok().filter(|_| plain);
        Ok(Self {
            kind: kind.ok_or(Fault::Broken)?,
            size: size.ok_or(Fault::Broken)?,
            content,
        })
    }
}

/// The kind of the object that a file of its own holds, which is what its name says.
fn verify_loose(file: File, id: &[u8], budget: &Budget) -> Result<Kind, Fault> {
    let Loose {
        kind,
        size,
        mut content,
    } = Loose::open(file)?;
    budget.take(size)?;
    let mut name = Name::begin(id.len(), kind, size);
    unpack(&mut content, size, &mut |part| name.add(part))?;
    name.is(id).map(|()| kind)
}

/// An id as git writes it.
pub(crate) fn id_of(hex: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    };
    if !matches!(hex.len(), 40 | 64) {
        return None;
    }
    let pairs = hex.chunks_exact(2);
    pairs
        .map(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?))
        .collect()
}

fn hex_of(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A plain file, whatever else has the name by now.
pub(crate) fn open(path: &Path) -> Result<File, Fault> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match openat(CWD, path, flags, Mode::empty()) {
        Ok(file) => file,
        Err(rustix::io::Errno::NOENT) => return Err(Fault::Absent),
        Err(_) => return Err(Fault::Broken),
    };
    let stat = fstat(&file).map_err(|_| Fault::Broken)?;
    match rustix::fs::FileType::from_raw_mode(stat.st_mode) {
        rustix::fs::FileType::RegularFile => Ok(file.into()),
        _ => Err(Fault::Broken),
    }
}

/// What an object's file of this name is called, in a folder `objects`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// An object in a file of its own.
    Loose(Vec<u8>),
    /// The list of a pack's objects.
    Pack,
    /// What git computes from the objects, believes, and makes anew where it is not there.
    Cache,
}

/// What a file below a folder `objects` is; none where git takes it for no object.
pub(crate) fn stored_as(below: &Path) -> Option<Stored> {
    let parts: Vec<&[u8]> = below.iter().map(OsStrExt::as_bytes).collect();
    match parts[..] {
        [b"pack", name] if name.starts_with(b"multi-pack-index") => Some(Stored::Cache),
        [b"pack", b"multi-pack-index.d", ..] => Some(Stored::Cache),
        [b"info", b"commit-graph"] | [b"info", b"commit-graphs", ..] => Some(Stored::Cache),
        [b"pack", name] if name.ends_with(b".bitmap") => Some(Stored::Cache),
        [b"pack", name] if name.ends_with(b".idx") || name.ends_with(b".pack") => {
            Some(Stored::Pack)
        }
        [folder, name] if folder.len() == 2 => {
            Some(Stored::Loose(id_of(&[folder, name].concat())?))
        }
        _ => None,
    }
}

/// The objects of a repository and of those that it shares some with.
#[derive(Debug)]
pub(crate) struct Objects<'a> {
    folders: Vec<PathBuf>,
    packs: OnceCell<Vec<Pack>>,
    budget: &'a Budget,
}

/// Where `info/alternates` of a folder `objects` leads; a path in that begins at `root`.
pub(crate) fn alternates_of(folder: &Path, root: &Path) -> Vec<PathBuf> {
    let text = super::followed::read(&folder.join("info/alternates")).unwrap_or_default();
    let lines = text.split(|&b| b == b'\n').filter(|line| !line.is_empty());
    let paths = lines.map(|line| Path::new(OsStr::from_bytes(line)));
    let folders = paths.map(|path| match path.strip_prefix("/") {
        Ok(below) => root.join(below),
        Err(_) => folder.join(path),
    });
    folders.collect()
}

impl<'a> Objects<'a> {
    /// Those in a folder `objects`, and where its `info/alternates` leads; a path in that begins at `root`.
    pub(crate) fn at(folder: &Path, root: &Path, budget: &'a Budget) -> Self {
        let mut folders = vec![folder.to_path_buf()];
        folders.extend(alternates_of(folder, root));
        Self {
            folders,
            packs: OnceCell::new(),
            budget,
        }
    }

    /// The kind of an object that was stored anew in a file of its own, which is what its name says.
    pub(crate) fn verify_loose(&self, path: &Path, id: &[u8]) -> Result<Kind, Fault> {
        verify_loose(open(path)?, id, self.budget)
    }

    /// The commits of a pack, by the path of its list, whose objects are all what their names say.
    pub(crate) fn verify_pack(&self, list: &Path) -> Result<Vec<Vec<u8>>, Fault> {
        Pack::open(list)?.verify(self.budget)
    }

    /// An object, which is what its name says.
    pub(crate) fn read(&self, id: &[u8]) -> Result<(Kind, Vec<u8>), Fault> {
        for pack in self.packs.get_or_init(|| self.listed()) {
            if let Some(at) = pack.find(id)? {
                let (kind, content) = pack.read(at, self.budget)?;
                is_named(id, kind, &content)?;
                return Ok((kind, content));
            }
        }
        let hex = hex_of(id);
        for folder in &self.folders {
            let file = match open(&folder.join(&hex[..2]).join(&hex[2..])) {
                Err(Fault::Absent) => continue,
                file => file?,
            };
            let Loose {
                kind,
                size,
                mut content,
            } = Loose::open(file)?;
            self.budget.take(size)?;
            let content = unpack_whole(&mut content, size)?;
            is_named(id, kind, &content)?;
            return Ok((kind, content));
        }
        Err(Fault::Absent)
    }

    /// What a symbolic link says, by the object of its target.
    pub(crate) fn target(&self, id: &[u8]) -> Result<Vec<u8>, Fault> {
        match self.read(id)? {
            (Kind::Blob, target) if target.len() < LONGEST && !target.contains(&0) => Ok(target),
            _ => Err(Fault::Broken),
        }
    }

    /// The packs that can be read. Of one that cannot, git reads nothing either.
    fn listed(&self) -> Vec<Pack> {
        let folders = self.folders.iter().map(|folder| folder.join("pack"));
        let entries = folders.flat_map(|folder| fs::read_dir(folder).into_iter().flatten());
        entries
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|end| end == "idx"))
            .filter_map(|path| Pack::open(&path).ok())
            .collect()
    }
}

#[cfg(test)]
#[path = "objects_tests.rs"]
mod tests;
