//! How a person brings a file in order that git inside went on without.

use crate::message::Withheld;
use bailiwick_event::shell_word;
use std::fs::Metadata;
use std::path::Path;

/// What a person does outside of the sandbox about a file at `path` that git went on without: in words, and as a
/// command for the shell where the paths have no control characters. The first command replaces and removes nothing: the
/// file may have been changed by then, and git's objects may be the run's.
pub(crate) fn remedy(path: &Path, Withheld { below, removed }: &Withheld) -> String {
    let below = Path::new(below);
    let meta = path.symlink_metadata();
    // An empty file may stand for a link, for a moment.
    let kept = |meta: &Metadata| !meta.is_file() || meta.len() > 0;
    let state = match &meta {
        _ if *removed => State::Removed,
        Ok(meta) if kept(meta) => State::Kept,
        _ => State::Absent,
    };
    let tree = path.ancestors().nth(below.components().count());
    let words = tree.and_then(word).zip(word(below)).zip(word(path));
    let Some(((tree, file), whole)) = words else {
        return state.said().to_owned();
    };
    let git = format!("git -C {tree}");
    let unmark = format!("{git} update-index --no-skip-worktree");
    // What git would take for a pattern is the name of a file.
    let plain = format!("{git} --literal-pathspecs");
    let how = match state {
        State::Removed if meta.is_ok_and(|meta| meta.is_dir()) => format!("`rmdir -- {whole}`"),
        // What git has of it may be an object that nothing leads to.
        State::Removed => format!("`mv -nT -- {whole} {whole}.kept`"),
        // It counts as checked out until it is touched. The next commit may be one that removes it: then the index
        // has nothing to unmark.
        State::Kept => format!(
            "`touch -ch {whole} && {plain} ls-files -z -- {file} | {unmark} -z --stdin && {plain} diff -- {file}`; then `{plain} checkout -- {file}` takes the other"
        ),
        State::Absent => format!(
            "`test ! -e {whole} && {unmark} -- {file} && {plain} checkout -- {file}`, once you have read `{git} show :0:{file}`"
        ),
    };
    format!("{}: {how}", state.said())
}

/// What there is of a file that git went on without.
enum State {
    /// It is there, and another in the commit.
    Kept,
    /// It is there, and none in the commit.
    Removed,
    Absent,
}

impl State {
    fn said(&self) -> &'static str {
        match self {
            Self::Kept => {
                "the file that is there was kept: outside of the sandbox, look at how it differs from the commit's"
            }
            Self::Removed => {
                "the commit has it no more, and it was kept as an untracked file, over which git checks out no commit that has it: move it away outside of the sandbox"
            }
            Self::Absent => "check it out outside of the sandbox",
        }
    }
}

/// A path as a word of the shell; none where it has control characters or is no text.
fn word(path: &Path) -> Option<String> {
    let text = path.to_str()?;
    (!text.chars().any(char::is_control)).then(|| shell_word(text))
}
