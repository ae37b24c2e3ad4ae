//! `@go`: the module proxy and the checksum database, from variables, the user's and the
//! toolchain's `go.env`, and only for old toolchains from `go env`.

use super::{Search, client};
use std::path::{Path, PathBuf};

pub(crate) fn find(search: &mut Search<'_>) {
    let (proxy, from) = value(search, "GOPROXY");
    for part in proxy.split([',', '|']).map(str::trim) {
        if part == "direct" {
            search.notice("go may also fetch modules directly from where they are developed; add those machines to [network] allow if it needs to".to_owned());
        } else if part != "off" {
            add(search, part, &from);
        }
    }
    let (database, from) = value(search, "GOSUMDB");
    if database != "off" && !proxy.is_empty() && proxy != "off" {
        // NAME, NAME+KEY, or NAME+KEY URL.
        let mut words = database.split_whitespace();
        let name = words
            .next()
            .unwrap_or_default()
            .split('+')
            .next()
            .unwrap_or_default();
        match words.next() {
            Some(url) => add(search, url, &from),
            None if name.is_empty() => {}
            None => add(search, &format!("https://{name}"), &from),
        }
    }
}

/// Where a value was written.
enum Place {
    Variable(String),
    File(PathBuf),
}

fn add(search: &mut Search<'_>, url: &str, from: &Place) {
    match from {
        Place::Variable(name) => search.add(url, name),
        Place::File(file) => search.add_from(url, file),
    };
}

/// A setting of go, as go itself looks it up.
fn value(search: &mut Search<'_>, name: &str) -> (String, Place) {
    if let Some(value) = search.variable(name) {
        return (value, Place::Variable(name.to_owned()));
    }
    let config = search
        .variable("XDG_CONFIG_HOME")
        .map_or_else(|| search.home(".config"), PathBuf::from);
    let user = search
        .variable("GOENV")
        .map_or_else(|| config.join("go/env"), PathBuf::from);
    let mut files = vec![user];
    let mut roots: Vec<PathBuf> = search
        .variable("GOROOT")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    for program in client::on_path(search, "go") {
        let real = program.canonicalize().unwrap_or(program);
        roots.extend(real.parent().and_then(Path::parent).map(Path::to_path_buf));
    }
    files.extend(roots.into_iter().map(|root| root.join("go.env")));
    files.retain(|f| f.is_absolute() && (search.trusted || !f.starts_with(search.workspace)));
    for file in files {
        for line in search.read(&file).unwrap_or_default().lines() {
            if let Some((key, value)) = line.split_once('=')
                && key.trim() == name
                && !value.trim().is_empty()
            {
                return (value.trim().to_owned(), Place::File(file));
            }
        }
    }
    let answer = client::ask(search, "go", &["env", name]).unwrap_or_default();
    if answer.trim().is_empty() {
        search.notice(format!("go was not found, or does not say its {name}"));
    }
    (
        answer.trim().to_owned(),
        Place::Variable(format!("go env {name}")),
    )
}

#[cfg(test)]
#[path = "go_tests.rs"]
mod tests;
