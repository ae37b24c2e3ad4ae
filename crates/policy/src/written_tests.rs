use super::*;
use crate::lists::{LARGEST, MOST};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

struct List {
    dir: TempDir,
}

impl List {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }
    fn file(&self) -> PathBuf {
        self.dir.path().join("bailiwick/written")
    }
    fn with(self, folders: &[&str]) -> Self {
        let folders: Vec<PathBuf> = folders.iter().map(PathBuf::from).collect();
        Written::remember(&self.file(), &folders).unwrap();
        self
    }
    fn text(&self) -> String {
        fs::read_to_string(self.file()).unwrap()
    }
    fn over(&self, path: &str) -> Option<String> {
        let known = Written::read(&self.file()).unwrap();
        known.line_over(Path::new(path))
    }
}

#[test]
fn a_list_that_is_not_there_knows_no_folder() {
    assert_eq!(List::new().over("/ws"), None);
}

#[test]
fn a_folder_and_what_lies_in_it_is_known_and_what_is_beside_it_is_not() {
    let list = List::new().with(&["/home/u/ws", "/srv/x"]);
    assert_eq!(list.text(), "/home/u/ws\n/srv/x\n");
    assert_eq!(list.over("/home/u/ws").as_deref(), Some("/home/u/ws"));
    assert_eq!(list.over("/srv/x/deep/er").as_deref(), Some("/srv/x"));
    for beside in ["/home/u", "/home/u/ws2", "/home/u/w", "/srv/", "/"] {
        assert_eq!(list.over(beside), None, "{beside}");
    }
    let all = List::new().with(&["/"]);
    assert_eq!(all.over("/any").as_deref(), Some("/"));
}

#[test]
fn a_folder_that_a_line_covers_changes_nothing_and_one_above_takes_the_place_of_those_in_it() {
    let list = List::new().with(&["/a/one", "/b", "/a/two"]);
    let before = fs::metadata(list.file()).unwrap().ino();
    let list = list.with(&["/a/one/deep", "/b"]);
    assert_eq!(fs::metadata(list.file()).unwrap().ino(), before);
    let list = list.with(&["/a"]);
    assert_eq!(list.text(), "/b\n/a\n");
}

#[test]
fn only_the_user_can_read_and_write_the_list() {
    let list = List::new().with(&["/ws"]);
    let mode = |path: &Path| fs::metadata(path).unwrap().mode() & 0o777;
    assert_eq!(mode(&list.file()), 0o600);
    assert_eq!(mode(list.file().parent().unwrap()), 0o700);
    let left = fs::read_dir(list.file().parent().unwrap()).unwrap();
    assert_eq!(left.count(), 1, "no draft is left");
    fs::set_permissions(list.file(), fs::Permissions::from_mode(0o666)).unwrap();
    let said = Written::read(&list.file()).unwrap_err();
    assert!(said.contains("can be written by other users"), "{said}");
}

#[test]
fn a_name_of_any_bytes_is_one_line_and_is_found_again() {
    let name = OsStr::from_bytes(b"/ws/a\nb\\c \xff\xc3\xa9");
    let list = List::new();
    Written::remember(&list.file(), &[PathBuf::from(name)]).unwrap();
    assert_eq!(list.text(), "/ws/a\\nb\\\\c \\xff\\xc3\\xa9\n");
    let known = Written::read(&list.file()).unwrap();
    assert!(known.line_over(&Path::new(name).join("x")).is_some());
    assert!(known.line_over(Path::new("/ws/a")).is_none());
}

#[test]
fn the_oldest_folders_are_forgotten_first() {
    let list = List::new();
    let folders: Vec<PathBuf> = (0..MOST + 2)
        .map(|n| PathBuf::from(format!("/ws/{n}")))
        .collect();
    Written::remember(&list.file(), &folders[..MOST]).unwrap();
    assert!(list.over("/ws/0").is_some());
    Written::remember(&list.file(), &folders[MOST..]).unwrap();
    assert_eq!(list.text().lines().count(), MOST);
    assert!(list.over("/ws/0").is_none() && list.over("/ws/1").is_none());
    let newest = format!("/ws/{}", MOST + 1);
    assert!(list.over("/ws/2").is_some() && list.over(&newest).is_some());
    let long: Vec<PathBuf> = (0..400)
        .map(|n| PathBuf::from(format!("/long/{n}/{}", "x".repeat(4000))))
        .collect();
    Written::remember(&list.file(), &long).unwrap();
    assert!(list.text().len() <= LARGEST, "{}", list.text().len());
    assert!(list.text().contains("/long/399/"), "the newest stays");
}

#[test]
fn a_list_that_cannot_be_understood_is_an_error_that_names_it() {
    let list = List::new().with(&["/ws"]);
    fs::write(list.file(), "/ws\nws2\n").unwrap();
    let said = Written::read(&list.file()).unwrap_err();
    assert!(said.contains("bailiwick/written"), "{said}");
    assert!(said.contains("line 2 is no absolute path"), "{said}");
    assert!(Written::remember(&list.file(), &["/x".into()]).is_err());
    fs::remove_file(list.file()).unwrap();
    fs::create_dir(list.file()).unwrap();
    let said = Written::read(&list.file()).unwrap_err();
    assert!(said.contains("not a regular file"), "{said}");
}

#[test]
fn of_many_starts_at_once_every_folder_is_remembered() {
    let list = List::new();
    std::thread::scope(|scope| {
        for n in 0..16 {
            let file = list.file();
            scope.spawn(move || {
                Written::remember(&file, &[PathBuf::from(format!("/ws/{n}"))]).unwrap();
            });
        }
    });
    assert_eq!(list.text().lines().count(), 16);
}
