use super::*;
use proptest::prelude::*;
use std::os::unix::fs::MetadataExt as _;
use tempfile::TempDir;

#[test]
fn a_disk_has_a_file_system_and_takes_little_room() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("disk");
    format(&path, 1 << 30).unwrap();
    let meta = std::fs::metadata(&path).unwrap();
    assert_eq!(meta.len(), 1 << 30);
    assert!(
        meta.blocks() * 512 < 4 << 20,
        "{} bytes",
        meta.blocks() * 512
    );
    let mut magic = [0; 2];
    File::open(&path)
        .unwrap()
        .read_exact_at(&mut magic, 1024 + 56)
        .unwrap();
    assert_eq!(magic, [0x53, 0xef], "ext4's own number");
}

#[test]
fn a_disk_that_holds_nothing_is_refused_with_what_would_do() {
    let folder = TempDir::new().unwrap();
    let failure = format(&folder.path().join("disk"), 1 << 20).unwrap_err();
    assert_eq!(failure.exit_code(), 2);
    assert!(failure.to_string().contains("16 MiB"), "{failure}");
}

#[test]
fn a_copy_to_another_file_system_is_the_same() {
    let (here, there) = (
        TempDir::new().unwrap(),
        TempDir::new_in("/dev/shm").unwrap(),
    );
    let (from, to) = (here.path().join("from"), there.path().join("to"));
    let file = create(&from).unwrap();
    file.set_len(9 << 20).unwrap();
    file.write_all_at(&vec![7; 1_000_000], 4 << 20).unwrap();
    copy_path(&from, &to).unwrap();
    assert!(std::fs::read(&from).unwrap() == std::fs::read(&to).unwrap());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn a_copy_has_the_same_bytes_and_no_more_room(
        parts in proptest::collection::vec((0_u64..1024, 1_usize..9000), 0..12),
    ) {
        let folder = TempDir::new().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        let file = create(&from).unwrap();
        file.set_len(5 << 20).unwrap();
        for (block, length) in parts {
            file.write_all_at(&vec![block as u8 | 1; length], block * 4096).unwrap();
        }
        copy_path(&from, &to).unwrap();
        prop_assert!(std::fs::read(&from).unwrap() == std::fs::read(&to).unwrap());
        let blocks = |path: &Path| std::fs::metadata(path).unwrap().blocks();
        prop_assert!(blocks(&to) <= blocks(&from) + 16);
    }
}
