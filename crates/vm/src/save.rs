//! A running session becomes files: its guest falls silent between two frames, its machine stands still
//! while memory, devices and disk are written, and goes on, or ends.

use crate::disk;
use crate::disk_state::DiskState;
use crate::kept::Kept;
use crate::orders::{MOST, Order, Told};
use crate::pages::Memory;
use crate::running::Vm;
use crate::saved::{self, Saved};
use bailiwick_event::Failure;
use bailiwick_sandbox::{OWN, Save};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use serde_json::json;
use signal_hook::consts::signal::{SIGKILL, SIGTSTP};
use std::fs::File;
use std::io::{self, Seek as _, Write as _};
use std::path::Path;
use std::time::{Duration, Instant};

/// How a run ends that is suspended: as a shell reports what was stopped.
pub const SUSPENDED: u8 = 128 + SIGTSTP as u8;

/// What is said of a session that is to be saved and comes to its end.
const ENDED: &str = "the session has just ended; `bailiwick sessions list` shows which go on";

/// How long a guest may take to fall silent.
const PATIENCE: Duration = Duration::from_secs(10);

/// How long what is known of a monitor that has ended may take to be told.
const NEWS: Duration = Duration::from_millis(100);

/// What it may say until then: more than an honest one has under way, in parts of what is told.
pub(crate) const UNHEARD: usize = 16 * MOST;

/// What a session needs that can be saved.
#[derive(Debug)]
pub(crate) struct Savable {
    pub(crate) saved: Saved,
    /// Its folder, and the disk in it, which nobody else uses meanwhile.
    pub(crate) kept: Kept,
}

impl Vm {
    /// What it can be saved with.
    pub(crate) fn savable(&self) -> Result<&Savable, Failure> {
        self.savable.as_ref().ok_or_else(|| {
            Failure::usage(
                "a session that shares folders with this machine cannot be saved or forked: a copy would \
                 write to the same files\nhelp: start it with `bailiwick run --backend vm --disk`, so that \
                 its workspace is a disk of its own",
            )
        })
    }

    /// Whether what it is saved to begins as a copy of what its own memory began as. What is to go on later
    /// does not depend on that.
    pub(crate) fn copied(&self, to: &Save<'_>) -> bool {
        !to.ends() && self.savable().is_ok_and(|own| own.kept.ram().is_file())
    }

    /// Saves the session; it goes on, unless it is to end.
    pub(crate) fn save_to(&mut self, to: &Save<'_>) -> Result<(), Failure> {
        let savable = self.savable()?;
        let (disk, ram) = (savable.kept.disk(), savable.kept.ram());
        if self.code.is_some() || self.killed {
            return Err(Failure::usage(ENDED));
        }
        let order = |vm: &Self, order| {
            let given = vm.desk.order(order);
            given.map_err(|error| Failure::fault(format!("the channel: {error}")))
        };
        // What goes on later may have to do with the disk alone.
        order(self, Order::Hold { sync: to.ends() })?;
        let written = self.wait_until_held().and_then(|written| {
            let is_over = |told: &Told| matches!(told, Told::Ended { job: OWN, .. });
            if self.unheard.iter().any(is_over) {
                return Err(Failure::usage(ENDED));
            }
            self.control.open()?;
            self.control.run("stop", json!({}))?;
            self.must_be_whole(written)?;
            self.write_memory(to, &ram).map_err(|why| {
                Failure::fault(format!(
                    "the session cannot be saved, and goes on: {why}\n  remedy: see that there is room for \
                     its memory beside its record"
                ))
            })?;
            self.write_disk(to, &disk)
        });
        // What was heard meanwhile is told now.
        self.desk.ring();
        if written.is_ok() && to.ends() {
            self.code = Some(SUSPENDED);
            self.killed = true;
            let _ = self.monitor.signal(OWN, SIGKILL);
            self.disk_is(DiskState::Closed);
            // All of its memory is saved.
            let _ = std::fs::remove_file(ram);
            return Ok(());
        }
        // Where it was not stopped yet, this changes nothing.
        let gone_on = self.control.go_on();
        let heard = order(self, Order::GoOn);
        let over = |vm: &Self| vm.has_monitor_news(NEWS);
        written
            .and(gone_on)
            .and(heard)
            .map_err(|why| match over(self) {
                true => Failure::usage(ENDED),
                false => why,
            })
    }

