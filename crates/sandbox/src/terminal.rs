//! The caller's terminal and the sandbox's own, kept alike. Bytes go to and fro; nothing but the
//! window's size and the modes is carried over, so that nothing inside ever holds a descriptor
//! of the caller's terminal.

use crate::backend::TerminalShape;
use crate::job::is_in_foreground;
use crate::output::{Meter, write_all};
use rustix::event::{PollFd, PollFlags};
use rustix::fd::{AsFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, OutputModes, Termios, isatty, tcgetattr, tcgetwinsize, tcsetattr,
    tcsetwinsize,
};
use std::io;
use std::sync::Arc;

/// Has the terminal show what follows, whatever the programs inside wrote before: ends a control string
/// (CAN, ST), and takes back hidden and coloured text, colours of text and screen that are one (OSC
/// 104, 110, 111), a screen in reverse, other characters, an invisible cursor, insertion, lines that do
/// not wrap, and margins and the region that scrolls (with the cursor where it was).
const PLAIN: &str = "\x18\x1b\\\x1b[0m\x1b]104\x1b\\\x1b]110\x1b\\\x1b]111\x1b\\\x1b(B\x0f\x1b[?5l\
    \x1b[?25h\x1b[4l\x1b[?7h\x1b7\x1b[?69l\x1b[r\x1b8";

/// How the caller's terminal looks; none where no stream is one.
pub(crate) fn shape() -> Option<TerminalShape> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let streams = [isatty(&stdin), isatty(&stdout), isatty(&stderr)];
    let tty = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let fd = tty[streams.iter().position(|&is| is)?];
    let modes = modes_inside(tcgetattr(fd).ok()?, streams.contains(&false));
    Some(TerminalShape {
        streams,
        size: tcgetwinsize(fd).ok()?,
        modes,
        foreground: is_in_foreground(fd),
    })
}

/// The modes of the sandbox's terminal, from the caller's. Where other programs of a pipeline use
/// the caller's terminal too, it goes on to make line ends for them; made twice, they would be seen.
fn modes_inside(mut modes: Termios, shared: bool) -> Termios {
    if shared {
        modes.output_modes.remove(OutputModes::OPOST);
    }
    modes
}

/// Both terminals while the command runs. Dropping it restores the caller's.
pub(crate) struct Terminal {
    master: OwnedFd,
    outer: OwnedFd,
    saved: Termios,
    /// Whether the caller's terminal is raw and its input is carried over.
    carrying: bool,
    /// Whether the run was started in the background and has not been in the foreground yet.
    background: bool,
    /// Whether the sandbox's terminal was given other modes, which nobody was told yet.
    changed: bool,
    /// Whether input is carried over from the start (stdin is the terminal) or only once a
    /// program inside asks for single keys (a pager at the end of a pipe).
    eager: bool,
    /// Whether some stream is no terminal, so that other programs may be using the terminal too.
    shared: bool,
    pending: Vec<u8>,
    open: bool,
    /// Counts what is shown, where that is limited.
    meter: Option<Arc<Meter>>,
    /// What was typed as the answer to a question; none where none is asked.
    keys: Option<Vec<u8>>,
    /// Whether the terminal was taken for the question alone.
    lent: bool,
}

impl Terminal {
    /// Joins the sandbox's terminal to the caller's.
    pub(crate) fn new(
        master: OwnedFd,
        shape: &TerminalShape,
        meter: Option<Arc<Meter>>,
    ) -> io::Result<Self> {
        let flags = rustix::fs::fcntl_getfl(&master)? | OFlags::NONBLOCK;
        rustix::fs::fcntl_setfl(&master, flags)?;
        let path = "/dev/tty";
        let outer = match rustix::fs::open(
            path,
            OFlags::RDWR | OFlags::CLOEXEC | OFlags::NOCTTY,
            Mode::empty(),
        ) {
            Ok(outer) => outer,
            Err(_) => own_stream(shape)?,
        };
        let mut terminal = Self {
            saved: tcgetattr(&outer)?,
            master,
            outer,
            carrying: false,
            background: !shape.foreground,
            changed: false,
            eager: shape.streams[0],
            shared: shape.streams.contains(&false),
            pending: Vec::new(),
            open: true,
            meter,
            keys: None,
            lent: false,
        };
        if terminal.eager {
            terminal.carry();
        }
        Ok(terminal)
    }

    /// Makes the caller's terminal raw, if this process is in its foreground.
    fn carry(&mut self) {
        let foreground = is_in_foreground(&self.outer);
        if !foreground || self.carrying {
            return;
        }
        if let Ok(modes) = tcgetattr(&self.outer) {
            if std::mem::take(&mut self.background) && self.eager {
                // At the start the modes may have been those of the shell's own prompt.
                let inside = modes_inside(modes.clone(), self.shared);
                self.changed = tcsetattr(&self.master, OptionalActions::Now, &inside).is_ok();
            }
            self.saved = modes;
        }
        let mut raw = self.saved.clone();
        raw.make_raw();
        if self.shared {
            // Another program of the pipeline writes to the terminal as well, and needs its line
            // ends.
            raw.output_modes = self.saved.output_modes;
        }
        self.carrying = tcsetattr(&self.outer, OptionalActions::Drain, &raw).is_ok();
    }

