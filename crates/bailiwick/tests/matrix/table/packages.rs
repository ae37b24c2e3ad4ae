//! Clients that fetch packages and repositories. What they say is what they verified themselves, and
//! the hash of the file that they left.

use crate::cell::Cell::Not;
use crate::cell::Speaks::{Http1, Http2};
use crate::cell::{Cell, Needs, Row, mute};
use crate::step::Step::{Clone, Package, Push};

const WHEEL: &str = "files.pypi.test/hello_wheel-1.0-py3-none-any.whl";
const ARCHIVE: &str = "files.npm.test/hello-npm-1.0.0.tgz";
const CRATE: &str = "files.crates.test/hello-crate-1.0.0.crate";
const DEB: &str = "apt.test/debian/hello-apt_1.0_all.deb";
const REPOSITORY: &str = "git.test/hello.git";

const NOT_SPOKEN: Cell = Not("not spoken");

pub(super) const ROWS: [Row; 5] = [
    Row {
        client: "git",
        needs: Needs {
            installed: "git --version",
            package: Some("git"),
            environment: &[
                ("GIT_CONFIG_GLOBAL", "/dev/null"),
                ("GIT_CONFIG_NOSYSTEM", "1"),
                ("GIT_TERMINAL_PROMPT", "0"),
                ("GIT_AUTHOR_DATE", "2026-01-01T00:00:00Z"),
                ("GIT_COMMITTER_DATE", "2026-01-01T00:00:00Z"),
            ],
            programs: &["git.sh"],
            trust: &["GIT_SSL_CAINFO"],
            ..Needs::NOTHING
        },
        h1: mute(
            Http1,
            &["git.test"],
            "sh git.sh -c http.version=HTTP/1.1",
            &[Clone(REPOSITORY), Push(REPOSITORY)],
        ),
        h2: mute(
            Http2,
            &["git.test"],
            "sh git.sh -c http.version=HTTP/2",
            &[Clone(REPOSITORY), Push(REPOSITORY)],
        ),
        websocket: NOT_SPOKEN,
        sse: NOT_SPOKEN,
    },
    Row {
        client: "apt",
        needs: Needs {
            installed: "apt-get --version && apt-ftparchive --version",
            package: Some("apt"),
            files: &[
                (
                    "apt/sources.list",
                    "deb [trusted=yes] https://apt.test/debian ./\n",
                ),
                ("apt/state/status", ""),
                ("apt/state/lists/partial/.keep", ""),
                ("apt/cache/archives/partial/.keep", ""),
                (
                    "apt/apt.conf",
                    "Dir::Etc \"{workspace}/apt\";\n\
                     Dir::Etc::Parts \"parts\";\n\
                     Dir::State \"{workspace}/apt/state\";\n\
                     Dir::State::Status \"{workspace}/apt/state/status\";\n\
                     Dir::Cache \"{workspace}/apt/cache\";\n\
                     Acquire::Languages \"none\";\n\
                     Acquire::Retries \"0\";\n",
                ),
            ],
            environment: &[("APT_CONFIG", "{workspace}/apt/apt.conf")],
            trust: &["ORIGIN_CA"],
            ..Needs::NOTHING
        },
        h1: mute(
            Http1,
            &["apt.test"],
            "apt-get ${ORIGIN_CA:+-o Acquire::https::CaInfo=$ORIGIN_CA} --error-on=any update >&2 && \
             apt-get ${ORIGIN_CA:+-o Acquire::https::CaInfo=$ORIGIN_CA} download hello-apt >&2 && \
             echo package - - $(sha256sum <hello-apt_1.0_all.deb | cut -d' ' -f1)",
            &[Package(DEB)],
        ),
        h2: NOT_SPOKEN,
        websocket: NOT_SPOKEN,
        sse: NOT_SPOKEN,
    },
    Row {
        client: "pip",
        needs: Needs {
            installed: "python3 -m pip --version",
            package: Some("pip"),
            home_of: "python3",
            environment: &[
                ("PIP_CONFIG_FILE", "/dev/null"),
                ("PIP_DISABLE_PIP_VERSION_CHECK", "1"),
                ("PIP_NO_CACHE_DIR", "1"),
                ("PIP_RETRIES", "0"),
            ],
            trust: &["PIP_CERT"],
            ..Needs::NOTHING
        },
        h1: mute(
            Http1,
            &["pypi.test", "files.pypi.test"],
            // The interpreter itself: a version manager's stand-in writes into its own folder. No path:
            // pip's `user-agent` has the version of rustc where that answers within half a second.
            "python=$(python3 -c 'import sys; print(sys.executable)') && \
             PATH=/none \"$python\" -m pip download --no-deps \
             --index-url https://pypi.test/simple/ hello-wheel >&2 && \
             echo package - - $(sha256sum <hello_wheel-1.0-py3-none-any.whl | cut -d' ' -f1)",
            &[Package(WHEEL)],
        ),
        h2: NOT_SPOKEN,
        websocket: NOT_SPOKEN,
        sse: NOT_SPOKEN,
    },
    Row {
        client: "npm",
        needs: Needs {
            installed: "npm --version",
            package: Some("npm"),
            home_of: "npm",
            environment: &[
                ("npm_config_audit", "false"),
                ("npm_config_cache", "{workspace}/cache"),
                ("npm_config_fetch_retries", "0"),
                ("npm_config_globalconfig", "{workspace}/global.npmrc"),
                ("npm_config_registry", "https://npm.test/"),
                ("npm_config_update_notifier", "false"),
                ("npm_config_userconfig", "{workspace}/user.npmrc"),
            ],
            trust: &["npm_config_cafile"],
            ..Needs::NOTHING
        },
        h1: mute(
            Http1,
            &["npm.test", "files.npm.test"],
            "npm pack hello-npm >&2 && \
             echo package - - $(sha256sum <hello-npm-1.0.0.tgz | cut -d' ' -f1)",
            &[Package(ARCHIVE)],
        ),
        h2: NOT_SPOKEN,
        websocket: NOT_SPOKEN,
        sse: NOT_SPOKEN,
    },
    Row {
        client: "cargo",
        needs: Needs {
            installed: "cargo --version",
            package: Some("cargo"),
            home_of: "cargo",
            files: &[
                (
                    "Cargo.toml",
                    "[package]\nname = \"project\"\nversion = \"1.0.0\"\nedition = \"2021\"\n\
                     [dependencies]\nhello-crate = \"1\"\n[workspace]\n",
                ),
                ("src/lib.rs", ""),
                (
                    "home/config.toml",
                    "[source.crates-io]\nreplace-with = \"mirror\"\n\
                     [source.mirror]\nregistry = \"sparse+https://crates.test/index/\"\n\
                     [net]\nretry = 0\n",
                ),
            ],
            environment: &[("CARGO_HOME", "{workspace}/home")],
            trust: &["CARGO_HTTP_CAINFO"],
            ..Needs::NOTHING
        },
        h1: mute(
            Http1,
            &["crates.test", "files.crates.test"],
            "CARGO_HTTP_MULTIPLEXING=false cargo fetch >&2 && \
             echo package - - $(cat home/registry/cache/*/*.crate | sha256sum | cut -d' ' -f1)",
            &[Package(CRATE)],
        ),
        h2: mute(
            Http2,
            &["crates.test", "files.crates.test"],
            "cargo fetch >&2 && \
             echo package - - $(cat home/registry/cache/*/*.crate | sha256sum | cut -d' ' -f1)",
            &[Package(CRATE)],
        ),
        websocket: NOT_SPOKEN,
        sse: NOT_SPOKEN,
    },
];
