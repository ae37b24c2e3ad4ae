//! `bailiwick cp`: files into a machine that runs, or out of it, or from the disk of one that has ended.

use crate::Done;
use crate::inside::Inside;
use crate::keep::live;
use bailiwick_event::Failure;
use bailiwick_ledger::StateDir;
use bailiwick_policy::{Written, resolve_existing};
use bailiwick_sandbox::Connection;
use bailiwick_transfer::{Only, Reader, Unpacker, What, pack};
use bailiwick_vm::GUEST;
use clap::Args;
use rustix::fd::{AsFd as _, OwnedFd};
use rustix::pipe::{PipeFlags, pipe_with};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::thread;

#[derive(Args)]
pub(crate) struct CpArguments {
    /// What is copied: PATH here, or SESSION:PATH
    pub(crate) from: String,
    /// Where to: PATH here, or SESSION:PATH; into it, where it is a folder
    pub(crate) to: String,
}

/// Bytes that are read and written at once.
const BUFFER: usize = 256 * 1024;

/// How the guest's binary ends where a path is not there.
pub(crate) const NOT_THERE: u8 = 66;

/// One side of a copy.
enum Side<'a> {
    Here(&'a Path),
    There { session: &'a str, path: PathBuf },
}

impl<'a> Side<'a> {
    /// `SESSION:PATH` is there, everything else here; a path here with a colon is written `./a:b`.
    fn of(text: &'a str) -> Self {
        match text.split_once(':') {
            Some((session, path)) if !session.is_empty() && !session.contains('/') => Self::There {
                session,
                path: path.into(),
            },
            _ => Self::Here(Path::new(text)),
        }
    }
}

/// Copies files.
pub(crate) fn cp(arguments: &CpArguments) -> Done {
    match (Side::of(&arguments.from), Side::of(&arguments.to)) {
        (Side::There { session, path }, Side::Here(to)) => out_of(session, &path, to)?,
        (Side::Here(from), Side::There { session, path }) => into(session, from, &path)?,
        _ => {
            return Err(Failure::usage(
                "one side of a copy is a path here, the other SESSION:PATH\nhelp: `bailiwick cp \
                 work:/tmp/result.txt .`, `bailiwick cp data.csv work:/tmp`",
            ));
        }
    }
    Ok(0)
}

pub(crate) fn pipe() -> Result<(OwnedFd, OwnedFd), Failure> {
    pipe_with(PipeFlags::CLOEXEC).map_err(|e| Failure::fault(format!("a pipe: {e}")))
}

pub(crate) fn null() -> Result<OwnedFd, Failure> {
    let null = File::options().read(true).write(true).open("/dev/null");
    null.map(OwnedFd::from)
        .map_err(|e| Failure::fault(format!("/dev/null: {e}")))
}

/// A machine's own binary as a command of a session, with its streams.
struct Command {
    connection: Connection,
    words: Vec<OsString>,
    said: OwnedFd,
    error: OwnedFd,
}

impl Command {
    fn new(session: &str, words: Vec<OsString>) -> Result<Self, Failure> {
        live(session)?;
        let (said, error) = pipe()?;
        Ok(Self {
            connection: Connection::open(session)?,
            words,
            said,
            error,
        })
    }

    /// Runs it to its end.
    fn run(self, stdin: OwnedFd, stdout: OwnedFd) -> Result<(), Failure> {
        let streams = [stdin.as_fd(), stdout.as_fd(), self.error.as_fd()];
        let finished = self.connection.run(self.words, streams)?;
        drop((stdin, stdout, self.error));
        let mut why = String::new();
        let _ = File::from(self.said).take(4096).read_to_string(&mut why);
        match finished.code {
            0 => Ok(()),
            126 | 127 => Err(Failure::usage(
                "the session is in no machine: its files are this machine's own, at their own \
                 paths\nhelp: copy them with cp",
            )),
            code => {
                let why = format!(
                    "in the machine: {}",
                    bailiwick_event::Text::from(why.trim())
                );
                Err(match code {
                    NOT_THERE => Failure::usage(why),
                    _ => Failure::fault(why),
                })
            }
        }
    }
}

/// Runs a machine's own binary in a session that runs.
pub(crate) fn run_in(
    session: &str,
    words: Vec<OsString>,
    stdin: OwnedFd,
    stdout: OwnedFd,
) -> Result<(), Failure> {
    Command::new(session, words)?.run(stdin, stdout)
}

/// Where something is put: into a folder that is there, under its own name. A session may have made links in
/// the workspace: none of them chooses where its files go.
fn place(from: &Path, to: &Path) -> Result<PathBuf, Failure> {
    if let Some(link) = link_on_the_way(to) {
        return Err(Failure::usage(format!(
            "{} is a link, which a session may have made: nothing is copied through it\nhelp: name what \
             it leads to",
            bailiwick_event::Text::from(link.as_os_str())
        )));
    }
    if !to.is_dir() {
        return Ok(to.to_path_buf());
    }
    let name = from.file_name().ok_or_else(|| {
        Failure::usage(format!(
            "{} has no name of its own\nhelp: give the target one",
            from.display()
        ))
    })?;
    Ok(to.join(name))
}

/// The first link among the parts of a relative path, or that an absolute one ends with.
fn link_on_the_way(to: &Path) -> Option<&Path> {
    let is_looked_at = |part: &&Path| to.is_relative() || *part == to;
    let parts = to.ancestors().filter(|part| !part.as_os_str().is_empty());
    let mut links = parts.filter(is_looked_at).filter(|part| part.is_symlink());
    links.next()
}

fn out_of(session: &str, from: &Path, to: &Path) -> Result<(), Failure> {
    let to = place(from, to)?;
    let fault = |error: io::Error| Failure::fault(format!("{}: {error}", to.display()));
    // The links in it are a sandbox's.
    let list = StateDir::from_environment()?.written();
    let folder = std::path::absolute(&to).map_err(fault)?;
    Written::remember(&list, &[resolve_existing(&folder)]).map_err(Failure::fault)?;
    let mut unpacker = Unpacker::at(&to, None).map_err(fault)?;
    let (mut inside, folder) = Inside::of(session)?;
    let words = [GUEST.into(), "pack".into(), folder.join(from).into()];
    let (packed, out) = pipe()?;
    let unpacking = thread::spawn(move || {
        let mut refused = None;
        let mut reader = Reader::new(BufReader::with_capacity(BUFFER, File::from(packed)));
        let done = unpacker.run(&mut reader, |outcome| {
            if let What::Refused(errno) | What::Unread(errno) = outcome.what {
                refused.get_or_insert((outcome.path, errno));
            }
            Ok(())
        });
        done.map(|()| refused)
    });
    let ran = inside.run(&words, null()?, out);
    let unpacked = unpacking.join();
    ran?;
    let unpacked = unpacked.map_err(|_| Failure::fault("the copy was not made"))?;
    match unpacked.map_err(fault)? {
        None => Ok(()),
        Some((path, errno)) => {
            let error = io::Error::from_raw_os_error(errno);
            let path = String::from_utf8_lossy(&path);
            Err(Failure::fault(format!(
                "{}: {error}; the rest was copied",
                bailiwick_event::Text::from(to.join(&*path).as_os_str())
            )))
        }
    }
}

fn into(session: &str, from: &Path, to: &Path) -> Result<(), Failure> {
    let fault = |error: io::Error| {
        let why = format!("{}: {error}", from.display());
        match error.kind() {
            io::ErrorKind::NotFound => Failure::usage(why),
            _ => Failure::fault(why),
        }
    };
    let from_real = from.canonicalize().map_err(fault)?;
    let mut words: Vec<OsString> = vec![GUEST.into(), "unpack".into(), to.into()];
    if let Some(name) = from_real.file_name() {
        words.extend(["--into".into(), name.to_owned()]);
    }
    let command = Command::new(session, words)?;
    let (unpacked, packed) = pipe()?;
    let packing = thread::spawn(move || {
        let mut out = BufWriter::with_capacity(BUFFER, File::from(packed));
        pack(&from_real, Only::All, &mut out, None)?;
        out.flush()
    });
    let ran = command.run(unpacked, null()?);
    let packed = packing.join();
    ran?;
    packed
        .map_err(|_| Failure::fault("the copy was not made"))?
        .map_err(fault)
}
