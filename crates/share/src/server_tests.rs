//! A guest's kernel, as far as a test needs one, and the host beside it.

use crate::watch::Watching;
use crate::wire::{EVENT, INVAL_ENTRY, INVAL_INODE, LONGEST, REQUEST, op};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::fd::OwnedFd;
use rustix::fs::inotify::{self, ReadFlags};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::thread::JoinHandle;
use tempfile::TempDir;

/// What no answer may hold.
const SECRET: &[u8] = b"no guest has seen this";

/// What the host's side said.
#[derive(Clone, Debug)]
struct Said {
    error: i32,
    unique: u64,
    bytes: Vec<u8>,
}

impl Said {
    fn u64(&self, at: usize) -> u64 {
        u64::from_ne_bytes(self.bytes[at..at + 8].try_into().unwrap())
    }

    fn u32(&self, at: usize) -> u32 {
        u32::from_ne_bytes(self.bytes[at..at + 4].try_into().unwrap())
    }

    fn text(&self, at: usize) -> &str {
        std::str::from_utf8(&self.bytes[at..])
            .unwrap()
            .trim_end_matches('\0')
    }
}

struct Guest {
    /// `share` of it is what the guest is shown.
    folder: TempDir,
    stream: Option<File>,
    server: Option<JoinHandle<std::io::Result<()>>>,
    unique: u64,
    /// What was told without being asked.
    told: Vec<Said>,
    changes: [OwnedFd; 2],
}

impl Guest {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let flags = SocketFlags::CLOEXEC;
        let (ours, theirs): (OwnedFd, OwnedFd) =
            socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None).unwrap();
        let root = folder.path().join("share");
        fs::create_dir(&root).unwrap();
        let flags = inotify::CreateFlags::CLOEXEC | inotify::CreateFlags::NONBLOCK;
        let heard = inotify::init(flags).unwrap();
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK | EventfdFlags::SEMAPHORE;
        let passed = eventfd(0, flags).unwrap();
        let watching = Watching {
            inotify: heard.try_clone().unwrap(),
            passed: passed.try_clone().unwrap(),
            most: 1000,
        };
        let server = std::thread::spawn(move || super::serve(&root, theirs, watching));
        Self {
            folder,
            stream: Some(ours.into()),
            server: Some(server),
            unique: 0,
            told: Vec::new(),
            changes: [heard, passed],
        }
    }

    /// Whether somebody beside the stream would have the guest hear of changes first; he has it do so then.
    fn is_behind(&self) -> bool {
        let fds = self.changes.each_ref();
        let mut fds = fds.map(|fd| PollFd::new(fd, PollFlags::IN));
        let is = poll(&mut fds, Some(&Timespec::default())).unwrap() > 0;
        while rustix::io::read(&self.changes[1], &mut [0; 8]).is_ok() {}
        is
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join("share").join(name)
    }

    /// Makes a file of the host's.
    fn file(self, name: &str, contents: &str) -> Self {
        fs::write(self.path(name), contents).unwrap();
        self
    }

    fn send(&mut self, bytes: &[u8]) {
        self.stream.as_mut().unwrap().write_all(bytes).unwrap();
    }

    fn hear(&mut self) -> Said {
        let stream = self.stream.as_mut().unwrap();
        let mut header = [0; 16];
        stream.read_exact(&mut header).unwrap();
        let length = u32::from_ne_bytes(header[..4].try_into().unwrap()) as usize;
        let mut bytes = vec![0; length - 16];
        stream.read_exact(&mut bytes).unwrap();
        Said {
            error: i32::from_ne_bytes(header[4..8].try_into().unwrap()),
            unique: u64::from_ne_bytes(header[8..].try_into().unwrap()),
            bytes,
        }
    }

    fn question(opcode: u32, unique: u64, node: u64, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(REQUEST + body.len()).unwrap();
        [
            &length.to_ne_bytes()[..],
            &opcode.to_ne_bytes(),
            &unique.to_ne_bytes(),
            &node.to_ne_bytes(),
            &[0; 16],
            body,
        ]
        .concat()
    }

    /// Asks, and waits for the answer.
    fn ask(&mut self, opcode: u32, node: u64, body: &[&[u8]]) -> Said {
        self.unique += 2;
        let unique = self.unique;
        self.send(&Self::question(opcode, unique, node, &body.concat()));
        loop {
            let said = self.hear();
            if said.unique == unique {
                return said;
            }
            self.told.push(said);
        }
    }

    fn good(&mut self, opcode: u32, node: u64, body: &[&[u8]]) -> Said {
        let said = self.ask(opcode, node, body);
        assert_eq!(said.error, 0, "{opcode}: {said:?}");
        said
    }

    /// What was told of everything that was changed until now.
    fn settle(&mut self) -> Vec<Said> {
        self.good(op::STATFS, 1, &[]);
        std::mem::take(&mut self.told)
    }

    fn lookup(&mut self, folder: u64, name: &str) -> Said {
        self.ask(op::LOOKUP, folder, &[name.as_bytes(), b"\0"])
    }

    fn create(&mut self, folder: u64, name: &str) -> Said {
        let flags = (libc::O_RDWR | libc::O_CREAT).cast_unsigned();
        let (flags, mode) = (flags.to_ne_bytes(), 0o100_644_u32.to_ne_bytes());
        let name = [name.as_bytes(), b"\0"].concat();
        self.good(op::CREATE, folder, &[&flags, &mode, &[0; 8], &name])
    }

    fn write(&mut self, handle: u64, offset: u64, text: &[u8]) -> Said {
        let size = u32::try_from(text.len()).unwrap().to_ne_bytes();
        let (handle, offset) = (handle.to_ne_bytes(), offset.to_ne_bytes());
        self.ask(op::WRITE, 0, &[&handle, &offset, &size, &[0; 20], text])
    }

    fn open(&mut self, node: u64, flags: i32) -> Said {
        let flags = flags.cast_unsigned().to_ne_bytes();
        self.ask(op::OPEN, node, &[&flags, &[0; 4]])
    }

    fn read(&mut self, handle: u64, size: u32) -> Said {
        let handle = handle.to_ne_bytes();
        let rest = [&[0; 8][..], &size.to_ne_bytes(), &[0; 20]].concat();
        self.good(op::READ, 0, &[&handle, &rest])
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        drop(self.stream.take());
        let ended = self.server.take().unwrap().join();
        if !std::thread::panicking() {
            ended.unwrap().unwrap();
        }
    }
}