    /// Gives the caller's terminal back as it was.
    pub(crate) fn release(&mut self) {
        if std::mem::take(&mut self.carrying) {
            let _ = tcsetattr(&self.outer, OptionalActions::Drain, &self.saved);
        }
    }

    /// Takes it again after a stop, with the modes that it has now.
    pub(crate) fn retake(&mut self) {
        if self.eager || self.wants_keys() {
            self.carry();
        }
        self.resize();
    }

    /// Whether the sandbox's terminal was given other modes since the last call.
    pub(crate) fn has_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    /// Whether a program inside reads single keys.
    fn wants_keys(&self) -> bool {
        tcgetattr(&self.master).is_ok_and(|m| !m.local_modes.contains(LocalModes::ICANON))
    }

    /// Carries the window's size over; the kernel tells the programs inside.
    pub(crate) fn resize(&self) {
        if let Ok(size) = tcgetwinsize(&self.outer) {
            let _ = tcsetwinsize(&self.master, size);
        }
    }

    /// Whether the caller's terminal is to be taken as soon as this process is in its foreground:
    /// a shell that brings a running job there tells nobody.
    pub(crate) fn waits_for_foreground(&self) -> bool {
        self.eager && !self.carrying
    }

    /// What to wait for.
    pub(crate) fn interest(&self) -> Vec<PollFd<'_>> {
        let mut list = Vec::with_capacity(2);
        if self.open && self.keys.is_none() {
            let write = if self.pending.is_empty() {
                PollFlags::empty()
            } else {
                PollFlags::OUT
            };
            list.push(PollFd::new(&self.master, PollFlags::IN | write));
        }
        if self.carrying && self.pending.is_empty() {
            list.push(PollFd::new(&self.outer, PollFlags::IN));
        }
        list
    }

    /// Moves what is there. `input` says whether the caller's terminal is readable.
    pub(crate) fn pump(&mut self, input: bool) {
        if self.waits_for_foreground() {
            self.carry();
        }
        if input && self.carrying && self.pending.is_empty() {
            let mut buffer = [0; 4096];
            match rustix::io::read(&self.outer, &mut buffer) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // It was closed; it stays readable for good.
                Ok(0) | Err(_) => (self.carrying, self.eager) = (false, false),
                Ok(length) => match &mut self.keys {
                    Some(keys) => keys.extend_from_slice(&buffer[..length]),
                    None => self.pending.extend_from_slice(&buffer[..length]),
                },
            }
        }
        while !self.pending.is_empty() {
            match rustix::io::write(&self.master, &self.pending) {
                Ok(length) => drop(self.pending.drain(..length)),
                Err(Errno::AGAIN | Errno::INTR) => break,
                Err(_) => self.pending.clear(),
            }
        }
        if self.keys.is_none() {
            self.show(64 * 1024);
            // Where the programs are another kernel's, their wish may come behind what they show.
            if !self.carrying && !self.eager && self.open && self.wants_keys() {
                self.carry();
            }
        }
    }

    /// Shows a question and takes what is typed from now on for its answer; false where nobody is
    /// there to read it.
    pub(crate) fn ask(&mut self, text: &str) -> bool {
        if !is_in_foreground(&self.outer) {
            return false;
        }
        self.show(64 * 1024);
        self.lent = !self.carrying;
        self.carry();
        if !self.carrying {
            return false;
        }
        self.keys = Some(Vec::new());
        self.say(PLAIN);
        self.say(text);
        true
    }

    /// What was typed since the question was shown, or since the last call.
    pub(crate) fn keys(&mut self) -> Vec<u8> {
        self.keys.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Tells what came of the question, and goes on.
    pub(crate) fn asked(&mut self, text: &str) {
        self.say(&format!("{text}\n"));
        self.keys = None;
        if std::mem::take(&mut self.lent) {
            self.release();
        }
    }

    /// Writes to the caller's terminal, which is raw.
    fn say(&self, text: &str) {
        let _ = write_all(&self.outer, text.replace('\n', "\r\n").as_bytes());
    }

    /// Shows what the programs inside wrote, at most so many bytes.
    fn show(&mut self, most: usize) {
        let mut buffer = [0; 16 * 1024];
        let mut shown = 0;
        while self.open && shown < most {
            match rustix::io::read(&self.master, &mut buffer) {
                Ok(0) => self.open = false,
                Ok(length) => {
                    shown += length;
                    let admitted = self.meter.as_ref().map_or(length, |m| m.admit(length));
                    let written = write_all(&self.outer, &buffer[..admitted]);
                    if written.is_err() || admitted < length {
                        self.open = false;
                    }
                }
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                // EIO: pid 1, which keeps the other side open, is gone.
                Err(_) => self.open = false,
            }
        }
    }

    /// Shows all that is left, and gives the caller's terminal back.
    pub(crate) fn finish(&mut self) {
        self.open = self
            .meter
            .as_ref()
            .is_none_or(|meter| meter.over().is_none());
        self.show(usize::MAX);
        self.release();
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.release();
    }
}

fn own_stream(shape: &TerminalShape) -> io::Result<OwnedFd> {
    let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
    let all = [stdin.as_fd(), stdout.as_fd(), stderr.as_fd()];
    let at = shape.streams.iter().position(|&is| is).unwrap_or(2);
    all[at].try_clone_to_owned()
}
