use super::{Role, checked, hashed, stamp_path};
use crate::image::fake::Fake;
use crate::image::{open, verify};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{Seek, SeekFrom, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, SystemTime};

fn writable(path: &Path) -> File {
    fs::set_permissions(path, Permissions::from_mode(0o644)).unwrap();
    OpenOptions::new().write(true).open(path).unwrap()
}

/// Writes other bytes of the same length, and gives the file its old mtime back.
fn falsify(path: &Path) {
    let modified = fs::metadata(path).unwrap().modified().unwrap();
    let mut file = writable(path);
    file.seek(SeekFrom::Start(1)).unwrap();
    file.write_all(b"X").unwrap();
    file.set_modified(modified).unwrap();
}

#[test]
fn a_part_is_hashed_once() {
    let fake = Fake::new();
    let manifest = fake.image("code", "kernel", "root");
    let root = fake.part_of(&manifest, Role::Rootfs);
    assert!(!stamp_path(&root).exists());
    assert_eq!(open(fake.path(), "code").unwrap().rootfs, root);
    let stamp = stamp_path(&root);
    let written = fs::metadata(&stamp).unwrap().modified().unwrap();
    for _ in 0..3 {
        open(fake.path(), "code").unwrap();
    }
    // A hash would have written another.
    assert_eq!(fs::metadata(&stamp).unwrap().modified().unwrap(), written);
}

#[test]
fn a_part_that_was_touched_is_hashed_again_and_stays_good() {
    let fake = Fake::new();
    let manifest = fake.image("code", "kernel", "root");
    open(fake.path(), "code").unwrap();
    let root = fake.part_of(&manifest, Role::Rootfs);
    let before = fs::read_to_string(stamp_path(&root)).unwrap();
    let later = SystemTime::now() + Duration::from_secs(60);
    writable(&root).set_modified(later).unwrap();
    open(fake.path(), "code").unwrap();
    assert_ne!(fs::read_to_string(stamp_path(&root)).unwrap(), before);
}

#[test]
fn a_part_that_was_changed_is_named_although_it_looks_as_before() {
    for role in [Role::Kernel, Role::Rootfs] {
        let fake = Fake::new();
        let manifest = fake.image("code", "kernel", "root");
        open(fake.path(), "code").unwrap();
        falsify(&fake.part_of(&manifest, role));
        for _ in 0..2 {
            let failure = open(fake.path(), "code").unwrap_err().to_string();
            let said = format!(
                "the {} of the image \"code\" is not what was built: ",
                role.name()
            );
            assert!(failure.starts_with(&said), "{failure}");
            assert!(
                failure.ends_with("remedy: `bailiwick image build --force code`"),
                "{failure}"
            );
        }
    }
}

#[test]
fn a_part_that_was_cut_off_or_removed_is_noticed() {
    let fake = Fake::new();
    let manifest = fake.image("code", "kernel", "root");
    open(fake.path(), "code").unwrap();
    let root = fake.part_of(&manifest, Role::Rootfs);
    writable(&root).set_len(2).unwrap();
    let failure = open(fake.path(), "code").unwrap_err().to_string();
    assert!(failure.contains("and 2 bytes"), "{failure}");
    fs::remove_file(&root).unwrap();
    let failure = open(fake.path(), "code").unwrap_err().to_string();
    assert!(
        failure.starts_with("the rootfs of the image \"code\" is missing: "),
        "{failure}"
    );
}

#[test]
fn to_verify_is_to_read_all_of_it() {
    let fake = Fake::new();
    let manifest = fake.image("code", "kernel", "root");
    assert_eq!(verify(fake.path(), "code").unwrap().len(), 3);
    // A stamp that somebody made up convinces a start, and no more than that.
    let root = fake.part_of(&manifest, Role::Rootfs);
    falsify(&root);
    let part = manifest.part(Role::Rootfs).unwrap();
    let made_up = super::Stamp::of(&fs::metadata(&root).unwrap(), &part.blake3);
    let stamp = stamp_path(&root);
    let _ = fs::remove_file(&stamp);
    fs::write(&stamp, serde_json::to_string(&made_up).unwrap()).unwrap();
    assert!(checked(&fake.cache(), &manifest, Role::Rootfs).is_ok());
    assert!(verify(fake.path(), "code").is_err());
    assert!(!stamp.exists(), "what is wrong keeps no stamp");
    assert!(open(fake.path(), "code").is_err());
}

#[test]
fn a_link_or_a_folder_in_the_place_of_a_part_is_none() {
    let fake = Fake::new();
    let manifest = fake.image("code", "kernel", "root");
    let root = fake.part_of(&manifest, Role::Rootfs);
    fs::remove_file(&root).unwrap();
    fs::create_dir(&root).unwrap();
    let part = manifest.part(Role::Rootfs).unwrap();
    assert!(hashed(&fake.cache(), "code", part).is_err());
}
