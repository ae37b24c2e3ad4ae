//! Trees for tests: invented, made, looked at, packed and unpacked.

use crate::entry::{Entry, Kind, Modified};
use crate::pack::{Only, pack};
use crate::stream::{Reader, Writer};
use crate::unpack::{Outcome, Unpacker, What};
use crate::{Listing, compare};
use proptest::prelude::*;
use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, utimensat};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::Path;

/// What is at a path, with what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    Folder(u32, Modified, BTreeMap<Vec<u8>, Tree>),
    File(u32, Modified, Vec<u8>),
    Link(Vec<u8>),
    Other,
}

pub(crate) fn name(bytes: &[u8]) -> &OsStr {
    OsStr::from_bytes(bytes)
}

impl Tree {
    pub(crate) fn make(&self, at: &Path) {
        let (mode, (tv_sec, tv_nsec)) = match self {
            Self::Folder(mode, modified, below) => {
                fs::create_dir(at).unwrap();
                below
                    .iter()
                    .for_each(|(path, tree)| tree.make(&at.join(name(path))));
                (mode, modified)
            }
            Self::File(mode, modified, contents) => {
                fs::write(at, contents).unwrap();
                (mode, modified)
            }
            Self::Link(target) => return symlink(name(target), at).unwrap(),
            Self::Other => return,
        };
        fs::set_permissions(at, Permissions::from_mode(*mode)).unwrap();
        let time = Timespec {
            tv_sec: *tv_sec,
            tv_nsec: i64::from(*tv_nsec),
        };
        let times = Timestamps {
            last_access: time,
            last_modification: time,
        };
        utimensat(CWD, at, &times, AtFlags::empty()).unwrap();
    }

    pub(crate) fn of(at: &Path) -> Self {
        let found = fs::symlink_metadata(at).unwrap();
        let modified = (found.mtime(), u32::try_from(found.mtime_nsec()).unwrap());
        let mode = found.mode() & 0o7777;
        if found.is_dir() {
            let below = fs::read_dir(at).unwrap().map(|entry| {
                let entry = entry.unwrap();
                (entry.file_name().into_vec(), Self::of(&entry.path()))
            });
            Self::Folder(mode, modified, below.collect())
        } else if found.is_file() {
            Self::File(mode, modified, fs::read(at).unwrap())
        } else if found.is_symlink() {
            Self::Link(fs::read_link(at).unwrap().into_os_string().into_vec())
        } else {
            Self::Other
        }
    }
}

/// A name as Linux has them, mostly odd.
fn any_name() -> impl Strategy<Value = Vec<u8>> {
    let bytes = |most| prop::collection::vec(1..=u8::MAX, 1..=most);
    let any =
        prop_oneof![4 => "[a-d]".prop_map(String::into_bytes), 2 => bytes(6), 1 => bytes(255)];
    any.prop_map(|mut name| {
        name.iter_mut()
            .filter(|byte| **byte == b'/')
            .for_each(|byte| *byte = b'\\');
        match name.as_slice() {
            b"." | b".." => b"...".to_vec(),
            _ => name,
        }
    })
}

/// A time that every file system has, to the nanosecond.
fn any_time() -> impl Strategy<Value = Modified> {
    (0..=i64::from(i32::MAX), 0..1_000_000_000_u32)
}

/// Contents of none, one or several parts, with zeros among them.
fn any_contents() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        Just(Vec::new()),
        prop::collection::vec(any::<u8>(), 0..100),
        (any::<u8>(), 60_000..200_000_usize).prop_map(|(byte, length)| vec![byte; length]),
        (0..300_000_usize).prop_map(|length| [vec![0; length], vec![1]].concat()),
    ]
}

