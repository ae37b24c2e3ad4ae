//! What of a client is on this machine: found, and where it is a program of the tests' own, compiled,
//! once for all cells of its row.

use crate::cell::Row;
use crate::support::{copy, host_command, pass_on};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, OnceLock};
use tempfile::TempDir;

/// Variables that say where compilers and their packages are, and how packages are fetched.
const TOOLCHAINS: [&str; 20] = [
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOCACHE",
    "GOFLAGS",
    "GOMODCACHE",
    "GOPATH",
    "GOPROXY",
    "GOSUMDB",
    "JAVA_HOME",
    "XDG_CACHE_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "PIP_CERT",
    "NODE_EXTRA_CA_CERTS",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTPS_PROXY",
    "NO_PROXY",
];

/// Whether a row's client is there, looked at once.
type Looked = Arc<OnceLock<Result<(), String>>>;

static ROWS: LazyLock<Mutex<BTreeMap<&str, Looked>>> = LazyLock::new(Mutex::default);
static FOLDER: OnceLock<TempDir> = OnceLock::new();

/// The folder of the tests' own programs, compiled ones too.
pub(crate) fn programs() -> &'static Path {
    let made = FOLDER.get_or_init(|| {
        let folder = tempfile::Builder::new()
            .prefix("bailiwick-test-")
            .tempdir()
            .unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix/programs");
        for entry in std::fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            copy(&entry.path(), &folder.path().join(entry.file_name()));
        }
        folder
    });
    made.path()
}

/// A static is not dropped: whoever ends the tests calls this.
pub(crate) fn clean_up() {
    if let Some(folder) = FOLDER.get() {
        let _ = std::fs::remove_dir_all(folder.path());
    }
}

/// Fails unless the client is there.
pub(crate) fn check(row: &Row) {
    let once = Arc::clone(ROWS.lock().unwrap().entry(row.client).or_default());
    let found = once.get_or_init(|| match shell(row.needs.installed) {
        Ok(_) => Ok(()),
        Err(said) => Err(format!(
            "{} is not installed; `scripts/setup --for test` installs it\n{said}",
            row.client
        )),
    });
    if let Err(missing) = found {
        panic!("{missing}");
    }
}

/// What a line of shell prints in the folder of programs.
pub(crate) fn shell(line: &str) -> Result<String, String> {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts");
    let mut shell = host_command("sh");
    pass_on(&mut shell, &TOOLCHAINS);
    let output = shell
        .args(["-ec", line])
        .current_dir(programs())
        .env("SCRIPTS", scripts)
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err(text(&output.stderr)),
    }
}

/// The home directory that a program lies in (`~/.rustup/…`): under sudo it is not HOME,
/// and a toolchain in another's home directory is rightly hidden.
pub(crate) fn home_of(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path)
        .map(|folder| folder.join(program))
        .find(|file| file.is_file())?;
    let dotted = |path: &&Path| {
        path.file_name()
            .is_some_and(|name| name.to_string_lossy().starts_with('.'))
    };
    Some(found.ancestors().find(dotted)?.parent()?.to_owned())
}
