//! `@maven`: mirrors and repositories of `settings.xml`. Maven's built-in repository is packed
//! away in a compressed archive of its own; it is not read, and the notice says what to add.

use super::{Search, client};
use std::path::{Path, PathBuf};

pub(crate) fn find(search: &mut Search<'_>) {
    let mut files = vec![search.home(".m2/settings.xml")];
    for program in client::on_path(search, "mvn") {
        let real = program.canonicalize().unwrap_or(program);
        files.extend(
            real.parent()
                .and_then(Path::parent)
                .map(|p| p.join("conf/settings.xml")),
        );
    }
    files.push(PathBuf::from("/etc/maven/settings.xml"));
    let mut mirrored = false;
    for file in files {
        let Some(text) = search.read(&file) else {
            continue;
        };
        let text = without_comments(&text);
        for element in ["mirror", "repository", "pluginRepository"] {
            for body in elements(&text, element) {
                for url in elements(&body, "url") {
                    // This one is a bait: maven's own stand-in for "blocked".
                    let blocked = elements(&body, "blocked")
                        .iter()
                        .any(|b| b.trim() == "true");
                    if !blocked && search.add_from(&url, &file) {
                        let of = elements(&body, "mirrorOf").join(",");
                        mirrored |= of
                            .split(',')
                            .any(|o| matches!(o.trim(), "*" | "central" | "external:*"));
                    }
                }
            }
        }
    }
    if !mirrored {
        search.notice("maven's built-in repository is not known here; add its machine to [network] allow if you use it".to_owned());
    }
}

fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, comment)) = rest.split_once("<!--") {
        out.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// What stands between `<name>` and `</name>`, without attributes.
fn elements(text: &str, name: &str) -> Vec<String> {
    let (open, close) = (format!("<{name}>"), format!("</{name}>"));
    let parts = text.split(open.as_str()).skip(1);
    parts
        .filter_map(|part| {
            part.split_once(close.as_str())
                .map(|(body, _)| body.trim().to_owned())
        })
        .collect()
}

#[cfg(test)]
#[path = "maven_tests.rs"]
mod tests;
