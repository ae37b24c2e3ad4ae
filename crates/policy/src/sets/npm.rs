//! `@npm`: the registries of `.npmrc` files and variables, and npm's built-in one from its own
//! files.

use super::{Search, client, ini};
use std::path::PathBuf;

/// What keeps npm from the user's file: it was read here, and may be the workspace's.
const NO_FILES: [(&str, &str); 1] = [("npm_config_userconfig", "/dev/null")];

pub(crate) fn find(search: &mut Search<'_>) {
    let mut default = false;
    for file in files(search) {
        let Some(text) = search.read(&file) else {
            continue;
        };
        for (_, key, value) in ini::entries(&text) {
            if key == "registry" {
                default |= search.add_from(&value, &file);
            } else if key.starts_with('@') && key.ends_with(":registry") {
                search.add_from(&value, &file);
            }
        }
    }
    let variables: Vec<(String, String)> = search
        .request
        .environment
        .iter()
        .filter_map(|(k, v)| Some((k.to_str()?.to_owned(), v.to_str()?.to_owned())))
        .filter(|(k, v)| k.to_ascii_lowercase().starts_with("npm_config_") && !v.is_empty())
        .collect();
    for (name, value) in variables {
        let key = name["npm_config_".len()..].to_ascii_lowercase();
        if key == "registry" {
            default |= search.add_own(&value, &name);
        } else if key.starts_with('@') && key.ends_with(":registry") {
            search.add_own(&value, &name);
        }
    }
    if !default {
        built_in(search);
    }
}

fn files(search: &Search<'_>) -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/npmrc"), PathBuf::from("/usr/etc/npmrc")];
    let user = search
        .variable("npm_config_userconfig")
        .or_else(|| search.variable("NPM_CONFIG_USERCONFIG"));
    files.push(user.map_or_else(|| search.home(".npmrc"), PathBuf::from));
    files.push(search.workspace.join(".npmrc"));
    files
}

/// The registry that npm uses when nothing configures one.
fn built_in(search: &mut Search<'_>) {
    for program in client::on_path(search, "npm") {
        let real = program.canonicalize().unwrap_or(program);
        // …/npm/bin/npm-cli.js, or a package that links to it.
        for folder in real.ancestors().skip(2).take(3) {
            for modules in [
                "node_modules",
                "lib/node_modules/npm/node_modules",
                "../node_modules",
                "",
            ] {
                let file = folder
                    .join(modules)
                    .join("@npmcli/config/lib/definitions/definitions.js");
                let Some(url) = search
                    .read_installed(&file)
                    .as_deref()
                    .and_then(default_registry)
                else {
                    continue;
                };
                if search.add_own(&url, &search.shown(&file)) {
                    return;
                }
            }
        }
    }
    let words = ["config", "get", "registry", "--global"];
    let answer = client::ask(search, "npm", &words, &NO_FILES);
    if !answer.is_some_and(|url| search.add_own(&url, "npm config get registry")) {
        search.notice("npm was not found, or does not say which registry it uses".to_owned());
    }
}

/// The default of the definition `registry`.
fn default_registry(text: &str) -> Option<String> {
    let definition = text
        .find("new Definition('registry'")
        .or_else(|| text.find("define('registry'"))?;
    let rest = &text[definition..];
    let value = rest[rest.find("default:")? + "default:".len()..].trim_start();
    let quote = value.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    value[1..].split(quote).next().map(str::to_owned)
}

#[cfg(test)]
#[path = "npm_tests.rs"]
mod tests;