/// The codes of what was told.
fn kinds(told: &[Said]) -> Vec<i32> {
    told.iter().map(|said| said.error).collect()
}

fn events(told: &[Said]) -> Vec<(ReadFlags, String)> {
    let events = told.iter().filter(|said| said.error == EVENT);
    let named = events.filter(|said| said.u32(20) > 0);
    named
        .map(|said| {
            let flags = ReadFlags::from_bits_retain(said.u32(16));
            (flags, said.text(24).to_owned())
        })
        .collect()
}

#[test]
fn a_file_is_found_opened_and_read() {
    let mut guest = Guest::new().file("file", "some text");
    let found = guest.lookup(1, "file");
    let (id, kept) = (found.u64(0), found.u64(16));
    assert!(id > 1 && kept > 0, "{found:?}");
    let meta = fs::metadata(guest.path("file")).unwrap();
    // The bits above tell devices apart.
    assert_eq!(found.u64(40) << 16, meta.ino() << 16);
    assert_eq!(found.u64(48), 9);
    let opened = guest.open(id, libc::O_RDONLY);
    assert_eq!(guest.read(opened.u64(0), 4096).bytes, b"some text");
    // The same file is the same number.
    assert_eq!(guest.lookup(1, "file").u64(0), id);
}

#[test]
fn what_is_written_is_on_the_host_at_once_and_no_news() {
    let mut guest = Guest::new();
    let made = guest.create(1, "new");
    let handle = made.u64(128);
    assert_eq!(guest.write(handle, 0, b"text").u32(0), 4);
    assert_eq!(fs::read(guest.path("new")).unwrap(), b"text");
    guest.good(
        op::MKDIR,
        1,
        &[&0o755_u32.to_ne_bytes(), &[0; 4], b"folder\0"],
    );
    let both = [&1_u64.to_ne_bytes()[..], b"new\0", b"old\0"];
    guest.good(op::RENAME, 1, &both);
    guest.good(op::RMDIR, 1, &[b"folder\0"]);
    guest.good(op::UNLINK, 1, &[b"old\0"]);
    // Removed, it is still open.
    assert_eq!(guest.write(handle, 4, b" and more").u32(0), 9);
    assert_eq!(guest.read(handle, 99).bytes, b"text and more");
    assert!(guest.settle().is_empty());
    assert!(!guest.is_behind());
}

