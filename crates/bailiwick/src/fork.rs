//! `bailiwick fork`: the session stands still for a moment, and each copy goes on in a process of its
//! own, in the background.

use crate::Done;
use crate::keep::{Files, create, live, machine_of};
use crate::machine::machines;
use crate::output;
use bailiwick_event::Failure;
use bailiwick_sandbox::{SaveRequest, save};
use bailiwick_vm::{BASE, DISK, DiskState, RAM, SESSION, STATE, copy_disk};
use clap::Args;
use rustix::fd::AsFd as _;
use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::unix::fs::DirBuilderExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

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

/// Copies a session. The first copy begins while the session is still written: most of a start needs nothing
/// of that.
pub(crate) fn fork(arguments: &ForkArguments) -> Done {
    let session = &arguments.session;
    let name = |number: u16| match arguments.copies {
        1 => arguments.name.clone(),
        _ => format!("{}-{number}", arguments.name),
    };
    let parent = machine_of(&live(session)?)?;
    let folder = Folder::make()?;
    let path = folder.0.clone();
    let files = Files::make(&path)?;
    let disk = create(&path.join(DISK))?;
    share(&parent, &path, RAM)?;
    DiskState::carry(&parent, &path).map_err(fault(&path))?;
    let base = fs::copy(parent.join(BASE), path.join(BASE));
    base.map_err(fault(&parent.join(BASE)))?;
    // A monitor asks for its disk's size when it starts.
    let size = fs::metadata(parent.join(DISK)).and_then(|parent| disk.set_len(parent.len()));
    size.map_err(fault(&path.join(DISK)))?;
    let request = SaveRequest {
        session,
        known: files.known.as_fd(),
        state: files.state.as_fd(),
        disk: Some(disk.as_fd()),
    };
    let mut copies = Vec::new();
    save(&request, || {
        files.keep(SESSION)?;
        copies.push(Copy::begin(name(1), folder)?);
        Ok(())
    })?;
    files.keep(STATE)?;
    for number in 2..=arguments.copies {
        copies.push(Copy::begin(name(number), another(&path)?)?);
    }
    // All go on before one is waited for.
    copies.iter_mut().for_each(Copy::go);
    let ended: Vec<Result<String, Failure>> = copies.iter_mut().map(Copy::runs).collect();
    let (run, failed): (Vec<_>, Vec<_>) = ended.into_iter().partition(Result::is_ok);
    for name in run.into_iter().flatten() {
        output::print(&format!("{name} runs, a copy of {session}\n"))?;
    }
    let failed: Vec<Failure> = failed.into_iter().filter_map(Result::err).collect();
    let why: Vec<String> = failed.iter().map(Failure::to_string).collect();
    match failed.iter().map(Failure::exit_code).max() {
        None => Ok(0),
        Some(2) => Err(Failure::usage(why.join("\n"))),
        Some(_) => Err(Failure::fault(why.join("\n"))),
    }
}

/// One more folder with the same contents.
fn another(first: &Path) -> Result<Folder, Failure> {
    let folder = Folder::make()?;
    // They are read once and then forgotten, and what the memory began as nobody writes.
    for name in [SESSION, STATE, RAM] {
        share(first, &folder.0, name)?;
    }
    DiskState::carry(first, &folder.0).map_err(fault(&folder.0))?;
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

/// A copy, whose process goes on when this one has ended, once it runs.
struct Copy {
    name: String,
    /// It is told when its folder is complete, and says when it runs.
    wire: Option<UnixStream>,
    process: Child,
    told: bool,
    /// Last: it goes when the process has ended.
    folder: Folder,
}

impl Copy {
    /// Starts its process.
    fn begin(name: String, folder: Folder) -> Result<Self, Failure> {
        let cannot =
            |error: std::io::Error| Failure::fault(format!("{name} cannot be started: {error}"));
        let (wire, theirs) = UnixStream::pair().map_err(cannot)?;
        let output: File = create(&folder.0.join(OUTPUT))?;
        let mut command = Command::new("/proc/self/exe");
        command
            .args(["resume", "--copy", "--name", &name])
            .arg(&folder.0)
            .stdin(Stdio::from(std::os::fd::OwnedFd::from(theirs)))
            .stdout(output.try_clone().map_err(cannot)?)
            .stderr(output);
        let process = command.spawn().map_err(cannot)?;
        Ok(Self {
            name,
            wire: Some(wire),
            process,
            told: false,
            folder,
        })
    }

    /// Tells it that its folder is complete.
    fn go(&mut self) {
        self.told = true;
        // Where it has ended, [`Self::runs`] sees that.
        let _ = self.wire.as_mut().map(|wire| wire.write_all(b"G"));
    }

    /// Waits until it runs; its name, or why it does not.
    fn runs(&mut self) -> Result<String, Failure> {
        let read = self.wire.as_mut().map(|wire| wire.read(&mut [0]));
        if let Some(Ok(1)) = read {
            return Ok(self.name.clone());
        }
        let code = self.end();
        let said = fs::read_to_string(self.folder.0.join(OUTPUT)).unwrap_or_default();
        let said = match said.trim() {
            "" => "it was ended before it ran; `bailiwick fork` makes another one",
            said => said.strip_prefix("bailiwick: ").unwrap_or(said),
        };
        let why = format!("{} could not go on: {said}", self.name);
        Err(match code {
            Some(2) => Failure::usage(why),
            _ => Failure::fault(why),
        })
    }

    /// Waits until its process has ended, which it does when nobody tells it to go on; its exit code.
    fn end(&mut self) -> Option<i32> {
        self.wire = None;
        self.process.wait().ok()?.code()
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        // Else it goes on by itself.
        if !self.told {
            let _ = self.end();
        }
    }
}
