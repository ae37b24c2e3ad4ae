//! The program under test: where it is, what it says about itself, and whether it may be measured.

use crate::conditions::Conditions;
use crate::evidence::ProductRecord;
use crate::overhead::at;
use crate::{measure, program};
use bailiwick_event::{Failure, Text};
use std::path::{Path, PathBuf};

/// Finds a program that `flag` names, by its path or its name on PATH.
pub(crate) fn locate(flag: &str, binary: &Path) -> Result<PathBuf, Failure> {
    match binary.canonicalize() {
        Ok(path) => Ok(path),
        Err(error) => binary
            .to_str()
            .filter(|name| !name.contains('/'))
            .and_then(program::find)
            .map(|found| found.path)
            .ok_or_else(|| Failure::usage(format!("{flag} {}: {error}", binary.display()))),
    }
}

/// What a program that `flag` names says about itself, and whether it may be measured.
pub(crate) fn identify(
    flag: &str,
    binary: &Path,
    conditions: &Conditions,
    quick: bool,
) -> Result<ProductRecord, Failure> {
    let name = binary.display();
    let sample = measure::run(&[binary.into(), "--version".into()], Path::new("/"), &[])
        .map_err(|error| Failure::usage(format!("{flag} {name}: {error}")))?;
    let said = sample.stdout.to_string_lossy();
    let version = said.lines().next().unwrap_or_default();
    let release = version.ends_with("(release)");
    if !version.starts_with("bailiwick ") || !(release || version.ends_with("(debug)")) {
        return Err(Failure::usage(format!(
            "{flag} {name}: its --version says \"{}\", and not \"bailiwick X.Y.Z (release)\"",
            Text::from(version).truncated(100)
        )));
    }
    let measurable = quick || (release && conditions.release);
    if !measurable {
        let which = match release {
            true => "this bench".to_owned(),
            false => format!("{name}"),
        };
        return Err(Failure::usage(format!(
            "{which} is a debug build, whose figures mean nothing; build it with \
             `cargo build --release`, or give --quick, which is never published"
        )));
    }
    let bytes = std::fs::read(binary).map_err(|error| at(binary, &error))?;
    Ok(ProductRecord {
        version: Text::from(version).to_string(),
        release,
        hash: blake3::hash(&bytes).to_hex().to_string(),
        bench_version: env!("CARGO_PKG_VERSION").to_owned(),
        bench_release: conditions.release,
        git_commit: git_commit(),
    })
}

fn git_commit() -> Option<String> {
    let git = |arguments: &[&str]| {
        let mut argv = vec![program::find("git")?.word];
        argv.extend(arguments.iter().map(Into::into));
        let sample = measure::run(&argv, Path::new("."), &[]).ok()?;
        (sample.code == Some(0)).then(|| sample.stdout.to_string_lossy().trim().to_owned())
    };
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["--no-optional-locks", "status", "--porcelain", "-uno"])?;
    Some(match changes.is_empty() {
        true => commit,
        false => format!("{commit}-dirty"),
    })
}
