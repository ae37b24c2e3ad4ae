//! The suite's rows. Each is an act that agents perform all day, or many of one act whose cost is
//! far below that of a start.

use crate::act::{self, CREATE, READ};
use crate::extra::{self, Extra, SOURCES, WIDE};
use crate::fixture::{Fixture, MATCHES, MATCHING_FILES, status_text};
use crate::profile::Profile;
use crate::program;
use crate::server::BODY;
use crate::workload::{Columns, Content, Expected, Job, Workload, job};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

/// What is written at once: the capacity of a pipe.
const PIPE_BLOCK: u64 = 1 << 16;
/// The name of the row through a pipe.
pub(crate) const PIPE: &str = "cat, 1 GiB of pipe";
/// The name of the row of the product's smallest command.
pub(crate) const TRUE: &str = "true";
pub(crate) const PYTHON: &str = "python3 -c pass";
pub(crate) const GIT_STATUS: &str = "git status";
pub(crate) const RIPGREP: &str = "rg, 763 files";

/// How much a row does. Tests look at what it does and not at its time.
const fn amount(real: usize, in_tests: usize) -> usize {
    if cfg!(test) { in_tests } else { real }
}
/// Bytes through the pipe: enough that a start is a hundredth of it.
const PIPED_BYTES: u64 = amount(1 << 30, 1 << 20) as u64;
/// Files that a shell creates.
pub(crate) const CREATED_FILES: usize = amount(200, 20);
const STARTS: usize = amount(200, 3);
const READS: usize = amount(20_000, 10);
const CREATES: usize = amount(1_000, 10);
/// A build takes the better part of a minute.
const BUILD_RUNS: u32 = 5;

/// The rows, in the table's order.
pub(crate) fn rows(fixture: &Fixture, server: Option<SocketAddr>, quick: bool) -> Vec<Workload> {
    let nothing = || Expected::Output(String::new());
    let new = |name, program, arguments: &[&str], expected| {
        Workload::new(fixture, name, program, arguments, expected)
    };
    let mut rows = vec![
        Workload {
            bare: true,
            ..new(TRUE, "true", &[], nothing())
        },
        new(
            "echo",
            "echo",
            &["bailiwick"],
            Expected::Output("bailiwick\n".to_owned()),
        ),
        new(PYTHON, "python3", &["-c", "pass"], nothing()),
        new("node -e ''", "node", &["-e", ""], nothing()),
        git_status(fixture),
        search(fixture),
        starts(fixture),
        reads(fixture),
        creates(fixture),
        create_files(fixture),
        pipe(fixture),
    ];
    // Generating fifty thousand files or building two thousand is nothing for a first look.
    let wide = if quick { &WIDE[..1] } else { &WIDE[..] };
    rows.extend(wide.iter().map(|files| denied(fixture, *files)));
    if !quick {
        rows.push(build(fixture));
    }
    if let Some(address) = server {
        rows.push(fetch(fixture, address));
    }
    rows
}

/// The shell's line around the command of the row through a pipe.
pub(crate) fn pipeline() -> String {
    let blocks = PIPED_BYTES / PIPE_BLOCK;
    format!("dd if=/dev/zero bs={PIPE_BLOCK} count={blocks} status=none | \"$@\" | wc -c")
}

/// A number as it is read: 1,000.
fn thousands(n: usize) -> String {
    match n {
        0..1000 => n.to_string(),
        _ => format!("{},{:03}", n / 1000, n % 1000),
    }
}

/// A name of a row of many acts, as the limits know it.
pub(crate) fn starts_name() -> String {
    format!("{} starts of true", thousands(STARTS))
}
/// The same.
pub(crate) fn reads_name() -> String {
    format!("{} × open, read, close", thousands(READS))
}
/// The same.
pub(crate) fn creates_name() -> String {
    format!("{} × create, close", thousands(CREATES))
}
/// The name of the build.
pub(crate) fn build_name() -> String {
    format!("{} compiler starts", thousands(SOURCES))
}

fn starts(fixture: &Fixture) -> Workload {
    let name = starts_name();
    let script = format!("i=0; while [ $i -lt {STARTS} ]; do \"$1\" || exit 1; i=$((i+1)); done");
    let own = program::find("true").map(|found| found.path);
    let path = own.unwrap_or_else(|| "true".into());
    let arguments = ["-c", &script, "sh", &path.to_string_lossy()];
    Workload {
        acts: Some(STARTS),
        ..Workload::new(
            fixture,
            &name,
            "sh",
            &arguments,
            Expected::Output(String::new()),
        )
    }
    .defined_as(format!("sh starts the program true {STARTS} times"))
}

fn acts(fixture: &Fixture, name: &str, kind: &str, count: usize, expected: Expected) -> Workload {
    let helper = fixture.helper();
    let path = match &expected {
        Expected::Created { folder, .. } => folder.clone(),
        _ => fixture.read_file(),
    };
    let argv = act::command(&helper, kind, count, &path);
    Workload {
        acts: Some(count),
        job: Ok(Job { argv, path: helper }),
        ..Workload::new(fixture, name, "true", &[], expected)
    }
}

fn reads(fixture: &Fixture) -> Workload {
    let bytes = READS * fixture.read_file_bytes();
    let expected = Expected::Output(format!("{bytes}\n"));
    acts(fixture, &reads_name(), READ, READS, expected)
        .defined_as(format!("one file is opened, read and closed {READS} times"))
}

fn creates(fixture: &Fixture) -> Workload {
    let expected = Expected::Created {
        folder: fixture.created(),
        files: CREATES,
        content: Content::Empty,
    };
    acts(fixture, &creates_name(), CREATE, CREATES, expected)
        .defined_as(format!("{CREATES} empty files are created and closed"))
}

