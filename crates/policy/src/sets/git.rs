//! `@git`: the remotes of the workspace's repository. They are always the workspace's word, wherever
//! the repository's configuration lies: a file of the workspace says which repository it is, and git
//! changes the configuration for whoever asks it.

use super::{Search, ini};
use std::path::{Path, PathBuf};

pub(crate) fn find(search: &mut Search<'_>) {
    let Some(git) = folder_of(search) else {
        search.notice("the workspace is in no git repository".to_owned());
        return;
    };
    let file = config_of(search, &git);
    let Some(text) = file.as_deref().and_then(|file| search.read(file)) else {
        // What `.git` names is not told: it may be a link to anything.
        let shown = search.shown(&git);
        search.notice(format!(
            "the configuration of the repository at {shown} cannot be read"
        ));
        return;
    };
    let rewrites = rewrites(search);
    let remotes = ini::entries(&text).into_iter().filter(|(section, key, _)| {
        section.starts_with("remote ")
            && matches!(key.to_ascii_lowercase().as_str(), "url" | "pushurl")
    });
    let from = match git.is_dir() {
        true => git.join("config"),
        false => git,
    };
    for (_, _, url) in remotes {
        search.add_workspaces(&rewritten(&rewrites, url), &from);
    }
    if search.found.is_empty() {
        search.notice("the repository has no remote on another machine".to_owned());
    }
}

/// The `.git` of the repository that holds the workspace.
fn folder_of(search: &Search<'_>) -> Option<PathBuf> {
    let mut places = search.workspace.ancestors().map(|a| a.join(".git"));
    places.find(|git| git.symlink_metadata().is_ok())
}

/// The configuration of a repository.
fn config_of(search: &Search<'_>, git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.join("config"));
    }
    // A worktree or a submodule: a file that names its folder, which may name a common one.
    let text = search.read(git)?;
    let named = git
        .parent()?
        .join(text.trim().strip_prefix("gitdir:")?.trim());
    let common = search
        .read(&named.join("commondir"))
        .map(|c| named.join(c.trim()));
    Some(common.unwrap_or(named).join("config"))
}

/// `url.BASE.insteadOf` of the user's own configuration: the written beginning and its base.
fn rewrites(search: &Search<'_>) -> Vec<(String, String)> {
    let config = search
        .variable("XDG_CONFIG_HOME")
        .map_or_else(|| search.home(".config"), PathBuf::from);
    let mut found = Vec::new();
    for file in [
        search.home(".gitconfig"),
        config.join("git/config"),
        Path::new("/etc/gitconfig").to_path_buf(),
    ] {
        for (section, key, value) in ini::entries(&search.read(&file).unwrap_or_default()) {
            if let Some(base) = section.strip_prefix("url ")
                && key.eq_ignore_ascii_case("insteadof")
            {
                found.push((value, base.trim().trim_matches('"').to_owned()));
            }
        }
    }
    found
}

fn rewritten(rewrites: &[(String, String)], url: String) -> String {
    let fitting = rewrites
        .iter()
        .filter(|(written, _)| url.starts_with(written.as_str()));
    match fitting.max_by_key(|(written, _)| written.len()) {
        Some((written, base)) => format!("{base}{}", &url[written.len()..]),
        None => url,
    }
}

#[cfg(test)]
#[path = "git_tests.rs"]
mod tests;
