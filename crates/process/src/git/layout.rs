//! What git keeps in a git folder. The list names what git itself makes there; whatever else a name is,
//! nothing of git needs it, and a newer git, or another tool, may obey it.
//!
//! The same list holds for the git folder of a repository, of a submodule (`modules/NAME`) and, shorter,
//! of a linked working tree (`worktrees/ID`). It was read in git's sources (2.39 to 2.55) and in traces of
//! what git's commands make.

use super::content::Content;

/// What a file of this name is in a git folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// What git stores or shows, and never obeys.
    Data,
    /// A name under which something is written before it gets its own; git never reads it.
    Draft,
    /// What git obeys: it is decided by what it says.
    Obeyed(Content),
    /// A sample of a hook, which git does not run.
    Sample,
    /// Git obeys it, and nothing that git needs has this name.
    Refused(&'static str),
    /// Nothing that git is known to keep.
    Unknown,
}

/// Names that must not stand in a folder of data: with them it would be a git folder itself.
const STEERING: [&[u8]; 8] = [
    b".git",
    b"commondir",
    b"config",
    b"config.worktree",
    b"gitdir",
    b"hooks",
    b"HEAD",
    b"refs",
];

/// Names that a submodule must not have as a part of its own: in a git folder they mean something else.
const RESERVED: [&[u8]; 20] = [
    b"..",
    b".",
    b"",
    b".git",
    b"HEAD",
    b"commondir",
    b"config",
    b"config.worktree",
    b"gitdir",
    b"hooks",
    b"index",
    b"info",
    b"lfs",
    b"logs",
    b"objects",
    b"packed-refs",
    b"rebase-apply",
    b"rebase-merge",
    b"refs",
    b"worktrees",
];

/// Where that link leads, which is nowhere.
pub(crate) const PROBED: &[u8] = b"testing";

/// Whether git makes a link of these components below a git folder.
pub(crate) fn is_link(below: &[&[u8]]) -> bool {
    below.last().is_some_and(|name| is_probe(name)) && file(below) == Part::Draft
}

/// Whether a submodule of this name has its git folder where nothing else is.
pub(crate) fn is_name_of_module(name: &[u8]) -> bool {
    name.split(|&b| b == b'/').all(is_part_of_module)
}

fn is_part_of_module(part: &[u8]) -> bool {
    !RESERVED.contains(&part)
}

/// The name of a file by which git finds out whether a file system has links: directly in a git folder, and a
/// link to [`PROBED`] for a moment.
fn is_probe(name: &[u8]) -> bool {
    matches!(name, [b't', rest @ ..] if rest.len() == 6 && rest.iter().all(u8::is_ascii_alphanumeric))
}

/// Whether a name is one under which the product itself puts a file before it gets its own name.
fn is_own_draft(name: &[u8]) -> bool {
    name.starts_with(b".bailiwick-")
}

/// What a file with these components below a git folder is.
pub(crate) fn file(below: &[&[u8]]) -> Part {
    match below.split_last() {
        None => Part::Unknown,
        Some((name, [])) if is_probe(name) => Part::Draft,
        Some((name, above)) if is_own_draft(name) && (above.is_empty() || is_folder(above)) => {
            Part::Draft
        }
        Some(_) if !below.iter().all(|part| is_name(part)) => Part::Unknown,
        Some(_) => main(below),
    }
}

/// Whether git makes a folder of this name below a git folder.
pub(crate) fn is_folder(below: &[&[u8]]) -> bool {
    if !below.iter().all(|part| is_name(part)) {
        return false;
    }
    match below {
        [
            b"objects" | b"info" | b"hooks" | b"branches" | b"worktrees" | b"modules" | b"reftable"
            | b"lost-found" | b"rr-cache",
        ] => true,
        [b"objects" | b"lfs", rest @ ..] => is_data(rest),
        [b"lost-found", b"commit" | b"other"] | [b"rr-cache", _] => true,
        [b"worktrees", _] => true,
        [b"worktrees", _, rest @ ..] => is_folder_of_tree(rest),
        [b"modules", rest @ ..] => folders_of_module(rest),
        [first, ..] if first.starts_with(b"ref_migration.") => true,
        _ => is_folder_of_tree(below),
    }
}

