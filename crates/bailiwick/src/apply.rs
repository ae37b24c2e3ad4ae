//! `bailiwick apply`: what a session has changed on its disk, brought into the workspace.

use crate::Done;
use crate::cp::{null, pipe, run_in};
use crate::keep::machine_of;
use crate::output;
use crate::selection::find;
use crate::sessions::NOT_KEPT;
use bailiwick_event::{Failure, Text};
use bailiwick_ledger::{SessionState, StateDir};
use bailiwick_policy::Effective;
use bailiwick_sandbox::private_folder;
use bailiwick_transfer::{
    Change, Changes, Entry, Kind, Listing, Outcome, Part, Reader, Room, What, Writer, compare,
};
use bailiwick_vm::{Applier, BASE, DISK, DiskMachine, GUEST};
use clap::Args;
use rustix::fd::OwnedFd;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek as _, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::thread;

#[derive(Args)]
pub(crate) struct ApplyArguments {
    /// The session's name, its id or the beginning of it, or `latest`
    pub(crate) session: String,
    /// Only list what would be changed
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
}

/// What is wrong where a disk cannot be read.
fn fault(error: io::Error) -> Failure {
    Failure::fault(format!("the session's files: {error}"))
}

/// Where the session's own binary runs.
enum Machine {
    Runs(String),
    Ended(Box<DiskMachine>),
}

impl Machine {
    fn run(&mut self, words: &[OsString], stdin: OwnedFd, stdout: OwnedFd) -> Result<(), Failure> {
        match self {
            Self::Runs(session) => run_in(session, words.to_vec(), stdin, stdout),
            Self::Ended(machine) => match machine.run(words, stdin, stdout)? {
                0 => Ok(()),
                code => Err(Failure::fault(format!(
                    "the session's files cannot be read in the machine (code {code})"
                ))),
            },
        }
    }
}

/// Applies the changes of a session.
pub(crate) fn apply(arguments: &ApplyArguments) -> Done {
    let (info, reader) = find(&arguments.session)?;
    let folder = machine_of(&info)?;
    let lock = reader
        .policy_lock()?
        .ok_or_else(|| Failure::fault(NOT_KEPT))?;
    let mut policy = Effective::from_lock(&lock)
        .map_err(|why| Failure::fault(format!("the session's policy cannot be read: {why}")))?;
    let base = folder.join(BASE);
    let before = File::open(&base).and_then(|file| Listing::read(BufReader::new(file)));
    let before = before.map_err(fault)?;
    // Both begin while this process has one thread.
    let applier = match arguments.dry_run {
        true => None,
        false => {
            let state = StateDir::from_environment()?;
            let private = private_folder(&state, &policy);
            // The links that are unpacked are a sandbox's.
            policy.written = Some(state.written());
            Some(Applier::begin(&policy, &private)?)
        }
    };
    let mut machine = match info.state {
        SessionState::Live => Machine::Runs(arguments.session.clone()),
        _ => Machine::Ended(Box::new(DiskMachine::start(&folder, &policy.workspace)?)),
    };
    let after = list(&mut machine, &policy.workspace)?;
    let changes = compare(&before, &after);
    let Some(applier) = applier else {
        output::print(&listed(&changes))?;
        return Ok(0);
    };
    if changes.is_empty() {
        output::print("nothing was changed\n")?;
        return Ok(0);
    }
    let disk = folder.join(DISK);
    let most = fs::metadata(&disk).map_err(fault)?.len();
    let asked = Asked {
        before: &before,
        changes: &changes,
        most,
    };
    let applied = Applied::bring(&mut machine, applier, &policy.workspace, &asked)?;
    applied.update(before, &base)?;
    applied.report(&changes, &policy)
}

/// What the session's workspace has now.
fn list(machine: &mut Machine, workspace: &Path) -> Result<Listing, Failure> {
    // Read while it comes: what it may have is counted then.
    let (listing, out) = pipe()?;
    let reading = thread::spawn(move || Listing::read(BufReader::new(File::from(listing))));
    let words = [GUEST.into(), "list".into(), workspace.into()];
    let ran = machine.run(&words, null()?, out);
    let listing = reading
        .join()
        .map_err(|_| Failure::fault("the session's files were not listed"))?;
    match (ran, listing) {
        // Whoever lists is ended by a reader that has had enough.
        (_, Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => Err(fault(error)),
        (ran, listing) => ran.and_then(|()| listing.map_err(fault)),
    }
}

fn letter(change: Change) -> char {
    match change {
        Change::Added => 'A',
        Change::Changed => 'M',
        Change::Gone => 'D',
    }
}

fn shown(path: &[u8]) -> Text {
    match path {
        b"" => Text::from("."),
        path => Text::from(OsStr::from_bytes(path)),
    }
}

fn listed(changes: &Changes) -> String {
    let line =
        |(path, change): (&Vec<u8>, &Change)| format!("{} {}\n", letter(*change), shown(path));
    changes.iter().map(line).collect()
}

/// What is asked for.
struct Asked<'a> {
    before: &'a Listing,
    changes: &'a Changes,
    /// Bytes of contents that there can be.
    most: u64,
}

/// What became of the changes.
struct Applied {
    outcomes: Vec<Outcome>,
    /// The entries that were sent.
    sent: BTreeMap<Vec<u8>, Entry>,
}