    /// Refuses to save a machine whose programs have written what is not on its disk and will not be: whoever goes
    /// on, or looks at the disk, would take that for what they wanted.
    fn must_be_whole(&mut self, written: Result<(), i32>) -> Result<(), Failure> {
        let why = match (self.failing(), written) {
            (Some(why), _) => why,
            (None, Err(errno)) => {
                // It is said once.
                self.unwritten = Some(errno);
                io::Error::from_raw_os_error(errno).to_string()
            }
            (None, Ok(())) => return Ok(()),
        };
        Err(Failure::fault(format!(
            "the session cannot be saved, and goes on: not all that its programs wrote arrived on its disk: {why}\n  \
             remedy: make room where the records of sessions are, and start anew from what `bailiwick cp` brings"
        )))
    }

    fn write_memory(&mut self, to: &Save<'_>, ram: &Path) -> Result<(), Failure> {
        let fault = |error: io::Error| Failure::fault(error.to_string());
        if !self.copied(to) {
            return self.control.save(to.state);
        }
        let mut file = File::from(to.state.try_clone_to_owned().map_err(fault)?);
        let pages = match self.own_memory(ram) {
            // A monitor that does not know how to save its devices alone writes all of it.
            Some(memory) if self.control.save_devices(to.state).is_ok() => {
                Some(write_pages(&memory, &mut file).map_err(fault)?)
            }
            _ => {
                empty(&mut file).map_err(fault)?;
                self.control.save(to.state)?;
                None
            }
        };
        saved::end_with(pages, &mut file).map_err(fault)
    }

    /// Its memory, where what it has written of it can be told from what it began as.
    fn own_memory(&self, ram: &Path) -> Option<Memory> {
        let monitor = self.monitor.process()?;
        Memory::of_child(monitor, ram, self.memory).ok()
    }

    fn write_disk(&self, to: &Save<'_>, disk: &Path) -> Result<(), Failure> {
        let fault = |error| Failure::fault(format!("{}: {error}", disk.display()));
        let file = File::open(disk).map_err(fault)?;
        match to.disk {
            Some(copy) => {
                let copy = File::from(copy.try_clone_to_owned().map_err(fault)?);
                disk::copy(&file, &copy).map_err(|error| {
                    Failure::fault(format!(
                        "the session's disk cannot be copied, and it goes on: {error}\n  remedy: see that \
                         there is room for another one beside the records of sessions"
                    ))
                })
            }
            // What is to go on later outlives this machine's own end.
            None => {
                let state = to.state.try_clone_to_owned().map_err(fault)?;
                file.sync_all().map_err(fault)?;
                File::from(state).sync_all().map_err(fault)
            }
        }
    }

    /// Waits for the guest's word, which says whether what was to be written is; what it says before is kept.
    pub(crate) fn wait_until_held(&mut self) -> Result<Result<(), i32>, Failure> {
        let began = Instant::now();
        let mut weight = 0;
        loop {
            self.desk.hear();
            while let Some(told) = self.desk.told() {
                match told {
                    Told::Held(written) => return Ok(written),
                    other => {
                        weight += other.weight();
                        self.unheard.push_back(other);
                    }
                }
                if weight > UNHEARD {
                    return Err(Failure::fault("the machine does not fall silent"));
                }
            }
            if self.has_monitor_news(Duration::ZERO) {
                return Err(Failure::usage(ENDED));
            }
            let left = PATIENCE.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Failure::fault("the machine does not answer"));
            }
            let timeout = Timespec::try_from(left).ok();
            let mut fds = [PollFd::new(&self.both, PollFlags::IN)];
            match poll(&mut fds, timeout.as_ref()) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Failure::fault(format!("poll: {error}"))),
            }
        }
    }
}

/// What stands behind the state of devices that does not describe itself: a description without words
/// (migration/savevm.c of QEMU, `QEMU_VM_VMDESCRIPTION`), else its reader says that it is missed.
const NO_DESCRIPTION: [u8; 5] = [6, 0, 0, 0, 0];

/// Has a file have nothing.
fn empty(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()
}

/// Writes the pages behind what was written; where they begin.
fn write_pages(memory: &Memory, to: &mut File) -> io::Result<u64> {
    to.write_all(&NO_DESCRIPTION)?;
    let at = to.stream_position()?;
    memory.save(to)?;
    Ok(at)
}
