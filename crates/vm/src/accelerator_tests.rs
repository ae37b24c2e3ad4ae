use super::*;
use tempfile::TempDir;

#[test]
fn what_was_found_is_remembered_and_damage_is_not_believed() {
    let cache = TempDir::new().unwrap();
    let remembered = Remembered(cache.path().join("accelerator/one"));
    assert_eq!(remembered.read(), None);
    for runs in [true, false] {
        remembered.write(runs);
        assert_eq!(remembered.read(), Some(runs));
    }
    fs::write(&remembered.0, "kv").unwrap();
    assert_eq!(remembered.read(), None);
}
