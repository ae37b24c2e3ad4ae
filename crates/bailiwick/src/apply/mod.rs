//! `bailiwick apply`: what a session has changed on its disk, brought into the workspace, or taken back.

mod bring;
mod doubt;
mod journal;
mod report;
mod repositories;
mod undo;

pub(crate) use journal::applies;

use crate::Done;
use crate::cp::{null, pipe};
use crate::inside::Inside;
use crate::keep::machine_of;
use crate::output;
use crate::question::agrees;
use crate::selection::find;
use crate::sessions::policy_of;
use bailiwick_event::{Failure, Text};
use bailiwick_ledger::{SessionInfo, SessionState, StateDir};
use bailiwick_policy::Effective;
use bailiwick_sandbox::private_folder;
use bailiwick_transfer::{Changes, Kind, Listing, compare, with_above};
use bailiwick_vm::{BASE, DISK, DiskState, GUEST};
use bring::{Asked, Ready};
use clap::Args;
use doubt::Forced;
use journal::read_listing;
use report::Direction;
use repositories::{keep_objects, lost, of_git_alone, repositories, repositories_of};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, BufReader};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::thread;

#[derive(Args)]
pub(crate) struct ApplyArguments {
    /// The session's name, its id or the beginning of it, or `latest`
    pub(crate) session: String,
    /// Only list what would be changed
    #[arg(long, short = 'n')]
    pub(crate) dry_run: bool,
    /// Bring this file or folder although the session's disk was not closed and it could be a loss: a path as
    /// `--dry-run` prints it; `.` is everything; may be given again
    #[arg(long, value_name = "PATH", conflicts_with = "undo")]
    pub(crate) force: Vec<PathBuf>,
    /// Remove more than half of the workspace's files, or a git repository, without a question
    #[arg(long, short, conflicts_with = "undo")]
    pub(crate) yes: bool,
    /// Take the last apply of the session back, but for what was changed here since
    #[arg(long)]
    pub(crate) undo: bool,
    /// Leave the last apply as it is and count it as undone, where it cannot be: those before it can be then
    #[arg(long, requires = "undo", conflicts_with = "dry_run")]
    pub(crate) give_up: bool,
}

/// What is wrong where a disk cannot be read.
fn fault(error: io::Error) -> Failure {
    Failure::fault(format!("the session's files: {error}"))
}

/// Applies the changes of a session, or undoes that.
pub(crate) fn apply(arguments: &ApplyArguments) -> Done {
    let (info, reader) = find(&arguments.session)?;
    let folder = machine_of(&info)?;
    let mut policy = policy_of(&reader)?;
    let state = StateDir::from_environment()?;
    let private = private_folder(&state, &policy);
    // The links that are unpacked are a sandbox's.
    policy.written = Some(state.written());
    match arguments.undo {
        true if arguments.give_up => undo::give_up(&folder),
        true => undo::undo(&folder, &policy, &private, arguments.dry_run),
        false => forward(arguments, &info, &folder, &policy, &private),
    }
}

fn forward(
    arguments: &ApplyArguments,
    info: &SessionInfo,
    folder: &Path,
    policy: &Effective,
    private: &Path,
) -> Done {
    let forced = Forced::of(&arguments.force, &policy.workspace)?;
    let base = folder.join(BASE);
    let before = read_listing(&base).map_err(fault)?;
    // All begin while this process has one thread.
    let ready = match arguments.dry_run {
        true => None,
        false => Some(Ready::begin(folder, policy, private)?),
    };
    let (mut inside, state) = match info.state {
        // All that it wrote is there to be read, but what it began without.
        SessionState::Live if !DiskState::is_torn(folder) => {
            (Inside::Runs(arguments.session.clone()), DiskState::Closed)
        }
        SessionState::Live => (
            Inside::Runs(arguments.session.clone()),
            DiskState::of(folder),
        ),
        _ => (
            Inside::of_ended(folder, &policy.workspace)?,
            DiskState::of(folder),
        ),
    };
    let after = list(&mut inside, &policy.workspace)?;
    let mut changes = compare(&before, &after);
    let git = repositories(&before, &after);
    keep_objects(&mut changes, &git);
    let doubted = match state {
        DiskState::Closed => Vec::new(),
        DiskState::Open { .. } => doubt::take(&mut changes, &before, &after, &git, &forced),
    };
    let Some(ready) = ready else {
        output::print(&report::listed(&changes))?;
        report::doubts(&doubted, info, state);
        return Ok(0);
    };
    if changes.is_empty() && doubted.is_empty() {
        output::print("nothing was changed\n")?;
        report::doubts(&doubted, info, state);
        return Ok(0);
    }
    if !arguments.yes && !may_remove(&before, &after, &changes)? {
        return Ok(1);
    }
    let most = fs::metadata(folder.join(DISK)).map_err(fault)?.len();
    let asked = Asked {
        before: &before,
        after: &after,
        changes: &changes,
        most,
    };
    let applied = match changes.is_empty() {
        true => Vec::new(),
        false => bring::bring(&mut inside, ready, &policy.workspace, &asked, &base)?,
    };
    let code = report::outcomes(&applied, &changes, policy, Direction::Forward)?;
    report::doubts(&doubted, info, state);
    Ok(code.max(u8::from(!doubted.is_empty())))
}

