use super::*;

fn found(folder: &Path, tail: &str) -> Result<Option<PathBuf>, Errno> {
    exists(folder, Path::new(tail))
}

fn folder(names: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for name in names {
        fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    folder
}

#[test]
fn a_wildcard_stands_for_several_names() {
    let folder = folder(&["a/b/hooks", "c"]);
    let at = folder.path();
    assert_eq!(found(at, "*/hooks"), Ok(Some("a/b/hooks".into())));
    assert_eq!(found(&at.join("a"), "*/hooks"), Ok(Some("b/hooks".into())));
    assert_eq!(found(&at.join("a/b"), "*/hooks"), Ok(None));
    assert_eq!(found(at, "*/config"), Ok(None));
    assert_eq!(found(at, "c"), Ok(Some("c".into())));
}

#[test]
fn a_link_on_the_way_could_lead_to_anything() {
    let folder = folder(&["x"]);
    let at = folder.path();
    std::os::unix::fs::symlink("nowhere", at.join("x/modules")).unwrap();
    let tail = "modules/*/hooks";
    assert_eq!(found(&at.join("x"), tail), Ok(Some("modules".into())));
    assert_eq!(found(&at.join("x"), "*/hooks"), Ok(Some("modules".into())));
    assert_eq!(found(&at.join("x"), "hooks"), Ok(None));
}
