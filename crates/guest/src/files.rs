//! `pack`, `list` and `unpack`: files on their way between this machine and another. The same binary does
//! it on both sides, on the host in a sandbox.

use bailiwick_transfer::{Listing, Only, Outcome, Reader, Unpacker, What, Writer, pack};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write as _};
use std::mem::ManuallyDrop;
use std::os::fd::FromRawFd as _;
use std::path::Path;
use std::process::ExitCode;

/// How it ends where the path is not there: as sysexits(3) calls an input that is not (`EX_NOINPUT`).
const NOT_THERE: u8 = 66;

/// How much is read or written at once, in bytes.
const BUFFER: usize = 256 * 1024;

/// Does one of them:
/// - `pack PATH` writes entries to stdout, with `--only` those that the listing on stdin names, with
///   `--listing` a listing to stdin, which is a file then;
/// - `list PATH` writes a listing to stdout;
/// - `unpack PATH` makes files of the entries on stdin, and has them on the disk before it ends; with
///   `--checked` behind a listing of what was there before, and writes what became of each to stdout; with
///   `--into NAME` in the folder PATH, where that is one, and what could not be read where it comes from is
///   an error then.
pub(crate) fn run(what: &str, mut words: impl Iterator<Item = OsString>) -> ExitCode {
    let (path, flag) = (words.next(), words.next());
    let Some(path) = path else {
        eprintln!("bailiwick-guest {what}: which path?");
        return ExitCode::from(2);
    };
    let flag = flag.as_deref().map(|flag| flag.to_string_lossy());
    let path = match (flag.as_deref(), words.next()) {
        (Some("--into"), Some(name)) if Path::new(&path).is_dir() => Path::new(&path).join(name),
        _ => path.into(),
    };
    let path = path.as_path();
    let done = match (what, flag.as_deref()) {
        ("pack", Some("--only")) => pack_only(path),
        ("pack", Some("--listing")) => pack_all(path, true),
        ("pack", _) => pack_all(path, false),
        ("list", _) => with_stdout(|out| pack(path, Only::Nothing, out, None)),
        (_, flag) => unpack(path, flag == Some("--checked"), flag == Some("--into")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever wanted it does not want it any more.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{}: {error}", path.display());
            match error.kind() {
                io::ErrorKind::NotFound => ExitCode::from(NOT_THERE),
                _ => ExitCode::FAILURE,
            }
        }
    }
}

fn stdin() -> BufReader<impl Read> {
    BufReader::with_capacity(BUFFER, io::stdin().lock())
}

fn with_stdout(write: impl FnOnce(&mut dyn io::Write) -> io::Result<()>) -> io::Result<()> {
    // The library's own stdout is flushed at every line.
    // SAFETY: descriptor 1 is open for the whole life of this process, and not closed here.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(1) });
    let mut out = BufWriter::with_capacity(BUFFER, &*file);
    write(&mut out)?;
    out.flush()
}

fn pack_all(path: &Path, listed: bool) -> io::Result<()> {
    if !listed {
        return with_stdout(|out| pack(path, Only::All, out, None));
    }
    // SAFETY: as above, of descriptor 0.
    let file = ManuallyDrop::new(unsafe { File::from_raw_fd(0) });
    let mut listing = BufWriter::with_capacity(BUFFER, Listed(&file));
    with_stdout(|out| pack(path, Only::All, out, Some(&mut listing)))?;
    listing.flush()
}

/// The file of a listing, which lies elsewhere than what is packed: its errors say so.
struct Listed<'a>(&'a File);

fn of_listing(error: io::Error) -> io::Error {
    let what = format!("the listing of it beside the session's disk cannot be written: {error}");
    io::Error::new(error.kind(), what)
}

impl io::Write for Listed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(of_listing)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(of_listing)
    }
}

fn pack_only(path: &Path) -> io::Result<()> {
    let wanted: BTreeSet<Vec<u8>> = Listing::read(stdin())?.0.into_keys().collect();
    with_stdout(|out| pack(path, Only::These(&wanted), out, None))
}

fn unpack(path: &Path, checked: bool, all: bool) -> io::Result<()> {
    let mut from = stdin();
    let before = match checked {
        true => Some(Listing::take(&mut Reader::listing(&mut from))?),
        false => None,
    };
    let mut unpacker = Unpacker::new(path, before)?;
    let mut failed = None;
    with_stdout(|out| {
        let mut out = Writer::new(out);
        let tell = |outcome: Outcome| {
            let errno = match outcome.what {
                What::Refused(errno) => Some(errno),
                What::Unread(errno) if all || outcome.path.is_empty() => Some(errno),
                What::Unread(_) | What::Done | What::Conflict => None,
            };
            if let Some(errno) = errno {
                failed.get_or_insert((outcome.path.clone(), errno));
            }
            match checked {
                true => out.outcome(&outcome),
                false => Ok(()),
            }
        };
        unpacker.run(&mut Reader::new(&mut from), tell)
    })?;
    match failed {
        Some((path, errno)) if !checked => {
            let error = io::Error::from_raw_os_error(errno);
            Err(io::Error::other(format!(
                "{}: {error}",
                String::from_utf8_lossy(&path)
            )))
        }
        // Whoever hears that it is there can count on it, however its machine ends.
        _ if !checked => Ok(rustix::fs::syncfs(File::open(path)?)?),
        _ => Ok(()),
    }
}
