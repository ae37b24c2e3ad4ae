//! The monitor's own control: QEMU's machine protocol (docs/interop/qmp-spec.txt), one JSON value per
//! line, each command answered before the next is given.
//!
//! Decision: the monitor may be in a guest's hands. What it answers is read in bounds and for a time,
//! and nothing that it says is acted upon but that a command is done.

use bailiwick_event::{Failure, Text};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::{AsFd as _, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recv, sendmsg};
use serde_json::{Value, json};
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long a machine's memory may take on its way to a slow disk.
const MIGRATION: Duration = Duration::from_secs(300);
/// The longest answer, in bytes.
const LONGEST: usize = 1 << 20;

/// The control of one monitor.
pub(crate) struct Control {
    socket: OwnedFd,
    read: Vec<u8>,
    open: bool,
    /// Why a disk could not be read or written, until somebody asks.
    disk_error: Option<String>,
}

fn failed(what: &str, why: impl std::fmt::Display) -> Failure {
    Failure::fault(format!("QEMU's control: {what}: {why}"))
}

impl Control {
    /// The control on this socket, which nobody has spoken on.
    pub(crate) fn new(socket: OwnedFd) -> Self {
        Self {
            socket,
            read: Vec::new(),
            open: false,
            disk_error: None,
        }
    }

    /// Readable when the monitor says something.
    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads what the monitor says while it is asked nothing: it waits where nobody reads. Returns why a disk
    /// could not be read or written, if that was said.
    ///
    /// # Errors
    /// It says nothing more, or what is not its protocol.
    pub(crate) fn heard(&mut self) -> Result<Option<String>, Failure> {
        let what = "events";
        let mut buffer = [0; 4096];
        match recv(&self.socket, &mut buffer, RecvFlags::DONTWAIT) {
            Ok((_, 0)) => return Err(failed(what, "QEMU has ended")),
            Ok((_, read)) => self.keep(what, buffer.get(..read).unwrap_or_default())?,
            Err(Errno::INTR | Errno::AGAIN) => {}
            Err(error) => return Err(failed(what, error)),
        }
        while self.value(what)?.is_some() {}
        Ok(self.disk_error.take())
    }

    fn keep(&mut self, what: &str, bytes: &[u8]) -> Result<(), Failure> {
        self.read.extend_from_slice(bytes);
        match self.read.len() > LONGEST {
            true => Err(failed(what, "an answer without an end")),
            false => Ok(()),
        }
    }

    /// The next value of what was read.
    fn value(&mut self, what: &str) -> Result<Option<Value>, Failure> {
        let Some(end) = self.read.iter().position(|byte| *byte == b'\n') else {
            return Ok(None);
        };
        let line: Vec<u8> = self.read.drain(..=end).collect();
        let value: Value = serde_json::from_slice(&line).map_err(|error| failed(what, error))?;
        if value.get("event").and_then(Value::as_str) == Some("BLOCK_IO_ERROR") {
            let why = value["data"]["reason"].as_str().unwrap_or("an error");
            self.disk_error = Some(Text::from(why).to_string());
        }
        Ok(Some(value))
    }

    /// Waits for the monitor's greeting and takes control, unless that was done.
    pub(crate) fn open(&mut self) -> Result<(), Failure> {
        if !self.open {
            self.find("greeting", |value| value.get("QMP").is_some())?;
            self.run("qmp_capabilities", json!({}))?;
            self.open = true;
        }
        Ok(())
    }

    /// Gives a command and waits for its answer.
    pub(crate) fn run(&mut self, command: &str, arguments: Value) -> Result<Value, Failure> {
        self.order(command, arguments, None)
    }

    /// Gives the monitor a descriptor by a name.
    pub(crate) fn give(&mut self, name: &str, fd: BorrowedFd<'_>) -> Result<(), Failure> {
        self.order("getfd", json!({ "fdname": name }), Some(fd))?;
        Ok(())
    }

    /// Has a device of characters that led nowhere lead to a socket, which is connected.
    pub(crate) fn connect(&mut self, device: &str, socket: BorrowedFd<'_>) -> Result<(), Failure> {
        self.open()?;
        self.give(device, socket)?;
        let address = json!({ "type": "fd", "data": { "str": device } });
        let backend = json!({ "type": "socket", "data": { "addr": address, "server": false } });
        let to = json!({ "id": device, "backend": backend });
        self.run("chardev-change", to).map(drop)
    }

    /// Asks for what migrations need.
    pub(crate) fn prepare_migration(&mut self) -> Result<(), Failure> {
        let on = |name: &str| json!({ "capability": name, "state": true });
        let all = json!({ "capabilities": [on("x-ignore-shared"), on("events")] });
        self.run("migrate-set-capabilities", all).map(drop)
    }