fn is_folder_of_tree(below: &[&[u8]]) -> bool {
    match below {
        [
            b"refs"
            | b"logs"
            | b"info"
            | b"modules"
            | b"sequencer"
            | b"rebase-merge"
            | b"rebase-apply"
            | b"NOTES_MERGE_WORKTREE"
            | b"lfs"
            | b"rr-cache",
        ] => true,
        [top @ (b"refs" | b"logs"), rest @ ..] => !is_steered(top, rest),
        [b"modules", rest @ ..] => folders_of_module(rest),
        _ => false,
    }
}

/// Folders on the way to a submodule's, and in it.
fn folders_of_module(below: &[&[u8]]) -> bool {
    below.iter().all(|part| is_part_of_module(part))
        || splits(below).any(|(_, rest)| is_folder(rest))
}

/// Every way to read the beginning of a path as a submodule's name, with what follows it.
fn splits<'a, 'b>(below: &'b [&'a [u8]]) -> impl Iterator<Item = (&'b [&'a [u8]], &'b [&'a [u8]])> {
    (1..below.len())
        .map(|at| below.split_at(at))
        .take_while(|(name, _)| name.iter().all(|part| is_part_of_module(part)))
}

fn is_name(part: &[u8]) -> bool {
    !part.is_empty()
        && part != b"."
        && part != b".."
        && !part.eq_ignore_ascii_case(b".git")
        && !part.iter().any(u8::is_ascii_control)
}

/// Whether nothing of a folder of data makes it a git folder.
fn is_data(below: &[&[u8]]) -> bool {
    !below.iter().any(|part| STEERING.contains(part))
}

/// Whether below `refs` or `logs` something is made that no reference needs and a git folder does: directly there,
/// or beside the `HEAD` of a remote.
fn is_steered(top: &[u8], below: &[&[u8]]) -> bool {
    let below = match below {
        [b"refs", below @ ..] if top == b"logs" => below,
        _ => below,
    };
    let steers = |name: &&[u8]| *name == b"objects" || STEERING.contains(name);
    below.first().is_some_and(steers) || matches!(below, [b"remotes", _, b"objects" | b"refs", ..])
}

/// A name that is written first, and what it becomes.
fn draft(name: &[u8]) -> Option<&[u8]> {
    const ENDS: [&[u8]; 8] = [
        b"~pid.lock",
        b".lock",
        b".new",
        b".tmp",
        b".bak",
        b".orig",
        b"~",
        b".backup",
    ];
    ENDS.iter()
        .find_map(|end| name.strip_suffix(*end))
        .filter(|name| !name.is_empty())
}

/// The name that a file gets which rsync writes beside its place: `.NAME.ABCDEF`.
fn copied(name: &[u8]) -> Option<&[u8]> {
    let (name, random) = name.strip_prefix(b".")?.split_last_chunk::<6>()?;
    let name = name.strip_suffix(b".").filter(|name| !name.is_empty())?;
    random.iter().all(u8::is_ascii_alphanumeric).then_some(name)
}

/// Whether an editor or `sed -i` makes a file of this name beside one that it changes.
fn is_of_editor(name: &[u8]) -> bool {
    let sed = |rest: &[u8]| rest.len() == 6 && rest.iter().all(u8::is_ascii_alphanumeric);
    match name {
        b"4913" => true,
        [b's', b'e', b'd', rest @ ..] if sed(rest) => true,
        [b'.', .., b'.', b's', b'w', b'a'..=b'z'] => true,
        [b'#', .., b'#'] => name.len() > 2,
        _ => false,
    }
}

