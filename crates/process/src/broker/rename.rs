//! Moves names. A name can become protected, or stop to be, without that anything in it is
//! written: what a folder holds moves with it.

use super::act::{CONFIGURATION, Context, Gate, Outcome, Refused};
use super::link::target_of;
use super::path::{Place, kind_of, shown};
use super::rules::{Rules, Verdict};
use crate::git::{self, Content};
use crate::paths::is_absent;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, RenameFlags, Stat, fchmod, fstat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// A folder with more entries than this is not looked through; programs copy it instead.
const ENTRIES: usize = 10_000;

/// One side of a move.
struct Side {
    folder: OwnedFd,
    name: OsString,
    found: Option<OwnedFd>,
    path: PathBuf,
    slash: bool,
}

pub(super) fn rename(
    context: &Context<'_>,
    from: (i32, u64),
    to: (i32, u64),
    flags: u32,
) -> Result<Outcome, Refused> {
    let (from, to) = (side(context, from)?, side(context, to)?);
    let flags = RenameFlags::from_bits(flags).ok_or(Errno::INVAL)?;
    let Some(found) = &from.found else {
        return Err(Errno::NOENT.into());
    };
    let folder = kind_of(found)? == FileType::Directory;
    let exchanged = flags.contains(RenameFlags::EXCHANGE);
    if flags.contains(RenameFlags::WHITEOUT) {
        // A device would have the name; file systems without whiteouts answer so.
        return Err(Errno::INVAL.into());
    }
    if to.slash && !folder {
        return Err(Errno::NOTDIR.into());
    }
    context.decide(&from.path)?;
    if context.rules.is_pinned(&from.path) || exchanged && context.rules.is_pinned(&to.path) {
        // As the kernel answers where it is a mount.
        return Err(Errno::BUSY.into());
    }
    if from.slash && !folder {
        return Err(Errno::NOTDIR.into());
    }
    if folder || exchanged {
        must_be_nobodys(context, &from.path)?;
        must_be_nobodys(context, &to.path)?;
    }
    if folder || from.name.eq_ignore_ascii_case(".git") {
        stays(context, &from)?;
    }
    // What comes back in an exchange.
    let back = match exchanged {
        true => Some(kind_of(to.found.as_ref().ok_or(Errno::NOENT)?)?),
        false => None,
    };
    context.note(&to.path);
    if let Some(kind) = back {
        context.note(&from.path);
        if kind == FileType::Directory {
            context.note_folder(&from.path);
        }
    }
    if folder {
        context.decide(&to.path)?;
        context.note_folder(&to.path);
        may_take_name(context, &from, &to, exchanged)?;
    } else {
        if !matches!(context.rules.decide(&to.path), Verdict::Git(_)) {
            context.decide(&to.path)?;
        }
        // What git would run, or nobody knows, stays where it is.
        context.gate(&from.path)?;
        if let Gate::Obeyed(content, rule) = context.gate(&to.path)? {
            return checked(context, &from, &to, flags, (content, rule));
        }
        context.must_be_file(&to.path, kind_of(found)?)?;
    }
    if let Some(kind) = back {
        stays(context, &to)?;
        context.must_be_free(&from.path)?;
        if kind != FileType::Directory {
            context.must_be_file(&from.path, kind)?;
        }
    }
    moves(context, &from, &to)?;
    if exchanged {
        moves(context, &to, &from)?;
    }
    renameat_with(&from.folder, &from.name, &to.folder, &to.name, flags)?;
    if folder || exchanged {
        context.rules.forget_folders();
    }
    Ok(Outcome::Done)
}

/// Whether a folder may have another name as far as the user's configuration of git leads into it.
fn stays(context: &Context<'_>, side: &Side) -> Result<(), Refused> {
    context.know(&side.path.join(".git"))?;
    if let Some(rule) = context.rules.is_led_through_by_link(&side.path) {
        let reason = "a link at a protected name leads to files in it where they are";
        return Err(Refused::by(rule, &side.path, reason));
    }
    if let Some(rule) = context.rules.holds_closed(&side.path) {
        let reason = "the sandbox could not look through a folder in it";
        return Err(Refused::by(rule, &side.path, reason));
    }
    match context.rules.git(&side.path) {
        Some(rule) if context.rules.is_led_through(&side.path) => {
            let reason = "git's configuration obeys files in it where they are";
            Err(Refused::by(rule, &side.path, reason))
        }
        _ => Ok(()),
    }
}

