//! The caller's side of a command: the terminal and the signals of the process that waits for it.

use crate::job;
use crate::signals::Signals;
use crate::terminal::Terminal;
use rustix::event::{PollFd, PollFlags};
use signal_hook::consts::signal::{SIGCONT, SIGPIPE, SIGWINCH};
use std::io;
use std::time::Duration;

/// How often a background run looks whether it is in the foreground.
const LOOK: Duration = Duration::from_millis(100);

/// A terminal, if there is one, and signals.
pub(crate) struct Front {
    terminal: Option<Terminal>,
    signals: Signals,
}

impl Front {
    /// The front of this process.
    pub(crate) fn new(terminal: Option<Terminal>, signals: Signals) -> Self {
        Self { terminal, signals }
    }

    /// The signals of this process.
    pub(crate) fn signals(&mut self) -> &mut Signals {
        &mut self.signals
    }

    /// What to wait for.
    pub(crate) fn interest(&self) -> Vec<PollFd<'_>> {
        let mut list = vec![PollFd::from_borrowed_fd(self.signals.fd(), PollFlags::IN)];
        list.extend(self.terminal.iter().flat_map(Terminal::interest));
        list
    }

    /// How long to wait at the most.
    pub(crate) fn patience(&self) -> Option<Duration> {
        let hidden = self.terminal.as_ref()?.waits_for_foreground();
        hidden.then_some(LOOK)
    }

    /// Does what the readiness of [`Front::interest`] asks for; `tell` sends the command a signal.
    pub(crate) fn serve(&mut self, ready: &[bool], mut tell: impl FnMut(i32) -> io::Result<()>) {
        if ready.first() == Some(&true) {
            self.hear(&mut tell);
        }
        if let Some(terminal) = &mut self.terminal {
            let input = ready.len() > 1 && ready.last() == Some(&true);
            terminal.pump(input);
            if terminal.has_changed() {
                // As where its size has changed: another kernel hears of neither.
                let _ = tell(SIGWINCH);
            }
        }
    }

    fn hear(&mut self, tell: &mut dyn FnMut(i32) -> io::Result<()>) {
        for signal in self.signals.drain() {
            match signal {
                SIGWINCH => {
                    if let Some(terminal) = &self.terminal {
                        terminal.resize();
                        // A terminal that stands in another kernel hears of it only so.
                        let _ = tell(SIGWINCH);
                    }
                }
                SIGPIPE => {}
                SIGCONT => {
                    if let Some(terminal) = &mut self.terminal {
                        terminal.retake();
                    }
                    let _ = tell(SIGCONT);
                }
                // SIGTSTP as well: the command's own stop comes back as news.
                signal => drop(tell(signal)),
            }
        }
    }

    /// Stops this process, because the command was stopped; returns when it is continued.
    pub(crate) fn stop(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.release();
        }
        job::stop_self();
        if let Some(terminal) = &mut self.terminal {
            terminal.retake();
        }
    }

    /// Shows a question, where there is a person to read it.
    pub(crate) fn ask(&mut self, text: &str) -> bool {
        self.terminal
            .as_mut()
            .is_some_and(|terminal| terminal.ask(text))
    }

    /// What was typed since the question was shown.
    pub(crate) fn keys(&mut self) -> Vec<u8> {
        self.terminal.as_mut().map_or_else(Vec::new, Terminal::keys)
    }

    /// Tells what came of it, and goes on.
    pub(crate) fn asked(&mut self, text: &str) {
        if let Some(terminal) = &mut self.terminal {
            terminal.asked(text);
        }
    }

    /// Shows what is left, and gives the caller's terminal back.
    pub(crate) fn finish(&mut self) {
        if let Some(terminal) = &mut self.terminal {
            terminal.finish();
        }
    }
}