/// What a file in the git folder of a repository or a submodule is.
fn main(below: &[&[u8]]) -> Part {
    match below {
        [b"config"] => Part::Obeyed(Content::Config),
        [b"packed-refs"] => Part::Obeyed(Content::PackedRefs),
        [b"rebased-patches" | b"shallow" | b"description" | b"gc.pid" | b"opencode"] => Part::Data,
        [name] if name.starts_with(b"shallow_") || name.starts_with(b"fast_import_crash_") => {
            Part::Data
        }
        [b"commondir" | b"gitdir"] => Part::Refused("it would lead git to another repository"),
        [b"objects", b"info", b"alternates"] => Part::Obeyed(Content::Alternates),
        [b"objects", b"info", b"http-alternates"] => {
            Part::Refused("git would fetch objects from where it leads")
        }
        [b"objects", rest @ ..] => data(rest),
        [b"lfs", rest @ ..] => data(rest),
        [b"info", b"exclude" | b"attributes" | b"refs"] => Part::Data,
        [b"info", name] if name.starts_with(b"refs_") => Part::Draft,
        [b"info", b"grafts"] => Part::Refused("it falsifies the history that git shows"),
        [b"hooks", name] if name.ends_with(b".sample") => Part::Sample,
        [b"hooks", ..] => Part::Refused("git would run it"),
        [b"branches" | b"remotes", ..] => {
            Part::Refused("it names a machine that git would connect to")
        }
        [b"svn", ..] | [b"fsmonitor--daemon.ipc"] => Part::Refused("git would obey it"),
        [b"reftable", b"tables.list"] => Part::Obeyed(Content::Tables),
        [b"reftable", _] => Part::Data,
        [b"lost-found", b"commit" | b"other", _] => Part::Data,
        [first, ..] if first.starts_with(b"ref_migration.") => Part::Draft,
        [b"worktrees", _, rest @ ..] if !rest.is_empty() => of_tree(rest),
        _ => match state(below) {
            Part::Unknown => drafts(below, main),
            known => known,
        },
    }
}

/// What a file in the git folder of a linked working tree is.
fn of_tree(below: &[&[u8]]) -> Part {
    match below {
        [b"commondir"] => Part::Obeyed(Content::CommonDir),
        [b"gitdir"] => Part::Obeyed(Content::GitDir),
        [b"locked"] => Part::Data,
        [b"hooks" | b"objects" | b"config" | b"packed-refs", ..] => {
            Part::Refused("a linked working tree has these from its repository")
        }
        _ => match state(below) {
            Part::Unknown => drafts(below, of_tree),
            known => known,
        },
    }
}

/// A draft of what `kind` knows, or of nothing.
fn drafts(below: &[&[u8]], kind: fn(&[&[u8]]) -> Part) -> Part {
    let Some((name, folder)) = below.split_last() else {
        return Part::Unknown;
    };
    if is_of_editor(name) {
        return match folder {
            [] | [b"rebase-merge" | b"rebase-apply" | b"sequencer" | b"info"] => Part::Draft,
            _ => Part::Unknown,
        };
    }
    let Some(name) = draft(name).or_else(|| copied(name)) else {
        return Part::Unknown;
    };
    let mut path = folder.to_vec();
    path.push(name);
    match kind(&path) {
        Part::Data | Part::Obeyed(_) | Part::Draft => Part::Draft,
        other => other,
    }
}

/// A file in a folder of data.
fn data(below: &[&[u8]]) -> Part {
    match is_data(below) && !below.is_empty() {
        true => Part::Data,
        false => Part::Refused("it would make a repository of a folder of data"),
    }
}

