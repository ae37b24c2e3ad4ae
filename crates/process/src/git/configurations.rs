//! Configurations of git that one look at repositories asks for, each read once: the user's own counts for every
//! repository, and that of a repository says several things.

use super::config::{Variables, variables};
use super::followed::read;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// So many are kept; a look goes through many repositories.
const MOST: usize = 64;
/// Longer ones, in bytes, are read again: what they say takes several times as much memory.
const LONGEST: usize = 16 << 10;

/// Those that were read last, by the very bytes of their paths: another spelling may be another file, or none, and
/// whoever chose it could have another file's answer kept for this one. What was not there is looked for again.
#[derive(Debug, Default)]
pub(crate) struct Configurations(RefCell<VecDeque<(PathBuf, Rc<Variables>)>>);

impl Configurations {
    /// What a file says; none where it is not there, too long, or nothing that git could read.
    pub(super) fn of(&self, file: &Path) -> Option<Rc<Variables>> {
        let mut kept = self.0.borrow_mut();
        let same = |path: &PathBuf| path.as_os_str() == file.as_os_str();
        if let Some((_, known)) = kept.iter().find(|(path, _)| same(path)) {
            return Some(Rc::clone(known));
        }
        let text = read(file)?;
        let read = Rc::new(variables(&text).ok()?);
        if text.len() <= LONGEST {
            if kept.len() == MOST {
                kept.pop_front();
            }
            kept.push_back((file.to_path_buf(), Rc::clone(&read)));
        }
        Some(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn each_file_is_read_once_as_long_as_it_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = |number: usize| dir.path().join(number.to_string());
        let all = Configurations::default();
        let variables = |number| all.of(&file(number)).map(|all| all.len());
        let put = |number, text: &str| fs::write(file(number), text).unwrap();
        put(0, "[a]\nb = 1\n");
        put(1, &format!("[a]\nb = 1\n#{}\n", "x".repeat(LONGEST)));
        assert_eq!((variables(0), variables(1)), (Some(1), Some(1)));
        put(0, "");
        put(1, "");
        assert_eq!((variables(0), variables(1)), (Some(1), Some(0)));
        for number in 1..MOST + 1 {
            put(number, "");
            variables(number);
        }
        assert_eq!(variables(0), Some(0));
    }

    #[test]
    fn what_was_no_file_or_no_configuration_says_nothing_of_another_spelling_or_moment() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config");
        let all = Configurations::default();
        let variables = |path: &Path| all.of(path).map(|all| all.len());
        assert_eq!(variables(&file), None);
        fs::write(&file, "[a\n").unwrap();
        assert_eq!(variables(&file), None);
        fs::write(&file, "[a]\nb = 1\n").unwrap();
        for end in ["/", "/.", "//", "/./"] {
            let mut spelled = file.clone().into_os_string();
            spelled.push(end);
            assert_eq!(variables(Path::new(&spelled)), None, "{end}");
            assert_eq!(variables(&file), Some(1), "{end}");
        }
    }
}
