use super::*;
use std::path::PathBuf;

const BYTES: u64 = 2 << 20;

fn file(name: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("guest-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder.join(name)
}

fn change(path: &Path, at: u64) {
    let file = File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at).unwrap();
    file.write_all_at(&[byte[0] ^ 1], at).unwrap();
}

#[test]
fn what_is_written_is_what_is_read_and_has_no_hole() {
    let path = file("whole");
    write(&path, BYTES).unwrap();
    assert!(read(&path, BYTES).is_ok() && check(&path, BYTES, 0, 0).is_ok());
    assert!(random_read(&path, BYTES, 100, 3).is_ok());
    let bytes = std::fs::read(&path).unwrap();
    assert!(
        bytes
            .chunks(PAGE)
            .all(|page| page.iter().any(|byte| *byte != 0))
    );
    // Any other file is not taken for it.
    change(&path, 5 * PAGE as u64);
    assert!(read(&path, BYTES).unwrap_err().contains("page 5 "));
    assert!(
        random_read(&path, BYTES, 10_000, 3)
            .unwrap_err()
            .contains("page 5 ")
    );
}

#[test]
fn a_byte_in_the_middle_of_a_page_is_found_by_the_check_of_all() {
    let path = file("one-byte");
    write(&path, BYTES).unwrap();
    change(&path, 7 * PAGE as u64 + 1000);
    assert!(check(&path, BYTES, 0, 0).unwrap_err().contains("page 7 "));
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(BYTES - 1)
        .unwrap();
    change(&path, 7 * PAGE as u64 + 1000);
    assert!(check(&path, BYTES, 0, 0).is_err());
}

#[test]
fn what_was_written_at_random_is_known_afterwards() {
    let path = file("random");
    write(&path, BYTES).unwrap();
    random_write(&path, BYTES, 50, 9).unwrap();
    assert!(check(&path, BYTES, 50, 9).is_ok());
    // Neither work that was not done nor less of it is taken for it.
    assert!(check(&path, BYTES, 49, 9).is_err());
    assert!(check(&path, BYTES, 50, 8).is_err());
}

#[test]
fn what_is_in_the_cache_is_counted() {
    let path = file("cached");
    write(&path, BYTES).unwrap();
    std::fs::read(&path).unwrap();
    let file = File::open(&path).unwrap();
    assert_eq!(resident(&file).unwrap(), pages(BYTES));
    assert!(forget(&path, "everything").is_err());
}
