//! The root file system.
//!
//! Decision: mmdebstrap makes it in one go, also for an ordinary user, who is root of a user
//! namespace there; the file of the file system is made inside that namespace, where files have
//! their owners, and handed out. What prepares it is a script that mmdebstrap gets as text: the root
//! of the namespace is nobody in the user's home and could not read a file there.

use super::build::Work;
use super::cache::fault;
use super::log::{Lines, PATH};
use super::manifest::{Package, Part, Role};
use super::progress::Progress;
use bailiwick_event::Failure;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What makes a fresh root one of ours, run as `sh -c PREPARE … ROOT`.
pub(super) const PREPARE: &str = include_str!("../../../../images/prepare");
/// What makes a file of it, the same way.
pub(super) const PACK: &str = include_str!("../../../../images/pack");
/// The format of the file.
pub(super) const FORMAT: &str = "erofs";

/// What agents never read; also when they install a package themselves.
const EXCLUDED: [&str; 8] = [
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/info/*",
    "path-exclude=/usr/share/lintian/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
    "path-exclude=/usr/share/locale/*",
    "path-include=/usr/share/locale/locale.alias",
    "path-exclude=/usr/share/bug/*",
];

/// A root file system: what is in it, and its part.
pub(super) struct Made {
    pub(super) packages: Vec<Package>,
    pub(super) additions: Vec<String>,
    pub(super) part: Part,
}

/// Makes the root file system.
pub(super) fn make(work: &mut Work<'_>) -> Result<Made, Failure> {
    (work.tell)(Progress::Step("making the root file system"));
    let file = work.scratch.join("rootfs");
    let packages = work.scratch.join("packages");
    let additions = work.scratch.join("additions");
    let mut command = mmdebstrap();
    command
        .arg("--variant=minbase")
        .arg(format!("--include={}", work.spec.packages.join(",")))
        .arg("--aptopt=APT::Install-Recommends \"false\"")
        .arg("--aptopt=APT::Sandbox::User \"root\"")
        .args(EXCLUDED.map(|option| format!("--dpkgopt={option}")))
        .arg(format!("--customize-hook={PREPARE}"))
        .arg(format!(
            "--customize-hook=download /.packages {}",
            packages.display()
        ))
        .arg(format!(
            "--customize-hook=download /.additions {}",
            additions.display()
        ))
        .arg(format!("--customize-hook={PACK}"))
        .arg(format!(
            "--customize-hook=download /.rootfs {}",
            file.display()
        ))
        .args([&work.spec.suite, "/dev/null"])
        .args(work.mirrors)
        .env("SOURCE_DATE_EPOCH", work.spec.epoch.to_string())
        .env("IMAGE_PIP", work.spec.pip.join(" "))
        .env("IMAGE_NPM", work.spec.npm.join(" "));
    let lines = Lines {
        prefixes: &["Get:", "Unpacking ", "Setting up "],
        expected: 1_700,
    };
    work.log
        .run("making the root file system", command, &lines, work.tell)?;
    let additions = lines_of(&additions)?;
    for wanted in work
        .spec
        .pip
        .iter()
        .filter(|wanted| !additions.contains(wanted))
    {
        let note = format!("{wanted} could not be had; the image is made without it");
        (work.tell)(Progress::Note(&note));
    }
    Ok(Made {
        packages: parse_packages(&lines_of(&packages)?)?,
        additions,
        part: work.install(&file, Role::Rootfs, FORMAT)?,
    })
}

/// mmdebstrap as whoever calls us, with its scratch folder where many hundreds of megabytes have room
/// and the root of its namespace may go.
pub(super) fn mmdebstrap() -> Command {
    let mut command = Command::new("mmdebstrap");
    command
        .args(["--verbose", "--mode=auto", "--format=null"])
        .arg("--aptopt=Acquire::Retries \"3\"")
        .env("PATH", PATH)
        .env("LC_ALL", "C.UTF-8")
        .env("TMPDIR", "/var/tmp");
    command
}

fn lines_of(path: &Path) -> Result<Vec<String>, Failure> {
    let text = fs::read_to_string(path).map_err(|e| fault("read", path, &e))?;
    Ok(text.lines().map(str::to_owned).collect())
}

/// Lines of `NAME VERSION`.
fn parse_packages(lines: &[String]) -> Result<Vec<Package>, Failure> {
    let package = |line: &String| {
        let (name, version) = line.split_once(' ')?;
        Some(Package {
            name: name.to_owned(),
            version: version.to_owned(),
        })
    };
    let all: Option<Vec<_>> = lines.iter().map(package).collect();
    all.filter(|all| !all.is_empty())
        .ok_or_else(|| Failure::fault("the root file system does not say which packages it has"))
}
