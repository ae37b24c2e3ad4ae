//! Which folder is the workspace, and whether it may be: one that opens too much is refused, and so is
//! one to which a link leads that a sandbox could have made.

use crate::Foreign;
use crate::error::PolicyError;
use crate::request::Request;
use crate::way::{Way, follow};
use crate::wide::Wide;
use bailiwick_event::Text;
use std::borrow::Cow;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

/// The canonical workspace of a request.
pub(crate) fn resolve(request: &Request) -> Result<PathBuf, PolicyError> {
    let given = request.cwd.join(&request.workspace);
    let bad = |why: &str| PolicyError::Workspace {
        path: given.clone(),
        why: why.to_owned(),
    };
    let canonical = given.canonicalize().map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => bad("there is no such folder"),
        _ => bad(&e.to_string()),
    })?;
    let asked = asked_for(request);
    let Way {
        real: path, links, ..
    } = Way::of(&asked).ok_or_else(|| bad("there is no such folder any more"))?;
    if path != canonical {
        return Err(bad("it leads elsewhere now than a moment ago"));
    }
    if !path.is_dir() {
        return Err(bad("it is not a folder"));
    }
    if path.to_str().is_none() {
        return Err(bad("its path is not UTF-8"));
    }
    if request.home.to_str().is_none() || !request.home.is_absolute() {
        return Err(PolicyError::Workspace {
            path: request.home.clone(),
            why: "the home directory is no absolute UTF-8 path; set HOME".to_owned(),
        });
    }
    if !links.is_empty() {
        let foreign = Foreign::new(Vec::new(), Some(&request.written_file));
        let foreign = foreign.map_err(PolicyError::Machine)?;
        if let Some(link) = foreign.among(&links) {
            return Err(PolicyError::Led {
                what: format!("the workspace {}", Text::from(asked.as_os_str())),
                link: link.to_string(),
                help: format!(
                    "if that is the folder that is meant, give it itself: --workspace {}",
                    Text::from(path.as_os_str())
                ),
                real: path,
            });
        }
    }
    let wide = Wide::of(request);
    if !request.allow_wide_workspace
        && let Some(why) = wide.holds(&path)
    {
        return Err(PolicyError::TooWide { path, why });
    }
    match wide.own(&path) {
        Some(own) => Err(bad(&format!(
            "it lies in {}, where the product keeps its own files, which no sandbox sees",
            Text::from(own.as_os_str())
        ))),
        None => Ok(path),
    }
}

/// The workspace as the user would write it. The kernel has forgotten by which way a shell came to the
/// current folder; the shell's own variable says it.
fn asked_for(request: &Request) -> PathBuf {
    let same = |a: &Path, b: &Path| {
        let of = |path: &Path| path.metadata().map(|meta| (meta.dev(), meta.ino())).ok();
        of(a).is_some_and(|a| of(b) == Some(a))
    };
    let shell = request.variable("PWD").map(Path::new);
    let shell = shell.filter(|shell| shell.is_absolute() && same(shell, &request.cwd));
    shell.unwrap_or(&request.cwd).join(&request.workspace)
}

/// The path with the part of it that exists made canonical: where it leads, or would lead if what is
/// missing of it were made. A link whose target is missing is followed as well: whoever makes the
/// target has made what the path names.
#[must_use]
pub fn resolve_existing(path: &Path) -> PathBuf {
    match follow(Path::new("/"), &absolute(path)) {
        Ok(way) => way.real,
        // Joined with nothing it would end in a slash.
        Err(broken) => broken.real.join(broken.rest).components().collect(),
    }
}

/// [`Path::canonicalize`], without the calls by which a C library asks for it.
pub(crate) fn canonical(path: &Path) -> io::Result<PathBuf> {
    let way = follow(Path::new("/"), &absolute(path));
    way.map(|way| way.real).map_err(|broken| broken.why)
}

fn absolute(path: &Path) -> Cow<'_, Path> {
    match path.is_absolute() {
        true => path.into(),
        false => std::env::current_dir().map_or(path.into(), |folder| folder.join(path).into()),
    }
}

/// The name of a project's policy.
pub(crate) const PROJECT: &str = "bailiwick.toml";

/// The project's policy: the nearest `bailiwick.toml` at or above the workspace, not above the
/// home directory where the workspace is below it.
pub(crate) fn project_file(workspace: &Path, home: &Path) -> Option<PathBuf> {
    let home = canonical(home).unwrap_or_else(|_| home.to_path_buf());
    let below_home = workspace.starts_with(&home);
    workspace
        .ancestors()
        .take_while(|folder| !below_home || folder.starts_with(&home))
        .map(|folder| folder.join(PROJECT))
        .find(|file| file.symlink_metadata().is_ok())
}

#[cfg(test)]
#[path = "workspace_tests.rs"]
mod tests;