/// A folder that its owner can read, with whatever is in it.
pub(crate) fn any_tree() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        3 => (0..=0o777_u32, any_time(), any_contents())
            .prop_map(|(mode, time, contents)| Tree::File(mode | 0o400, time, contents)),
        1 => prop::collection::vec(1..=u8::MAX, 1..30).prop_map(Tree::Link),
    ];
    let folder = |below: BoxedStrategy<Tree>| {
        let below = prop::collection::btree_map(any_name(), below, 0..5);
        (0..=0o777_u32, any_time(), below)
            .prop_map(|(mode, time, below)| Tree::Folder(mode | 0o700, time, below))
    };
    folder(
        leaf.prop_recursive(4, 30, 5, move |inner| folder(inner.boxed()))
            .boxed(),
    )
}

pub(crate) fn packed(at: &Path, only: Only<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    pack(at, only, &mut bytes, None).unwrap();
    bytes
}

pub(crate) fn listing(at: &Path) -> Listing {
    Listing::read(packed(at, Only::Nothing).as_slice()).unwrap()
}

/// What was changed, by its paths.
pub(crate) fn changes(before: &Listing, after: &Listing) -> Vec<(String, crate::Change)> {
    let text = |(path, change)| (String::from_utf8(path).unwrap(), change);
    compare(before, after).into_iter().map(text).collect()
}

/// Entries, one after the other.
pub(crate) struct Sent(Vec<u8>);

pub(crate) fn sent() -> Sent {
    Sent(Vec::new())
}

impl Sent {
    pub(crate) fn entry(mut self, path: &str, kind: Kind) -> Self {
        let entry = Entry {
            path: path.into(),
            kind,
            mode: 0o750,
            modified: (1, 2),
        };
        Writer::new(&mut self.0).entry(&entry).unwrap();
        self
    }

    pub(crate) fn file(mut self, path: &str, contents: &str) -> Self {
        self = self.begun(path, contents);
        Writer::new(&mut self.0).whole().unwrap();
        self
    }

    /// A file whose end is not said yet.
    pub(crate) fn begun(mut self, path: &str, contents: &str) -> Self {
        let size = contents.len() as u64;
        self = self.entry(path, Kind::File { size });
        Writer::new(&mut self.0).part(contents.as_bytes()).unwrap();
        self
    }

    pub(crate) fn taken_back(mut self, errno: i32) -> Self {
        Writer::new(&mut self.0).taken_back(errno).unwrap();
        self
    }

    pub(crate) fn link(self, path: &str, target: &str) -> Self {
        let target = target.into();
        self.entry(path, Kind::Link { target })
    }

    pub(crate) fn folder(self, path: &str) -> Self {
        self.entry(path, Kind::Folder)
    }

    pub(crate) fn gone(self, path: &str) -> Self {
        self.entry(path, Kind::Gone)
    }

    pub(crate) fn entry_as(mut self, entry: &Entry) -> Self {
        Writer::new(&mut self.0).entry(entry).unwrap();
        self
    }

    pub(crate) fn end(self) -> Vec<u8> {
        self.entry("", Kind::End).cut()
    }

    /// What was said so far.
    pub(crate) fn cut(self) -> Vec<u8> {
        self.0
    }
}

/// Unpacks; what became of the entries, and how it ended.
pub(crate) fn unpacked(
    at: &Path,
    before: Option<Listing>,
    bytes: &[u8],
) -> (Vec<(String, What)>, io::Result<()>) {
    let mut told = Vec::new();
    let ended = Unpacker::new(at, before)
        .unwrap()
        .run(&mut Reader::new(bytes), |outcome| {
            let Outcome { path, what } = outcome;
            told.push((String::from_utf8_lossy(&path).into_owned(), what));
            Ok(())
        });
    (told, ended)
}

/// The same where the stream is in order.
pub(crate) fn told(at: &Path, before: Option<Listing>, bytes: &[u8]) -> Vec<(String, What)> {
    let (told, ended) = unpacked(at, before, bytes);
    ended.unwrap();
    told
}

/// That these were done and nothing else was told.
pub(crate) fn done(paths: &[&str]) -> Vec<(String, What)> {
    paths
        .iter()
        .map(|path| ((*path).to_owned(), What::Done))
        .collect()
}
