//! A session that is saved and goes on later, or twice: what has to be known of it beside its sandbox.

use crate::backend::{Running, Save};
use crate::door::OwnCommand;
use crate::ending::LAST;
use crate::exec::{Connection, ended};
use crate::packet::{raw, receive, send};
use crate::protocol::{Ask, Say};
use crate::supervisor::happened;
use bailiwick_event::{Act, Failure, Text};
use bailiwick_gate::Secret;
use bailiwick_guard::Guard;
use bailiwick_policy::Effective;
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use serde::{Deserialize, Serialize};
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::path::PathBuf;

/// More than a session has to say, in bytes.
const LARGEST: u64 = 64 << 20;

/// What is known of a session that was saved. It has no secrets: only what stands for them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Continuation {
    /// Its own command's words.
    pub argv: Vec<OsString>,
    /// Where that started.
    #[serde(with = "raw")]
    pub cwd: PathBuf,
    /// The session's id.
    session: String,
    /// The policy that is in force, as text.
    policy: String,
    /// Variables of what stands for secrets.
    given: Vec<(OsString, OsString)>,
    /// What the backend has to know.
    pub sandbox: Vec<u8>,
}

impl Continuation {
    /// Reads what [`save`] wrote.
    ///
    /// # Errors
    /// A [`Failure`] where another version of the product wrote it.
    pub fn read(file: File) -> Result<Self, Failure> {
        let fault = |why: &dyn std::fmt::Display| {
            Failure::fault(format!(
                "the session that was saved cannot be read: {why}\n  remedy: it was saved by another \
                 version of bailiwick; go on with that one"
            ))
        };
        let mut bytes = Vec::new();
        let read = file.take(LARGEST).read_to_end(&mut bytes);
        read.map_err(|error| fault(&error))?;
        serde_json::from_slice(&bytes).map_err(|error| fault(&error))
    }

    /// The policy that was in force.
    ///
    /// # Errors
    /// See [`Continuation::read`].
    pub fn policy(&self) -> Result<Effective, Failure> {
        Effective::from_lock(&self.policy).map_err(Failure::fault)
    }

    /// The row of a record that says where its session comes from.
    pub(crate) fn row(&self) -> Act {
        Act::GoesOn {
            session: Text::from(self.session.as_str()),
        }
    }

    /// The same secrets, with what its programs know for them.
    pub(crate) fn known(&self, secrets: Vec<Secret>) -> Vec<Secret> {
        let one = |secret: Secret| {
            let name = OsStr::new(secret.name());
            let known = self.given.iter().find(|(given, _)| given == name);
            match known.and_then(|(_, stand_in)| stand_in.clone().into_string().ok()) {
                Some(stand_in) => secret.standing_in(stand_in),
                None => secret,
            }
        };
        secrets.into_iter().map(one).collect()
    }
}

/// How a session is saved.
#[derive(Debug)]
pub struct SaveRequest<'a> {
    /// Its name, or its id or the beginning of it.
    pub session: &'a str,
    /// What has to be known of it.
    pub known: BorrowedFd<'a>,
    /// Memory and devices.
    pub state: BorrowedFd<'a>,
    /// A copy of its disk; none where it ends, and leaves its own.
    pub disk: Option<BorrowedFd<'a>>,
}

/// Saves a session that runs. `once_known` is called where it goes on, as soon as what has to be known of it
/// is written: a copy can begin then.
///
/// # Errors
/// A [`Failure`] where there is no such session, it cannot be entered, or it cannot be saved; it goes on
/// then.
pub fn save(
    request: &SaveRequest<'_>,
    once_known: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let connection = Connection::open(request.session)?;
    let lost = |error: io::Error| match error.kind() {
        // The second where nobody had taken this in.
        io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset => ended(request.session),
        _ => Failure::fault(format!("the session does not answer: {error}")),
    };
    let given = [request.known, request.state]
        .into_iter()
        .chain(request.disk);
    let given: Vec<BorrowedFd<'_>> = given.collect();
    send(&connection.0, &Ask::Save, &given).map_err(lost)?;
    let mut said = receive::<Say>(&connection.0).map_err(lost)?;
    if matches!(said, Some((Say::Known, _))) {
        once_known()?;
        said = receive::<Say>(&connection.0).map_err(lost)?;
    }
    match said {
        // Who ends lets go of the disk before it is gone.
        Some((Say::Saved(Ok(())), _)) => match request.disk {
            Some(_) => Ok(()),
            None => connection.has_ended(LAST).map(drop),
        },
        Some((Say::Saved(Err((2, why))), _)) => Err(Failure::usage(why)),
        Some((Say::Saved(Err((_, why))), _)) => Err(Failure::fault(why)),
        // It came to its end before it heard of this.
        None => Err(ended(request.session)),
        Some((other, _)) => Err(Failure::fault(format!(
            "the session cannot be saved now: {other:?}; try again"
        ))),
    }
}

/// Saves the session for a client.
pub(crate) fn serve(
    descriptors: Vec<OwnedFd>,
    own: &OwnCommand,
    given: &[(OsString, OsString)],
    running: &mut dyn Running,
    guard: &Guard,
    say: impl FnOnce(&Say),
) -> Result<(), (u8, String)> {
    let told = |failure: Failure| (failure.exit_code(), failure.to_string());
    let mut descriptors = descriptors.into_iter();
    let (Some(known), Some(state)) = (descriptors.next(), descriptors.next()) else {
        return Err((2, "nothing to save to came along".to_owned()));
    };
    let disk = descriptors.next();
    let to = Save {
        state: state.as_fd(),
        disk: disk.as_ref().map(OwnedFd::as_fd),
    };
    let continuation = Continuation {
        argv: own.argv.clone(),
        cwd: own.cwd.clone(),
        session: guard.ledger().id().to_string(),
        policy: guard.policy().to_lock(),
        given: given.to_vec(),
        sandbox: running.known(&to).map_err(told)?,
    };
    let fault = |why: &dyn std::fmt::Display| (125, format!("the session was not saved: {why}"));
    let bytes = serde_json::to_vec(&continuation).map_err(|error| fault(&error))?;
    let mut file = File::from(known);
    file.write_all(&bytes).map_err(|error| fault(&error))?;
    if !to.ends() {
        say(&Say::Known);
    }
    running.save(&to).map_err(told)?;
    guard.note(Act::Saved { ended: to.ends() }, happened());
    Ok(())
}
