//! `bailiwick ca`.

use crate::cli::CaCommand;
use crate::{Done, output};
use bailiwick_event::{Failure, Text};
use bailiwick_gate::ca::{Authority, AuthorityError, FILE};
use bailiwick_ledger::StateDir;

fn fault(error: &AuthorityError) -> Failure {
    Failure::fault(error.to_string())
}

/// Shows, gives away or replaces the authority of this installation.
pub(crate) fn ca(command: &CaCommand) -> Done {
    let state = StateDir::from_environment()?;
    let state = state.path();
    match command {
        CaCommand::Show => {
            let place = Text::from(state.join(FILE).as_os_str());
            output::print(&match Authority::find(state).map_err(|e| fault(&e))? {
                Some(authority) => format!(
                    "file:        {place} (with its key; never leaves this machine)\n\
                     fingerprint: SHA-256 {}\n",
                    authority.fingerprint()
                ),
                None => format!(
                    "there is none yet; it is made in {place} when a policy first asks to look into TLS, \
                     or by `bailiwick ca export`\n"
                ),
            })?;
        }
        CaCommand::Export => {
            let authority = Authority::open(state).map_err(|e| fault(&e))?;
            output::print(authority.pem())?;
        }
        CaCommand::Rotate => {
            let authority = Authority::rotate(state).map_err(|e| fault(&e))?;
            output::print(&format!(
                "fingerprint: SHA-256 {}\nruns that go on keep the one before; nothing else trusts it any more\n",
                authority.fingerprint()
            ))?;
        }
    }
    Ok(0)
}
