//! Instants in the life of a command that enters a sandbox, and of a sandbox that waits for its
//! command, at which a test stops whoever gets there. No start is made of them and none is timed:
//! in the product they are nothing.

macro_rules! places {
    ($($(#[doc = $doc:literal])+ $place:ident: $lane:literal, $name:literal;)+) => {
        /// Such an instant.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Place {
            $($(#[doc = $doc])+ $place,)+
        }
        /// Every one of them, in the order of its lane: the process, and what it has just done.
        #[cfg(all(feature = "stop-at-stage", debug_assertions))]
        pub(crate) const PLACES: &[(&str, &str)] = &[$(($lane, $name),)+];
    };
}

places! {
    /// A client has knocked.
    Knocked: "client", "knocked";
    /// It has sent its command in.
    Sent: "client", "sent";
    /// It knows how the command ended.
    Told: "client", "told";
    /// A command that enters is heard by the supervisor.
    Heard: "door", "heard";
    /// It is on record.
    Noted: "door", "noted";
    /// Pid 1 has the order to start it.
    Ordered: "door", "ordered";
    /// Its end is on record, and its client not told.
    Concluded: "door", "concluded";
    /// Pid 1 has heard the order.
    Obeys: "entry", "order";
    /// The command has a process.
    Started: "entry", "start";
    /// The command has ended.
    Collected: "entry", "end";
    /// The command's process begins.
    Begun: "entered", "begin";
    /// It is about to load its image.
    Prepared: "entered", "image";
    /// The door of sandboxes that wait is open.
    Opened: "serve", "door";
    /// A process that makes a sandbox is started.
    Spawned: "serve", "spare";
    /// Enough of them are complete, and nobody was told.
    Enough: "serve", "enough";
    /// One was taken.
    Replaces: "serve", "taken";
    /// Pid 1 of a sandbox that is to wait is forked.
    Forked: "spare", "fork";
    /// It is told what to build.
    Planned: "spare", "plan";
    /// The sandbox is complete, and nobody was told.
    Complete: "spare", "complete";
    /// Whoever keeps it waiting was told.
    Waits: "spare", "wait";
    /// A client has sent its command.
    Wanted: "spare", "client";
    /// Whoever kept it waiting was told.
    Taken: "spare", "taken";
    /// It is what the run would make now.
    Fits: "spare", "fit";
    /// The run's record exists.
    Recorded: "spare", "record";
    /// Pid 1 has the order to start the command.
    Released: "spare", "enter";
    /// The command's end is known.
    Ended: "spare", "report";
    /// The record is closed and the client told.
    Closed: "spare", "close";
}

/// Somebody is there.
#[cfg_attr(
    not(all(feature = "stop-at-stage", debug_assertions)),
    allow(unused_variables)
)]
pub fn pass(place: Place) {
    #[cfg(all(feature = "stop-at-stage", debug_assertions))]
    {
        let (lane, name) = PLACES[place as usize];
        crate::stop::here("at", lane, name);
    }
}
