//! What a guest asks for the host's files: whatever it is, nothing beside the folder is read, made or changed, and
//! only what is no request at all ends the answers.

#![no_main]

use bailiwick_share::{Watching, serve};
use libfuzzer_sys::fuzz_target;
use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixStream;
use std::path::Path;

/// What no answer may hold.
const SECRET: &[u8] = b"no guest has seen this";

/// A folder with some files, and one beside it that no link and no name may lead to.
fn lay(top: &Path) {
    let _ = fs::set_permissions(top, fs::Permissions::from_mode(0o700));
    let _ = fs::remove_dir_all(top);
    fs::create_dir_all(top.join("share/folder/below")).unwrap();
    fs::write(top.join("secret"), SECRET).unwrap();
    fs::write(top.join("share/file"), "text").unwrap();
    fs::write(top.join("share/folder/other"), "more text").unwrap();
    symlink("../secret", top.join("share/link")).unwrap();
    symlink("..", top.join("share/up")).unwrap();
}

/// The requests that an input means: of each its kind, file, length and contents.
fn requests(mut input: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    let mut unique = 2_u64;
    while let [opcode, node, length, rest @ ..] = input {
        let (body, more) = rest.split_at((*length as usize).min(rest.len()));
        let total = u32::try_from(40 + body.len()).unwrap();
        all.extend(total.to_ne_bytes());
        all.extend(u32::from(*opcode).to_ne_bytes());
        all.extend(unique.to_ne_bytes());
        all.extend(u64::from(*node).to_ne_bytes());
        all.extend([0; 16]);
        all.extend(body);
        unique += 2;
        input = more;
    }
    all
}

fuzz_target!(|input: &[u8]| {
    let top = std::env::temp_dir().join(format!("bailiwick-share-{}", std::process::id()));
    lay(&top);
    let (mut guest, host) = UnixStream::pair().unwrap();
    // A file that tells of no changes: nothing is kept.
    let null = || {
        OwnedFd::from(
            fs::File::options()
                .read(true)
                .write(true)
                .open("/dev/null")
                .unwrap(),
        )
    };
    let watching = Watching {
        inotify: null(),
        passed: null(),
        most: 0,
    };
    let root = top.join("share");
    let server = std::thread::spawn(move || serve(&root, host.into(), watching));
    let mut answers = guest.try_clone().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        let _ = answers.read_to_end(&mut said);
        said
    });
    let _ = guest.write_all(&requests(input));
    let _ = guest.shutdown(std::net::Shutdown::Write);
    server.join().unwrap().unwrap();
    drop(guest);
    let said = reader.join().unwrap();
    assert!(
        !said.windows(SECRET.len()).any(|part| part == SECRET),
        "the secret was told"
    );
    assert_eq!(fs::read(top.join("secret")).unwrap(), SECRET);
    assert_eq!(fs::read_dir(&top).unwrap().count(), 2);
});