fn denied(fixture: &Fixture, files: usize) -> Workload {
    let tree = Extra::Wide(files);
    let workspace = tree.folder(fixture);
    let secret = extra::secret(&workspace, files);
    let secret = secret.to_string_lossy();
    let there = ["-s", &secret].map(OsString::from).to_vec();
    Workload {
        profile: Profile::Deny,
        columns: Columns::Whole,
        extra: Some(tree),
        workspace,
        includes: "fork, exec, `test` of a file that the pattern denies, and its exit; `**` is \
                   searched for in the whole workspace",
        plain: job("test", there).ok(),
        ..Workload::new(
            fixture,
            &format!("`**` deny, {} files", thousands(files)),
            "test",
            &["!", "-s", &secret],
            Expected::Output(String::new()),
        )
    }
    .defined_as(format!(
        "test of a denied file; {} of {files} files match the pattern **/*.secret",
        extra::SECRETS
    ))
}

fn build(fixture: &Fixture) -> Workload {
    // The compiler's temporary files lie on the same disk in every column: `/tmp` would be memory
    // in a sandbox.
    const SCRIPT: &str = "export TMPDIR=\"$1/tmp\"; for f in \"$1\"/src/*.c; do n=${f##*/}; \
                          \"$2\" -c \"$f\" -o \"$1/obj/${n%.c}.o\" || exit 1; done";
    let project = Extra::Project.folder(fixture);
    let compiler = job("cc", Vec::new());
    let path = compiler
        .as_ref()
        .map(|job| job.path.clone())
        .unwrap_or_default();
    let arguments = [
        "-c",
        SCRIPT,
        "sh",
        &project.to_string_lossy(),
        &path.to_string_lossy(),
    ];
    let row = Workload::new(
        fixture,
        &build_name(),
        "sh",
        &arguments,
        Expected::Built(project.clone()),
    );
    Workload {
        columns: Columns::Protections,
        extra: Some(Extra::Project),
        most_runs: Some(BUILD_RUNS),
        time_limit: Duration::from_secs(600),
        counted: false,
        acts: Some(SOURCES),
        job: compiler.and(row.job.clone()),
        ..row
    }
    .defined_as(format!(
        "sh compiles {SOURCES} small sources with cc -c, one by one"
    ))
}

fn git_status(fixture: &Fixture) -> Workload {
    let repository = fixture.repository();
    let repository = repository.to_string_lossy();
    let arguments = [
        "-c",
        "core.fsmonitor=false",
        "-c",
        "core.untrackedCache=false",
        "--no-optional-locks",
        "-C",
        &repository,
        "status",
        "--porcelain",
        "--untracked-files=normal",
    ];
    Workload::new(
        fixture,
        GIT_STATUS,
        "git",
        &arguments,
        Expected::Output(status_text()),
    )
    .defined_as("git status --porcelain of 200 files, 3 modified, 2 untracked".to_owned())
}

fn search(fixture: &Fixture) -> Workload {
    let tree = fixture.tree();
    let tree = tree.to_string_lossy();
    let expected = Expected::Counts {
        files: MATCHING_FILES,
        matches: MATCHES,
    };
    if program::find("rg").is_some() {
        let arguments = [
            "--no-config",
            "--no-ignore",
            "--count-matches",
            "needle",
            &tree,
        ];
        Workload::new(fixture, RIPGREP, "rg", &arguments, expected)
            .defined_as("rg --count-matches over 763 generated files".to_owned())
    } else {
        Workload::new(
            fixture,
            "grep -r, 763 files (rg is absent)",
            "grep",
            &["-rc", "needle", &tree],
            expected,
        )
        .defined_as("grep -rc over 763 generated files".to_owned())
    }
}

fn create_files(fixture: &Fixture) -> Workload {
    let directory = fixture.created();
    let script = format!(
        "i=0; while [ $i -lt {CREATED_FILES} ]; do echo \"file $i\" >\"$1/f$i\"; i=$((i+1)); done"
    );
    let arguments = ["-c", &script, "sh", &directory.to_string_lossy()];
    Workload::new(
        fixture,
        &format!("create {} files", thousands(CREATED_FILES)),
        "sh",
        &arguments,
        Expected::Created {
            folder: directory.clone(),
            files: CREATED_FILES,
            content: Content::Line,
        },
    )
    .defined_as(format!("sh creates {CREATED_FILES} files of one line"))
}

fn pipe(fixture: &Fixture) -> Workload {
    Workload {
        piped: true,
        includes: "fork, exec, the whole of `dd | cat | wc`, of which only cat is in the sandbox, \
                   and its exit",
        ..Workload::new(
            fixture,
            PIPE,
            "cat",
            &[],
            Expected::Output(format!("{PIPED_BYTES}\n")),
        )
    }
    .defined_as(format!(
        "{PIPED_BYTES} zero bytes through `dd bs=64K | cat | wc`"
    ))
}

fn fetch(fixture: &Fixture, address: SocketAddr) -> Workload {
    const URL: &str = "http://bench.test/";
    let plain = [
        "-sS",
        "--noproxy",
        "*",
        "--connect-to",
        &format!("bench.test:80:{address}"),
        URL,
    ];
    Workload {
        profile: Profile::Network,
        includes: "fork, exec, the command with one plain HTTP request to a server on the host's \
                   loopback, and its exit",
        plain: job("curl", plain.iter().map(OsString::from).collect()).ok(),
        ..Workload::new(
            fixture,
            "curl, loopback",
            "curl",
            &["-sS", URL],
            Expected::Output(BODY.to_owned()),
        )
    }
}

#[cfg(test)]
#[path = "catalogue_tests.rs"]
mod tests;
