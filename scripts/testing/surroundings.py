"""What a test inherits: the same everywhere, whatever started the suite.

Decision: nothing of the caller's terminal, signal dispositions, umask, locale or variables reaches a test,
so that a suite that is green in a terminal is green in a background job too. A test that is about one of
these sets it itself.
"""
import os
import signal
import sys

# Variables that say where things are, or how a registry is reached.
KEPT = {
    "BAILIWICK_CASES", "BAILIWICK_HOSTILE_SECONDS", "BAILIWICK_LEFT_CASES", "BAILIWICK_LEFT_SEED", "BAILIWICK_RACES", "BAILIWICK_RACE_ROUNDS", "BAILIWICK_SEED",
    "CARGO_HOME", "CARGO_TARGET_DIR", "CI", "GOCACHE", "GOFLAGS", "GOMODCACHE", "GOPATH", "GOPROXY", "GOSUMDB",
    "H2SPEC", "HOME", "PATH", "RUSTUP_HOME", "RUSTUP_TOOLCHAIN", "SSL_CERT_DIR", "SSL_CERT_FILE", "TMPDIR",
    "USER", "XDG_CACHE_HOME", "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY",
}
PREFIXES = ("CARGO_NET_", "CARGO_PROFILE_", "CARGO_REGISTRIES_", "CARGO_SOURCE_")


def variables(**more):
    """The environment of a test, with these variables besides."""
    kept = {name: value for name, value in os.environ.items() if name in KEPT or name.startswith(PREFIXES)}
    return kept | {"LANG": "C.UTF-8", "RUST_BACKTRACE": "1"} | {name: str(value) for name, value in more.items()}


def become_usual():
    """Gives this process, and with it all that it starts, the umask and signals of a login shell."""
    os.umask(0o022)
    # A handler of this process becomes the default action in what it starts; so does what is the default.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # Ended from outside, it ends what it has started.
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    for number in signal.valid_signals() - {signal.SIGINT, signal.SIGKILL, signal.SIGSTOP}:
        if number < signal.SIGRTMIN and signal.getsignal(number) is signal.SIG_IGN:
            # Python ignores these two itself, and gives them back to what it starts.
            if number not in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, set())


def as_user(uid, words):
    """The words as they are executed by that user: without a group or a capability of the caller's."""
    return ["setpriv", "--reuid", str(uid), "--regid", str(uid), "--clear-groups", *words]
