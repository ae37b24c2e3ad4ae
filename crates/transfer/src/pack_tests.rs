use super::*;
use crate::compare::{Listing, compare};
use crate::stream::{Part, Reader};
use crate::tree::{Tree, any_tree, listing, packed, told};
use crate::unpack::What;
use proptest::prelude::*;
use rustix::fs::{FileType, mkdirat, mknodat};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt as _, symlink};
use tempfile::tempdir;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_tree_arrives_as_it_was(tree in any_tree()) {
        let folder = tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        tree.make(&from);
        let mut listed = Vec::new();
        let mut bytes = Vec::new();
        pack(&from, Only::All, &mut bytes, Some(&mut listed)).unwrap();
        let told = told(&to, None, &bytes);
        prop_assert!(told.iter().all(|(_, what)| *what == What::Done), "{told:?}");
        prop_assert_eq!(Tree::of(&to), tree);
        // The listing beside it is the listing, and that of what arrived but for the times of links.
        let listed = Listing::read(listed.as_slice()).unwrap();
        prop_assert_eq!(&listed, &listing(&from));
        prop_assert!(compare(&listed, &listing(&to)).is_empty());
    }

    #[test]
    fn only_what_is_asked_for_is_told(tree in any_tree(), chosen in any::<[bool; 8]>()) {
        let folder = tempdir().unwrap();
        let from = folder.path().join("from");
        tree.make(&from);
        let all = listing(&from);
        let chosen = all.0.keys().zip(chosen.iter().cycle()).filter(|(_, chosen)| **chosen);
        let mut wanted: BTreeSet<Vec<u8>> = chosen.map(|(path, _)| path.clone()).collect();
        wanted.insert(b"not/there".to_vec());
        let bytes = packed(&from, Only::These(&wanted));
        let mut reader = Reader::new(bytes.as_slice());
        let mut found = BTreeSet::new();
        while let Some(entry) = reader.entry().unwrap() {
            prop_assert_eq!(Some(&entry), all.0.get(&entry.path));
            found.insert(entry.path);
        }
        wanted.retain(|path| all.0.contains_key(path));
        prop_assert_eq!(found, wanted);
    }
}

/// What was told of a path, and the contents behind it.
fn one(bytes: &[u8], path: &[u8]) -> (Kind, Result<Vec<u8>, i32>) {
    let mut reader = Reader::new(bytes);
    while let Some(entry) = reader.entry().unwrap() {
        if entry.path == path {
            let mut contents = Vec::new();
            loop {
                match reader.next_part().unwrap() {
                    Part::Bytes(part) => contents.extend_from_slice(part),
                    Part::Whole => return (entry.kind, Ok(contents)),
                    Part::TakenBack(errno) => return (entry.kind, Err(errno)),
                }
            }
        }
    }
    panic!("{path:?} is not told");
}

fn skipped(errno: Errno) -> Kind {
    Kind::Skipped {
        errno: errno.raw_os_error(),
    }
}

#[test]
fn a_file_alone_has_the_empty_path() {
    let folder = tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "contents").unwrap();
    let contents = one(&packed(&file, Only::All), b"");
    assert_eq!(contents, (Kind::File { size: 8 }, Ok(b"contents".to_vec())));
    assert!(
        pack(
            &folder.path().join("none"),
            Only::All,
            &mut io::sink(),
            None
        )
        .is_err()
    );
}

#[test]
fn a_hole_is_read_as_zeros() {
    let folder = tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    File::create(&from).unwrap().set_len(1 << 20).unwrap();
    told(&to, None, &packed(&from, Only::All));
    assert_eq!(fs::read(&to).unwrap(), vec![0; 1 << 20]);
}

#[test]
fn a_link_is_not_followed() {
    let folder = tempdir().unwrap();
    symlink("/etc", folder.path().join("link")).unwrap();
    let all = listing(folder.path());
    assert_eq!(all.0.len(), 2);
    let target = b"/etc".to_vec();
    assert_eq!(all.0[&b"link"[..]].kind, Kind::Link { target });
}

