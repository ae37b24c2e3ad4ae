//! Makes links: what they may be called, and where they may lead.

use super::act::{Context, Outcome, Refused};
use super::path::{Place, kind_of, shown};
use crate::git;
use rustix::fd::{AsFd, AsRawFd, OwnedFd};
use rustix::fs::{AtFlags, CWD, FileType, fstat, linkat, readlinkat, symlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;

impl Context<'_> {
    /// Whether a link may have this name: a link where a protected name would have a folder above
    /// it leads to a folder in which nothing is protected.
    pub(super) fn decide_link(&self, path: &Path) -> Result<(), Refused> {
        let led = self.rules.is_on_a_way(path);
        let of_git = self
            .rules
            .git(path)
            .filter(|_| led || !git::may_be_link(path));
        match self.rules.above(path).or(of_git) {
            None => Ok(()),
            Some(rule) => {
                let reason = "a link here would lead around the rule";
                Err(Refused::by(rule, path, reason))
            }
        }
    }

    /// Whether a link may lead where it says: neither to what is denied or protected, nor to files of the user's that
    /// the sandbox does not see.
    pub(super) fn decide_target(&self, path: &Path, target: &OsStr) -> Result<(), Refused> {
        if let Some(rule) = self.rules.denies_target(path, target) {
            let reason = "the link would lead to what is denied";
            return Err(Refused::by(rule, path, reason));
        }
        let objection = self.rules.objects_to_link(path, target);
        if let (Some(rule), Some(reason)) = (self.rules.git(path), objection) {
            return Err(Refused::by(rule, path, reason));
        }
        self.left
            .borrow_mut()
            .extend(self.rules.left_link(path, target));
        Ok(())
    }

    pub(super) fn symlink(&self, target: u64, folder: i32, path: u64) -> Result<Outcome, Refused> {
        let target = self.tracee.text(target)?;
        let new = self.free((folder, path))?;
        self.must_be_free(&new.path)?;
        if self.rules.is_on_a_way(&new.path)
            || !git::finds_out_about_links(&new.path, target.as_encoded_bytes())
        {
            self.decide_target(&new.path, &target)?;
            self.decide_link(&new.path)?;
        }
        if new.slash {
            return Err(Errno::NOENT.into());
        }
        symlinkat(&target, new.folder, &new.name)?;
        Ok(Outcome::Done)
    }

    pub(super) fn link(
        &self,
        (folder, path): (i32, u64),
        to: (i32, u64),
        flags: i32,
    ) -> Result<Outcome, Refused> {
        if flags & !(libc::AT_SYMLINK_FOLLOW | libc::AT_EMPTY_PATH) != 0 {
            return Err(Errno::INVAL.into());
        }
        let path = self.tracee.text(path)?;
        let follow = flags & libc::AT_SYMLINK_FOLLOW != 0;
        let source = if path.is_empty() && flags & libc::AT_EMPTY_PATH != 0 {
            Place::Object(self.tracee.folder(folder)?)
        } else {
            self.place_of(folder, &path, follow)?
        };
        let object = match source {
            Place::Object(object) => object,
            Place::Entry { found, .. } => found.ok_or(Errno::NOENT)?,
        };
        // A second name of what may not be written could be written.
        let source = shown(object.as_fd())?;
        self.decide(&source)?;
        self.must_be_free(&source)?;
        self.note(&source);
        let new = self.free(to)?;
        self.must_be_free(&new.path)?;
        if let Some(rule) = self.rules.denied_by_pattern(&new.path) {
            let reason = "what is written there later could be read by its other name";
            return Err(Refused::by(rule, &new.path, reason));
        }
        let kind = kind_of(&object)?;
        self.must_be_file(&new.path, kind)?;
        if kind == FileType::Symlink {
            self.decide_link(&new.path)?;
            self.decide_target(&new.path, &target_of(&object)?)?;
        }
        if new.slash {
            return Err(Errno::NOENT.into());
        }
        let names = fstat(&object)?.st_nlink;
        let link = format!("/proc/self/fd/{}", object.as_raw_fd());
        linkat(CWD, link, new.folder, &new.name, AtFlags::SYMLINK_FOLLOW)?;
        self.linked.add(&object, names, &source, &new.path);
        Ok(Outcome::Done)
    }
}

/// What a link says.
pub(super) fn target_of(link: &OwnedFd) -> Result<OsString, Errno> {
    let target = readlinkat(link, c"", Vec::new())?;
    Ok(OsString::from_vec(target.into_bytes()))
}
