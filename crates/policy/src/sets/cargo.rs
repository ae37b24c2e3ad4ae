//! `@cargo`: sources and registries of `config.toml`, and cargo's built-in index, which stands as
//! a text in its program.

use super::{Search, client};
use crate::source_text::read_regular;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The largest program that is searched, in bytes.
const MAX_PROGRAM: u64 = 256 << 20;

pub(crate) fn find(search: &mut Search<'_>) {
    let home = search
        .variable("CARGO_HOME")
        .map_or_else(|| search.home(".cargo"), PathBuf::from);
    // What stands in the workspace or above it, not above the home directory, is cargo's as well.
    let above = search.workspace.ancestors();
    let above = above.take_while(|folder| *folder != search.request.home);
    let above: Vec<_> = above.map(|folder| (folder.join(".cargo"), true)).collect();
    let mut replaced = false;
    for (folder, given) in std::iter::once((home.clone(), false)).chain(above) {
        for name in ["config.toml", "config"] {
            let file = folder.join(name);
            let Some(config) = search.read(&file).and_then(|t| t.parse::<Table>().ok()) else {
                continue;
            };
            let given = given || search.is_workspaces(&file);
            replaced |= configured(search, &config, &file, given);
            break;
        }
    }
    let variables: Vec<(String, String)> = search
        .request
        .environment
        .iter()
        .filter_map(|(k, v)| Some((k.to_str()?.to_owned(), v.to_str()?.to_owned())))
        .filter(|(k, _)| k.starts_with("CARGO_REGISTRIES_") && k.ends_with("_INDEX"))
        .collect();
    for (name, url) in variables {
        search.add_own(&url, &name);
    }
    if !replaced {
        built_in(search, &home);
    }
}

/// Reads `[source]` and `[registries]` of a file; whether it replaces the built-in index. One that
/// the workspace gives replaces nothing by a host that does not count.
fn configured(search: &mut Search<'_>, config: &Table, file: &Path, given: bool) -> bool {
    let tables = |name: &str| {
        config
            .get(name)
            .and_then(Value::as_table)
            .into_iter()
            .flatten()
    };
    let mut replaced = false;
    let mut counted = false;
    let mut add = |url: &str| {
        let counts = match given {
            true => search.add_workspaces(url, file),
            false => search.add_from(url, file),
        };
        counted |= counts;
        counts
    };
    for (name, source) in tables("source") {
        replaced |= name == "crates-io" && source.get("replace-with").is_some();
        let url = source.get("registry").or_else(|| source.get("git"));
        if let Some(url) = url.and_then(Value::as_str) {
            replaced |= add(url) && name == "crates-io";
        }
    }
    for (name, registry) in tables("registries") {
        if let Some(url) = registry.get("index").and_then(Value::as_str) {
            add(url);
            replaced |= name == "crates-io";
        }
    }
    replaced && (counted || !given)
}

fn built_in(search: &mut Search<'_>, home: &Path) {
    let mut programs = Vec::new();
    let rustup = search
        .variable("RUSTUP_HOME")
        .map_or_else(|| search.home(".rustup"), PathBuf::from);
    // On PATH there is often only rustup's stand-in, which knows no index.
    let toolchains = std::fs::read_dir(rustup.join("toolchains"))
        .into_iter()
        .flatten()
        .flatten();
    programs.extend(toolchains.map(|t| t.path().join("bin/cargo")));
    programs.sort();
    programs.retain(|p| !search.is_workspaces(p));
    programs.extend(client::on_path(search, "cargo"));
    let Some((program, index)) = programs
        .into_iter()
        .find_map(|p| Some((p.clone(), index_in(&p)?)))
    else {
        search.notice("cargo was not found, or does not say which index it uses".to_owned());
        return;
    };
    let shown = search.shown(&program);
    if !search.add_own(&index, &shown) {
        return;
    }
    // The index says where the packages themselves are; cargo keeps that answer.
    let host = super::url::host_of(&index).map(|p| p.host);
    let kept = std::fs::read_dir(home.join("registry/index"))
        .into_iter()
        .flatten()
        .flatten();
    let mut known = false;
    for folder in kept.map(|f| f.path()) {
        let name = folder
            .file_name()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        let of = name
            .rsplit_once('-')
            .map(|(host, _)| format!("https://{host}/"));
        if of.and_then(|url| super::url::host_of(&url)).map(|p| p.host) != host {
            continue;
        }
        let file = folder.join("config.json");
        let text = search.read_installed(&file).unwrap_or_default();
        let config: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let shown = search.shown(&file);
        known |= config["dl"]
            .as_str()
            .is_some_and(|url| search.add_own(url, &shown));
    }
    if !known {
        search.notice("cargo downloads packages from a machine that its index names, and has not stored which; run `cargo fetch` once outside the sandbox, or add that machine to [network] allow".to_owned());
    }
}

/// The first sparse index that stands in a program.
fn index_in(program: &Path) -> Option<String> {
    const SCHEME: &[u8] = b"sparse+https://";
    let bytes = read_regular(program, MAX_PROGRAM).ok()?;
    let mut rest = &bytes[..];
    while let Some(at) = rest.iter().position(|b| *b == b'+') {
        let start = at.saturating_sub(b"sparse".len());
        if rest[start..].starts_with(SCHEME) {
            let host = &rest[start + SCHEME.len()..];
            let end = host
                .iter()
                .position(|b| !(b.is_ascii_alphanumeric() || b".-".contains(b)));
            let host = &host[..end.unwrap_or(host.len())];
            // Texts stand side by side in a program; a real URL ends its host with a slash.
            if rest.get(start + SCHEME.len() + host.len()) == Some(&b'/') && host.contains(&b'.') {
                return String::from_utf8(
                    rest[start..start + SCHEME.len() + host.len() + 1].to_vec(),
                )
                .ok();
            }
        }
        rest = &rest[at + 1..];
    }
    None
}

#[cfg(test)]
#[path = "cargo_tests.rs"]
mod tests;
