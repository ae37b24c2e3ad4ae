//! What the tests of this crate share. Every test has a state folder of its own.

use crate::{Filter, Ledger, NewSession, SessionReader, StateDir, Verification};
use bailiwick_event::{Act, Decision, Event, Origin, RuleRef, SessionId, Text, Transport};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

pub(crate) struct Lab {
    pub(crate) state: StateDir,
    _folder: TempDir,
}

impl Lab {
    pub(crate) fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let state = StateDir::at(folder.path().join("state")).unwrap();
        Self {
            state,
            _folder: folder,
        }
    }

    /// A session whose rows wait for room until a busy machine has made some.
    pub(crate) fn session(&self) -> Ledger {
        let ledger = Ledger::create(&self.state, &new_session(None)).unwrap();
        ledger.wait_for_room(Duration::from_secs(600));
        ledger
    }

    pub(crate) fn named(&self, name: &str) -> Ledger {
        Ledger::create(&self.state, &new_session(Some(name))).unwrap()
    }

    pub(crate) fn reader(&self, id: &SessionId) -> SessionReader {
        SessionReader::open(&self.state, id).unwrap()
    }

    pub(crate) fn events(&self, id: &SessionId) -> Vec<Event> {
        self.reader(id).events(&Filter::default()).unwrap()
    }

    pub(crate) fn verify(&self, id: &SessionId) -> Verification {
        self.reader(id).verify().unwrap()
    }

    /// A session with this many rows and its end, closed.
    pub(crate) fn closed(&self, rows: usize) -> SessionId {
        let ledger = self.session();
        for i in 0..rows {
            ledger
                .record(dns(format!("{i}.example.com")), allow())
                .unwrap();
        }
        ledger.close().unwrap();
        ledger.id().clone()
    }
}

pub(crate) fn new_session(name: Option<&str>) -> NewSession<'_> {
    NewSession {
        name,
        workspace: Path::new("/home/me/project"),
        argv: &[],
    }
}

pub(crate) fn dns(name: impl Into<Text>) -> Act {
    Act::Dns {
        qname: name.into(),
        qtype: "A".into(),
        transport: Transport::Udp,
    }
}

pub(crate) fn allow() -> Decision {
    Decision::allow(RuleRef {
        id: "network.allow".into(),
        origin: Origin::new("./bailiwick.toml", 3, 9),
    })
}

pub(crate) fn deny() -> Decision {
    let rule = RuleRef {
        id: "network.default".into(),
        origin: Origin::built_in(),
    };
    Decision::deny(rule, "nothing allows it", "allow it")
}
