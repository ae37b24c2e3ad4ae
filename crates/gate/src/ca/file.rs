//! The one file that holds an authority's key and certificate: they cannot be of two generations.

use ring::rand::{SecureRandom as _, SystemRandom};
use rustix::fs::{CWD, Mode, OFlags, RenameFlags, fstat, open, renameat_with};
use std::fmt;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

/// Its name in the state folder.
pub const FILE: &str = "authority.pem";

/// Bytes of the largest; a key and a certificate take two thousand.
const LARGEST: u64 = 64 * 1024;

/// Why there is no authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AuthorityError {
    /// Others can read the file, or it is another user's.
    NotPrivate(PathBuf),
    /// The file does not hold what it should.
    Unreadable(&'static str),
    /// The machine's own words.
    Io(String),
    /// What the library of certificates says.
    Certificate(String),
}

impl AuthorityError {
    pub(crate) fn of(error: rcgen::Error) -> Self {
        Self::Certificate(error.to_string())
    }
}

impl fmt::Display for AuthorityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotPrivate(path) => write!(
                f,
                "{} holds the key of the authority, and others than you can read or own it; \
                 `bailiwick ca rotate` makes another one",
                path.display()
            ),
            Self::Unreadable(what) => write!(
                f,
                "the file of the authority does not hold {what}; `bailiwick ca rotate` makes another one"
            ),
            Self::Io(why) => write!(f, "the authority cannot be kept: {why}"),
            Self::Certificate(why) => write!(f, "no authority can be made: {why}"),
        }
    }
}
impl std::error::Error for AuthorityError {}

fn io(what: &str, path: &Path, error: impl fmt::Display) -> AuthorityError {
    AuthorityError::Io(format!("{what} {}: {error}", path.display()))
}

/// The text of the file, if there is one.
pub(crate) fn read(state: &Path) -> Result<Option<String>, AuthorityError> {
    let path = state.join(FILE);
    // A link could lead to a file that somebody else prepared; a FIFO would hang.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = match open(&path, flags, Mode::empty()) {
        Ok(file) => File::from(file),
        Err(rustix::io::Errno::NOENT) => return Ok(None),
        Err(rustix::io::Errno::LOOP) => return Err(AuthorityError::NotPrivate(path)),
        Err(error) => return Err(io("read", &path, error)),
    };
    let status = fstat(file.as_fd()).map_err(|e| io("read", &path, e))?;
    let others = Mode::from_raw_mode(status.st_mode).intersects(Mode::RWXG | Mode::RWXO);
    let is_file = rustix::fs::FileType::from_raw_mode(status.st_mode).is_file();
    if others || !is_file || status.st_uid != rustix::process::geteuid().as_raw() {
        return Err(AuthorityError::NotPrivate(path));
    }
    let mut text = String::new();
    match file.take(LARGEST).read_to_string(&mut text) {
        Ok(_) => Ok(Some(text)),
        Err(_) => Err(AuthorityError::Unreadable("text")),
    }
}

/// Adds the file where there is none; where another process was quicker, its file stays.
pub(crate) fn add(state: &Path, text: &str) -> Result<(), AuthorityError> {
    let new = write(state, text)?;
    let path = state.join(FILE);
    let moved = renameat_with(CWD, &new, CWD, &path, RenameFlags::NOREPLACE);
    match moved {
        Ok(()) => Ok(()),
        Err(error) => {
            let _ = fs::remove_file(&new);
            match error {
                rustix::io::Errno::EXIST => Ok(()),
                error => Err(io("make", &path, error)),
            }
        }
    }
}

/// Puts the file in the place of the one that is there.
pub(crate) fn replace(state: &Path, text: &str) -> Result<(), AuthorityError> {
    let new = write(state, text)?;
    let path = state.join(FILE);
    fs::rename(&new, &path).map_err(|error| {
        let _ = fs::remove_file(&new);
        io("make", &path, error)
    })
}

/// Random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], AuthorityError> {
    let mut bytes = [0; N];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(AuthorityError::Io(
            "the system has no random numbers".into(),
        )),
    }
}

/// Writes a file of another name, for nobody but the user.
fn write(state: &Path, text: &str) -> Result<PathBuf, AuthorityError> {
    let number = u64::from_ne_bytes(random()?);
    let path = state.join(format!(".{FILE}.{number:016x}"));
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let file = open(&path, flags, Mode::RUSR | Mode::WUSR).map_err(|e| io("make", &path, e))?;
    let mut file = File::from(file);
    let written = file
        .write_all(text.as_bytes())
        .and_then(|()| file.sync_all());
    written.map_err(|error| {
        let _ = fs::remove_file(&path);
        io("write", &path, error)
    })?;
    Ok(path)
}
