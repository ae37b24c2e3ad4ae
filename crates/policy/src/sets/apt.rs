//! `@apt`: the archives of `sources.list` and `sources.list.d`, in both formats.

use super::Search;
use std::path::{Path, PathBuf};

pub(crate) fn find(search: &mut Search<'_>) {
    find_in(search, Path::new("/etc/apt"));
}

fn find_in(search: &mut Search<'_>, root: &Path) {
    let folder = std::fs::read_dir(root.join("sources.list.d"))
        .into_iter()
        .flatten()
        .flatten();
    let mut files: Vec<PathBuf> = folder.map(|e| e.path()).collect();
    files.sort();
    files.insert(0, root.join("sources.list"));
    for file in files {
        let name = file
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or_default();
        let Some(text) = search.read(&file) else {
            continue;
        };
        let urls = match name {
            "list" => one_line(&text),
            "sources" => stanzas(&text),
            _ => continue,
        };
        for url in urls {
            search.add_from(&url, &file);
        }
    }
    if search.found.is_empty() {
        search.notice(format!("no archive is named in {}", root.display()));
    }
}

/// `deb [options] URL suite component…`
fn one_line(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for line in text.lines().map(str::trim) {
        let Some(rest) = line
            .strip_prefix("deb-src ")
            .or_else(|| line.strip_prefix("deb "))
        else {
            continue;
        };
        let rest = rest.trim_start();
        let rest = match rest.strip_prefix('[') {
            Some(options) => options.split_once(']').map_or("", |(_, rest)| rest),
            None => rest,
        };
        found.extend(rest.split_whitespace().next().map(str::to_owned));
    }
    found
}

/// deb822: `URIs: URL URL`, continued by indented lines; a stanza can be switched off.
fn stanzas(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for stanza in text.split("\n\n") {
        let mut urls = Vec::new();
        let mut enabled = true;
        let mut in_urls = false;
        for line in stanza.lines().filter(|l| !l.starts_with('#')) {
            let value = if line.starts_with([' ', '\t']) {
                if in_urls { line } else { continue }
            } else {
                let (field, value) = line.split_once(':').unwrap_or((line, ""));
                in_urls = field.trim().eq_ignore_ascii_case("uris");
                if field.trim().eq_ignore_ascii_case("enabled") {
                    enabled = !matches!(value.trim(), "no" | "false" | "0" | "off");
                }
                value
            };
            if in_urls {
                urls.extend(value.split_whitespace().map(str::to_owned));
            }
        }
        if enabled {
            found.append(&mut urls);
        }
    }
    found
}

#[cfg(test)]
#[path = "apt_tests.rs"]
mod tests;
