//! What the supervisor and the sandbox's pid 1 say to each other, one packet each on a
//! sequenced-packet socket. Packets from inside are parsed as hostile: pid 1 shares its user id
//! with the program that it guards.

use bailiwick_event::LimitKind;
pub(crate) use bailiwick_sandbox::packet::{
    channel, receive, send, send_now, step_aside, tell, tell_now,
};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::time::Duration;

/// A file of a working tree that git goes on without.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Withheld {
    /// Its path from the top of the working tree.
    pub(crate) below: OsString,
    /// Whether git believes to have removed it.
    pub(crate) removed: bool,
}

/// From pid 1 to the supervisor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Report {
    /// The namespaces and the base of the root are there.
    Based,
    /// New user namespace entered; its id maps can be written.
    MapIds,
    /// Everything is set up; descriptors come along in the order of the field.
    Ready {
        /// What each descriptor is.
        descriptors: Vec<Carried>,
    },
    /// A step failed; nothing was started.
    Failed {
        /// What was being done.
        stage: String,
        /// The error number; 0 where there was none.
        errno: i32,
    },
    /// The folder in which a command would start is not there.
    NoFolder {
        /// Which command's.
        job: u32,
        /// Why.
        errno: i32,
    },
    /// A command could not be executed.
    ExecFailed {
        /// Which.
        job: u32,
        /// Why.
        errno: i32,
    },
    /// A command was stopped by a signal.
    Stopped {
        /// Which command.
        job: u32,
        /// Which signal.
        signal: i32,
    },
    /// A command that entered the sandbox ended.
    Ended {
        /// Which.
        job: u32,
        /// As a shell reports it.
        code: u8,
    },
    /// The sandbox's own command ended and nothing else is left.
    Exited {
        /// As a shell reports it.
        code: u8,
    },
    /// The write broker refused an act.
    Refused {
        /// The number of the rule (see [`crate::broker::Rules::named`]).
        rule: u32,
        /// The path that would have been written.
        path: OsString,
        /// What would have been done with it.
        operation: String,
        /// More about why, where the rule alone does not say.
        reason: Option<String>,
        /// Where git goes on without it.
        withheld: Option<Withheld>,
        /// Refusals before this one that were too many to be told.
        lost: u64,
    },
    /// A program is about to write for the first time: which repositories are there, and what leads to protected
    /// names?
    Looks,
    /// A program has written something, of which nothing had to be known, that is no device: the same will be asked soon.
    WillLook,
    /// A file will be written where it is, and decided when nobody writes it any more. Where this process has
    /// been killed by then, nobody else knows of it.
    Writing {
        /// The file, as a path inside.
        path: OsString,
    },
    /// A lock of git's was made, or an empty file that stands for a link while git holds one. Where this process has been killed by the time that the run ends, nobody else
    /// knows whose it is.
    Locked {
        /// The lock, as a path inside.
        path: OsString,
        /// Its device and number there.
        file: (u64, u64),
    },
    /// A file was made or changed that programs of the host obey, and that is reported.
    Left {
        /// The file, as a path of the policy's.
        path: OsString,
        /// The number of the row (see [`crate::broker::host_program`]); the largest for a folder that got this name.
        row: u32,
    },
    /// A limit was reached.
    Limit {
        /// Which.
        kind: LimitKind,
        /// What was seen.
        observed: u64,
    },
}

/// A descriptor that comes with [`Report::Ready`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Carried {
    /// Transparent TCP listener.
    Tcp,
    /// Transparent UDP socket at port 53.
    Dns,
    /// Transparent UDP socket for every other port.
    Udp,
    /// Proxy listener.
    Proxy,
    /// Listener at a granted loopback port.
    Loopback,
    /// Master side of the pseudo-terminal.
    Pty,
    /// The folder of the sandbox's pseudo-terminals.
    Terminals,
}

/// From the supervisor to pid 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Order {
    /// The id maps are written.
    IdsMapped,
    /// Set the sandbox up as the [`crate::setup::SetUp`] in the first descriptor says; the others
    /// are what the standard streams are inside.
    SetUp,
    /// The descriptors are the user namespaces whose idmappings change the owners of files, of which there are some.
    Owners,
    /// Start the command.
    Go,
    /// Start one more: a [`crate::setup::Command`] in the first descriptor, and its three streams.
    Enter {
        /// Its number; [`bailiwick_sandbox::OWN`] where the sandbox was made without a command.
        job: u32,
        /// Whether the streams that are terminals are its controlling terminal.
        terminal: bool,
        /// Its file mode creation mask.
        umask: u32,
    },
    /// End everything.
    End,
    /// What is there that more is protected by, a [`crate::broker::Found`] in the descriptor.
    Found,
    /// Send a signal to a command's process group.
    Signal {
        /// Which command's.
        job: u32,
        /// Which signal.
        signal: i32,
    },
    /// Open a connection to this address in the sandbox's network.
    Connect(SocketAddr),
    /// Make a socket for datagrams in the sandbox's network.
    Datagrams {
        /// For IPv6; else for IPv4.
        v6: bool,
    },
    /// End everything when this much time has passed from now on.
    EndAfter(Duration),
    /// Count disk space from now on.
    Begins,
}

#[cfg(test)]
#[path = "message_tests.rs"]
mod tests;