    /// Has a machine that was stopped write its state to a file: its devices', and its memory where that
    /// is the monitor's alone.
    pub(crate) fn save(&mut self, state: BorrowedFd<'_>) -> Result<(), Failure> {
        self.prepare_migration()?;
        // Nobody else needs the way: else it is a gigabit a second, in parts of 100 ms.
        let fast = json!({ "max-bandwidth": 1_u64 << 40 });
        self.run("migrate-set-parameters", fast)?;
        self.give("state", state)?;
        self.run("migrate", json!({ "uri": "fd:state" }))?;
        self.wait_for_migration()
    }

    /// Has a machine that was stopped write its devices' state, and nothing of its memory, to a file.
    pub(crate) fn save_devices(&mut self, state: BorrowedFd<'_>) -> Result<(), Failure> {
        let set = json!({ "fdset-id": 1 });
        self.order("add-fd", set.clone(), Some(state))?;
        // Its name is that of who asked for it; there is nothing of Xen in it.
        let to = json!({ "filename": "/dev/fdset/1", "live": false });
        let saved = self.run("xen-save-devices-state", to);
        self.run("remove-fd", set)?;
        saved.map(drop)
    }

    /// Lets a machine go on that was saved. The end of a migration is told a moment before the monitor
    /// is done with it, of which there is no event.
    pub(crate) fn go_on(&mut self) -> Result<(), Failure> {
        let until = Instant::now() + PATIENCE;
        loop {
            let answer = self.run("query-status", json!({}))?;
            let status = answer["return"]["status"].as_str();
            if status != Some("finish-migrate") || Instant::now() > until {
                return self.run("cont", json!({})).map(drop);
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// Waits until a migration has ended.
    pub(crate) fn wait_for_migration(&mut self) -> Result<(), Failure> {
        let status = |value: &Value| {
            let data = value.get("data")?.get("status")?.as_str()?;
            let is = value.get("event")?.as_str()? == "MIGRATION";
            is.then(|| data.to_owned())
        };
        let is_end = |value: &Value| {
            status(value).is_some_and(|s| ["completed", "failed", "cancelled"].contains(&&*s))
        };
        let end = self.find_within("migration", MIGRATION, is_end);
        let end = match end {
            Ok(end) => end,
            Err(failure) => {
                // The machine must not go on while it is still written.
                let _ = self.run("migrate_cancel", json!({}));
                return Err(failure);
            }
        };
        match status(&end).as_deref() {
            Some("completed") => Ok(()),
            other => {
                let answer = self.run("query-migrate", json!({}))?;
                let why = answer["return"]["error-desc"].as_str();
                Err(failed("migration", why.or(other).unwrap_or("no status")))
            }
        }
    }

    fn order(
        &mut self,
        command: &str,
        arguments: Value,
        fd: Option<BorrowedFd<'_>>,
    ) -> Result<Value, Failure> {
        let line = format!(
            "{}\n",
            json!({ "execute": command, "arguments": arguments })
        );
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut ancillary = SendAncillaryBuffer::new(&mut space);
        let fds;
        if let Some(fd) = fd {
            fds = [fd];
            ancillary.push(SendAncillaryMessage::ScmRights(&fds));
        }
        let parts = [IoSlice::new(line.as_bytes())];
        // A command is far shorter than the socket's buffer, which is empty.
        sendmsg(&self.socket, &parts, &mut ancillary, SendFlags::NOSIGNAL)
            .map_err(|error| failed(command, error))?;
        let answer = self.find(command, |value| {
            value.get("return").is_some() || value.get("error").is_some()
        })?;
        match answer.get("error") {
            Some(error) => {
                let why = error
                    .get("desc")
                    .and_then(Value::as_str)
                    .unwrap_or("refused");
                Err(failed(command, why))
            }
            None => Ok(answer),
        }
    }

    /// Reads until a value is found; others are events that nobody waits for.
    fn find(&mut self, what: &str, is: impl Fn(&Value) -> bool) -> Result<Value, Failure> {
        self.find_within(what, PATIENCE, is)
    }

    fn find_within(
        &mut self,
        what: &str,
        patience: Duration,
        is: impl Fn(&Value) -> bool,
    ) -> Result<Value, Failure> {
        let began = Instant::now();
        loop {
            while let Some(value) = self.value(what)? {
                if is(&value) {
                    return Ok(value);
                }
            }
            let left = patience.saturating_sub(began.elapsed());
            // Also where it says something all the time.
            if left.is_zero() {
                return Err(failed(what, "no answer in time"));
            }
            let timeout = Timespec::try_from(left).ok();
            let mut fds = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(0) => return Err(failed(what, "no answer in time")),
                Err(rustix::io::Errno::INTR) => continue,
                Err(error) => return Err(failed(what, error)),
                Ok(_) => {}
            }
            let mut buffer = [0; 4096];
            match rustix::io::read(&self.socket, &mut buffer) {
                Ok(0) => return Err(failed(what, "QEMU has ended")),
                Ok(read) => self.keep(what, buffer.get(..read).unwrap_or_default())?,
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(failed(what, error)),
            }
        }
    }
}

#[cfg(test)]
#[path = "control_tests.rs"]
mod tests;
