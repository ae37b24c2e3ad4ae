//! Entries as a guest sends them, unpacked in a folder: the first byte says whether what was there
//! before is known, and whether the rest is a stream or a script of one (which gets deeper, sooner).
//! Nothing outside of the folder changes, nothing is left beside, and the tree and what is told are what
//! a slow reading says; a listing reads back as it was.
#![no_main]

#[path = "../reference/transfer.rs"]
mod reference;

use bailiwick_transfer::{Entry, Kind, Listing, Only, Outcome, Reader, Unpacker, Writer, pack};
use libfuzzer_sys::fuzz_target;
use reference::{Fate, Node, Tree, apply, pieces};
use std::fs::{self, File, FileTimes, Permissions};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The last second that every file system has.
const LAST: i64 = i32::MAX as i64;

fuzz_target!(|data: &[u8]| {
    let Some((flags, data)) = data.split_first() else {
        return;
    };
    let bytes = match flags & 1 {
        0 => data.to_vec(),
        _ => script(data),
    };
    reads_back(&bytes);
    let world = World::new();
    world.unpack(&bytes, flags & 2 != 0);
});

/// What is read as a listing is written and read as the same.
fn reads_back(bytes: &[u8]) {
    let mut reader = Reader::listing(bytes);
    let (mut entries, mut again) = (Vec::new(), Vec::new());
    let mut writer = Writer::new(&mut again);
    while let Ok(Some(entry)) = reader.entry() {
        assert!(lies_below(&entry.path), "{:?}", entry.path);
        writer.entry(&entry).expect("memory");
        entries.push(entry);
    }
    writer.end().expect("memory");
    let mut reader = Reader::listing(again.as_slice());
    for entry in &entries {
        assert_eq!(reader.entry().expect("an entry").as_ref(), Some(entry));
    }
    assert_eq!(reader.entry().expect("the end"), None);
    let listing = Listing::read(again.as_slice()).expect("a listing");
    for (path, entry) in &listing.0 {
        assert_eq!(entries.iter().rfind(|e| e.path == *path), Some(entry));
    }
    if let Ok(first) = Listing::read(bytes) {
        assert_eq!(first, listing);
    }
}

fn lies_below(path: &[u8]) -> bool {
    let parts = || path.split(|byte| *byte == b'/');
    let bad = |part: &[u8]| part.is_empty() || part == b"." || part == b".." || part.len() > 255;
    path.is_empty() || !parts().any(bad) && !path.contains(&0) && path.len() < 4096
}

/// Three bytes and an entry: what, where, with what.
fn script(data: &[u8]) -> Vec<u8> {
    const NAMES: [&str; 5] = ["", "a", "b", "file", "link"];
    const TARGETS: [&[u8]; 6] = [b"../outside", b"../../outside", b"a", b".", b"", b"/\0"];
    let mut bytes = Vec::new();
    for step in data.chunks_exact(3) {
        let (what, place, with) = (step[0], usize::from(step[1]), step[2]);
        let mut path = Vec::new();
        for digit in [place % 5, place / 5 % 5, place / 25 % 5] {
            match NAMES[digit] {
                "" => {}
                name if path.is_empty() => path.extend(name.bytes()),
                name => path.extend(format!("/{name}").bytes()),
            }
        }
        let kind = match what % 6 {
            0 => Kind::Folder,
            1 | 2 => Kind::File {
                size: u64::from(with),
            },
            3 => Kind::Link {
                target: TARGETS[usize::from(with) % 6].to_vec(),
            },
            4 => Kind::Gone,
            _ => Kind::Skipped {
                errno: i32::from(with) - 100,
            },
        };
        let is_file = matches!(kind, Kind::File { .. });
        let mut writer = Writer::new(&mut bytes);
        let modified = (i64::from(what >> 6), 0);
        let mode = if with & 1 == 0 { 0o700 } else { 0o6755 };
        let entry = Entry {
            path,
            kind,
            mode,
            modified,
        };
        writer.entry(&entry).expect("memory");
        if is_file {
            writer.part(&vec![with; usize::from(with)]).expect("memory");
            match what % 6 {
                1 => writer.whole().expect("memory"),
                _ => writer.taken_back(i32::from(with)).expect("memory"),
            }
        }
    }
    Writer::new(&mut bytes).end().expect("memory");
    bytes
}

/// A folder `top` to unpack in, and `outside`, which nothing may change.
struct World {
    folder: PathBuf,
    top: PathBuf,
    outside: Vec<(PathBuf, u64, u32, i64, i64, Vec<u8>)>,
}