/// Whether a folder keeps its name because another sandbox works in it, or below it: that one decides by the
/// names that it began with.
fn must_be_nobodys(context: &Context<'_>, path: &Path) -> Result<(), Errno> {
    let host = context.rules.of_policy(path);
    match context.order.is_anothers(&host) {
        // As the kernel answers where it is a mount.
        true => Err(Errno::BUSY),
        false => Ok(()),
    }
}

/// Whether a folder may have another name as far as git is concerned.
fn may_take_name(
    context: &Context<'_>,
    from: &Side,
    to: &Side,
    exchanged: bool,
) -> Result<(), Refused> {
    let Some(rule) = context.rules.git(&from.path) else {
        return Ok(());
    };
    let back = !exchanged || git::may_move(&to.path, &from.path);
    if !git::may_move(&from.path, &to.path) || !back {
        let reason = "what git keeps here would lead elsewhere";
        return Err(Refused::by(rule, &from.path, reason));
    }
    if exchanged {
        context.gate_folder(&from.path)?;
    }
    context.gate_folder(&to.path)
}

fn side(context: &Context<'_>, at: (i32, u64)) -> Result<Side, Errno> {
    match context.place(at, false)? {
        Place::Entry {
            folder,
            name,
            found,
            slash,
        } => {
            let path = shown(folder.as_fd())?.join(&name);
            Ok(Side {
                folder,
                name,
                found,
                path,
                slash,
            })
        }
        Place::Object(_) => Err(Errno::BUSY),
    }
}

/// Whether what a folder holds may have the names that it would get.
fn moves(context: &Context<'_>, from: &Side, to: &Side) -> Result<(), Refused> {
    let Some(folder) = &from.found else {
        return Ok(());
    };
    match kind_of(folder)? {
        FileType::Directory => {
            if let Some(rule) = context.rules.leaving(&from.path, &to.path) {
                let reason = "what is protected in it would get a name that is not";
                return Err(Refused::by(rule, &from.path, reason));
            }
        }
        FileType::Symlink => {
            context.decide_target(&to.path, &target_of(folder)?)?;
            return context.decide_link(&to.path);
        }
        _ => return Ok(()),
    }
    let inside = PathBuf::from(format!("/proc/self/fd/{}", folder.as_raw_fd()));
    if let Some(rule) = context.rules.git(&to.path)
        && to.name == "hooks"
        && to.path.parent().is_some_and(git::is_repository_at)
        && !git::holds_only_samples(&inside.join("."))
    {
        return Err(Refused::by(rule, &to.path, "git would run what it holds"));
    }
    for way in context.rules.ways_below(&to.path) {
        let link = fs::symlink_metadata(inside.join(&way)).is_ok_and(|meta| meta.is_symlink());
        if let Some(rule) = context.rules.git(&to.path).filter(|_| link) {
            let reason = "git's files lead through this name, and a link would lead them elsewhere";
            return Err(Refused::by(rule, &to.path.join(way), reason));
        }
    }
    for (rule, tail) in context.rules.entering(&from.path, &to.path) {
        if let Some(found) = exists(&inside, &tail)? {
            return Err(Refused::Rule {
                rule,
                path: to.path.join(found),
                reason: None,
            });
        }
    }
    // The same the other way round: what would be rid of its protection.
    for (rule, tail) in context.rules.entering(&to.path, &from.path) {
        if exists(&inside, &tail)?.is_some() {
            let reason = "what is protected in it would get a name that is not";
            return Err(Refused::by(rule, &from.path, reason));
        }
    }
    if context.rules.must_look_through(&from.path, &to.path) {
        let mut seen = 0;
        patterns(context, &inside, Path::new(""), from, to, &mut seen)?;
    } else if context.rules.may_lead_out(&from.path, &to.path) {
        leads(context, &inside, from, to)?;
    }
    Ok(())
}