#[test]
fn a_change_by_the_host_is_told_before_the_next_question_that_waits_for_it() {
    let mut guest = Guest::new().file("file", "text");
    let id = guest.lookup(1, "file").u64(0);
    // That the file came may be news or not: the answers may have begun before it did.
    guest.settle();
    guest.is_behind();
    assert!(guest.settle().is_empty());
    assert!(!guest.is_behind());
    fs::write(guest.path("file"), "another text").unwrap();
    assert!(guest.is_behind());
    let told = guest.settle();
    assert!(kinds(&told).contains(&INVAL_INODE), "{told:?}");
    assert!(told.iter().any(|said| said.u64(0) == id));
    let named = events(&told);
    assert!(
        named.contains(&(ReadFlags::MODIFY, "file".to_owned())),
        "{named:?}"
    );
    assert!(guest.settle().is_empty());

    fs::set_permissions(guest.path("file"), fs::Permissions::from_mode(0o600)).unwrap();
    let told = guest.settle();
    // The contents are the same: what is kept of them may stay.
    let attributes = told.iter().find(|said| said.error == INVAL_INODE).unwrap();
    assert_eq!(attributes.u64(8), u64::MAX);

    fs::remove_file(guest.path("file")).unwrap();
    let told = guest.settle();
    let gone = told.iter().find(|said| said.error == INVAL_ENTRY).unwrap();
    assert_eq!((gone.u64(0), gone.text(16)), (1, "file"));
    assert!(events(&told).contains(&(ReadFlags::DELETE, "file".to_owned())));
    assert_eq!(guest.lookup(1, "file").u64(0), 0);
}

#[test]
fn contents_that_others_changed_are_told_also_where_an_answer_has_told_the_rest() {
    let mut guest = Guest::new().file("file", "text");
    let id = guest.lookup(1, "file").u64(0);
    guest.settle();
    for look in [0, 1, 2] {
        fs::write(guest.path("file"), &"another text"[look..]).unwrap();
        let of_contents =
            |said: &Said| said.error == INVAL_INODE && (said.u64(0), said.u64(8)) == (id, 0);
        // Whoever looks is told what the file is now, perhaps before the change itself is heard of.
        match look {
            0 => drop(guest.lookup(1, "file")),
            1 => drop(guest.good(op::GETATTR, id, &[&[0; 16]])),
            _ => {
                let kept = guest.open(id, libc::O_RDONLY).u32(8) & 2 != 0;
                assert!(
                    !kept || guest.told.iter().any(of_contents),
                    "it is kept untold"
                );
            }
        }
        let told = guest.settle();
        assert!(told.iter().any(of_contents), "{look}: {told:?}");
        assert!(
            guest.is_behind(),
            "nobody knows that it may not have heard of it"
        );
        guest.settle();
    }
}

#[test]
fn what_others_changed_is_told_though_the_guest_changes_the_same_file() {
    let mut guest = Guest::new().file("file", "text of the host");
    let id = guest.lookup(1, "file").u64(0);
    let handle = guest.open(id, libc::O_RDWR).u64(0);
    guest.settle();
    for change in [0, 1] {
        fs::write(guest.path("file"), format!("another text {change}")).unwrap();
        match change {
            0 => drop(guest.write(handle, 0, b"A")),
            _ => drop(guest.good(op::SETATTR, id, &[&1_u32.to_ne_bytes(), &[0; 84]])),
        }
        let told = guest.settle();
        let is = |said: &Said| said.error == INVAL_INODE && (said.u64(0), said.u64(8)) == (id, 0);
        assert!(told.iter().any(is), "{change}: {told:?}");
    }
}

#[test]
fn a_file_that_goes_to_another_name_is_told_of_there() {
    let mut guest = Guest::new().file("log", "text");
    fs::create_dir(guest.path("folder")).unwrap();
    let id = guest.lookup(1, "log").u64(0);
    let handle = guest.open(id, libc::O_RDONLY).u64(0);
    guest.settle();
    for change in [
        "mv log folder/log.1",
        "echo more >>folder/log.1",
        "ln folder/log.1 last; echo last >>last",
    ] {
        let mut shell = std::process::Command::new("sh");
        let done = shell
            .args(["-ec", change])
            .current_dir(guest.path(""))
            .status();
        assert!(done.unwrap().success());
        let told = guest.settle();
        let is = |said: &Said| said.error == INVAL_INODE && said.u64(0) == id;
        assert!(told.iter().any(is), "{change}: {told:?}");
    }
    assert_eq!(guest.read(handle, 99).bytes, b"textmore\nlast\n");
}

