use super::*;

fn own(source: &Path, at: &str, access: OwnAccess) -> Own {
    Own {
        source: source.to_path_buf(),
        at: at.into(),
        access,
    }
}

#[test]
fn a_place_has_nothing_but_names() {
    for (path, plain) in [
        ("/share", true),
        ("/opt/share", true),
        ("/", false),
        ("share", false),
        ("/share/../etc", false),
        ("", false),
    ] {
        assert_eq!(is_plain(Path::new(path)), plain, "{path}");
    }
}

#[test]
fn what_a_link_of_the_products_leads_to_stands_in_its_place() {
    let dir = tempfile::tempdir().unwrap();
    let top = dir.path().canonicalize().unwrap();
    fs::write(top.join("file"), "").unwrap();
    std::os::unix::fs::symlink("file", top.join("link")).unwrap();
    let entry = own(&top.join("link"), "/x", OwnAccess::Template);
    let found = bind(&entry, &Foreign::default(), false).unwrap();
    assert_eq!(
        (found.source, found.access),
        (top.join("file"), Access::Read)
    );
    let foreign = Foreign::new(vec![PathPattern::Path(top)], None).unwrap();
    assert!(bind(&entry, &foreign, false).is_err());
}

#[test]
fn what_is_needed_must_be_what_it_is_said_to_be() {
    let dir = tempfile::tempdir().unwrap();
    let null = Path::new("/dev/null");
    for (source, access, good) in [
        (null, OwnAccess::Device, true),
        (null, OwnAccess::Read, false),
        (dir.path(), OwnAccess::Device, false),
        (dir.path(), OwnAccess::Template, false),
        (dir.path(), OwnAccess::Write, true),
        (Path::new("/there is none"), OwnAccess::Read, false),
    ] {
        let bound = bind(&own(source, "/x", access), &Foreign::default(), false);
        assert_eq!(bound.is_ok(), good, "{source:?} {access:?}");
    }
}

#[test]
fn only_what_others_may_not_read_changes_its_owner() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    fs::write(&file, "").unwrap();
    for (mode, access, owned) in [
        (0o644, OwnAccess::Read, false),
        (0o600, OwnAccess::Read, true),
        (0o600, OwnAccess::Template, true),
        (0o644, OwnAccess::Write, true),
    ] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let bound = bind(&own(&file, "/x", access), &Foreign::default(), true).unwrap();
        assert_eq!(bound.owner.is_some(), owned, "{mode:o} {access:?}");
    }
}