/// What of a name with wildcards is there. What cannot be looked at is an error: it may be there.
fn exists(folder: &Path, tail: &Path) -> Result<Option<PathBuf>, Errno> {
    let mut parts = tail.components();
    let Some(first) = parts.next().map(std::path::Component::as_os_str) else {
        return Ok(None);
    };
    let rest = parts.as_path();
    let names: Vec<OsString> = match first == "*" {
        false => vec![first.to_owned()],
        true => names_in(folder)?,
    };
    for name in names {
        let path = folder.join(&name);
        let kind = match fs::symlink_metadata(&path) {
            Ok(meta) => meta.file_type(),
            Err(error) if is_absent(&error) => continue,
            Err(error) => return Err(errno(&error)),
        };
        // What a link leads to is protected by no name.
        if rest.as_os_str().is_empty() || kind.is_symlink() {
            return Ok(Some(name.into()));
        }
        // The wildcard stands for one name or more.
        let more = (first == "*").then_some(tail);
        for rest in [Some(rest), more].into_iter().flatten() {
            if let Some(below) = exists(&path, rest)? {
                return Ok(Some(Path::new(&name).join(below)));
            }
        }
    }
    Ok(None)
}

/// The names in a folder; none where it is no folder.
fn names_in(folder: &Path) -> Result<Vec<OsString>, Errno> {
    let read = || -> std::io::Result<Vec<OsString>> {
        fs::read_dir(folder)?
            .map(|entry| Ok(entry?.file_name()))
            .collect()
    };
    match read() {
        Err(error) if is_absent(&error) => Ok(Vec::new()),
        names => names.map_err(|error| errno(&error)),
    }
}

fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

fn patterns(
    context: &Context<'_>,
    folder: &Path,
    below: &Path,
    from: &Side,
    to: &Side,
    seen: &mut usize,
) -> Result<(), Refused> {
    for name in names_in(folder)? {
        *seen += 1;
        if *seen > ENTRIES {
            return Err(Errno::XDEV.into());
        }
        let kind = fs::symlink_metadata(folder.join(&name))
            .map_err(|error| errno(&error))?
            .file_type();
        let inner = below.join(&name);
        let (old, new) = (from.path.join(&inner), to.path.join(&inner));
        if context.rules.decide(&old) == Verdict::Allow {
            context.decide(&new)?;
        }
        if let Some(rule) = context.rules.denied_by_pattern(&old)
            && context.rules.denied_by_pattern(&new).is_none()
        {
            let reason = "what is denied in it would get a name that is not";
            return Err(Refused::by(rule, &from.path, reason));
        }
        match context.gate(&old)? {
            _ if kind.is_dir() => {}
            Gate::Free => context.must_be_free(&new)?,
            Gate::Obeyed(content, rule) => {
                must_lead_as_well(context, (content, rule), &folder.join(&name), &new)?;
            }
        }
        if !kind.is_dir() && !kind.is_file() && !kind.is_symlink() {
            context.must_be_file(&new, FileType::Fifo)?;
        }
        if kind.is_symlink() {
            if context.rules.above(&old).is_none() {
                context.decide_link(&new)?;
            }
            link_moves(context, &folder.join(&name), &old, &new)?;
        }
        if kind.is_dir() {
            patterns(context, &folder.join(&name), &inner, from, to, seen)?;
        }
    }
    Ok(())
}

/// Whether a link in a folder that is moved may lead where it does from its new place; what it did before is
/// nothing new, where such links are not made.
fn link_moves(context: &Context<'_>, link: &Path, old: &Path, new: &Path) -> Result<(), Refused> {
    let target = fs::read_link(link).map_err(|error| errno(&error))?;
    let target = target.as_os_str();
    let was_there = context.rules.git(old).is_some();
    if was_there && context.rules.objects_to_link(old, target).is_some() {
        return Ok(());
    }
    context.decide_target(new, target)
}

