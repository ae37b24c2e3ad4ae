//! A run in a sandbox that waits for it already (`bailiwick serve`). Whether one waits is looked up
//! by what the run asks for; whether it fits is decided by the process that holds it, by making
//! everything again in thought. Where none does, the run makes its own as if there were no other.

use crate::backend::Backend;
use crate::place::{Place, pass};
use crate::protocol::{Wanted, WantedRun, knock_in_passing};
use crate::session::{Finished, RunRequest};
use crate::visit::visit;
use bailiwick_event::Failure;
use bailiwick_ledger::StateDir;
use bailiwick_policy::Request;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a run waits for a sandbox that waits: no longer than it takes to make one.
const PATIENCE: Duration = Duration::from_millis(10);

/// Whether sandboxes may wait for runs of this user.
pub(crate) fn anything_waits() -> bool {
    StateDir::location().is_some_and(|state| doors(&state).exists())
}

/// Runs the command in a sandbox that waits; none where no such sandbox does.
pub(crate) fn run(
    backend: &dyn Backend,
    request: &RunRequest,
) -> Result<Option<Finished>, Failure> {
    if !request.warm || request.early.is_some() {
        return Ok(None);
    }
    let Some(folder) = StateDir::location().map(|state| doors(&state)) else {
        return Ok(None);
    };
    let name = name(&backend.kind(), &request.policy, request.best_effort);
    let door = folder.join(name);
    let Some(socket) = knock_in_passing(&door, PATIENCE) else {
        return Ok(None);
    };
    pass(Place::Knocked);
    let mut wanted = Wanted::new(request.argv.clone(), request.environment.clone());
    wanted.run = Some(WantedRun {
        policies: request.policy.policies.clone(),
        workspace: request.policy.workspace.clone(),
        allow_wide_workspace: request.policy.allow_wide_workspace,
        best_effort: request.best_effort,
        name: request.name.clone(),
        monitor: request.monitor,
        json: request.json,
    });
    visit(&socket, &mut wanted)
}

/// Where the doors of waiting sandboxes are.
pub(crate) fn doors(state: &Path) -> PathBuf {
    state.join("serve")
}

/// The name of the door for runs that ask for this.
pub(crate) fn name(kind: &str, request: &Request, best_effort: bool) -> String {
    let whole = |path: &Path| {
        let path = request.cwd.join(path);
        path.canonicalize().unwrap_or(path)
    };
    let mut hash = blake3::Hasher::new();
    let mut add = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    add(kind.as_bytes());
    add(whole(&request.workspace).as_os_str().as_encoded_bytes());
    add(&[
        u8::from(request.allow_wide_workspace),
        u8::from(best_effort),
    ]);
    for policy in &request.policies {
        // A template has the name of no file.
        match request.cwd.join(policy).canonicalize() {
            Ok(file) => add(file.as_os_str().as_encoded_bytes()),
            Err(_) => add(policy.as_bytes()),
        }
    }
    hash.finalize().to_hex()[..32].to_owned()
}
