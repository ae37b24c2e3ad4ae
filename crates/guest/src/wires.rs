//! What a command's streams are in here: its side of each, and this process's.

use crate::terminal::Terminal;
use bailiwick_channel::schema::{Attach, Exec, Stream};
use bailiwick_channel::{Ends, Line};
use rustix::fd::OwnedFd;
use rustix::pipe::{PipeFlags, fcntl_setpipe_size, pipe_with};
use std::io;

/// Which of a command's streams it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    /// stdin, stdout or stderr, a pipe.
    Pipe(usize),
    Terminal,
}

/// This process's side of one of a command's streams. The line has another descriptor of the file.
#[derive(Debug)]
pub(crate) struct Wire {
    /// Where it leads; none while the host is another.
    pub(crate) stream: Option<u32>,
    which: Which,
    file: OwnedFd,
}

impl Wire {
    fn new(stream: u32, which: Which, file: OwnedFd) -> Self {
        Self {
            stream: Some(stream),
            which,
            file,
        }
    }

    /// Has it lead where it is to.
    pub(crate) fn attach(&self, line: &mut Line) -> io::Result<()> {
        let Some(stream) = self.stream else {
            return Ok(());
        };
        let file = self.file.try_clone()?;
        let ends = match self.which {
            Which::Pipe(0) => Ends::sink(file),
            Which::Pipe(_) => Ends::source(file),
            Which::Terminal => Ends::both(file)?,
        };
        line.attach(stream, ends);
        Ok(())
    }

    /// Takes the stream that it is to lead to; whether there is one.
    pub(crate) fn lead(&mut self, to: &Attach) -> bool {
        self.stream = match self.which {
            Which::Terminal => to.terminal.map(|(stream, _)| stream),
            Which::Pipe(number) => match to.streams.get(number) {
                Some(Stream::Pipe(stream)) => Some(*stream),
                _ => None,
            },
        };
        self.stream.is_some()
    }

    /// Whether the command has said something on it that was not sent and that somebody waits for.
    pub(crate) fn is_unsaid(&self, line: &Line) -> bool {
        let awaited = self.stream.is_none_or(|stream| line.sends(stream));
        let is_output = self.which != Which::Pipe(0);
        is_output && awaited && rustix::io::ioctl_fionread(&self.file).is_ok_and(|bytes| bytes > 0)
    }
}

/// What a command gets, and what this process keeps of it.
#[derive(Default)]
pub(crate) struct Wired {
    /// Its streams.
    pub(crate) inside: [Option<OwnedFd>; 3],
    pub(crate) wires: Vec<Wire>,
    pub(crate) terminal: Option<Terminal>,
}

/// Makes a command's streams; `null` is `/dev/null`.
pub(crate) fn wire(exec: &Exec, null: &OwnedFd) -> io::Result<Wired> {
    let mut wired = Wired::default();
    if let Some((stream, size, modes)) = &exec.terminal {
        let terminal = Terminal::open(*size, modes.as_ref())?;
        let file = terminal.master.try_clone()?;
        wired.wires.push(Wire::new(*stream, Which::Terminal, file));
        wired.terminal = Some(terminal);
    }
    for (number, stream) in exec.streams.iter().enumerate() {
        let stdout = wired.inside[1].as_ref();
        // Two streams that are one keep their order.
        let stdout = stdout.filter(|_| number == 2 && *stream == exec.streams[1]);
        let inside = match (stream, &wired.terminal) {
            (Stream::Terminal, Some(terminal)) => terminal.slave.try_clone()?,
            (Stream::Null | Stream::Terminal, _) => null.try_clone()?,
            (Stream::Pipe(_), _) if stdout.is_some() => {
                let stdout = stdout.map(OwnedFd::try_clone).transpose()?;
                wired.inside[2] = stdout;
                continue;
            }
            (Stream::Pipe(id), _) => {
                let (read, write) = pipe_with(PipeFlags::CLOEXEC)?;
                // Larger pipes are fewer turns between the program and this process; but what a program
                // does not read of its stdin is gone for whoever reads it next on the host.
                let size = if number == 0 { 4096 } else { 256 * 1024 };
                let _ = fcntl_setpipe_size(&write, size);
                let (inside, outside) = if number == 0 {
                    (read, write)
                } else {
                    (write, read)
                };
                wired
                    .wires
                    .push(Wire::new(*id, Which::Pipe(number), outside));
                inside
            }
        };
        wired.inside[number] = Some(inside);
    }
    Ok(wired)
}
