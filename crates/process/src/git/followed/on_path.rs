//! Where a shell looks for programs because of a script, of direnv's or mise's.

use super::super::leads::plain;
use super::scripts::words;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// So many folders in which a shell would look for programs are known of a text.
const ON_PATH: usize = 4000;

/// The folders that a script puts where programs are looked for, from `folder` on, whether they are there or not.
pub(super) fn on_path(text: &[u8], folder: &Path) -> Vec<PathBuf> {
    let mut folders = BTreeSet::new();
    for line in about_paths(text) {
        // What direnv's `load_prefix` takes has a folder of programs.
        let is_prefix = words(&line).any(|word| word == b"load_prefix");
        let parts = words(&line).flat_map(|word| word.split(|byte| b":,[]".contains(byte)));
        for part in parts.filter(|part| !part.is_empty() && !is_about_path(part)) {
            // `$PWD/x`, `${PWD}/x`, what is left of `$(pwd)/x`, and what mise says.
            let begins: [&[u8]; 5] = [b"PWD/", b"{PWD}/", b"{{config_root}}/", b"}}/", b"/"];
            let here = begins.iter().find_map(|begin| part.strip_prefix(*begin));
            for part in [part, here.unwrap_or(part)] {
                let at = plain(&folder.join(OsStr::from_bytes(part)));
                if is_prefix {
                    folders.insert(at.join("bin"));
                }
                folders.insert(at);
            }
            if folders.len() > ON_PATH {
                return folders.into_iter().collect();
            }
        }
    }
    folders.remove(folder);
    folders.into_iter().collect()
}

/// The lines that say where programs are looked for, without comments; where one takes a variable, those that set any.
fn about_paths(text: &[u8]) -> Vec<Vec<u8>> {
    let mut lines: Vec<Vec<u8>> = vec![Vec::new()];
    // A line goes on behind a backslash, and within the brackets of a list.
    let (mut goes_on, mut open) = (false, 0_usize);
    for line in text.split(|byte| *byte == b'\n') {
        let comment = (0..line.len())
            .find(|at| line[*at] == b'#' && (*at == 0 || line[*at - 1].is_ascii_whitespace()));
        let line = &line[..comment.unwrap_or(line.len())];
        if !goes_on && open == 0 {
            lines.push(Vec::new());
        }
        let count = |which: u8| line.iter().filter(|byte| **byte == which).count();
        open = (open + count(b'[')).saturating_sub(count(b']'));
        let own = line.strip_suffix(b"\\");
        goes_on = own.is_some();
        if let Some(last) = lines.last_mut() {
            last.extend_from_slice(own.unwrap_or(line));
            last.push(b' ');
        }
    }
    let is_about = |line: &Vec<u8>| {
        words(line).any(|word| {
            let lower = word.to_ascii_lowercase();
            lower == b"load_prefix" || lower == b"path_add" || lower.ends_with(b"path")
        })
    };
    let takes_variable = |line: &Vec<u8>| {
        let mut takes = line.split(|byte| *byte == b'$').skip(1);
        let known: [&[u8]; 4] = [b"PWD", b"PATH", b"{PWD", b"(pwd"];
        takes.any(|name| !known.iter().any(|known| name.starts_with(known)))
    };
    let sets = lines
        .iter()
        .filter(|line| is_about(line))
        .any(takes_variable);
    lines.retain(|line| is_about(line) || sets && line.contains(&b'='));
    lines
}

/// Whether a word of such a line is none of a folder.
fn is_about_path(word: &[u8]) -> bool {
    const WORDS: [&[u8]; 10] = [
        b"PATH",
        b"PATH_add",
        b"path_add",
        b"_.path",
        b"path",
        b"export",
        b"env",
        b"PWD",
        b"pwd",
        b"load_prefix",
    ];
    WORDS.contains(&word)
}
