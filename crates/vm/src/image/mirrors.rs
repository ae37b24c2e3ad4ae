//! Where packages come from.
//!
//! Decision: no name of a server stands here. Whoever builds says where (`--mirror`, or the variable
//! `BAILIWICK_MIRROR`); else it is where the machine itself gets packages of the same release; else
//! mmdebstrap knows. Of the machine's own entries only the release itself is taken, with its updates,
//! never what somebody added beside it: an image is the distribution's.

use std::path::Path;

/// What mmdebstrap is told: addresses or lines of a `sources.list`; nothing, if it knows by itself.
pub(super) fn choose(given: &[String], suite: &str) -> Vec<String> {
    if !given.is_empty() {
        return given.to_vec();
    }
    let variable = std::env::var("BAILIWICK_MIRROR").unwrap_or_default();
    if !variable.trim().is_empty() {
        return variable
            .lines()
            .map(|line| line.trim().to_owned())
            .collect();
    }
    of_machine(Path::new("/etc"), suite)
}

/// The machine's own lines for this release, if it is a Debian of it. `etc` is `/etc`.
fn of_machine(etc: &Path, suite: &str) -> Vec<String> {
    let read = |path: &Path| std::fs::read_to_string(path).unwrap_or_default();
    let release = read(&etc.join("os-release"));
    let has = |line: &str| release.lines().any(|l| l.replace('"', "") == line);
    if !has("ID=debian") || !has(&format!("VERSION_CODENAME={suite}")) {
        return Vec::new();
    }
    let apt = etc.join("apt");
    let mut lines = one_line(&read(&apt.join("sources.list")), suite);
    let mut files: Vec<_> = std::fs::read_dir(apt.join("sources.list.d"))
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.sort();
    for file in files {
        match file.extension().and_then(|e| e.to_str()) {
            Some("list") => lines.extend(one_line(&read(&file), suite)),
            Some("sources") => lines.extend(stanzas(&read(&file), suite)),
            _ => {}
        }
    }
    // Updates alone are no release.
    match lines
        .iter()
        .any(|line| line.ends_with(&format!(" {suite} main")))
    {
        true => lines,
        false => Vec::new(),
    }
}

/// One line for mmdebstrap, if the entry is of the release itself.
fn line(
    address: &str,
    entry: &str,
    components: &[&str],
    signed: Option<&str>,
    suite: &str,
) -> Option<String> {
    let own = [
        suite.to_owned(),
        format!("{suite}-updates"),
        format!("{suite}-security"),
    ];
    if !own.iter().any(|own| own == entry) || !components.contains(&"main") {
        return None;
    }
    let options = signed.map_or(String::new(), |key| format!("[signed-by={key}] "));
    Some(format!("deb {options}{address} {entry} main"))
}

/// The form `deb [options] address suite components`.
fn one_line(text: &str, suite: &str) -> Vec<String> {
    let mut lines = Vec::new();
    for text in text.lines() {
        let text = text.split('#').next().unwrap_or_default().trim();
        let Some(rest) = text.strip_prefix("deb ") else {
            continue;
        };
        let (options, rest) = match rest.trim_start().strip_prefix('[') {
            Some(rest) => rest.split_once(']').unwrap_or((rest, "")),
            None => ("", rest),
        };
        let signed = options
            .split_whitespace()
            .find_map(|o| o.strip_prefix("signed-by="));
        let mut words = rest.split_whitespace();
        if let (Some(address), Some(entry)) = (words.next(), words.next()) {
            lines.extend(line(
                address,
                entry,
                &words.collect::<Vec<_>>(),
                signed,
                suite,
            ));
        }
    }
    lines
}

/// The form of paragraphs with `URIs:`, `Suites:` and `Components:`.
fn stanzas(text: &str, suite: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let clean: Vec<_> = text.lines().filter(|line| !line.starts_with('#')).collect();
    for stanza in clean.join("\n").split("\n\n") {
        let field = |name: &str| {
            let value = stanza.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then_some(value.trim())
            });
            value.unwrap_or_default()
        };
        if !field("Types").split_whitespace().any(|t| t == "deb") || field("Enabled") == "no" {
            continue;
        }
        let components: Vec<_> = field("Components").split_whitespace().collect();
        let signed = Some(field("Signed-By")).filter(|key| key.starts_with('/'));
        for address in field("URIs").split_whitespace() {
            for entry in field("Suites").split_whitespace() {
                lines.extend(line(address, entry, &components, signed, suite));
            }
        }
    }
    lines
}

#[cfg(test)]
#[path = "mirrors_tests.rs"]
mod tests;