/// What each working tree has of its own.
fn state(below: &[&[u8]]) -> Part {
    match below {
        [b"HEAD"] => Part::Obeyed(Content::Reference),
        [b"index"] => Part::Obeyed(Content::Index),
        [b"config.worktree"] => Part::Obeyed(Content::ConfigOfTree),
        [name] if name.starts_with(b"sharedindex.") && !name.ends_with(b".lock") => {
            Part::Obeyed(Content::SharedIndex)
        }
        // Git is told of these by a variable of whoever made them.
        [name]
            if [
                b"index.".as_slice(),
                b"next-index-",
                b"sharedindex_",
                b"git-interpret-trailers-",
            ]
            .iter()
            .any(|s| name.starts_with(s))
                || *name == b"history-split.index" =>
        {
            Part::Draft
        }
        [b"MERGE_AUTOSTASH"] => Part::Refused(APPLIED),
        // A list, which nothing is written through.
        [b"FETCH_HEAD"] => Part::Data,
        [name] if is_pseudo_ref(name) => Part::Obeyed(Content::Reference),
        [name] if is_message(name) => Part::Data,
        [b"BISECT_START"] => Part::Obeyed(Content::BisectStart),
        [b"MERGE_RR"] => Part::Obeyed(Content::MergeRr),
        [b"gc.log" | b"MERGE_MODE"] => Part::Data,
        [
            b"BISECT_LOG"
            | b"BISECT_TERMS"
            | b"BISECT_NAMES"
            | b"BISECT_FIRST_PARENT"
            | b"BISECT_RUN"
            | b"BISECT_ANCESTORS_OK"
            | b"BISECT_RESET_WHEN_FOUND",
        ] => Part::Data,
        [b"info", b"sparse-checkout"] => Part::Data,
        [b"logs", rest @ ..] if is_log(rest) => Part::Data,
        [b"refs", b"replace", _, ..] => Part::Refused("git would show another object in its place"),
        [b"refs", rest @ ..] if !rest.is_empty() && !is_steered(b"refs", rest) && is_ref(rest) => {
            // No reference has such a name; whatever else ends otherwise may be one.
            match rest.last().is_some_and(|name| name.ends_with(b".lock")) {
                true => Part::Draft,
                false => Part::Obeyed(Content::Reference),
            }
        }
        [b"rr-cache", _, name] if is_image(name) => Part::Data,
        [b"NOTES_MERGE_WORKTREE", id] if is_hex(id) => Part::Data,
        [b"sequencer", b"todo"] => Part::Obeyed(Content::Todo),
        [b"sequencer", b"opts"] => Part::Obeyed(Content::PickOptions),
        [b"sequencer", b"head" | b"abort-safety"] => Part::Data,
        [b"rebase-merge", name] => of_rebase(name),
        [b"rebase-apply", name] => of_apply(name),
        [b"modules", rest @ ..] => of_module(rest),
        _ => Part::Unknown,
    }
}

/// A file below `modules`, whose names may have slashes: the strictest of all ways to read it.
fn of_module(below: &[&[u8]]) -> Part {
    let strictness = |part: &Part| match part {
        Part::Unknown => 0,
        Part::Data | Part::Draft | Part::Sample => 1,
        Part::Obeyed(_) => 2,
        Part::Refused(_) => 3,
    };
    splits(below)
        .map(|(_, rest)| file(rest))
        .max_by_key(strictness)
        .unwrap_or(Part::Unknown)
}

pub(super) fn is_pseudo_ref(name: &[u8]) -> bool {
    matches!(
        name,
        b"ORIG_HEAD"
            | b"FETCH_HEAD"
            | b"MERGE_HEAD"
            | b"CHERRY_PICK_HEAD"
            | b"REVERT_HEAD"
            | b"REBASE_HEAD"
            | b"BISECT_HEAD"
            | b"BISECT_EXPECTED_REV"
            | b"AUTO_MERGE"
            | b"NOTES_MERGE_PARTIAL"
            | b"NOTES_MERGE_REF"
    )
}

/// Text that is shown in an editor or put into a commit.
fn is_message(name: &[u8]) -> bool {
    matches!(
        name,
        b"COMMIT_EDITMSG"
            | b"MERGE_MSG"
            | b"SQUASH_MSG"
            | b"TAG_EDITMSG"
            | b"NOTES_EDITMSG"
            | b"EDIT_DESCRIPTION"
            | b"REPLACE_EDITOBJ"
            | b"ADD_EDIT.patch"
            | b"addp-hunk-edit.diff"
            | b"GITGUI_MSG"
            | b"GITGUI_BCK"
            | b"GITGUI_EDITMSG"
    )
}

fn is_hex(name: &[u8]) -> bool {
    !name.is_empty() && name.iter().all(u8::is_ascii_hexdigit)
}

/// Whether git logs a reference in a file of this name below `logs`.
fn is_log(below: &[&[u8]]) -> bool {
    let head = |name: &[u8]| {
        let name = name.strip_suffix(b".lock").unwrap_or(name);
        name == b"HEAD" || is_pseudo_ref(name)
    };
    match below {
        [name] => head(name),
        [b"refs", rest @ ..] => !rest.is_empty() && !is_steered(b"logs", below) && is_ref(rest),
        _ => false,
    }
}

