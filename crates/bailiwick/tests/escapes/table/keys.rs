//! What the caller has put into the kernel for safe-keeping.

use crate::act::{nothing, open};
use crate::field::SECRET;
use crate::row::{Row, Shown, bare, container, full, root, row, user};
use crate::sys::{Word, call};
use std::fs::File;
use std::io::{self, Read};

/// The name of the caller's key.
const NAME: &std::ffi::CStr = c"bailiwick-escapes";
/// The session keyring of whoever asks.
const SESSION: i64 = -3;

const KEYRING: &[Shown] = &[full("seccomp,keyring"), bare("seccomp,keyring")];

const NAMES: &[Shown] = &[user("mounts"), root("mounts,identity"), bare("broker")];

const NUMBERS: &[Shown] = &[
    user("mounts"),
    root("mounts,identity"),
    bare("broker"),
    container("broker"),
];

/// Gives this process a session keyring with a key in it, for whatever it starts. A container engine's
/// filter refuses that.
pub(crate) fn prepare() {
    let joined = call(libc::SYS_keyctl, &mut [Word::N(1), Word::N(0)]);
    let _ = joined.and_then(|_| {
        call(
            libc::SYS_add_key,
            &mut [
                Word::T(c"user"),
                Word::T(NAME),
                Word::R(SECRET.as_bytes()),
                Word::N(SECRET.len() as i64),
                Word::N(SESSION),
            ],
        )
    });
}

/// The rows.
pub(super) fn rows() -> Vec<Row> {
    vec![
        row(
            "key-of-caller",
            "reads a key of the caller's session (keyctl)",
            |_| {
                let key = call(
                    libc::SYS_keyctl,
                    &mut [
                        Word::N(10),
                        Word::N(SESSION),
                        Word::T(c"user"),
                        Word::T(NAME),
                        Word::N(0),
                    ],
                )?;
                let mut bytes = vec![0; SECRET.len()];
                let length = Word::N(bytes.len() as i64);
                call(
                    libc::SYS_keyctl,
                    &mut [Word::N(11), Word::N(key), Word::W(&mut bytes), length],
                )?;
                match bytes == SECRET.as_bytes() {
                    true => Ok(()),
                    false => Err(nothing("it is another key")),
                }
            },
        )
        .engine_refuses("EPERM")
        .shown(KEYRING)
        .full("EPERM")
        .bare("EPERM"),
        row(
            "proc-keys",
            "reads the names of the user's keys (/proc/keys)",
            |_| tells("/proc/keys", NAME.to_bytes()),
        )
        .not_in_containers("nothing")
        .shown(NAMES)
        .full("nothing")
        .bare("EACCES")
        .container("nothing"),
        row(
            "proc-key-users",
            "reads how many keys users have (/proc/key-users)",
            |_| tells("/proc/key-users", b":"),
        )
        .shown(NUMBERS)
        .full("nothing")
        .bare("EACCES"),
    ]
}

fn tells(path: &str, word: &[u8]) -> io::Result<()> {
    let mut text = Vec::new();
    File::from(open(path, libc::O_RDONLY)?).read_to_end(&mut text)?;
    match text.windows(word.len()).any(|part| part == word) {
        true => Ok(()),
        false => Err(nothing("it does not say so")),
    }
}
