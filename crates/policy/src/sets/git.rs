//! `@git`: the remotes of the workspace's repository. Its configuration lies in the workspace, so
//! it counts only when the project is trusted; otherwise the remotes are named for the user to
//! look at, and nothing is granted.

use super::{Search, ini, url};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

pub(crate) fn find(search: &mut Search<'_>) {
    let Some(file) = config_of(search) else {
        search.notice("the workspace is in no git repository".to_owned());
        return;
    };
    let Some(text) = search.read(&file) else {
        search.notice(format!("{} cannot be read", search.shown(&file)));
        return;
    };
    let rewrites = rewrites(search);
    let remotes: Vec<String> = ini::entries(&text)
        .into_iter()
        .filter(|(section, key, _)| {
            section.starts_with("remote ")
                && matches!(key.to_ascii_lowercase().as_str(), "url" | "pushurl")
        })
        .map(|(_, _, value)| rewritten(&rewrites, value))
        .collect();
    if search.trusted {
        for remote in &remotes {
            search.add_from(remote, &file);
        }
        if search.found.is_empty() {
            search.notice("the repository has no remote on another machine".to_owned());
        }
        return;
    }
    let hosts: BTreeSet<String> = remotes
        .iter()
        .filter_map(|r| url::host_of(r))
        .map(|p| format!("\"{p}\""))
        .collect();
    let hosts: Vec<String> = hosts.into_iter().collect();
    search.notice(match hosts.as_slice() {
        [] => "the repository has no remote on another machine".to_owned(),
        hosts => format!("the remotes stand in a file of the workspace, which counts only in a trusted project; if they are right, add {} to [network] allow", hosts.join(", ")),
    });
}

/// The configuration of the repository that holds the workspace.
fn config_of(search: &Search<'_>) -> Option<PathBuf> {
    let folder = search
        .workspace
        .ancestors()
        .find(|a| a.join(".git").symlink_metadata().is_ok())?;
    let git = folder.join(".git");
    if git.is_dir() {
        return Some(git.join("config"));
    }
    // A worktree or a submodule: a file that names its folder, which may name a common one.
    let text = search.read(&git)?;
    let named = folder.join(text.trim().strip_prefix("gitdir:")?.trim());
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
