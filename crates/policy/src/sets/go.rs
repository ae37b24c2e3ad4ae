//! `@go`: the module proxy and the checksum database, from variables, the user's and the
//! toolchain's `go.env`, and only for old toolchains from `go env`.

use super::{Place, Search, client};
use std::path::{Path, PathBuf};

/// What keeps go from the user's file: it was read here, and may be the workspace's.
const NO_FILES: [(&str, &str); 1] = [("GOENV", "off")];

pub(crate) fn find(search: &mut Search<'_>) {
    let proxy = first(search, "GOPROXY", |search, value, place| {
        let mut counts = false;
        for part in value.split([',', '|']).map(str::trim) {
            counts |= search.add(part, place);
        }
        counts
    });
    if proxy.split([',', '|']).any(|part| part.trim() == "direct") {
        search.notice("go may also fetch modules directly from where they are developed; add those machines to [network] allow if it needs to".to_owned());
    }
    if proxy.is_empty() || proxy == "off" {
        return;
    }
    first(search, "GOSUMDB", |search, value, place| {
        // NAME, NAME+KEY, or NAME+KEY URL.
        let mut words = value.split_whitespace();
        let name = words.next().and_then(|word| word.split('+').next());
        match (name, words.next()) {
            (Some(_), Some(url)) => search.add(url, place),
            (None | Some("off" | ""), _) => false,
            (Some(name), None) => search.add(&format!("https://{name}"), place),
        }
    });
}

/// The value of a setting by which go is configured: the first that is not passed over. `add` adds the
/// hosts of one, and says whether any counts.
fn first(
    search: &mut Search<'_>,
    name: &str,
    add: impl Fn(&mut Search<'_>, &str, &Place) -> bool,
) -> String {
    for (value, place) in values(search, name) {
        if add(search, &value, &place) || search.obeys(&place) {
            return value;
        }
    }
    let answer = client::ask(search, "go", &["env", name], &NO_FILES);
    let answer = answer.unwrap_or_default().trim().to_owned();
    if answer.is_empty() {
        search.notice(format!("go was not found, or does not say its {name}"));
    }
    add(search, &answer, &Place::Variable(format!("go env {name}")));
    answer
}

/// The values of a setting in the order in which go itself looks for it.
fn values(search: &Search<'_>, name: &str) -> Vec<(String, Place)> {
    let mut found = Vec::new();
    if let Some(value) = search.variable(name) {
        found.push((value, Place::Variable(name.to_owned())));
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
    for file in files {
        let text = search.read(&file).unwrap_or_default();
        let settings = text.lines().filter_map(|line| line.split_once('='));
        let value = settings
            .filter(|(key, value)| key.trim() == name && !value.trim().is_empty())
            .map(|(_, value)| value.trim().to_owned())
            .next();
        found.extend(value.map(|value| (value, Place::File(file))));
    }
    found
}

#[cfg(test)]
#[path = "go_tests.rs"]
mod tests;