/// Whether what leads git elsewhere in a folder may lead there from its new place. Only names are read, because
/// most folders hold none of it.
fn leads(context: &Context<'_>, top: &Path, from: &Side, to: &Side) -> Result<(), Refused> {
    let mut seen = 0;
    let mut folders = vec![PathBuf::new()];
    while let Some(below) = folders.pop() {
        let entries = match fs::read_dir(top.join(&below)) {
            Err(error) if is_absent(&error) => continue,
            entries => entries.map_err(|error| errno(&error))?,
        };
        for entry in entries {
            let entry = entry.map_err(|error| errno(&error))?;
            seen += 1;
            if seen > ENTRIES {
                return Err(Errno::XDEV.into());
            }
            let name = entry.file_name();
            let kind = entry.file_type().map_err(|error| errno(&error))?;
            if kind.is_dir() {
                folders.push(below.join(&name));
                continue;
            }
            let of_git = matches!(
                name.as_encoded_bytes(),
                b".git" | b"config" | b"config.worktree" | b"alternates" | b"gitdir"
            );
            if !of_git && !kind.is_symlink() {
                continue;
            }
            let (old, new) = (
                from.path.join(&below).join(&name),
                to.path.join(&below).join(&name),
            );
            if kind.is_symlink() {
                link_moves(context, &entry.path(), &old, &new)?;
            } else if let Gate::Obeyed(content, rule) = context.gate(&old)? {
                must_lead_as_well(context, (content, rule), &entry.path(), &new)?;
            }
        }
    }
    Ok(())
}

/// Whether a file that git obeys leads from `new` to where it may lead.
fn must_lead_as_well(
    context: &Context<'_>,
    (content, rule): (Content, u32),
    file: &Path,
    new: &Path,
) -> Result<(), Refused> {
    let leads = content_of(file, content.limit()).is_ok_and(|text| {
        let path = context.rules.of_policy(new);
        git::leads_as_well(content, &text, &context.rules.site(&path))
    });
    match leads {
        true => Ok(()),
        false => Err(Refused::by(
            rule,
            new,
            "what git keeps here would lead elsewhere",
        )),
    }
}

/// Puts a file that git obeys in the place of another, if what it says is harmless. The program may still have
/// its file open, or another name for it: a copy takes the place.
fn checked(
    context: &Context<'_>,
    from: &Side,
    to: &Side,
    flags: RenameFlags,
    (content, rule): (Content, u32),
) -> Result<Outcome, Refused> {
    if flags.contains(RenameFlags::EXCHANGE) {
        return Err(Refused::by(rule, &to.path, CONFIGURATION));
    }
    if to.found.is_some() && flags.contains(RenameFlags::NOREPLACE) {
        return Err(Errno::EXIST.into());
    }
    let refused = |reason: String| Refused::by(rule, &to.path, reason);
    let found = from.found.as_ref().ok_or(Errno::NOENT)?;
    let too_long = || {
        refused(format!(
            "it is no file of at most {} bytes",
            content.limit()
        ))
    };
    let (new, mode) = read(found, content.limit())?.ok_or_else(too_long)?;
    let old = match &to.found {
        None => context.rules.baseline(&to.path),
        Some(_) if !content.is_compared() => Vec::new(),
        Some(found) => {
            read(found, content.limit())?
                .ok_or_else(|| refused("what it replaces is not a file of text".into()))?
                .0
        }
    };
    let path = context.rules.of_policy(&to.path);
    let site = context.rules.site(&path);
    let mut instead = git::check(content, &old, &new, &site).map_err(refused)?;
    if content == Content::Config {
        // What a run has made itself it may change.
        let begun = context.rules.baseline(&to.path);
        let before = if begun.is_empty() { &old } else { &begun };
        let both = [before.as_slice(), &new];
        context.note_configuration(&to.path, both, !begun.is_empty(), &site);
    }
    let names = match content {
        Content::Index => context.withheld.below(&from.path),
        _ => BTreeMap::new(),
    };
    if !names.is_empty() {
        let published = instead.as_ref().unwrap_or(&new);
        let marked = git::without_checkout(published, &names, &site).map_err(refused)?;
        instead = marked.or(instead);
    }
    let old = || {
        let index = to.path.with_file_name("index");
        content_of(&index, Content::Index.limit()).unwrap_or_default()
    };
    let text = instead.as_ref().unwrap_or(&new);
    let honest = context.rules.honest(content, text, &old, &names, &site);
    instead = honest.map_err(refused)?.or(instead);
    replace(&to.folder, &to.name, instead.as_ref().unwrap_or(&new), mode)?;
    unlinkat(&from.folder, &from.name, AtFlags::empty())?;
    Ok(Outcome::Done)
}