/// Whether a path below `refs` or `logs/refs` may be a reference's: a `HEAD` only where git has one.
fn is_ref(below: &[&[u8]]) -> bool {
    let head = |part: &&[u8]| *part == b"HEAD";
    match below {
        [b"remotes", _, b"HEAD"] => true,
        _ => !below.iter().any(head) && below.last() != Some(&b"commondir".as_slice()),
    }
}

fn is_image(name: &[u8]) -> bool {
    [b"preimage".as_slice(), b"postimage", b"thisimage"]
        .iter()
        .any(|image| {
            name.strip_prefix(*image).is_some_and(|rest| match rest {
                [] => true,
                [b'.', number @ ..] => !number.is_empty() && number.iter().all(u8::is_ascii_digit),
                _ => false,
            })
        })
}

/// What a file of a rebase that was begun is.
fn of_rebase(name: &[u8]) -> Part {
    match name {
        b"git-rebase-todo" => Part::Obeyed(Content::Todo),
        b"strategy" => Part::Obeyed(Content::Strategy),
        b"strategy_opts" => Part::Obeyed(Content::StrategyOptions),
        b"gpg_sign_opt" => Part::Obeyed(Content::Signing),
        b"refs-to-delete" => Part::Obeyed(Content::RefsToDelete),
        b"update-refs" => Part::Obeyed(Content::RefsToMove),
        b"head-name" => Part::Obeyed(Content::HeadName),
        b"msgnum" | b"end" => Part::Obeyed(Content::Count),
        b"onto" | b"orig-head" | b"squash-onto" | b"stopped-sha" => Part::Obeyed(Content::CommitId),
        b"git-rebase-todo.backup"
        | b"done"
        | b"author-script"
        | b"message"
        | b"message-fixup"
        | b"message-squash"
        | b"amend"
        | b"rewritten-list"
        | b"rewritten-pending"
        | b"interactive"
        | b"quiet"
        | b"verbose"
        | b"signoff"
        | b"patch"
        | b"drop_redundant_commits"
        | b"keep_redundant_commits"
        | b"reschedule-failed-exec"
        | b"no-reschedule-failed-exec"
        | b"cdate_is_adate"
        | b"ignore_date"
        | b"current-fixups"
        | b"dropped"
        | b"allow_rerere_autoupdate"
        | b"trailer" => Part::Data,
        b"autostash" => Part::Refused(APPLIED),
        _ => Part::Unknown,
    }
}

/// What git puts aside before a merge or a rebase it applies at the user's next `git commit`, `pull` or
/// `rebase --abort`, whoever has written the name of it there.
const APPLIED: &str = "git would write what it names over your files when it next commits: put changes aside with \
    git stash, and go on without --autostash";

/// What a file of patches that are being applied is.
fn of_apply(name: &[u8]) -> Part {
    match name {
        b"patch-merge-index" => Part::Obeyed(Content::Index),
        b"gpg_sign_opt" => Part::Obeyed(Content::Signing),
        b"apply-opt" => Part::Obeyed(Content::ApplyOptions),
        b"head-name" => Part::Obeyed(Content::HeadName),
        b"next" | b"last" => Part::Obeyed(Content::Count),
        b"abort-safety" | b"onto" | b"orig-head" | b"original-commit" => {
            Part::Obeyed(Content::CommitId)
        }
        b"patch"
        | b"msg"
        | b"msg-clean"
        | b"info"
        | b"final-commit"
        | b"author-script"
        | b"applying"
        | b"rebasing"
        | b"keep"
        | b"quiet"
        | b"sign"
        | b"utf8"
        | b"threeway"
        | b"scissors"
        | b"quoted-cr"
        | b"messageid"
        | b"no_inbody_headers"
        | b"rewritten"
        | b"dirtyindex"
        | b"allow_rerere_autoupdate" => Part::Data,
        b"autostash" => Part::Refused(APPLIED),
        _ if name.len() >= 4 && name.iter().all(u8::is_ascii_digit) => Part::Data,
        _ => Part::Unknown,
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
