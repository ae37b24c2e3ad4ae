//! `@pip`: pip's configuration files and variables, and its built-in index from its own module.

use super::{Place, Search, client, ini};
use std::path::{Path, PathBuf};

const URL_KEYS: [&str; 3] = ["index-url", "extra-index-url", "find-links"];

pub(crate) fn find(search: &mut Search<'_>) {
    // As pip reads them: a later file, and the environment, win.
    let mut indexes: Vec<(String, Place)> = Vec::new();
    let mut no_index = false;
    for file in files(search) {
        let Some(text) = search.read(&file) else {
            continue;
        };
        for (section, key, value) in ini::entries(&text) {
            let key = key.replace('_', "-");
            if !matches!(
                section.as_str(),
                "global" | "install" | "download" | "wheel"
            ) {
                continue;
            }
            match key.as_str() {
                "index-url" => indexes.push((value, Place::File(file.clone()))),
                "no-index" if search.is_workspaces(&file) => {}
                "no-index" => no_index = is_true(&value),
                key if URL_KEYS.contains(&key) => {
                    for url in value.split_whitespace() {
                        search.add_from(url, &file);
                    }
                }
                _ => {}
            }
        }
    }
    if let Some(value) = search.variable("PIP_INDEX_URL") {
        indexes.push((value, Place::Variable("PIP_INDEX_URL".to_owned())));
    }
    if let Some(value) = search.variable("PIP_NO_INDEX") {
        no_index = is_true(&value);
    }
    for name in ["PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"] {
        for url in search.variable(name).unwrap_or_default().split_whitespace() {
            search.add_own(url, name);
        }
    }
    if no_index {
        return;
    }
    for (url, place) in indexes.into_iter().rev() {
        if search.add(&url, &place) || search.obeys(&place) {
            return;
        }
    }
    built_in(search);
}

fn is_true(value: &str) -> bool {
    matches!(
        value.to_ascii_lowercase().as_str(),
        "1" | "true" | "yes" | "on" | "y" | "t"
    )
}

/// The files that pip reads, weakest first.
fn files(search: &Search<'_>) -> Vec<PathBuf> {
    let config = search
        .variable("XDG_CONFIG_HOME")
        .map_or_else(|| search.home(".config"), PathBuf::from);
    let explicit = search.variable("PIP_CONFIG_FILE").map(PathBuf::from);
    let mut files: Vec<PathBuf> = search
        .variable("XDG_CONFIG_DIRS")
        .iter()
        .flat_map(std::env::split_paths)
        .map(|folder| folder.join("pip/pip.conf"))
        .collect();
    files.push(PathBuf::from("/etc/xdg/pip/pip.conf"));
    files.push(PathBuf::from("/etc/pip.conf"));
    files.push(search.home(".pip/pip.conf"));
    files.push(config.join("pip/pip.conf"));
    if let Some(env) = search.variable("VIRTUAL_ENV") {
        files.push(PathBuf::from(env).join("pip.conf"));
    }
    files.extend(explicit);
    files
}

/// The index that pip uses when nothing configures one, and the machine that it serves files from.
fn built_in(search: &mut Search<'_>) {
    let Some((file, text)) = modules(search)
        .into_iter()
        .find_map(|file| Some((file.clone(), search.read(&file)?)))
    else {
        search.notice(
            "pip's own files were not found, so its built-in index is not known".to_owned(),
        );
        return;
    };
    let shown = search.shown(&file);
    let line = text
        .split("PyPI = PackageIndex(")
        .nth(1)
        .and_then(|rest| rest.split(')').next());
    let mut quoted = line.unwrap_or_default().split('"').skip(1).step_by(2);
    let index = quoted.next().unwrap_or_default();
    if !search.add_own(index, &shown) {
        search.notice(format!("{shown} does not say which index pip uses"));
        return;
    }
    let files = quoted.next().map(|host| format!("https://{host}/"));
    if !files.is_some_and(|url| search.add_own(&url, &shown)) {
        search.notice("pip downloads files from another machine than its index, and does not say which; if a download is refused, add that machine to [network] allow".to_owned());
    }
}

/// Candidates for pip's module that names its index, best first.
fn modules(search: &Search<'_>) -> Vec<PathBuf> {
    const MODULE: &str = "pip/_internal/models/index.py";
    let mut prefixes: Vec<PathBuf> = Vec::new();
    for name in ["pip", "pip3", "python3", "python"] {
        for program in client::on_path(search, name) {
            let real = program.canonicalize().unwrap_or_else(|_| program.clone());
            for p in [program, real] {
                prefixes.extend(p.parent().and_then(Path::parent).map(Path::to_path_buf));
            }
        }
    }
    let pyenv = search
        .variable("PYENV_ROOT")
        .map_or_else(|| search.home(".pyenv"), PathBuf::from);
    prefixes.extend(folders(&pyenv.join("versions")));
    prefixes.push(search.home(".local"));
    let mut found = Vec::new();
    for prefix in prefixes {
        for python in folders(&prefix.join("lib")) {
            for packages in ["site-packages", "dist-packages"] {
                let file = python.join(packages).join(MODULE);
                if file.is_file() && !search.is_workspaces(&file) && !found.contains(&file) {
                    found.push(file);
                }
            }
        }
        if found.len() > 3 {
            break;
        }
    }
    found
}

/// The folders of a folder whose names could be a Python's, newest last in name order first.
fn folders(path: &Path) -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(path)
        .into_iter()
        .flatten()
        .flatten()
        .map(|e| e.path())
        .filter(|p| {
            let name = p.file_name().and_then(|n| n.to_str()).unwrap_or_default();
            name.starts_with("python3") || name.starts_with(|c: char| c.is_ascii_digit())
        })
        .collect();
    found.sort();
    found.reverse();
    found
}

#[cfg(test)]
#[path = "pip_tests.rs"]
mod tests;
