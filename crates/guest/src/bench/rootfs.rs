//! The system's own files: where a sandbox has its programs from.

use super::answer::{Answer, Done, at};
use super::caches;
use super::known::places;
use std::fs::{File, read_dir};
use std::io::Read as _;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Where they are.
const FOLDERS: [&str; 3] = ["/usr/bin", "/usr/lib", "/opt/ai-clis"];
const BLOCK: usize = 1 << 20;
const PAGE: usize = 4096;
/// How many files count as the large ones.
const LARGE: usize = 3;
/// How many files count as the small ones, and how long they are.
const SMALL: usize = 113;
const SMALL_BYTES: std::ops::Range<u64> = 4096..16_384;

/// What there is.
pub(super) struct Files {
    /// Everything that is not a folder or a link, by length, the longest first.
    files: Vec<(u64, PathBuf)>,
}

/// Looks at every entry; how many there are.
fn walk(folder: &Path, files: &mut Vec<(u64, PathBuf)>) -> Result<u64, String> {
    let mut seen = 0;
    for entry in read_dir(folder).map_err(at(folder))? {
        let path = entry.map_err(at(folder))?.path();
        let metadata = path.symlink_metadata().map_err(at(&path))?;
        seen += 1;
        if metadata.is_dir() {
            seen += walk(&path, files)?;
        } else if metadata.is_file() {
            files.push((metadata.len(), path));
        }
    }
    Ok(seen)
}

impl Files {
    /// Finds those that can be read.
    pub(super) fn find() -> Result<Self, String> {
        let (mut found, _) = Self::walked()?;
        let readable = rustix::fs::Access::READ_OK;
        found
            .files
            .retain(|(_, path)| rustix::fs::access(path, readable).is_ok());
        Ok(found)
    }

    fn walked() -> Result<(Self, u64), String> {
        let mut files = Vec::new();
        let mut seen = 0;
        for folder in FOLDERS.iter().map(Path::new).filter(|path| path.is_dir()) {
            seen += walk(folder, &mut files)?;
        }
        files.sort_by(|a, b| b.cmp(a));
        Ok((Self { files }, seen))
    }

    fn longest(&self, count: usize) -> &[(u64, PathBuf)] {
        self.files
            .get(..count.min(self.files.len()))
            .unwrap_or_default()
    }

    /// The longest ones in blocks of 1 MiB: one, or all that count as large.
    pub(super) fn sequential(&self, all: bool, how: &str) -> Done {
        let chosen = self.longest(if all { LARGE } else { 1 });
        caches::forget(chosen.iter().map(|(_, path)| path.as_path()), how)?;
        let mut block = vec![1; BLOCK];
        let began = Instant::now();
        let mut bytes = 0;
        for (length, path) in chosen {
            let mut file = File::open(path).map_err(at(path))?;
            let mut read = 0;
            loop {
                match file.read(&mut block).map_err(at(path))? {
                    0 => break,
                    more => read += more as u64,
                }
            }
            if read != *length {
                return Err(format!("{}: {read} of {length} bytes", path.display()));
            }
            bytes += read;
        }
        let took = began.elapsed();
        let count = chosen.len() as u64;
        Ok(Answer::default()
            .took(took)
            .number("bytes", bytes)
            .number("count", count))
    }

    /// Pages at random, over all files that are longer than one, each with its open.
    pub(super) fn random(&self, count: u64, seed: u64, how: &str) -> Done {
        let longer = self
            .files
            .iter()
            .take_while(|(length, _)| *length > PAGE as u64);
        let longer: Vec<_> = longer.collect();
        caches::forget(longer.iter().map(|(_, path)| path.as_path()), how)?;
        let mut page = vec![1; PAGE];
        let files = longer.len() as u64;
        let began = Instant::now();
        let offsets = places(u64::MAX, count, seed ^ 1);
        for (place, offset) in places(files, count, seed).zip(offsets) {
            let Some((length, path)) = longer.get(usize::try_from(place).unwrap_or_default())
            else {
                return Err("there are no files".to_owned());
            };
            let pages = length / PAGE as u64;
            let file = File::open(path).map_err(at(path))?;
            file.read_exact_at(&mut page, offset % pages * PAGE as u64)
                .map_err(at(path))?;
        }
        let took = began.elapsed();
        Ok(Answer::default()
            .took(took)
            .number("count", count)
            .number("files", files))
    }

    /// Small files, each whole with its open, again and again.
    pub(super) fn small(&self, count: u64, how: &str) -> Done {
        let small = self
            .files
            .iter()
            .filter(|(length, _)| SMALL_BYTES.contains(length));
        let small: Vec<_> = small.collect();
        // Spread over all of them.
        let step = (small.len() / SMALL).max(1);
        let chosen: Vec<_> = small.into_iter().step_by(step).take(SMALL).collect();
        caches::forget(chosen.iter().map(|(_, path)| path.as_path()), how)?;
        let mut contents = vec![1; usize::try_from(SMALL_BYTES.end).unwrap_or_default()];
        let began = Instant::now();
        let mut bytes = 0;
        for (length, path) in chosen
            .iter()
            .cycle()
            .take(usize::try_from(count).unwrap_or_default())
        {
            let mut file = File::open(path).map_err(at(path))?;
            let read = file.read(&mut contents).map_err(at(path))? as u64;
            if read != *length {
                return Err(format!("{}: {read} of {length} bytes", path.display()));
            }
            bytes += read;
        }
        let took = began.elapsed();
        let files = chosen.len() as u64;
        let answer = Answer::default().took(took).number("bytes", bytes);
        Ok(answer.number("count", count).number("files", files))
    }
}

/// Everything is looked at once.
pub(super) fn look(how: &str) -> Done {
    caches::forget([], how)?;
    let began = Instant::now();
    let (_, seen) = Files::walked()?;
    Ok(Answer::default()
        .took(began.elapsed())
        .number("count", seen))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_read_is_as_long_as_it_is_said_to_be() {
        let path = std::env::temp_dir().join(format!("guest-rootfs-{}", std::process::id()));
        std::fs::write(&path, vec![7; 10_000]).unwrap();
        let of = |length| Files {
            files: vec![(length, path.clone())],
        };
        let answer = of(10_000).sequential(false, "nothing").unwrap().line();
        assert!(answer.contains("\"bytes\":10000"), "{answer}");
        assert!(of(10_001).sequential(true, "nothing").is_err());
        assert!(of(10_000).random(50, 3, "file").is_ok());
        assert!(
            of(10_000)
                .small(7, "nothing")
                .unwrap()
                .line()
                .contains("\"bytes\":70000")
        );
        // A page that is not there is not read.
        assert!(of(100_000).random(50, 3, "nothing").is_err());
        std::fs::remove_file(path).unwrap();
    }
}
