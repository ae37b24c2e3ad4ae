use super::*;
use crate::testing::folder;

#[test]
fn a_workspace_lies_below_neither_tmp_nor_a_cache() {
    let home = PathBuf::from(std::env::var_os("HOME").unwrap());
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let cache = cache.unwrap_or_else(|| home.join(".cache"));
    std::fs::create_dir_all(&cache).unwrap();
    for out in [Path::new("/tmp"), &cache] {
        let chosen = place(out, "x").unwrap();
        assert_eq!(
            chosen,
            home.canonicalize().unwrap().join(".bailiwick-bench-x")
        );
    }
    let disk = folder();
    assert_eq!(place(disk.path(), "x").unwrap(), disk.path().join("work-x"));
}

#[test]
fn nothing_of_it_stays() {
    let out = folder();
    let fixture = Fixture::generate(out.path(), "one").unwrap();
    assert!(fixture.tree().join("module-00/part-000.txt").exists());
    fixture.remove().unwrap();
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
    drop(Fixture::generate(out.path(), "two").unwrap());
    assert_eq!(std::fs::read_dir(out.path()).unwrap().count(), 0);
}

#[test]
fn the_tree_has_as_many_files_and_matches_as_the_verifier_expects() {
    let out = tempfile::tempdir().unwrap();
    write_tree(out.path()).unwrap();
    let (mut files, mut matching, mut matches) = (0, 0, 0u64);
    for directory in std::fs::read_dir(out.path()).unwrap() {
        for file in std::fs::read_dir(directory.unwrap().path()).unwrap() {
            let text = std::fs::read_to_string(file.unwrap().path()).unwrap();
            let found = text.matches("needle").count();
            files += 1;
            matching += usize::from(found > 0);
            matches += found as u64;
        }
    }
    assert_eq!(
        (files, matching, matches),
        (TREE_FILES, MATCHING_FILES, MATCHES)
    );
}
