//! The broker's decisions, for the fuzz targets.

use super::rules;
use crate::git::{self, Content, Site};
use bailiwick_policy::Effective;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::{fs, io};

/// What happens to an act on a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It happens.
    Allow,
    /// The rule of this number protects it.
    Refuse(u32),
    /// A file of git that is decided by what it says; the rule that would protect it otherwise.
    Git(u32),
}

impl From<rules::Verdict> for Verdict {
    fn from(verdict: rules::Verdict) -> Self {
        match verdict {
            rules::Verdict::Allow => Self::Allow,
            rules::Verdict::Refuse(rule) => Self::Refuse(rule),
            rules::Verdict::Git(rule) => Self::Git(rule),
        }
    }
}

/// The rules of a policy.
#[derive(Clone, Debug)]
pub struct Rules(rules::Rules);

impl Rules {
    /// The rules of a policy.
    #[must_use]
    pub fn of(policy: &Effective) -> Self {
        Self(rules::Rules::of(policy, &["/".into()]))
    }

    /// The rules of a policy where there are no mounts; what lies in `own` is the sandbox's.
    #[must_use]
    pub fn without_mounts(policy: &Effective, own: &Path) -> Self {
        let rules = rules::Rules::without_mounts(policy, &["/".into()], vec![own.into()], &[]);
        Self(rules.with_baselines())
    }

    /// What happens to an act that reads a path.
    #[must_use]
    pub fn decide_read(&self, path: &Path) -> Verdict {
        self.0.decide_read(path).into()
    }

    /// How many rules the record can name.
    #[must_use]
    pub fn names(policy: &Effective) -> usize {
        rules::Rules::named(policy).len()
    }

    /// What happens to an act that creates or writes a path.
    #[must_use]
    pub fn decide(&self, path: &Path) -> Verdict {
        self.0.decide(path).into()
    }

    /// What happens to an act that creates a folder.
    #[must_use]
    pub fn decide_folder(&self, path: &Path) -> Verdict {
        self.0.decide_folder(path).into()
    }

    /// What happens to an act that creates or writes a file by opening it.
    #[must_use]
    pub fn decide_file(&self, path: &Path) -> Verdict {
        self.0.decide_file(path).into()
    }

    /// What a folder must not hold that is moved.
    #[must_use]
    pub fn entering(&self, from: &Path, to: &Path) -> Vec<(u32, PathBuf)> {
        self.0.entering(from, to)
    }

    /// Whether a rule protects its names wherever they are.
    #[must_use]
    pub fn is_control(&self, rule: u32) -> bool {
        self.0.is_control(rule)
    }

    /// The rule that something in a folder that is moved would be rid of.
    #[must_use]
    pub fn leaving(&self, from: &Path, to: &Path) -> Option<u32> {
        self.0.leaving(from, to)
    }

    /// The rule that protects a name below this path.
    #[must_use]
    pub fn above(&self, path: &Path) -> Option<u32> {
        self.0.above(path)
    }

    /// Whether every entry of a folder that is moved is decided for itself.
    #[must_use]
    pub fn asks_each_entry(&self, from: &Path, to: &Path) -> bool {
        self.0.must_look_through(from, to)
    }
}

/// Whether a configuration of git may take the place of another.
///
/// # Errors
/// The reason, as it is reported.
pub fn accept_git(old: &[u8], new: &[u8], module: bool) -> Result<(), String> {
    let path = match module {
        true => "/ws/.git/modules/lib/config",
        false => "/ws/.git/config",
    };
    let kept = ["/ws".into()];
    let site = Site {
        path: path.as_ref(),
        root: Path::new("/"),
        kept: &kept,
        seen: &kept,
        rewritten: &[],
        ways: &git::Ways::default(),
        own: Path::new(""),
    };
    git::check(Content::Config, old, new, &site).map(drop)
}

/// The kinds of files that git obeys, each with the path at which it is looked at.
const KINDS: [(Content, &str); 21] = [
    (Content::Index, "/ws/.git/index"),
    (Content::SharedIndex, "/ws/.git/sharedindex.one"),
    (Content::GitFile, "/ws/sub/.git"),
    (Content::CommonDir, "/ws/.git/worktrees/one/commondir"),
    (Content::GitDir, "/ws/.git/worktrees/one/gitdir"),
    (Content::Alternates, "/ws/.git/objects/info/alternates"),
    (Content::Todo, "/ws/.git/rebase-merge/git-rebase-todo"),
    (Content::PickOptions, "/ws/.git/sequencer/opts"),
    (Content::ApplyOptions, "/ws/.git/rebase-apply/apply-opt"),
    (Content::MergeRr, "/ws/.git/MERGE_RR"),
    (
        Content::RefsToDelete,
        "/ws/.git/rebase-merge/refs-to-delete",
    ),
    (Content::BisectStart, "/ws/.git/BISECT_START"),
    (Content::Strategy, "/ws/.git/rebase-merge/strategy"),
    (
        Content::StrategyOptions,
        "/ws/.git/rebase-merge/strategy_opts",
    ),
    (Content::Signing, "/ws/.git/rebase-merge/gpg_sign_opt"),
    (Content::RefsToMove, "/ws/.git/rebase-merge/update-refs"),
    (Content::HeadName, "/ws/.git/rebase-merge/head-name"),
    (Content::Tables, "/ws/.git/reftable/tables.list"),
    (Content::Index, "/ws/long/.git/index"),
    (Content::Count, "/ws/.git/rebase-merge/msgnum"),
    (Content::CommitId, "/ws/.git/rebase-merge/onto"),
];

/// A root with the folders that the paths of `KINDS` are in, and no links: what leads somewhere is followed
/// there.
static ROOT: LazyLock<io::Result<PathBuf>> = LazyLock::new(|| {
    let root = std::env::temp_dir().join("bailiwick-fuzz-git");
    let folders = [
        "ws/sub",
        "ws/long/.git",
        "ws/.git/worktrees/one",
        "ws/.git/modules/lib",
        "ws/.git/objects/info",
        "state/tree",
        "elsewhere/.git/objects",
    ];
    for folder in folders {
        fs::create_dir_all(root.join(folder))?;
    }
    let sha256 = "[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n";
    fs::write(root.join("ws/long/.git/config"), sha256)?;
    Ok(root)
});

/// Whether a file that git obeys, of the kind of this number, may say `new` where it said `old`; what it is
/// to say instead.
///
/// # Errors
/// The reason, as it is reported.
pub fn check_git(kind: u8, old: &[u8], new: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let Some((content, path)) = KINDS.get(usize::from(kind)) else {
        return Err("no kind of file".to_owned());
    };
    let kept = ["/ws".into(), "/state".into()];
    let site = Site {
        path: path.as_ref(),
        root: ROOT.as_ref().map_err(ToString::to_string)?,
        kept: &kept,
        seen: &kept,
        rewritten: &[],
        ways: &git::Ways::default(),
        own: Path::new(""),
    };
    git::check(*content, old, new, &site)
}
