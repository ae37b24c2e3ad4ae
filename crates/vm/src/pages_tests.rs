use super::*;
use proptest::prelude::*;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::unix::process::parent_id;
use std::ptr::null_mut;

const PAGES: usize = 700;

/// A file of which page N is full of N, and a mapping of it that is this process's own.
struct Mapped {
    file: tempfile::NamedTempFile,
    at: *mut u8,
}

impl Mapped {
    fn new(file: tempfile::NamedTempFile) -> Self {
        let length = PAGES * page_size();
        let (rights, private) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping where the kernel has room for it.
        let at = unsafe { mmap(null_mut(), length, rights, private, &file, 0) };
        let at = at.unwrap().cast();
        Self { file, at }
    }

    fn fresh() -> Self {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        for page in 0..PAGES {
            file.write_all(&vec![page as u8; page_size()]).unwrap();
        }
        Self::new(file)
    }

    fn page(&mut self, page: usize) -> &mut [u8] {
        assert!(page < PAGES);
        // SAFETY: it lies in the mapping, which lives as long as this and is nobody else's.
        unsafe { std::slice::from_raw_parts_mut(self.at.add(page * page_size()), page_size()) }
    }

    fn memory(&self) -> Memory {
        let own = std::process::id().to_string();
        Memory::of(&own, self.file.path(), (PAGES * page_size()) as u64).unwrap()
    }

    /// The same file, mapped anew.
    fn again(self) -> Self {
        self.unmap();
        Self::new(self.file)
    }

    fn unmap(&self) {
        // SAFETY: what was mapped, of which no reference is left.
        unsafe { munmap(self.at.cast(), PAGES * page_size()) }.unwrap();
    }
}

#[test]
fn what_was_written_goes_along_and_nothing_else() {
    let mut mapped = Mapped::fresh();
    // What was only read is the file's.
    assert_eq!(mapped.page(3)[0], 3);
    let written: Vec<usize> = [0, 5, 6, 7, PAGES - 1]
        .into_iter()
        .chain(100..500)
        .collect();
    for page in &written {
        mapped.page(*page).fill(0xee);
    }
    let mut saved = Vec::new();
    mapped.memory().save(&mut saved).unwrap();
    let content = written.len() * page_size();
    assert_eq!(saved.len(), 8 + 4 * 16 + content);
    let mut other = mapped.again();
    assert_eq!(other.page(5)[0], 5);
    other.memory().load(&mut &saved[..]).unwrap();
    for page in 0..PAGES {
        let expected = match written.contains(&page) {
            true => 0xee,
            false => page as u8,
        };
        assert!(
            other.page(page).iter().all(|byte| *byte == expected),
            "{page}"
        );
    }
    // The file is what it was.
    let mut file = other.again();
    assert_eq!(file.page(5)[0], 5);
}

#[test]
fn another_file_or_size_is_not_found() {
    let mapped = Mapped::fresh();
    let own = std::process::id().to_string();
    let bytes = (PAGES * page_size()) as u64;
    let kind = |file: &Path, bytes| Memory::of(&own, file, bytes).err().unwrap().kind();
    let other = tempfile::NamedTempFile::new().unwrap();
    assert_eq!(kind(other.path(), bytes), ErrorKind::NotFound);
    assert_eq!(kind(mapped.file.path(), bytes - 4096), ErrorKind::NotFound);
    // Nor is this process a child of whoever has others.
    let parent = i32::try_from(parent_id()).unwrap();
    let found = Memory::of_child(parent, other.path(), bytes);
    assert!(found.is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn what_was_not_written_for_it_is_refused_or_stays_in_bounds(
        mut words in prop::collection::vec(prop_oneof![0_u64..8, any::<u64>()], 1..12),
        content in 0_usize..40_000,
    ) {
        words[0] = words[0].min(6);
        let mapped = Mapped::fresh();
        let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        bytes.extend(vec![0xaa; content]);
        let loaded = mapped.memory().load(&mut &bytes[..]);
        let ranges: Vec<&[u64]> = words[1..].chunks_exact(2).take(words[0] as usize).collect();
        let mut least = 0;
        let fits = ranges.iter().all(|range| {
            let end = range[0].checked_add(range[1]).filter(|end| *end <= PAGES as u64);
            let is_behind = range[0] >= least;
            least = end.unwrap_or(least);
            is_behind && end.is_some()
        });
        if !fits {
            prop_assert!(loaded.is_err());
        }
    }
}
