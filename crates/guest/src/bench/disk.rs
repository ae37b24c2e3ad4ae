//! A file: written and read in order, and at random. The figures that count are those of an empty cache,
//! so what is in it is counted after it was emptied.

use super::answer::{Answer, Done, at};
use super::caches;
use super::known::{Known, PAGE, begins, places, times};
use super::resident::resident;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Instant;

/// Bytes that are read or written at once in order.
const BLOCK: usize = 1 << 20;

fn pages(bytes: u64) -> u64 {
    bytes / PAGE as u64
}

/// A whole number of blocks, because the pages are made block by block.
fn blocks(bytes: u64) -> Result<u64, String> {
    match bytes % BLOCK as u64 {
        0 if bytes > 0 => Ok(bytes / BLOCK as u64),
        _ => Err(format!("{bytes} bytes are no whole number of blocks")),
    }
}

/// Writes a new file in order, and waits until it is on its disk.
pub(super) fn write(path: &Path, bytes: u64) -> Done {
    let blocks = blocks(bytes)?;
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(at(path)(error)),
        _ => {}
    }
    let mut known = Known::new();
    let began = Instant::now();
    let mut file = File::create_new(path).map_err(at(path))?;
    for block in 0..blocks {
        let pages = known.pages(block * pages(BLOCK as u64), BLOCK / PAGE);
        file.write_all(pages).map_err(at(path))?;
    }
    file.sync_all().map_err(at(path))?;
    Ok(Answer::default()
        .took(began.elapsed())
        .number("bytes", bytes))
}

/// Reads it in order; each page has to be the one that stands there.
pub(super) fn read(path: &Path, bytes: u64) -> Done {
    let blocks = blocks(bytes)?;
    // Touched before the clock starts: to fill a program's memory is no reading.
    let mut block = vec![1; BLOCK];
    let began = Instant::now();
    let mut file = File::open(path).map_err(at(path))?;
    for number in 0..blocks {
        file.read_exact(&mut block).map_err(at(path))?;
        let first = number * pages(BLOCK as u64);
        let wrong = (first..).zip(block.chunks_exact(PAGE));
        if let Some((page, _)) = wrong.into_iter().find(|(n, page)| !begins(page, *n, 0)) {
            return Err(format!("{}: page {page} is another", path.display()));
        }
    }
    Ok(Answer::default()
        .took(began.elapsed())
        .number("bytes", bytes))
}

/// Reads pages at random.
pub(super) fn random_read(path: &Path, bytes: u64, count: u64, seed: u64) -> Done {
    let mut page = vec![1; PAGE];
    let began = Instant::now();
    let file = File::open(path).map_err(at(path))?;
    for place in places(pages(bytes), count, seed) {
        file.read_exact_at(&mut page, place * PAGE as u64)
            .map_err(at(path))?;
        if !begins(&page, place, 0) {
            return Err(format!("{}: page {place} is another", path.display()));
        }
    }
    Ok(Answer::default()
        .took(began.elapsed())
        .number("count", count))
}

/// Writes pages at random, and waits after each until it is on its disk.
pub(super) fn random_write(path: &Path, bytes: u64, count: u64, seed: u64) -> Done {
    let mut known = Known::new();
    let mut times = vec![0; usize::try_from(pages(bytes)).unwrap_or_default()];
    let began = Instant::now();
    let file = File::options().write(true).open(path).map_err(at(path))?;
    for place in places(pages(bytes), count, seed) {
        let Some(times) = times.get_mut(usize::try_from(place).unwrap_or(usize::MAX)) else {
            return Err(format!("there is no page {place}"));
        };
        *times += 1;
        file.write_all_at(known.page(place, *times), place * PAGE as u64)
            .map_err(at(path))?;
        file.sync_data().map_err(at(path))?;
    }
    Ok(Answer::default()
        .took(began.elapsed())
        .number("count", count))
}

/// Whether every byte of it is as it should be after that work.
pub(super) fn check(path: &Path, bytes: u64, count: u64, seed: u64) -> Done {
    let mut known = Known::new();
    let times = times(pages(bytes), count, seed);
    let mut file = File::open(path).map_err(at(path))?;
    let mut page = vec![0; PAGE];
    for (number, times) in (0..).zip(times) {
        file.read_exact(&mut page).map_err(at(path))?;
        if page != known.page(number, times) {
            return Err(format!("{}: page {number} is another", path.display()));
        }
    }
    match file.read(&mut page).map_err(at(path))? {
        0 => Ok(Answer::default().number("bytes", bytes)),
        _ => Err(format!("{}: it is longer than {bytes}", path.display())),
    }
}

/// Empties the cache: of this file (`file`), or of the whole machine as well (`machine`). Answers with
/// how many of the file's pages are in it then.
pub(super) fn forget(path: &Path, how: &str) -> Done {
    let file = File::open(path).map_err(at(path))?;
    file.sync_all().map_err(at(path))?;
    caches::forget([path], "file")?;
    if how != "file" {
        caches::forget([], how)?;
    }
    Ok(Answer::default().number("resident", resident(&file).map_err(at(path))?))
}

#[cfg(test)]
#[path = "disk_tests.rs"]
mod tests;
