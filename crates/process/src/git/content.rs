//! What the files that git obeys may say.

use super::ways::Ways;
use super::{config, index, leads, lines};
use crate::paths;
use std::path::{Path, PathBuf};

/// A kind of file that git obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// `config` of a repository or a submodule.
    Config,
    /// `config.worktree`.
    ConfigOfTree,
    /// `.gitmodules` of a working tree.
    Modules,
    /// `index`: what is checked out, and what a commit will hold.
    Index,
    /// `sharedindex.ID`, of which an index may be a change.
    SharedIndex,
    /// A file `.git`, which says where the git folder is.
    GitFile,
    /// `commondir` of a linked working tree.
    CommonDir,
    /// `gitdir` of a linked working tree: where the tree is.
    GitDir,
    /// `objects/info/alternates`: folders whose objects are the repository's as well.
    Alternates,
    /// What a rebase or a sequence of picks has to do yet.
    Todo,
    /// The strategy of a rebase.
    Strategy,
    /// Options of that strategy.
    StrategyOptions,
    /// By which key commits are signed.
    Signing,
    /// Options of `git apply`, which `git am` uses.
    ApplyOptions,
    /// Options of a sequence of picks.
    PickOptions,
    /// References that the end of a rebase removes.
    RefsToDelete,
    /// References that the end of a rebase moves.
    RefsToMove,
    /// A reference: `HEAD`, `ORIG_HEAD` and their like, and each below `refs`.
    Reference,
    /// All references in one file.
    PackedRefs,
    /// The branch that is rebased.
    HeadName,
    /// How many steps of a rebase are done, or are to be: shells show it in their prompts as it stands there.
    Count,
    /// A commit that a rebase began with, or stopped at.
    CommitId,
    /// What `git bisect reset` checks out.
    BisectStart,
    /// Files whose conflicts are remembered.
    MergeRr,
    /// The list of tables of references.
    Tables,
}

/// How a file of a kind may be made where it is, and not under another name first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InPlace {
    /// It gets its name when it is known what it says.
    Later,
    /// It is written where it is, and put back where it says what it may not: git writes it so, reads it at
    /// once, and obeys it when the user goes on with what was begun.
    Watched,
}

impl Content {
    /// Files of this kind are at most so many bytes.
    pub(crate) fn limit(self) -> usize {
        match self {
            // A million entries take about 100 MB.
            Self::Index | Self::SharedIndex | Self::PackedRefs => 256 << 20,
            Self::Todo | Self::RefsToMove | Self::MergeRr => 16 << 20,
            _ => 1 << 20,
        }
    }

    pub(crate) fn in_place(self) -> InPlace {
        match self {
            Self::Config
            | Self::ConfigOfTree
            | Self::Modules
            | Self::Index
            | Self::SharedIndex
            | Self::GitFile
            | Self::CommonDir
            | Self::GitDir
            | Self::PackedRefs
            | Self::Alternates => InPlace::Later,
            _ => InPlace::Watched,
        }
    }

    /// Whether what a file of this kind said before counts.
    pub(crate) fn is_compared(self) -> bool {
        self.is_configuration()
            || matches!(self, Self::GitFile | Self::Alternates | Self::PackedRefs)
    }

    /// Whether a file of this kind says what is checked out.
    pub(crate) fn is_index(self) -> bool {
        matches!(self, Self::Index | Self::SharedIndex)
    }

    /// Whether a file of this kind is one of variables, which can change one by one.
    pub(crate) fn is_configuration(self) -> bool {
        matches!(self, Self::Config | Self::ConfigOfTree | Self::Modules)
    }
}

/// Where a file is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Site<'a> {
    /// Its path, without links, as the policy writes paths.
    pub(crate) path: &'a Path,
    /// What whoever runs git sees as the root.
    pub(crate) root: &'a Path,
    /// The folders, as the policy writes paths, that a sandbox may write: elsewhere nobody looks after what
    /// git obeys.
    pub(crate) kept: &'a [PathBuf],
    /// The folders, as the policy writes paths, that it sees as they are outside: a remote may be there.
    pub(crate) seen: &'a [PathBuf],
    /// Beginnings of addresses that the user's own configuration has git take for folders.
    pub(crate) rewritten: &'a [Vec<u8>],
    /// The folders through which git's files lead.
    pub(crate) ways: &'a Ways,
    /// The product's own folder, where nobody looks after what git obeys; empty where it is not known.
    pub(crate) own: &'a Path,
}

#[cfg(test)]
impl<'a> Site<'a> {
    /// A place beside which nothing is known.
    pub(crate) fn of_test(path: &'a Path, root: &'a Path, kept: &'a [PathBuf]) -> Self {
        Self {
            path,
            root,
            kept,
            seen: kept,
            rewritten: &[],
            ways: Box::leak(Box::default()),
            own: Path::new(""),
        }
    }
}

impl Site<'_> {
    /// Notes that a file of git leads there.
    pub(crate) fn leads_to(&self, place: &Path) {
        self.ways.add(&leads::plain(place));
    }

    pub(crate) fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(self.path)
    }

    /// What the folder shares with others: a linked working tree's lies in `worktrees/ID` of it.
    pub(crate) fn shared_folder(&self) -> &Path {
        let folder = self.folder();
        match paths::is_there(self.root, &folder.join("commondir")) {
            true => folder.ancestors().nth(2).unwrap_or(folder),
            false => folder,
        }
    }
}

/// Whether a file may say `new` where it said `old` before (nothing where it is new).
///
/// Returns what it is to say instead, where something has to be left out that git can do without.
///
/// # Errors
/// Why it may not, for a person.
pub(crate) fn check(
    content: Content,
    old: &[u8],
    new: &[u8],
    site: &Site<'_>,
) -> Result<Option<Vec<u8>>, String> {
    let as_it_is = |checked: Result<(), String>| checked.map(|()| None);
    if new.len() > content.limit() {
        return Err(format!("it has more than {} bytes", content.limit()));
    }
    match content {
        Content::Config | Content::ConfigOfTree | Content::Modules => {
            let accepted = config::accept(content, old, new, site);
            as_it_is(accepted.map_err(|objection| objection.to_string()))
        }
        Content::Index | Content::SharedIndex => index::check(content, new, site),
        Content::GitFile | Content::CommonDir | Content::GitDir => {
            as_it_is(leads::check(content, old, new, site))
        }
        Content::Alternates => as_it_is(leads::check_alternates(old, new, site)),
        Content::PackedRefs => as_it_is(lines::check_packed(old, new)),
        // Git copies each file of the list when the user commits, and a link in the place of one could lead to
        // any: what it has learned of a conflict ends with the run.
        Content::MergeRr => {
            lines::check(content, new)?;
            Ok((!new.is_empty()).then(Vec::new))
        }
        _ => as_it_is(lines::check(content, new)),
    }
}
