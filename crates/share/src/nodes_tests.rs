use super::*;
use std::fs;

fn known(nodes: &mut Nodes, parent: u64, name: &CStr) -> u64 {
    let fd = look(nodes.fd(parent).unwrap(), name).unwrap();
    let found = stat(&fd).unwrap();
    nodes.know(fd, &found, parent, name).unwrap()
}

#[test]
fn a_file_whose_descriptor_was_closed_is_opened_again_by_its_name() {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir_all(dir.path().join("a/b")).unwrap();
    fs::write(dir.path().join("a/b/file"), "text").unwrap();
    let mut nodes = Nodes::new(dir.path(), 2).unwrap();
    let a = known(&mut nodes, ROOT, c"a");
    let b = known(&mut nodes, a, c"b");
    let file = known(&mut nodes, b, c"file");
    for _ in 0..3 {
        for id in [a, b, file] {
            let found = stat(nodes.fd(id).unwrap()).unwrap();
            assert_eq!(Key::of(&found), nodes.get(id).unwrap().key);
        }
    }
    let open = [ROOT, a, b, file].map(|id| nodes.get(id).unwrap().fd.is_some());
    assert!(open.contains(&false), "{open:?}");
}

#[test]
fn what_has_another_file_in_its_place_is_stale() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    for name in ["one", "two", "three"] {
        fs::write(path(name), name).unwrap();
    }
    let mut nodes = Nodes::new(dir.path(), 2).unwrap();
    let one = known(&mut nodes, ROOT, c"one");
    known(&mut nodes, ROOT, c"two");
    known(&mut nodes, ROOT, c"three");
    assert!(nodes.get(one).unwrap().fd.is_none());
    fs::rename(path("two"), path("one")).unwrap();
    assert_eq!(nodes.fd(one).unwrap_err(), Errno::STALE);
}

#[test]
fn what_the_guest_forgets_is_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("file"), "text").unwrap();
    let mut nodes = Nodes::new(dir.path(), 8).unwrap();
    let id = known(&mut nodes, ROOT, c"file");
    nodes.name(ROOT, c"file", Some(id));
    assert_eq!(known(&mut nodes, ROOT, c"file"), id);
    nodes.forget(id, 1);
    assert!(nodes.get(id).is_ok());
    nodes.forget(id, 1);
    assert!(nodes.get(id).is_err());
    assert!(nodes.get(ROOT).unwrap().children.is_empty());
    nodes.forget(ROOT, u64::MAX);
    assert!(nodes.get(ROOT).is_ok());
    // A number is never used again.
    assert_ne!(known(&mut nodes, ROOT, c"file"), id);
}

#[test]
fn names_that_are_not_there_are_remembered_within_bounds() {
    let dir = tempfile::tempdir().unwrap();
    let mut nodes = Nodes::new(dir.path(), 8).unwrap();
    let name = |number: usize| CString::new(number.to_string()).unwrap();
    assert!((0..ABSENT).all(|number| nodes.name(ROOT, &name(number), None)));
    assert!(!nodes.name(ROOT, &name(ABSENT), None));
    nodes.unname(ROOT, &name(3));
    assert!(nodes.name(ROOT, &name(ABSENT), None));
    assert_eq!(nodes.get(ROOT).unwrap().children.len(), ABSENT);
}
