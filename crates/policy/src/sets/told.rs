//! What the user is told about hosts that files of the workspace give to sets: one sentence for those
//! that trust would let in, and one for those that it never does. The files are a stranger's, so that
//! a thousand hosts make no longer sentence than eight.

use super::search::{Found, Named};
use crate::request::Request;
use bailiwick_event::{Text, shell_word};

/// As many hosts as a sentence names.
const NAMED: usize = 8;

/// What is to be told about all sets.
#[derive(Default)]
pub(crate) struct Told {
    left_out: Vec<String>,
    inward: Vec<String>,
    /// Sets that stand for nothing because of that.
    nothing_left: Vec<String>,
}

impl Told {
    /// Takes what there is to tell about one set.
    pub(crate) fn about(&mut self, set: &str, found: &Found) {
        let shown = |(host, from): &Named| format!("{set} {host} (from {from})");
        self.left_out.extend(found.left_out.iter().map(shown));
        self.inward.extend(found.inward.iter().map(shown));
        if found.own.is_empty() && found.accepted.is_empty() {
            self.nothing_left.push(set.to_owned());
        }
    }

    /// The sentences.
    pub(crate) fn notices(&self, request: &Request) -> Vec<String> {
        let mut notices = Vec::new();
        let mut nothing_left = match self.nothing_left.as_slice() {
            [] => String::new(),
            sets => format!("; without them nothing is left of {}", sets.join(", ")),
        };
        if !self.left_out.is_empty() {
            notices.push(format!(
                "files of the workspace give hosts to sets, and these were not trusted and are left out: {}{}; `{}` shows and accepts them",
                few(&self.left_out),
                std::mem::take(&mut nothing_left),
                command(request),
            ));
        }
        if !self.inward.is_empty() {
            notices.push(format!(
                "files of the workspace give hosts to sets, and these are this machine, a private network or a metadata service, which no trust lets in: {}{nothing_left}; if one is meant, write it in [network] allow of your own policy, {}",
                few(&self.inward),
                Text::from(request.shown(&request.user_file)),
            ));
        }
        notices
    }
}

fn few(hosts: &[String]) -> String {
    let (named, more) = hosts.split_at(hosts.len().min(NAMED));
    match more.len() {
        0 => named.join(", "),
        n => format!("{}, and {n} more", named.join(", ")),
    }
}

/// The command that shows the same sets for the same workspace.
fn command(request: &Request) -> String {
    let mut words = vec!["bailiwick policy trust".to_owned()];
    for policy in &request.policies {
        words.push(format!("--policy {}", shell_word(policy)));
    }
    let workspace = request.cwd.join(&request.workspace);
    if workspace.canonicalize().ok() != request.cwd.canonicalize().ok() {
        words.push(format!(
            "--workspace {}",
            shell_word(&request.workspace.to_string_lossy())
        ));
    }
    words.join(" ")
}
