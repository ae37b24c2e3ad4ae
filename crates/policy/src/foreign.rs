//! Whether a link is *foreign*: whether a sandbox could have made it. Such a link must not choose what
//! the next run shows or obeys, so nothing is reached through it that could not be reached without it.
//!
//! A link is foreign where it lies in a folder that this run may write, or that an earlier one could.

use crate::{Effective, PathEntry, PathPattern, Step, Way, Written};
use bailiwick_event::Text;
use std::fmt;
use std::path::{Path, PathBuf};

/// The folders in which links are foreign.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    own: Vec<PathPattern>,
    earlier: Written,
}

impl Foreign {
    /// The folders of a run that may write `own`, which has no links in it, and of those before it, which stand in the list
    /// `earlier`. Links are looked at before this is called: one that is made meanwhile is made by a run
    /// that stands in the list then.
    ///
    /// # Errors
    /// See [`Written::read`].
    pub fn new(own: Vec<PathPattern>, earlier: Option<&Path>) -> Result<Self, String> {
        let earlier = earlier.map(Written::read).transpose()?;
        Ok(Self {
            own,
            earlier: earlier.unwrap_or_default(),
        })
    }

    /// Whether a sandbox could have made what stands at a path, which has no links in it.
    #[must_use]
    pub fn holds(&self, path: &Path) -> bool {
        path.parent()
            .is_some_and(|folder| self.over(folder).is_some())
    }

    /// Who could write in a folder: this run (none), or an earlier one, with the line that says so.
    fn over(&self, folder: &Path) -> Option<Option<String>> {
        if self.own.iter().any(|own| own.covers(folder).is_some()) {
            return Some(None);
        }
        self.earlier.line_over(folder).map(Some)
    }

    /// The first foreign link of these.
    #[must_use]
    pub fn among<'w>(&self, links: &'w [Step]) -> Option<ForeignLink<'w>> {
        links.iter().find_map(|link| {
            let line = self.over(link.at.parent()?)?;
            Some(ForeignLink {
                at: &link.at,
                earlier: line.map(|line| (line, self.earlier.file().to_path_buf())),
            })
        })
    }
}

/// A link that a sandbox could have made. It is shown as a clause.
#[derive(Clone, Debug)]
pub struct ForeignLink<'w> {
    /// Where it is.
    pub at: &'w Path,
    /// The line that says so, and the list; none where it is this run that may write there.
    earlier: Option<(String, PathBuf)>,
}

impl ForeignLink<'_> {
    /// What to do where nobody can write the path otherwise, because a template names it.
    #[must_use]
    pub fn remedy_in_place(&self) -> String {
        let at = Text::from(self.at.as_os_str());
        match &self.earlier {
            None => format!("put what is meant in the place of the link {at}"),
            Some((line, list)) => format!(
                "put what is meant in the place of the link {at}; or look at the links in {line}, and \
                 remove that line from {}",
                Text::from(list.as_os_str())
            ),
        }
    }
}

impl fmt::Display for ForeignLink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = Text::from(self.at.as_os_str());
        write!(f, "{at} is a symbolic link in a folder that ")?;
        match &self.earlier {
            None => f.write_str("a sandbox may write"),
            Some((line, _)) => write!(f, "an earlier sandbox could write ({line})"),
        }
    }
}

/// What is granted at a path, links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Grant {
    Read,
    Write,
    /// The product's own folder stands there.
    Private,
}

/// Where the paths of a policy's grants lead, and through which links; patterns are left out, so that what
/// they alone show counts as not shown.
pub(crate) fn grants(policy: &Effective) -> Vec<(Way, Grant)> {
    let files = &policy.filesystem;
    let of = |entries: &[PathEntry], grant| {
        let literal = entries.iter().filter_map(|entry| match &entry.pattern {
            PathPattern::Path(path) => Some(path),
            PathPattern::Glob { .. } => None,
        });
        let ways: Vec<_> = literal
            .filter_map(|path| Some((Way::of(path)?, grant)))
            .collect();
        ways
    };
    [
        of(&files.read, Grant::Read),
        of(&files.write, Grant::Write),
        of(&files.private, Grant::Private),
        of(&files.copy, Grant::Private),
    ]
    .concat()
}

/// What a policy's grants let a command write, links followed.
pub(crate) fn written_by(policy: &Effective) -> Vec<PathPattern> {
    let real = |path: &PathBuf| Way::of(path).map_or_else(|| path.clone(), |way| way.real);
    let entries = policy.filesystem.write.iter();
    let patterns = entries.map(|entry| match &entry.pattern {
        PathPattern::Path(path) => PathPattern::Path(real(path)),
        PathPattern::Glob { root, glob } => PathPattern::Glob {
            root: real(root),
            glob: glob.clone(),
        },
    });
    patterns.collect()
}

/// Whether these grants show a path.
pub(crate) fn shows<'g>(grants: impl Iterator<Item = (&'g Path, Grant)>, path: &Path) -> bool {
    let over = grants.filter(|(real, _)| path.starts_with(real));
    let closest = over.max_by_key(|(real, grant)| (real.components().count(), *grant));
    closest.is_some_and(|(_, grant)| grant != Grant::Private)
}

#[cfg(test)]
#[path = "foreign_tests.rs"]
mod tests;
