//! Files on their way from a session's disk to the workspace: those that were asked for, whatever the machine
//! sends, and not before what they replace is kept.

use super::fault;
use super::journal::{Journal, write_listing};
use crate::cp::pipe;
use crate::inside::Inside;
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use bailiwick_transfer::{
    Change, Changes, Entry, Kind, Listing, Outcome, Part, Reader, Room, What, Writer, with_above,
};
use bailiwick_vm::{Applier, GUEST, Keeper};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek as _, Write};
use std::path::Path;
use std::thread;

/// What waits for the changes.
pub(super) struct Ready {
    pub(super) journal: Journal,
    keeper: Keeper,
    applier: Applier,
}

impl Ready {
    /// Of the session in this folder. The calling process has one thread.
    pub(super) fn begin(
        folder: &Path,
        policy: &Effective,
        private: &Path,
    ) -> Result<Self, Failure> {
        let journal = Journal::begin(folder)?;
        Ok(Self {
            keeper: Keeper::begin(policy, private, &journal.had()?)?,
            applier: Applier::begin(policy, private)?,
            journal,
        })
    }
}

/// What is asked for.
pub(super) struct Asked<'a> {
    pub(super) before: &'a Listing,
    pub(super) after: &'a Listing,
    pub(super) changes: &'a Changes,
    /// Bytes of contents that there can be.
    pub(super) most: u64,
}

/// Brings the changed files from the machine to the sandbox that unpacks them; what became of each.
pub(super) fn bring(
    inside: &mut Inside,
    ready: Ready,
    workspace: &Path,
    asked: &Asked<'_>,
    base: &Path,
) -> Result<Vec<Outcome>, Failure> {
    let Asked {
        before,
        after,
        changes,
        most,
    } = *asked;
    let Ready {
        journal,
        keeper,
        applier,
    } = ready;
    keeper.keep(changes.keys())?;
    journal.plan(changes, before, after)?;
    let (entries, unpacking) = applier.ready()?;
    let (packed, out) = pipe()?;
    let (wanted, listing) = (changes.clone(), before.clone());
    let sending = thread::spawn(move || send(&listing, wanted, most, File::from(packed), entries));
    let words = [
        GUEST.into(),
        "pack".into(),
        workspace.into(),
        "--only".into(),
    ];
    let ran = inside.run(&words, named(changes)?.into(), out);
    let sent = sending.join();
    let (sent, whole) = sent.map_err(|_| Failure::fault("the files were not sent"))?;
    let unpacked = unpacking.outcomes();
    let outcomes = match ran.and(whole.map_err(fault)).and(unpacked) {
        Ok(outcomes) => outcomes,
        Err(why) => {
            journal.sent(changes, after, &sent)?;
            return Err(Failure::fault(format!(
                "{why}\n  remedy: not all was applied: apply again, or take back what was with `--undo`"
            )));
        }
    };
    let done = outcomes.iter().filter(|outcome| outcome.what == What::Done);
    let put = done
        .clone()
        .filter_map(|outcome| sent.get_key_value(&outcome.path));
    journal.put(
        &put.map(|(path, entry)| (path.clone(), entry.clone()))
            .collect(),
    )?;
    let is = |entry: &&Entry| entry.kind != Kind::Gone;
    let done = done.map(|outcome| (&outcome.path, sent.get(&outcome.path).filter(is)));
    update(before.clone(), base, done)?;
    Ok(outcomes)
}

/// The changes whose files are wanted, as a listing.
fn named(changes: &Changes) -> Result<File, Failure> {
    let mut named = tempfile::tempfile().map_err(fault)?;
    let mut writer = Writer::new(BufWriter::new(&named));
    let wanted = changes
        .iter()
        .filter(|(_, change)| **change != Change::Gone);
    let wanted = wanted.map(|(path, _)| Entry::gone(path));
    writer.listing(wanted).map_err(fault)?;
    drop(writer);
    named.rewind().map_err(fault)?;
    Ok(named)
}

/// What was brought is what was there before, for the next time.
pub(super) fn update<'a>(
    mut before: Listing,
    base: &Path,
    done: impl Iterator<Item = (&'a Vec<u8>, Option<&'a Entry>)>,
) -> Result<(), Failure> {
    for (path, entry) in done {
        match entry {
            Some(entry) => drop(before.0.insert(path.clone(), entry.clone())),
            None => drop(before.0.remove(path)),
        }
    }
    write_listing(base, &before)
}

/// Sends what is wanted to whoever unpacks it; what was sent, and whether that is all.
pub(super) fn send(
    before: &Listing,
    wanted: Changes,
    most: u64,
    packed: File,
    to: File,
) -> (BTreeMap<Vec<u8>, Entry>, io::Result<()>) {
    let mut sent = BTreeMap::new();
    let whole = send_to(&mut sent, before, wanted, most, packed, to);
    (sent, whole)
}

fn send_to(
    sent: &mut BTreeMap<Vec<u8>, Entry>,
    before: &Listing,
    mut wanted: Changes,
    mut most: u64,
    packed: File,
    to: File,
) -> io::Result<()> {
    let mut writer = Writer::new(BufWriter::with_capacity(256 * 1024, to));
    writer.listing(before.0.values())?;
    let mut room = Room::default();
    // What is in the way of something is removed before it, and all else behind everything: an apply that does not
    // come to its end has removed little.
    let gone = wanted.iter().filter(|(_, change)| **change == Change::Gone);
    let gone = gone.map(|(path, _)| path.clone()).rev();
    let is_put = |path: &[u8]| {
        wanted
            .get(path)
            .is_some_and(|change| *change != Change::Gone)
    };
    let (first, last): (Vec<Vec<u8>>, Vec<Vec<u8>>) =
        gone.partition(|path| with_above(path).skip(1).any(is_put));
    remove(first, &mut writer, sent)?;
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
    remove(last, &mut writer, sent)?;
    writer.end()
}

/// Sends that these are gone.
fn remove(
    paths: Vec<Vec<u8>>,
    writer: &mut Writer<impl Write>,
    sent: &mut BTreeMap<Vec<u8>, Entry>,
) -> io::Result<()> {
    for path in paths {
        let entry = Entry::gone(&path);
        writer.entry(&entry)?;
        sent.insert(path, entry);
    }
    Ok(())
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
