use super::{choose, of_machine};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// An `/etc` of Debian trixie with these files below `apt`.
fn machine(files: &[(&str, &str)]) -> TempDir {
    let etc = tempfile::tempdir().unwrap();
    let release = "ID=debian\nVERSION_CODENAME=trixie\n";
    fs::write(etc.path().join("os-release"), release).unwrap();
    fs::create_dir_all(etc.path().join("apt/sources.list.d")).unwrap();
    for (name, text) in files {
        fs::write(etc.path().join("apt").join(name), text).unwrap();
    }
    etc
}

fn lines(etc: &Path) -> Vec<String> {
    of_machine(etc, "trixie")
}

#[test]
fn what_is_given_comes_first() {
    let given = ["http://mirror.test/debian".to_owned()];
    assert_eq!(choose(&given, "trixie"), given);
}

#[test]
fn the_release_itself_is_taken_in_both_forms_and_nothing_beside_it() {
    let etc = machine(&[
        (
            "sources.list",
            "# a comment\ndeb http://a.test/debian trixie main contrib\n\
             deb-src http://a.test/debian trixie main\n\
             deb http://a.test/debian sid main\ndeb http://a.test/debian trixie contrib\n",
        ),
        (
            "sources.list.d/b.sources",
            "Types: deb deb-src\n# why\nURIs: http://b.test/debian\nSuites: trixie-updates trixie-backports\n\
             Components: main\nSigned-By: /usr/share/keyrings/k.gpg\n\n\
             Types: deb\nURIs: http://off.test/\nSuites: trixie\nComponents: main\nEnabled: no\n",
        ),
        (
            "sources.list.d/vendor.list",
            "deb [arch=amd64 signed-by=/v.gpg] http://vendor.test/ trixie stable\n\
             deb [signed-by=/s.gpg] http://s.test/ trixie-security main # why\n",
        ),
    ]);
    assert_eq!(
        lines(etc.path()),
        [
            "deb http://a.test/debian trixie main",
            "deb [signed-by=/usr/share/keyrings/k.gpg] http://b.test/debian trixie-updates main",
            "deb [signed-by=/s.gpg] http://s.test/ trixie-security main",
        ]
    );
}

#[test]
fn a_machine_of_another_release_says_nothing() {
    let entry = ("sources.list", "deb http://a.test/debian trixie main\n");
    let etc = machine(&[entry]);
    assert!(of_machine(etc.path(), "bookworm").is_empty());
    fs::write(
        etc.path().join("os-release"),
        "ID=ubuntu\nVERSION_CODENAME=trixie\n",
    )
    .unwrap();
    assert!(lines(etc.path()).is_empty());
    let updates = machine(&[(
        "sources.list",
        "deb http://a.test/debian trixie-updates main\n",
    )]);
    assert!(
        lines(updates.path()).is_empty(),
        "updates alone are no release"
    );
}
