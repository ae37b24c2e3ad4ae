//! What the tests share: a sandbox that stands in for the product, conditions that a busy machine
//! meets, and evidence to tamper with. Figures are never asserted, only verdicts.

use crate::conditions::Conditions;
use crate::evidence::Evidence;
use crate::outcome::Outcome;
use crate::overhead::{OverheadOptions, overhead_under};
use bailiwick_event::Failure;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use tempfile::TempDir;

/// How a program begins that takes the product's command line: what is left is the command.
macro_rules! stand_in {
    ($rest:literal) => {
        concat!(
            r#"#!/bin/sh
case "$1" in
    --version) echo "bailiwick 0.0.0 (release)"; exit 0;;
    serve) echo ready; exec cat;;
    exec) read -r policy ws < "$0.entered"; shift 3;;
    bench)
        read -r policy ws < "$0.entered"; shift 6
        set -- "$ws/bench-helper" bench inside --runs 100 -- "$@";;
    run)
        policy=$3; ws=$5
        case "$6 $7" in *--name*) echo "$policy $ws" > "$0.entered";; esac
        while [ "$1" != -- ]; do shift; done
        shift;;
esac
"#,
            $rest
        )
    };
}
pub(crate) use stand_in;

/// One that lets bwrap do the work.
pub(crate) const BWRAP: &str = stand_in!(
    r#"if grep -q '^deny' "$policy"; then
    for file in $(find "$ws" -name '*.secret'); do set -- --ro-bind /dev/null "$file" "$@"; done
fi
exec bwrap --unshare-all --die-with-parent --ro-bind / / --dev /dev --proc /proc \
    --bind "$ws" "$ws" --chdir "$ws" "$@"
"#
);

/// The example of this crate, which knows `bench inside`.
pub(crate) fn helper() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let helper = tests.ancestors().nth(2).unwrap().join("examples/bench");
    assert!(
        helper.exists(),
        "{} is missing; build it with `cargo build -p bailiwick-bench --example bench`",
        helper.display()
    );
    helper
}

/// The same without cargo's search path for libraries: the loader would look into folder after folder,
/// and what a program calls would depend on how its test was started.
pub(crate) fn helper_of_a_user(directory: &Path) -> PathBuf {
    let text = format!(
        "#!/bin/sh\nunset LD_LIBRARY_PATH\nexec '{}' \"$@\"\n",
        helper().display()
    );
    executable(&directory.join("helper"), &text)
}

/// Conditions that do not depend on what else the machine does.
pub(crate) fn lenient() -> Conditions {
    Conditions {
        contention: f64::INFINITY,
        load: f64::INFINITY,
        runs: 1,
        crowd: 3,
        helper: helper(),
        release: true,
    }
}

pub(crate) fn needs_bwrap() {
    assert!(
        crate::program::find("bwrap").is_some(),
        "this test needs bubblewrap; install it with `apt-get install bubblewrap`"
    );
}

/// A folder on a disk, because the suite refuses `/tmp` and caches.
pub(crate) fn folder() -> TempDir {
    tempfile::Builder::new()
        .prefix(".bench-test-")
        .tempdir_in(std::env::var_os("HOME").unwrap())
        .unwrap()
}

pub(crate) fn script(directory: &Path, text: &str) -> PathBuf {
    executable(&directory.join("stand-in"), text)
}

fn executable(path: &Path, text: &str) -> PathBuf {
    let source = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(source.path(), text).unwrap();
    crate::program::copy(source.path(), path).unwrap();
    path.to_owned()
}

pub(crate) fn options(directory: &Path, binary: PathBuf) -> OverheadOptions {
    OverheadOptions {
        binary,
        runs: 2,
        quick: false,
        out: directory.join("out"),
        network: false,
        against: None,
        peers: Some(Vec::new()),
        rows: Vec::new(),
        counters: false,
    }
}

/// A run of the suite against the stand-in `text`.
pub(crate) fn run(
    text: &str,
    change: impl FnOnce(&mut OverheadOptions),
) -> Result<(TempDir, Outcome, Evidence), Failure> {
    run_under(&lenient(), text, change)
}

/// The same under other conditions.
pub(crate) fn run_under(
    conditions: &Conditions,
    text: &str,
    change: impl FnOnce(&mut OverheadOptions),
) -> Result<(TempDir, Outcome, Evidence), Failure> {
    let directory = folder();
    let mut options = options(directory.path(), script(directory.path(), text));
    change(&mut options);
    let outcome = overhead_under(conditions, &options, &mut |_| {})?;
    let evidence = Evidence::read(&outcome.evidence)?;
    Ok((directory, outcome, evidence))
}

/// One good run with bwrap as a peer.
pub(crate) struct Good {
    pub outcome: Outcome,
    pub evidence: Evidence,
    /// The raw log.
    pub log: String,
    /// The names of everything that the run left in its folder.
    pub left: Vec<String>,
}

/// The good run, taken once for all tests.
pub(crate) fn good() -> &'static Good {
    static GOOD: OnceLock<Good> = OnceLock::new();
    GOOD.get_or_init(|| {
        needs_bwrap();
        let peers = Some(vec!["bwrap".to_owned()]);
        let (directory, outcome, evidence) = run(BWRAP, |o| o.peers = peers).unwrap();
        let out = directory.path().join("out");
        let mut left: Vec<String> = std::fs::read_dir(&out)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        Good {
            log: std::fs::read_to_string(out.join(&evidence.log)).unwrap(),
            outcome,
            evidence,
            left,
        }
    })
}