impl Applied {
    /// Brings the changed files from the machine to the sandbox that unpacks them: those that were asked
    /// for, whatever the machine sends.
    fn bring(
        machine: &mut Machine,
        applier: Applier,
        workspace: &Path,
        asked: &Asked<'_>,
    ) -> Result<Self, Failure> {
        let Asked {
            before,
            changes,
            most,
        } = *asked;
        let (entries, unpacking) = applier.ready()?;
        let (packed, out) = pipe()?;
        let wanted: BTreeMap<Vec<u8>, Change> = changes.clone();
        let before = before.clone();
        let sending =
            thread::spawn(move || send(&before, wanted, most, File::from(packed), entries));
        let mut asked = tempfile::tempfile().map_err(fault)?;
        let mut writer = Writer::new(BufWriter::new(&asked));
        for (path, _) in changes
            .iter()
            .filter(|(_, change)| **change != Change::Gone)
        {
            writer.entry(&Entry::gone(path)).map_err(fault)?;
        }
        writer.end().map_err(fault)?;
        drop(writer);
        asked.rewind().map_err(fault)?;
        let words = [
            GUEST.into(),
            "pack".into(),
            workspace.into(),
            "--only".into(),
        ];
        let ran = machine.run(&words, asked.into(), out);
        let sent = sending.join();
        ran?;
        let sent = sent.map_err(|_| Failure::fault("the files were not sent"))?;
        Ok(Self {
            sent: sent.map_err(fault)?,
            outcomes: unpacking.outcomes()?,
        })
    }

    /// What was brought is what was there before, for the next time.
    fn update(&self, mut before: Listing, base: &Path) -> Result<(), Failure> {
        let done = self
            .outcomes
            .iter()
            .filter(|outcome| outcome.what == What::Done);
        for outcome in done {
            match self.sent.get(&outcome.path) {
                Some(entry) if entry.kind != Kind::Gone => {
                    before.0.insert(outcome.path.clone(), entry.clone());
                }
                _ => drop(before.0.remove(&outcome.path)),
            }
        }
        let new = base.with_extension(format!("new-{}", std::process::id()));
        let written = File::create(&new).and_then(|file| {
            let mut writer = Writer::new(BufWriter::new(file));
            before
                .0
                .values()
                .try_for_each(|entry| writer.entry(entry))?;
            writer.end()?;
            File::open(&new)?.sync_all()
        });
        let written = written.and_then(|()| fs::rename(&new, base));
        written.map_err(fault)
    }

    /// Says what became of each change.
    fn report(&self, changes: &Changes, policy: &Effective) -> Done {
        let mut text = String::new();
        let (mut conflicts, mut refused) = (0, 0);
        for outcome in &self.outcomes {
            let path = shown(&outcome.path);
            let change = changes.get(&outcome.path).copied();
            let letter = change.map_or('?', letter);
            match outcome.what {
                What::Done => text += &format!("{letter} {path}\n"),
                What::Conflict => {
                    conflicts += 1;
                    output::note(&format!(
                        "{letter} {path}: left as it is: it was changed here since the session began"
                    ));
                }
                What::Unread(errno) => {
                    refused += 1;
                    let error = io::Error::from_raw_os_error(errno);
                    output::note(&format!(
                        "{letter} {path}: not read in the session: {error}"
                    ));
                }
                What::Refused(errno) => {
                    refused += 1;
                    let error = io::Error::from_raw_os_error(errno);
                    let full = policy.workspace.join(OsStr::from_bytes(&outcome.path));
                    let why = policy.explain_path(&full);
                    output::note(&format!(
                        "{letter} {path}: not written: {error} ({} by {})",
                        why.access.name(),
                        why.rule
                    ));
                }
            }
        }
        output::print(&text)?;
        if refused > 0 {
            output::note(
                "what is not written is still on the session's disk: `bailiwick cp` brings single files",
            );
        }
        Ok(match (refused, conflicts) {
            (0, 0) => 0,
            (0, _) => 1,
            _ => 126,
        })
    }
}

/// Sends what is wanted to whoever unpacks it.
fn send(
    before: &Listing,
    mut wanted: Changes,
    mut most: u64,
    packed: File,
    to: File,
) -> io::Result<BTreeMap<Vec<u8>, Entry>> {
    let mut writer = Writer::new(BufWriter::with_capacity(256 * 1024, to));
    before
        .0
        .values()
        .try_for_each(|entry| writer.entry(entry))?;
    writer.end()?;
    let (mut sent, mut room) = (BTreeMap::new(), Room::default());
    // What lies in a folder goes before it.
    for (path, _) in wanted
        .iter()
        .rev()
        .filter(|(_, change)| **change == Change::Gone)
    {
        let entry = Entry::gone(path);
        writer.entry(&entry)?;
        sent.insert(path.clone(), entry);
    }
    let mut reader = Reader::new(BufReader::with_capacity(256 * 1024, packed));
    while let Some(mut entry) = reader.entry()? {
        let is_told = !matches!(entry.kind, Kind::Gone | Kind::End);
        if !is_told || wanted.remove(&entry.path).is_none_or(|c| c == Change::Gone) {
            continue;
        }
        room.take(&entry)?;
        writer.entry(&entry)?;
        if let Kind::File { size } = &mut entry.kind {
            // It may have become another size since it was looked at.
            *size = send_contents(&mut reader, &mut writer, most)?;
            most -= *size;
        }
        sent.insert(entry.path.clone(), entry);
    }
    writer.end()?;
    Ok(sent)
}

/// Sends what follows a file, no more than that; how many bytes it is.
fn send_contents(
    reader: &mut Reader<impl Read>,
    writer: &mut Writer<impl Write>,
    most: u64,
) -> io::Result<u64> {
    let mut size = 0;
    loop {
        match reader.next_part()? {
            Part::Bytes(part) => {
                size += part.len() as u64;
                if size > most {
                    return Err(io::Error::other("there is more of them than its disk has"));
                }
                writer.part(part)?;
            }
            Part::Whole => return writer.whole().map(|()| size),
            Part::TakenBack(errno) => return writer.taken_back(errno).map(|()| size),
        }
    }
}
