//! Names of `protect` that programs obey in every folder that holds them (`.git/hooks`, `.mcp.json`): they are protected
//! in every folder of the workspace, and of all that may be written besides.

use crate::{PathEntry, PathGlob, PathPattern};
use bailiwick_event::Origin;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path};

impl PathEntry {
    /// The components of its name below the workspace, where that is obeyed in every folder: it begins with a dot, or is a
    /// single one that a template names. A component `*` stands for any names; no other has wildcards.
    #[must_use]
    pub fn control_name(&self, workspace: &Path) -> Option<Vec<String>> {
        match &self.pattern {
            PathPattern::Path(path) => self.obeyed(path, workspace),
            PathPattern::Glob { root, glob } => {
                let components = self.obeyed(&root.join(glob), workspace)?;
                let plain = components
                    .iter()
                    .all(|part| part == "*" || PathGlob::is_plain(part));
                plain.then_some(components)
            }
        }
    }

    fn obeyed(&self, path: &Path, workspace: &Path) -> Option<Vec<String>> {
        let below = path.strip_prefix(workspace).ok()?;
        let text = |part: Component<'_>| Some(part.as_os_str().to_str()?.to_owned());
        let components: Vec<String> = below.components().map(text).collect::<Option<_>>()?;
        let template =
            self.origin.file.starts_with("template:") || self.origin == Origin::built_in();
        let dotted = components.first()?.starts_with('.');
        (dotted || template && components.len() == 1).then_some(components)
    }
}

/// Every number of parts of `path` at which an occurrence of `components` ends.
#[must_use]
pub fn ends(path: &Path, components: &[String]) -> Vec<usize> {
    fn from(parts: &[&OsStr], at: usize, components: &[String], found: &mut Vec<usize>) {
        let Some((first, rest)) = components.split_first() else {
            found.push(at);
            return;
        };
        if at == parts.len() || !same(parts[at], first) {
            return;
        }
        from(parts, at + 1, rest, found);
        if first == "*" {
            from(parts, at + 1, components, found);
        }
    }
    let parts: Vec<&OsStr> = path.components().map(Component::as_os_str).collect();
    let mut found = Vec::new();
    for at in 0..parts.len() {
        from(&parts, at, components, &mut found);
    }
    found
}

/// Whether two names mean one file in a folder that ignores case.
fn same(name: &OsStr, component: &str) -> bool {
    component == "*" || name.as_bytes().eq_ignore_ascii_case(component.as_bytes())
}
