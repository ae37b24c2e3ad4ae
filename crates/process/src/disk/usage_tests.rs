use super::*;
use rustix::fs::{Mode, mkdirat};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

fn now(folder: &Path) -> Usage {
    Usage::of(&[folder], u64::MAX)
}

/// How much more there is in the folder than the limit of nothing at all allows.
fn grown(folder: &Path, before: &Usage) -> u64 {
    now(folder).over(0, before).unwrap_or(0)
}

#[test]
fn growth_is_counted_once_per_file_and_links_are_not_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("old"), vec![1; 100_000]).unwrap();
    let before = now(folder.path());
    let grown = || grown(folder.path(), &before);
    assert_eq!(grown(), 0);
    fs::create_dir(at("d")).unwrap();
    fs::write(at("d/new"), vec![1; 100_000]).unwrap();
    let once = grown();
    assert!((100_000..130_000).contains(&once), "{once}");
    fs::hard_link(at("d/new"), at("second")).unwrap();
    std::os::unix::fs::symlink("/usr", at("link")).unwrap();
    assert!(grown() < once + 9_000, "{}", grown());
    let before = grown();
    for number in 0..100 {
        fs::write(at(&number.to_string()), "").unwrap();
    }
    assert!(grown() >= before + 100 * FILE, "{}", grown());
}

#[test]
fn what_no_path_leads_to_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let before = now(folder.path());
    let flags = OFlags::RDONLY | OFlags::DIRECTORY;
    let mut at = openat(CWD, folder.path(), flags, Mode::empty()).unwrap();
    // 15,000 bytes of names, where a path may have 4,096.
    for depth in 0..60 {
        let name = format!("{depth:0>250}");
        mkdirat(&at, &name, Mode::RWXU).unwrap();
        fs::write(own(&at).join("beside"), vec![1; 10_000]).unwrap();
        at = openat(&at, name, flags, Mode::empty()).unwrap();
    }
    fs::write(own(&at).join("deep"), vec![1; 200_000]).unwrap();
    let grown = grown(folder.path(), &before);
    assert!((800_000..1_400_000).contains(&grown), "{grown}");
}

#[test]
fn a_folder_that_gets_unreadable_is_more_than_any_limit_unless_it_was_so_before() {
    let folder = tempfile::tempdir().unwrap();
    let old = folder.path().join("old");
    fs::create_dir(&old).unwrap();
    let stat = || stat(&old);
    let closed = || Err(Errno::ACCESS);
    let hidden = || {
        let mut walk = Walk::default();
        walk.unopened(Errno::ACCESS, stat, closed);
        walk.usage
    };
    let before = hidden();
    assert_eq!(hidden().over(1000, &before), None);
    // Opened to itself meanwhile, and closed again, at what is another time to its file system.
    let changed = || {
        stat()
            .map(|stat| (stat.st_ctime, stat.st_ctime_nsec))
            .unwrap()
    };
    let was = changed();
    while changed() == was {
        fs::set_permissions(&old, PermissionsExt::from_mode(0o000)).unwrap();
    }
    assert_eq!(hidden().over(1000, &before), Some(1001));
    assert_eq!(hidden().over(u64::MAX, &Usage::default()), Some(u64::MAX));
    fs::set_permissions(&old, PermissionsExt::from_mode(0o700)).unwrap();
    // Who can go through it can write in what is below, of which its own time tells nothing.
    let mut walk = Walk::default();
    walk.unopened(Errno::ACCESS, stat, stat);
    let through = walk.usage;
    assert_eq!(through.over(1000, &before), Some(1001));
    assert_eq!(through.over(1000, &through), Some(1001));
    // What has gone, or became something else, hides nothing.
    for gone in [Errno::NOENT, Errno::NOTDIR, Errno::LOOP] {
        let mut walk = Walk::default();
        walk.unopened(gone, stat, closed);
        assert_eq!(walk.usage.over(0, &before), None);
    }
}

#[test]
fn nobody_looks_further_than_to_what_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    for number in 0..50 {
        let at = folder.path().join(number.to_string());
        fs::create_dir(&at).unwrap();
        fs::write(at.join("file"), vec![1; 50_000]).unwrap();
    }
    let all = now(folder.path()).bytes;
    let some = Usage::of(&[folder.path()], all / 4).bytes;
    assert!((all / 4..all / 2).contains(&some), "{some} of {all}");
}

/// The path of an opened folder, however deep it lies.
fn own(folder: &OwnedFd) -> PathBuf {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", folder.as_raw_fd()).into()
}
