use super::*;

fn links(at: &[&str]) -> Vec<Step> {
    let link = |at: &&str| Step {
        at: PathBuf::from(at),
        target: "x".into(),
    };
    at.iter().map(link).collect()
}

#[test]
fn a_link_is_foreign_in_a_folder_of_this_run_or_of_an_earlier_one_and_nowhere_else() {
    let dir = tempfile::tempdir().unwrap();
    let list = dir.path().join("written");
    Written::remember(&list, &["/home/u/old".into()]).unwrap();
    let own = vec![
        PathPattern::Path("/home/u/ws".into()),
        PathPattern::Glob {
            root: "/home/u".into(),
            glob: ".tool*".to_owned(),
        },
    ];
    let foreign = Foreign::new(own, Some(&list)).unwrap();
    let said = |at: &[&str]| foreign.among(&links(at)).map(|link| link.to_string());
    assert_eq!(said(&["/bin", "/home/u/x", "/home/u/.tool"]), None);
    assert!(said(&["/home/u/.tool-1/x"]).is_some());
    // Who has replaced the folder itself could write the one above.
    assert_eq!(said(&["/home/u/ws", "/home/u/old"]), None);
    assert_eq!(
        said(&["/bin", "/home/u/ws/a"]).unwrap(),
        "/home/u/ws/a is a symbolic link in a folder that a sandbox may write"
    );
    assert_eq!(
        said(&["/home/u/old/a/b"]).unwrap(),
        "/home/u/old/a/b is a symbolic link in a folder that an earlier sandbox could write \
         (/home/u/old)"
    );
}

#[test]
fn the_closest_grant_decides_whether_a_path_is_shown() {
    let grants = [
        (Path::new("/a"), Grant::Read),
        (Path::new("/a/cache"), Grant::Private),
        (Path::new("/a/cache/own"), Grant::Write),
    ];
    let shown = |path: &str| shows(grants.into_iter(), Path::new(path));
    assert!(shown("/a") && shown("/a/x") && shown("/a/cache/own/x"));
    assert!(!shown("/a/cache/x") && !shown("/b") && !shown("/"));
}
