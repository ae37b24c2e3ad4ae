use super::*;

fn change(folder: &Path, load: &str) -> Change {
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    Change {
        name: "test",
        file: folder.join("new/file"),
        content: marked("test", "a line\n"),
        load: words(load),
        forget: Forget::After(words("true")),
        note: String::new(),
    }
}

#[test]
fn a_change_is_made_once_and_taken_back_once() {
    let folder = tempfile::tempdir().unwrap();
    let change = change(folder.path(), "true");
    assert_eq!(change.make().unwrap(), Done::Changed);
    assert_eq!(fs::read_to_string(&change.file).unwrap(), change.content);
    assert_eq!(change.make().unwrap(), Done::AsItWas);
    assert_eq!(change.remove().unwrap(), Done::Changed);
    assert!(!change.file.exists());
    assert_eq!(change.remove().unwrap(), Done::AsItWas);
    assert_eq!(fs::read_dir(folder.path().join("new")).unwrap().count(), 0);
}

#[test]
fn what_the_system_does_not_take_does_not_stay() {
    let folder = tempfile::tempdir().unwrap();
    let refused = change(folder.path(), "false");
    let failure = refused.make().unwrap_err().to_string();
    assert!(failure.contains("false: exit status: 1"), "{failure}");
    assert!(!refused.file.exists());
    change(folder.path(), "true").make().unwrap();
    let mut newer = change(folder.path(), "false");
    newer.content.push_str("more\n");
    assert!(newer.make().is_err());
    assert_eq!(fs::read_to_string(&newer.file).unwrap(), refused.content);
}

#[test]
fn a_file_of_somebody_else_stays() {
    let folder = tempfile::tempdir().unwrap();
    let change = change(folder.path(), "true");
    fs::create_dir(folder.path().join("new")).unwrap();
    fs::write(&change.file, "[Service]\n").unwrap();
    for failure in [change.make(), change.remove()] {
        let failure = failure.unwrap_err().to_string();
        assert!(failure.contains("not made by bailiwick"), "{failure}");
    }
    assert_eq!(fs::read_to_string(&change.file).unwrap(), "[Service]\n");
}