#[test]
fn what_is_no_file_is_told_and_left_out() {
    let folder = tempdir().unwrap();
    mknodat(
        CWD,
        folder.path().join("fifo"),
        FileType::Fifo,
        Mode::RUSR,
        0,
    )
    .unwrap();
    let bytes = packed(folder.path(), Only::All);
    assert_eq!(
        one(&bytes, b"fifo"),
        (skipped(Errno::OPNOTSUPP), Ok(Vec::new()))
    );
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_is_taken_back() {
    // A process' memory begins with what cannot be read.
    let memory = Path::new("/proc/self/mem");
    let (mut bytes, mut listed) = (Vec::new(), Vec::new());
    pack(memory, Only::All, &mut bytes, Some(&mut listed)).unwrap();
    let errno = Errno::IO.raw_os_error();
    assert_eq!(one(&bytes, b""), (Kind::File { size: 0 }, Err(errno)));
    let listed = Listing::read(listed.as_slice()).unwrap();
    assert_eq!(listed.0[&b""[..]].kind, skipped(Errno::IO));
}

#[test]
fn a_file_has_what_it_has_whatever_its_size_says() {
    let system = Path::new("/proc/sys/kernel/ostype");
    assert_eq!(fs::metadata(system).unwrap().size(), 0);
    let (_, contents) = one(&packed(system, Only::All), b"");
    assert_eq!(contents, Ok(b"Linux\n".to_vec()));
}

/// Folders in one another, and the innermost.
fn nested(top: &Path, name: &str, deep: usize) -> OwnedFd {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut folder = openat(CWD, top, flags, Mode::empty()).unwrap();
    for _ in 0..deep {
        mkdirat(&folder, name, Mode::RWXU).unwrap();
        folder = openat(&folder, name, flags, Mode::empty()).unwrap();
    }
    folder
}

#[test]
fn folders_are_packed_as_deep_as_they_may_be_and_told_where_they_are_deeper() {
    let folder = tempdir().unwrap();
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir(&from).unwrap();
    nested(&from, "d", DEEPEST + 1);
    let all = listing(&from);
    assert_eq!(all.0.len(), DEEPEST + 1);
    let deepest = ["d"; DEEPEST].join("/");
    let kinds: BTreeMap<_, _> = all
        .0
        .iter()
        .map(|(path, entry)| (path, &entry.kind))
        .collect();
    for (path, kind) in kinds {
        match path == deepest.as_bytes() {
            true => assert_eq!(*kind, skipped(Errno::LOOP)),
            false => assert_eq!(*kind, Kind::Folder),
        }
    }
    let told = told(&to, None, &packed(&from, Only::All));
    let errno = Errno::LOOP.raw_os_error();
    let unread = |(_, what): &&(String, What)| *what == What::Unread(errno);
    assert_eq!(told.iter().filter(unread).count(), 1);
    assert_eq!(listing(&to).0.len(), DEEPEST);
}

#[test]
fn a_folder_with_a_path_that_is_too_long_is_told_and_the_rest_arrives() {
    let folder = tempdir().unwrap();
    let name = "n".repeat(255);
    let inner = nested(folder.path(), &name, 15);
    mkdirat(&inner, name.as_str(), Mode::RWXU).unwrap();
    mkdirat(&inner, "other", Mode::RWXU).unwrap();
    assert_eq!(listing(folder.path()).0.len(), 18, "4,095 bytes are a path");
    let inner = openat(&inner, name.as_str(), OFlags::RDONLY, Mode::empty()).unwrap();
    mkdirat(&inner, "x", Mode::RWXU).unwrap();
    let all = listing(folder.path());
    assert_eq!(all.0.len(), 18);
    let longest = vec![name.as_str(); 16].join("/");
    assert_eq!(all.0[longest.as_bytes()].kind, skipped(Errno::NAMETOOLONG));
}
