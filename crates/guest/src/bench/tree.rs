//! A tree of small files: made, looked at, and asked about by git.

use super::answer::{Answer, Done, at};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Files of a folder.
const IN_FOLDER: u64 = 20;
/// What each file holds.
const TEXT: &[u8] = &[b'x'; 512];

/// Makes a new one of so many files, one after the other.
pub(super) fn make(top: &Path, files: u64) -> Done {
    match fs::remove_dir_all(top) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(top)(error)),
        _ => {}
    }
    let began = Instant::now();
    fs::create_dir(top).map_err(at(top))?;
    for file in 0..files {
        let folder = top.join(format!("folder{}", file / IN_FOLDER));
        if file % IN_FOLDER == 0 {
            fs::create_dir(&folder).map_err(at(&folder))?;
        }
        let path = folder.join(format!("file{file}"));
        fs::write(&path, TEXT).map_err(at(&path))?;
    }
    Ok(Answer::default()
        .took(began.elapsed())
        .number("files", files))
}

/// Looks at everything in it (lstat(2)) but what git keeps.
pub(super) fn walk(top: &Path) -> Done {
    let (mut files, mut bytes) = (0, 0);
    let mut open: Vec<PathBuf> = vec![top.to_owned()];
    let began = Instant::now();
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(&folder).map_err(at(&folder))? {
            let path = entry.map_err(at(&folder))?.path();
            let meta = fs::symlink_metadata(&path).map_err(at(&path))?;
            if meta.is_dir() {
                if !path.ends_with(".git") {
                    open.push(path);
                }
                continue;
            }
            files += 1;
            bytes += meta.size();
        }
    }
    Ok(Answer::default()
        .took(began.elapsed())
        .number("files", files)
        .number("bytes", bytes))
}

/// Asks git what has changed in it, which is nothing; makes a repository of it before, where it is none.
pub(super) fn status(top: &Path) -> Done {
    if !top.join(".git").exists() {
        git(top, &["init", "-q"])?;
        git(top, &["add", "-A"])?;
        git(top, &["commit", "-q", "-m", "all"])?;
    }
    let began = Instant::now();
    let said = git(top, &["status", "--porcelain"])?;
    let took = began.elapsed();
    match said.as_str() {
        "" => Ok(Answer::default().took(took)),
        said => Err(format!("git says that something has changed: {said}")),
    }
}

fn git(top: &Path, words: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .args(["-c", "user.name=bench", "-c", "user.email=bench@localhost"])
        .args(words)
        .current_dir(top)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .map_err(|error| format!("git: {error}"))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr);
            Err(format!("git {}: {}", words.join(" "), said.trim()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_made_anew_and_seen_as_it_is() {
        let name = format!("bailiwick-bench-tree-{}", std::process::id());
        let top = std::env::temp_dir().join(name);
        for files in [45, 21] {
            assert!(
                make(&top, files)
                    .unwrap()
                    .line()
                    .contains(&format!("\"files\":{files}"))
            );
            let seen = walk(&top).unwrap().line();
            let expected = format!("\"files\":{files},\"bytes\":{}", files * 512);
            assert!(seen.contains(&expected), "{seen}");
        }
        status(&top).unwrap();
        fs::write(top.join("new"), "").unwrap();
        assert!(status(&top).unwrap_err().contains("?? new"));
        fs::remove_dir_all(&top).unwrap();
    }
}