#[test]
fn what_is_appended_goes_to_the_end_and_what_is_written_back_to_its_place() {
    let mut guest = Guest::new().file("file", "0123456789");
    let id = guest.lookup(1, "file").u64(0);
    let handle = guest
        .open(id, libc::O_RDWR | libc::O_APPEND)
        .u64(0)
        .to_ne_bytes();
    let mut write = |cached: u32, text: &[u8]| {
        let size = u32::try_from(text.len()).unwrap().to_ne_bytes();
        let flags = (libc::O_RDWR | libc::O_APPEND).to_ne_bytes();
        let cached = cached.to_ne_bytes();
        let body = [
            &handle,
            &[0; 8],
            &size[..],
            &cached,
            &[0; 8],
            &flags,
            &[0; 4],
            text,
        ];
        guest.good(op::WRITE, 0, &body);
    };
    write(0, b"end");
    write(1, b"AB");
    assert_eq!(fs::read(guest.path("file")).unwrap(), b"AB23456789end");
}

#[test]
fn a_pipe_where_a_file_was_to_be_made_is_looked_up_first() {
    let mut guest = Guest::new();
    rustix::fs::mkfifoat(rustix::fs::CWD, guest.path("pipe"), 0o600.into()).unwrap();
    let flags = (libc::O_WRONLY | libc::O_CREAT)
        .cast_unsigned()
        .to_ne_bytes();
    let said = guest.ask(op::CREATE, 1, &[&flags, &[0; 12], b"pipe\0"]);
    assert_eq!(said.error, -libc::ELOOP);
}

#[test]
fn what_is_removed_while_a_folder_is_listed_shifts_nothing() {
    let mut guest = Guest::new();
    for number in 0..300 {
        fs::write(guest.path(&format!("file-{number}")), "").unwrap();
    }
    let (mut offset, mut names) = (0, Vec::new());
    loop {
        let body = [
            &[0; 8][..],
            &u64::to_ne_bytes(offset),
            &2048_u32.to_ne_bytes(),
            &[0; 20],
        ];
        let said = guest.good(op::READDIR, 1, &body);
        if said.bytes.is_empty() {
            break;
        }
        let mut at = 0;
        while at < said.bytes.len() {
            offset = said.u64(at + 8);
            let length = said.u32(at + 16) as usize;
            let name = String::from_utf8(said.bytes[at + 24..at + 24 + length].to_vec()).unwrap();
            if name.starts_with("file") {
                fs::remove_file(guest.path(&name)).unwrap();
                names.push(name);
            }
            at += (24 + length).next_multiple_of(8);
        }
    }
    assert_eq!(names.len(), 300);
}

#[test]
fn a_name_that_was_not_there_is_told_when_it_comes() {
    let mut guest = Guest::new();
    let absent = guest.lookup(1, "later");
    assert_eq!((absent.error, absent.u64(0)), (0, 0));
    assert!(absent.u64(16) > 0);
    fs::write(guest.path("later"), "text").unwrap();
    let told = guest.settle();
    let came = told.iter().find(|said| said.error == INVAL_ENTRY).unwrap();
    assert_eq!((came.u64(0), came.text(16)), (1, "later"));
    assert!(events(&told).contains(&(ReadFlags::CREATE, "later".to_owned())));
    assert!(guest.lookup(1, "later").u64(0) > 1);
}

#[test]
fn what_is_replaced_by_its_name_is_another_file() {
    let mut guest = Guest::new().file("file", "text").file("other", "other");
    let id = guest.lookup(1, "file").u64(0);
    fs::rename(guest.path("other"), guest.path("file")).unwrap();
    let told = guest.settle();
    assert!(
        told.iter()
            .any(|said| said.error == INVAL_ENTRY && said.text(16) == "file")
    );
    assert_ne!(guest.lookup(1, "file").u64(0), id);
}

#[test]
fn what_has_a_second_name_is_watched_itself() {
    let mut guest = Guest::new().file("file", "text");
    fs::create_dir(guest.path("folder")).unwrap();
    fs::hard_link(guest.path("file"), guest.path("folder/second")).unwrap();
    let found = guest.lookup(1, "file");
    assert!(found.u64(24) > 0, "{found:?}");
    fs::write(guest.path("folder/second"), "another").unwrap();
    let told = guest.settle();
    let id = found.u64(0);
    assert!(
        told.iter()
            .any(|said| said.error == INVAL_INODE && said.u64(0) == id)
    );
}

#[test]
fn an_owner_is_the_guests_alone() {
    let mut guest = Guest::new().file("file", "text");
    let found = guest.lookup(1, "file");
    let valid = 1 << 1 | 1 << 2;
    let mut body = vec![0; 88];
    body[..4].copy_from_slice(&u32::to_ne_bytes(valid));
    body[76..80].copy_from_slice(&1234_u32.to_ne_bytes());
    body[80..84].copy_from_slice(&2345_u32.to_ne_bytes());
    let said = guest.good(op::SETATTR, found.u64(0), &[&body]);
    assert_eq!((said.u32(16 + 68), said.u32(16 + 72)), (1234, 2345));
    let again = guest.lookup(1, "file");
    assert_eq!((again.u32(40 + 68), again.u32(40 + 72)), (1234, 2345));
    let meta = fs::metadata(guest.path("file")).unwrap();
    assert_eq!(meta.uid(), rustix::process::getuid().as_raw());
}

