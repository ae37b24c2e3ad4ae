//! `bailiwick fork`: the session stands still for a moment, and each copy goes on in a process of its
//! own, in the background.

use crate::Done;
use crate::keep::{Files, create, live, machine_of};
use crate::machine::machines;
use crate::output;
use bailiwick_event::Failure;
use bailiwick_sandbox::{SaveRequest, save};
use bailiwick_vm::{BASE, DISK, RAM, SESSION, STATE, copy_disk};
use clap::Args;
use rustix::fd::AsFd as _;
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

#[derive(Args)]
pub(crate) struct ForkArguments {
    /// The session's name, or its id or the beginning of it
    pub(crate) session: String,
    /// What the copy is called; more than one are NAME-1, NAME-2 and so on
    #[arg(long, value_name = "N")]
    pub(crate) name: String,
    /// How many copies
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) copies: u16,
}

/// What a copy says, in the folder of its machine.
const OUTPUT: &str = "output";

fn fault(path: &Path) -> impl Fn(std::io::Error) -> Failure {
    let path = path.display().to_string();
    move |error| Failure::fault(format!("{path}: {error}"))
}

/// A folder for a copy; it goes where no copy takes it.
struct Folder(PathBuf);

impl Folder {
    fn make() -> Result<Self, Failure> {
        let above = machines()?;
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&above);
        made.map_err(fault(&above))?;
        let folder = tempfile::Builder::new().prefix("copy-").tempdir_in(&above);
        Ok(Self(folder.map_err(fault(&above))?.keep()))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // A copy that runs has taken it along.
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Copies a session.
pub(crate) fn fork(arguments: &ForkArguments) -> Done {
    let session = &arguments.session;
    let parent = machine_of(&live(session)?)?;
    let first = Folder::make()?;
    let files = Files::make(&first.0)?;
    let disk = create(&first.0.join(DISK))?;
    save(&SaveRequest {
        session,
        known: files.known.as_fd(),
        state: files.state.as_fd(),
        disk: Some(disk.as_fd()),
    })?;
    files.keep()?;
    share(&parent, &first.0, RAM)?;
    let base = fs::copy(parent.join(BASE), first.0.join(BASE));
    base.map_err(fault(&parent.join(BASE)))?;
    let mut folders = vec![first];
    for _ in 1..arguments.copies {
        folders.push(another(&folders[0].0)?);
    }
    let many = arguments.copies > 1;
    let named = (1..).zip(folders).map(|(number, folder)| {
        let name = match many {
            true => format!("{}-{number}", arguments.name),
            false => arguments.name.clone(),
        };
        (name, folder)
    });
    // All begin before one is waited for.
    let begun: Result<Vec<_>, Failure> = named.map(|(name, folder)| begin(name, folder)).collect();
    let mut failed = None;
    for (name, mut said, folder) in begun? {
        let mut word = [0];
        match said.read(&mut word) {
            Ok(1) => output::print(&format!("{name} runs, a copy of {session}\n"))?,
            _ => {
                let output = fs::read_to_string(folder.0.join(OUTPUT)).unwrap_or_default();
                failed = Some(format!("{name} could not go on: {}", output.trim()));
            }
        }
    }
    failed.map_or(Ok(0), |why| Err(Failure::fault(why)))
}

/// One more folder with the same contents.
fn another(first: &Path) -> Result<Folder, Failure> {
    let folder = Folder::make()?;
    // They are read once and then forgotten, and what the memory began as nobody writes.
    for name in [SESSION, STATE, RAM] {
        share(first, &folder.0, name)?;
    }
    let base = folder.0.join(BASE);
    fs::copy(first.join(BASE), &base).map_err(fault(&base))?;
    copy_disk(&first.join(DISK), &folder.0.join(DISK))?;
    Ok(folder)
}

/// Has a file of one folder in another, where the first has it.
fn share(from: &Path, to: &Path, name: &str) -> Result<(), Failure> {
    match fs::hard_link(from.join(name), to.join(name)) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(fault(&to.join(name))(error)),
        _ => Ok(()),
    }
}

/// Starts the process of a copy.
fn begin(name: String, folder: Folder) -> Result<(String, UnixStream, Folder), Failure> {
    let cannot =
        |error: std::io::Error| Failure::fault(format!("{name} cannot be started: {error}"));
    let (said, theirs) = UnixStream::pair().map_err(cannot)?;
    let output: File = create(&folder.0.join(OUTPUT))?;
    let mut command = Command::new("/proc/self/exe");
    command
        .args(["resume", "--copy", "--name", &name])
        .arg(&folder.0)
        .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
        .stdout(output.try_clone().map_err(cannot)?)
        .stderr(output);
    command.spawn().map_err(cannot)?;
    drop(command);
    Ok((name, said, folder))
}
