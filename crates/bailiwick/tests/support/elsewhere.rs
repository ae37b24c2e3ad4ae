//! A line of shell in a mount namespace of its own, so that a test can fill a disk or take `/proc`
//! away without the machine noticing. An ordinary user makes it in a user namespace, in which he
//! stays himself: what `bailiwick` sees is a user, and no root.

use super::{Finished, Sandbox, host_command, run_to_end};
use std::time::Duration;

/// What every script may use: `mnt TYPE OPTIONS PLACE`, `bw WORDS` (the product, as the user and
/// without the namespace's capabilities; says its exit code), `full FOLDER` (not a byte is free).
const WORDS: &str = r#"
set -u
mnt() { mount -t "$1" -o "$2" none "$3" || { echo "cannot mount"; exit 99; }; }
plain() { if [ "$(id -u)" = 0 ]; then "$@"; else
    setpriv --ambient-caps=-all --inh-caps=-all -- "$@"; fi; }
bw() { plain "$BAILIWICK" "$@"; echo "exit $?"; }
full() { dd if=/dev/zero of="$1/ballast" bs=1k 2>/dev/null; head -c 1000 /dev/zero >> "$1/ballast"; } 2>/dev/null
"#;

impl Sandbox {
    /// Runs a script in the workspace in a mount namespace of its own. `$STATE`, `$WS` and `$ROOT` are
    /// the test's folders.
    #[track_caller]
    pub(crate) fn elsewhere(&self, script: &str) -> Finished {
        let root = rustix::process::geteuid().is_root();
        let like = self.command();
        let mut command = host_command("unshare");
        command.current_dir(self.workspace());
        for (name, value) in like.get_envs() {
            command.env(name, value.unwrap_or_default());
        }
        if !root {
            command.args(["--map-current-user", "--keep-caps"]);
        }
        command
            .env("BAILIWICK", super::binary())
            .env("STATE", self.scratch().state())
            .env("WS", self.workspace())
            .env("ROOT", self.scratch().root())
            .args(["--mount", "sh", "-c"])
            .arg(format!("{WORDS}{script}"));
        run_to_end(&mut command, &[], Duration::from_secs(300)).success()
    }
}
