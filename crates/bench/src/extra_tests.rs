use super::*;

#[test]
fn a_tree_has_its_files_and_its_secrets_in_the_whole_of_it() {
    let out = crate::testing::folder();
    let fixture = Fixture::generate(out.path(), "extra").unwrap();
    std::fs::write(fixture.helper(), "").unwrap();
    let tree = Extra::Wide(WIDE[1]);
    tree.generate(&fixture).unwrap();
    let folder = tree.folder(&fixture);
    let (mut files, mut secrets, mut folders) = (0, 0, Vec::new());
    for part in std::fs::read_dir(&folder).unwrap() {
        let part = part.unwrap().path();
        for file in std::fs::read_dir(&part).into_iter().flatten() {
            match file.unwrap().path().extension().unwrap() == "secret" {
                true => (secrets, folders) = (secrets + 1, [folders, vec![part.clone()]].concat()),
                false => files += 1,
            }
        }
    }
    folders.sort();
    folders.dedup();
    assert_eq!((files, secrets), (WIDE[1], SECRETS));
    assert_eq!(folders.len(), WIDE[1] / FOLDER);
    assert!(secret(&folder, WIDE[1]).exists());
    assert!(Fixture::helper_in(&folder).exists());
}

#[test]
fn a_build_that_left_something_out_is_not_a_sample() {
    let out = tempfile::tempdir().unwrap();
    let objects = out.path().join("obj");
    std::fs::create_dir(&objects).unwrap();
    assert!(built(out.path()).unwrap_err().contains("0 object files"));
    for i in 0..SOURCES {
        std::fs::write(objects.join(format!("part-{i:04}.o")), "\x7fELF…").unwrap();
    }
    assert_eq!(built(out.path()), Ok(()));
    std::fs::write(objects.join("part-0001.o"), "").unwrap();
    assert!(built(out.path()).unwrap_err().contains("part-0001.o"));
}