#[test]
fn a_folder_is_listed_from_any_place_in_it() {
    let mut guest = Guest::new();
    for number in 0..300 {
        fs::write(guest.path(&format!("file-{number}")), "").unwrap();
    }
    for opcode in [op::READDIR, op::READDIRPLUS] {
        let (mut offset, mut names) = (0, Vec::new());
        loop {
            let body = [
                &[0; 8][..],
                &u64::to_ne_bytes(offset),
                &4096_u32.to_ne_bytes(),
                &[0; 20],
            ];
            let said = guest.good(opcode, 1, &body);
            if said.bytes.is_empty() {
                break;
            }
            let mut at = 0;
            while at < said.bytes.len() {
                at += if opcode == op::READDIRPLUS { 128 } else { 0 };
                offset = said.u64(at + 8);
                let length = said.u32(at + 16) as usize;
                names.push(said.bytes[at + 24..at + 24 + length].to_vec());
                at += (24 + length).next_multiple_of(8);
            }
        }
        names.sort();
        let listed = names.len();
        names.dedup();
        assert_eq!((listed, names.len()), (302, 302));
    }
}

#[test]
fn a_name_is_one_name() {
    let mut guest = Guest::new().file("file", "text");
    fs::create_dir(guest.path("folder")).unwrap();
    let folder = guest.lookup(1, "folder").u64(0);
    for name in ["..", ".", "", "folder/..", "/etc/passwd", "../etc"] {
        assert_eq!(guest.lookup(folder, name).error, -libc::EINVAL, "{name}");
    }
    // A link is not followed here.
    std::os::unix::fs::symlink("/etc", guest.path("link")).unwrap();
    let link = guest.lookup(1, "link").u64(0);
    assert_eq!(guest.lookup(link, "passwd").error, -libc::ENOTDIR);
    assert_eq!(guest.open(link, libc::O_RDONLY).error, -libc::ENXIO);
    assert_eq!(guest.good(op::READLINK, link, &[]).bytes, b"/etc");
    assert_eq!(guest.open(folder, libc::O_RDONLY).error, -libc::ENXIO);
    assert_eq!(guest.lookup(4711, "file").error, -libc::ESTALE);
}

#[test]
fn a_request_of_no_possible_length_ends_it() {
    for length in [0, 39, u32::try_from(LONGEST + 1).unwrap(), u32::MAX] {
        let mut guest = Guest::new();
        guest.send(&length.to_ne_bytes());
        let ended = guest.server.take().unwrap().join().unwrap();
        assert_eq!(ended.unwrap_err().kind(), std::io::ErrorKind::InvalidData);
        guest.server = Some(std::thread::spawn(|| Ok(())));
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    /// Whatever a guest asks, it is answered or ignored; what lies beside the folder is neither told nor changed.
    #[test]
    fn no_request_breaks_it(
        asked in proptest::collection::vec(
            (0_u32..52, 0_u64..6, proptest::collection::vec(proptest::num::u8::ANY, 0..120)),
            1..40,
        ),
    ) {
        let mut guest = Guest::new().file("file", "text");
        let secret = guest.folder.path().join("secret");
        fs::write(&secret, SECRET).unwrap();
        std::os::unix::fs::symlink("../secret", guest.path("link")).unwrap();
        std::os::unix::fs::symlink("..", guest.path("up")).unwrap();
        for name in ["file", "link", "up"] {
            guest.lookup(1, name);
        }
        for (number, (opcode, node, body)) in (0_u64..).zip(asked) {
            let unique = 1000 + 2 * number;
            guest.send(&Guest::question(opcode, unique, node, &body));
        }
        guest.unique = 1 << 20;
        let still = guest.ask(op::GETATTR, 1, &[&[0; 16]]);
        assert_eq!(still.error, 0);
        let is_secret = |said: &Said| said.bytes.windows(SECRET.len()).any(|part| part == SECRET);
        assert!(!guest.told.iter().any(is_secret));
        assert_eq!(fs::read(&secret).unwrap(), SECRET);
        assert_eq!(fs::read_dir(guest.folder.path()).unwrap().count(), 2);
    }
}