/// A file that a copy has taken the place of: the device and number of both.
#[derive(Clone, Copy, Debug)]
pub(super) struct Renewed {
    pub(super) was: (u64, u64),
    pub(super) is: (u64, u64),
}

/// Whether everything that git would obey in a folder is harmless, once the folder is a repository; a copy of
/// each file takes its place, because a program may still have it open. Adds these.
pub(super) fn renew(top: &Path, rules: &Rules, renewed: &mut Vec<Renewed>) -> Result<(), String> {
    for (path, content) in git::obeyed_in(top, ENTRIES)? {
        let shown = |reason: String| {
            format!(
                "{}: {reason}",
                path.strip_prefix(top).unwrap_or(&path).display()
            )
        };
        let failed = |errno: Errno| shown(errno.to_string());
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat(CWD, &path, flags, Mode::empty()).map_err(failed)?;
        let (text, mode) = read(&found, content.limit())
            .map_err(failed)?
            .ok_or_else(|| shown("it is no file that can be looked at".to_owned()))?;
        let named = rules.of_policy(&path);
        let site = rules.site(&named);
        let instead = git::check(content, b"", &text, &site).map_err(shown)?;
        let text = instead.unwrap_or(text);
        let honest = rules.honest(content, &text, &Vec::new, &BTreeMap::new(), &site);
        let text = honest.map_err(shown)?.unwrap_or(text);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder =
            openat(CWD, path.parent().unwrap_or(top), flags, Mode::empty()).map_err(failed)?;
        let name = path.file_name().unwrap_or_default();
        let identity = |stat: Stat| (stat.st_dev, stat.st_ino);
        let was = fstat(&found).map(identity).map_err(failed)?;
        replace(&folder, name, &text, mode).map_err(failed)?;
        let is = statat(&folder, name, AtFlags::SYMLINK_NOFOLLOW).map(identity);
        renewed.extend(is.map(|is| Renewed { was, is }));
    }
    Ok(())
}

/// Makes a file, or puts it in the place of another, without that it is ever there in part.
pub(crate) fn replace(
    folder: &OwnedFd,
    name: &OsStr,
    content: &[u8],
    mode: Mode,
) -> Result<(), Errno> {
    let temporary = draft();
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let file = openat(folder, &*temporary, flags, Mode::RUSR | Mode::WUSR)?;
    let written = fchmod(&file, mode)
        .and_then(|()| File::from(file).write_all(content).map_err(|e| errno(&e)))
        .and_then(|()| renameat(folder, &*temporary, folder, name));
    if written.is_err() {
        let _ = unlinkat(folder, &*temporary, AtFlags::empty());
    }
    written
}

/// A name for a file before it gets its own, which means nothing to git. Nobody foresees it, and so nobody can have taken it.
pub(super) fn draft() -> String {
    let number = RandomState::new().build_hasher().finish();
    format!(".bailiwick-{number:x}")
}

/// The content of a plain file of at most so many bytes, for which nothing waits.
pub(super) fn content_of(path: &Path, limit: usize) -> Result<Vec<u8>, Errno> {
    let found = openat(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    let (content, _) = read(&found, limit)?.ok_or(Errno::INVAL)?;
    Ok(content)
}

/// The content and mode of a plain file of at most so many bytes; none for anything else. One that another
/// program has leased is told ([`Errno::AGAIN`]).
pub(super) fn read(found: &OwnedFd, limit: usize) -> Result<Option<(Vec<u8>, Mode)>, Errno> {
    let limit = limit as u64;
    let stat = fstat(found)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile
        || stat.st_size.cast_unsigned() > limit
    {
        return Ok(None);
    }
    let link = format!("/proc/self/fd/{}", found.as_raw_fd());
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = openat(CWD, link, flags, Mode::empty())?;
    let mut content = Vec::new();
    File::from(file)
        .take(limit + 1)
        .read_to_end(&mut content)
        .map_err(|_| Errno::IO)?;
    let long = content.len() as u64 > limit;
    Ok((!long).then(|| (content, Mode::from_raw_mode(stat.st_mode & 0o777))))
}

#[cfg(test)]
#[path = "rename_tests.rs"]
mod tests;