/// What the session's workspace has now.
fn list(inside: &mut Inside, workspace: &Path) -> Result<Listing, Failure> {
    // Read while it comes: what it may have is counted then.
    let (listing, out) = pipe()?;
    let reading = thread::spawn(move || Listing::read(BufReader::new(File::from(listing))));
    let words = [GUEST.into(), "list".into(), workspace.into()];
    let ran = inside.run(&words, null()?, out);
    let listing = reading
        .join()
        .map_err(|_| Failure::fault("the session's files were not listed"))?;
    match (ran, listing) {
        // Whoever lists is ended by a reader that has had enough.
        (_, Err(error)) if error.kind() != io::ErrorKind::UnexpectedEof => Err(fault(error)),
        (ran, listing) => ran.and_then(|()| listing.map_err(fault)),
    }
}

/// Whether a file's contents would go: it is removed, emptied or becomes something else.
fn is_lost(before: &Listing, after: &Listing, path: &Vec<u8>) -> bool {
    let kind = |listing: &'_ Listing| listing.0.get(path).map(|entry| entry.kind.clone());
    match (kind(before), kind(after)) {
        (Some(Kind::File { size }), Some(Kind::File { size: now })) => size > 0 && now == 0,
        (Some(Kind::Link { .. }), Some(Kind::Link { .. })) => false,
        _ => true,
    }
}

/// Whether so many files may be removed: more than half of a workspace, or a repository, is asked about. What counts is
/// what there was before: what a session makes exempts nothing.
///
/// # Errors
/// There is nobody to ask.
fn may_remove(before: &Listing, after: &Listing, changes: &Changes) -> Result<bool, Failure> {
    let git = repositories_of(before);
    let (alone, removed) = (of_git_alone(&git), lost(before, after, changes, &git));
    let in_git = |path: &[u8]| with_above(path).any(|path| alone.contains(path));
    let is_file = |path: &Vec<u8>| {
        let kind = before.0.get(path).map(|entry| &entry.kind);
        matches!(kind, Some(Kind::File { .. } | Kind::Link { .. })) && !in_git(path)
    };
    let all = before.0.keys().filter(|path| is_file(path)).count();
    let gone = changes.keys().filter(|path| is_file(path));
    let gone = gone.filter(|path| is_lost(before, after, path)).count();
    let mut what = Vec::new();
    if gone * 2 > all {
        what.push(format!(
            "{gone} of the {all} files that the session was given"
        ));
    }
    if let Some(first) = removed.first() {
        let first: Text = match *first {
            b"" => "of the workspace itself".into(),
            first => Text::from(OsStr::from_bytes(first)),
        };
        what.push(match removed.len() - 1 {
            0 => format!("the git repository {first}"),
            more => format!("the git repository {first} and {more} more"),
        });
    }
    if what.is_empty() {
        return Ok(true);
    }
    let what = what.join(", and ");
    agrees(&format!("Remove {what} from the workspace?"), || {
        Failure::usage(format!(
            "this would remove {what}, and there is no terminal to ask at\nhelp: `--dry-run` lists them; \
             `--yes` removes them"
        ))
    })
}