impl World {
    fn new() -> Self {
        let memory = Path::new("/dev/shm");
        let above = if memory.is_dir() {
            memory.into()
        } else {
            std::env::temp_dir()
        };
        let folder = above.join(format!("bailiwick-fuzz-transfer-{}", std::process::id()));
        let top = folder.join("top");
        let _ = fs::remove_dir_all(&folder);
        for name in ["outside/a", "outside/b", "top/a"] {
            fs::create_dir_all(folder.join(name)).expect("a folder");
        }
        for name in ["outside/file", "outside/a/file", "top/file", "top/a/file"] {
            let mut file = File::create(folder.join(name)).expect("a file");
            std::io::Write::write_all(&mut file, b"planted").expect("a file");
            let time = SystemTime::UNIX_EPOCH + Duration::from_secs(3);
            file.set_times(FileTimes::new().set_modified(time))
                .expect("a time");
            file.set_permissions(Permissions::from_mode(0o700))
                .expect("permissions");
        }
        symlink("../outside", top.join("link")).expect("a link");
        for name in ["top", "top/a"] {
            fs::set_permissions(folder.join(name), Permissions::from_mode(0o700))
                .expect("permissions");
        }
        let mut world = Self {
            folder,
            top,
            outside: Vec::new(),
        };
        world.outside = world.seen_outside();
        world
    }

    fn seen_outside(&self) -> Vec<(PathBuf, u64, u32, i64, i64, Vec<u8>)> {
        let mut all = Vec::new();
        for name in ["", "outside", "outside/a", "outside/b"] {
            let entries = fs::read_dir(self.folder.join(name)).expect("a folder");
            for entry in entries.map(|entry| entry.expect("an entry").path()) {
                if entry != self.top {
                    let found = fs::symlink_metadata(&entry).expect("what was listed");
                    let contents = fs::read(&entry).unwrap_or_default();
                    let changed = (found.ctime(), found.ctime_nsec());
                    all.push((
                        entry,
                        found.ino(),
                        found.mode(),
                        changed.0,
                        changed.1,
                        contents,
                    ));
                }
            }
        }
        all.sort();
        all
    }

    fn unpack(&self, bytes: &[u8], known: bool) {
        let mut tree = Tree::new();
        walk(&self.top, b"", &mut tree);
        let planted = tree.clone();
        let mut listed = Vec::new();
        pack(&self.top, Only::Nothing, &mut listed, None).expect("what was planted");
        let before = Listing::read(listed.as_slice()).expect("what was packed");
        let mut told = Vec::new();
        let mut unpacker = Unpacker::new(&self.top, known.then_some(before)).expect("a folder");
        let ended = unpacker.run(&mut Reader::new(bytes), |Outcome { path, what }| {
            assert!(lies_below(&path), "{path:?}");
            told.push((path, Fate::from(what)));
            Ok(())
        });
        assert!(
            self.seen_outside() == self.outside,
            "something outside was changed"
        );
        let (pieces, end) = pieces(bytes);
        let before = known.then_some(&planted);
        let mut expected = Vec::new();
        for piece in &pieces {
            match apply(&mut tree, before, piece) {
                Some(fate) => expected.push((piece.entry.path.clone(), fate)),
                None => break,
            }
        }
        assert_eq!(ended.is_ok(), end, "{ended:?}");
        // What follows is about the permissions of folders that are folders no more.
        let finished = told.split_off(expected.len().min(told.len()));
        assert_eq!(told, expected);
        assert!(
            finished
                .iter()
                .all(|(_, fate)| end && *fate == Fate::Refused),
            "{finished:?}"
        );
        let mut found = Tree::new();
        if fs::symlink_metadata(&self.top).is_ok() {
            walk(&self.top, b"", &mut found);
        }
        assert_eq!(comparable(found), comparable(tree));
        fs::remove_dir_all(&self.folder).expect("the folder is this process' own");
    }
}

/// Times that not every file system has, and permissions of folders, are not compared.
fn comparable(mut tree: Tree) -> Tree {
    for node in tree.values_mut() {
        match node {
            Node::Folder { mode } => *mode = 0,
            Node::File { modified, .. } if !(0..=LAST).contains(&modified.0) => *modified = (0, 0),
            _ => {}
        }
    }
    tree
}

/// All that is there; folders are opened on the way.
fn walk(at: &Path, path: &[u8], tree: &mut Tree) {
    let found = fs::symlink_metadata(at).expect("it was listed");
    let mode = found.mode() & 0o7777;
    let node = if found.is_dir() {
        assert_eq!(mode & 0o7000, 0, "{at:?}");
        fs::set_permissions(at, Permissions::from_mode(0o700)).expect("its owner");
        for entry in fs::read_dir(at).expect("an open folder") {
            let name = entry.expect("an entry").file_name();
            let below = [
                path,
                if path.is_empty() { b"" } else { b"/" },
                name.as_bytes(),
            ]
            .concat();
            walk(&at.join(&name), &below, tree);
        }
        Node::Folder { mode }
    } else if found.is_symlink() {
        Node::Link(
            fs::read_link(at)
                .expect("a link")
                .into_os_string()
                .into_vec(),
        )
    } else {
        assert!(found.is_file(), "{at:?}");
        if mode & 0o400 == 0 {
            fs::set_permissions(at, Permissions::from_mode(0o400)).expect("its owner");
        }
        let nanoseconds = u32::try_from(found.mtime_nsec()).expect("less than a second");
        Node::File {
            mode,
            modified: (found.mtime(), nanoseconds),
            contents: fs::read(at).expect("an open file"),
        }
    };
    tree.insert(path.to_vec(), node);
}
