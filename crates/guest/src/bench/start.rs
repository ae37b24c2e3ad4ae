//! A program's start, from a cache that has forgotten it as far as that can be had.

use super::answer::{Answer, Done};
use super::caches;
use super::resident::resident;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// Where an image has its programs. The search path also leads to the user's own ones.
const IMAGE: [&str; 5] = [
    "/opt/ai-clis/bin",
    "/opt/venv/bin",
    "/usr/local/bin",
    "/usr/bin",
    "/bin",
];

/// The file of a program that is named by a path, or that the image has.
fn found(program: &str) -> Option<PathBuf> {
    // A path that begins with a slash is that path, whatever it is put behind.
    let all = IMAGE.iter().map(|folder| Path::new(folder).join(program));
    let mut all = all.filter(|path| path.is_file());
    all.next()
}

/// `PROGRAM --version`, after the cache has forgotten (`file`: the program's own file, `machine`: all
/// that this kernel holds, `nothing`).
pub(super) fn start(program: &str, how: &str) -> Done {
    let Some(path) = found(program) else {
        return Ok(Answer::default().number("absent", 1));
    };
    let path = path.canonicalize().map_err(|e| format!("{program}: {e}"))?;
    caches::forget([path.as_path()], how)?;
    let held = File::open(&path).and_then(|file| resident(&file));
    let began = Instant::now();
    let output = Command::new(&path)
        .arg("--version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", path.display()))?;
    let took = began.elapsed();
    let said = String::from_utf8_lossy(&output.stdout);
    let said = said.lines().next().unwrap_or_default();
    match output.status.code() {
        Some(0) if said.bytes().any(|byte| byte.is_ascii_digit()) => Ok(Answer::default()
            .took(took)
            .number("resident", held.unwrap_or_default())
            .text("path", &path.to_string_lossy())
            .text("said", said)),
        _ => Err(format!("{}: {}: {said}", path.display(), output.status)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_path_or_in_the_image_and_says_its_version() {
        assert_eq!(found("/bin/sh"), Some("/bin/sh".into()));
        assert_eq!(found("no-such-program"), None);
        let answer = start("no-such-program", "nothing").unwrap().line();
        assert_eq!(answer, r#"{"absent":1}"#);
        // One that fails is no start.
        assert!(start("/bin/false", "nothing").is_err());
    }
}
