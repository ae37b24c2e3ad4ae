use super::*;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use tempfile::TempDir;

struct Lists {
    dir: TempDir,
}

impl Lists {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        Self { dir }
    }
    fn written(&self) -> PathBuf {
        self.dir.path().join("bailiwick/written")
    }
    fn text(&self) -> String {
        fs::read_to_string(self.written().with_file_name(NAME)).unwrap()
    }
    fn remember(&self, files: &[UsedFile]) {
        Used::remember(&self.written(), files).unwrap();
    }
    fn of(&self, file: &UsedFile) -> Use {
        Used::beside(&self.written()).unwrap().of(file)
    }
}

fn file(path: &str, text: &str) -> UsedFile {
    UsedFile::new(path.into(), Some(text.as_bytes()))
}

#[test]
fn a_file_is_known_as_it_was_used_last() {
    let lists = Lists::new();
    assert_eq!(lists.of(&file("/ws/p.toml", "one")), Use::Never);
    lists.remember(&[file("/ws/p.toml", "one"), file("/ws/p.toml.old", "x")]);
    assert_eq!(lists.of(&file("/ws/p.toml", "one")), Use::Same);
    assert_eq!(lists.of(&file("/ws/p.toml", "two")), Use::Changed);
    assert_eq!(lists.of(&file("/ws/p", "one")), Use::Never);
    assert_eq!(lists.of(&file("/ws/p.toml/x", "one")), Use::Never);
    lists.remember(&[file("/ws/p.toml", "two")]);
    assert_eq!(lists.of(&file("/ws/p.toml", "one")), Use::Changed);
    assert_eq!(lists.of(&file("/ws/p.toml.old", "x")), Use::Same);
    assert_eq!(lists.text().lines().count(), 2, "{}", lists.text());
}

#[test]
fn what_could_not_be_read_is_never_known_as_it_is() {
    let lists = Lists::new();
    let unread = UsedFile::new("/ws/p.toml".into(), None);
    lists.remember(std::slice::from_ref(&unread));
    assert_eq!(lists.of(&unread), Use::Never);
    assert_eq!(lists.text(), "/ws/p.toml\n");
    assert_eq!(lists.of(&file("/ws/p.toml", "one")), Use::Never);
}

#[test]
fn what_is_kept_for_later_counts_as_used_when_it_was_used() {
    let lists = Lists::new();
    let (one, two) = (file("/ws/p.toml", "one"), file("/ws/q.toml", "two"));
    lists.remember(std::slice::from_ref(&one));
    Used::keep(&lists.written(), &[one.clone(), two.clone()]).unwrap();
    assert_eq!((lists.of(&one), lists.of(&two)), (Use::Same, Use::Never));
    let used = Used::beside(&lists.written()).unwrap();
    assert_eq!(used.paths().count(), 2);
    lists.remember(std::slice::from_ref(&two));
    assert_eq!(lists.of(&two), Use::Same);
}

#[test]
fn a_name_of_any_bytes_is_found_again() {
    let lists = Lists::new();
    let name = PathBuf::from(OsStr::from_bytes(b"/ws/a\tb\nc\\t \xff\xc3\xa9"));
    lists.remember(&[UsedFile::new(name.clone(), Some(b"x"))]);
    let used = Used::beside(&lists.written()).unwrap();
    assert_eq!(used.paths().collect::<Vec<_>>(), [name]);
}
