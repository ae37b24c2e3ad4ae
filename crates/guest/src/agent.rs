//! What the guest does with what the host says. The host has made this machine and is trusted; programs
//! in here never reach this process but through the kernel.

use crate::audit::Audit;
use crate::callers::Callers;
use crate::clock;
use crate::datagrams;
use crate::jobs::{Jobs, end_all};
use crate::load::{self, Load};
use crate::network::Network;
use crate::reached::{Log, Processes};
use crate::settle::{settle, shared};
use crate::share::{Doors, Share};
use crate::stages::Stages;
use crate::writeback::Writeback;
use bailiwick_channel::frame::Kind;
use bailiwick_channel::schema::{self, Open, Setting, ToGuest, ToHost};
use bailiwick_channel::{Ends, Fault, Handler, Line, Mux, Opening};
use bailiwick_process::guest::children;
use rustix::fd::OwnedFd;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with, socketpair};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};

/// Tokens of the loop: ended children, executions, the kernel's log, a limit on processes, what was written
/// back, then the sockets of datagrams, then those of connections.
const CHILDREN: u32 = 0;
const EXECUTIONS: u32 = 1;
const LOG: u32 = 2;
const PROCESSES: u32 = 3;
const WRITEBACK: u32 = 4;
const DATAGRAMS: u32 = 1 << 8;
const CONNECTIONS: u32 = 1 << 16;

/// While more than this waits for the host executions are only counted, in bytes.
const BUSY: usize = 512 * 1024;
/// Records of the kernel's that are taken in one turn.
const RECORDS: usize = 256;

/// The agent.
pub(crate) struct Agent {
    network: Network,
    callers: Callers,
    jobs: Jobs,
    children: OwnedFd,
    stages: Stages,
    audit: Audit,
    log: Log,
    /// What tells that there are too many; none where there may be any number, or it was told.
    processes: Option<Processes>,
    load: Load,
    /// Executions that were not told.
    lost: u64,
    /// Connections that are listened for so far.
    listening: usize,
    /// Writes the session's own disk back; none where it has none.
    writeback: Option<Writeback>,
    /// What leads to the host's files; none once they are mounted.
    doors: Option<Doors>,
    /// The host's files; none where the session has none of them.
    share: Option<Share>,
}

impl Agent {
    /// An agent on this line.
    pub(crate) fn new(
        network: Network,
        log: Log,
        stages: Stages,
        doors: Doors,
        line: &Line,
    ) -> io::Result<Self> {
        let mut agent = Self {
            network,
            callers: Callers::default(),
            jobs: Jobs::default(),
            children: children()?,
            stages,
            audit: Audit::new()?,
            log,
            processes: None,
            load: Load::default(),
            lost: 0,
            listening: 0,
            writeback: None,
            doors: Some(doors),
            share: None,
        };
        line.watch(&agent.children, CHILDREN)?;
        line.watch(agent.audit.fd(), EXECUTIONS)?;
        line.watch(agent.log.fd(), LOG)?;
        for (token, socket) in (DATAGRAMS..).zip(agent.network.datagrams()) {
            line.watch(socket, token)?;
        }
        agent.listen(line)?;
        Ok(agent)
    }

    fn listen(&mut self, line: &Line) -> io::Result<()> {
        let all = (CONNECTIONS..).zip(self.network.connections());
        for (token, socket) in all.skip(self.listening) {
            line.watch(socket, token)?;
            self.listening += 1;
        }
        Ok(())
    }

    fn tell_of_executions(&mut self, line: &mut Line) {
        for told in self.audit.take(RECORDS) {
            if line.backlog() > BUSY {
                self.lost += 1;
                continue;
            }
            if self.lost > 0 {
                line.send(&ToHost::Lost(std::mem::take(&mut self.lost)));
            }
            line.send(&told);
        }
    }

    fn begin(&mut self, setting: &Setting, line: &mut Line) {
        // How long the host took, or how long the machine lay as a template, is no work of this side's.
        self.stages.mark("wait");
        let settled = settle(setting, &mut self.doors);
        let settled = settled.map_err(|failed| (failed.what, failed.error));
        let settled = settled.map(|share| self.share = share.or(self.share.take()));
        let begun = settled.and_then(|()| match setting.again {
            true => Ok(()),
            false => self.begin_anew(setting, line),
        });
        let said = match begun {
            Ok(()) => {
                self.stages.mark("session");
                ToHost::Ready(self.stages.take())
            }
            Err((what, error)) => ToHost::Failed {
                what,
                errno: error.raw_os_error().unwrap_or_default(),
            },
        };
        line.send(&said);
    }

    /// What a session has once, however often its machine is copied.
    fn begin_anew(&mut self, setting: &Setting, line: &Line) -> Result<(), (String, io::Error)> {
        let held = self.jobs.hold(setting.bounds).and_then(|processes| {
            self.processes = processes;
            let fd = self.processes.as_ref().map(Processes::fd);
            fd.map_or(Ok(()), |fd| line.watch(fd, PROCESSES))
        });
        held.map_err(|error| ("the limits of commands".to_owned(), error))?;
        let granted = self.network.grant(&setting.loopback);
        granted
            .and_then(|()| self.listen(line))
            .map_err(|error| ("a port of the loopback".to_owned(), error))?;
        let files = shared(setting);
        if setting.share == schema::Share::Disk
            && let Some(files) = &files
        {
            let begun = Writeback::begin(files).and_then(|writeback| {
                line.watch(writeback.fd(), WRITEBACK)?;
                self.writeback = Some(writeback);
                Ok(())
            });
            begun.map_err(|error| ("the writing back of the disk".to_owned(), error))?;
        }
        self.jobs.share(files, setting.share == schema::Share::Fuse);
        Ok(())
    }
}

impl Handler for Agent {
    fn hello(&mut self, line: &mut Line) -> Result<(), Fault> {
        self.jobs.detach();
        self.stages.mark("agent");
        line.send(&ToHost::Waiting(self.stages.take()));
        Ok(())
    }

    fn message(&mut self, bytes: &[u8], line: &mut Line) -> Result<(), Fault> {
        match Mux::decode(bytes, Kind::Message)? {
            ToGuest::Begin(setting) => self.begin(&setting, line),
            ToGuest::Exec(exec) => self.jobs.start(*exec, line),
            ToGuest::Settle => self.share.as_ref().map_or((), Share::settle),
            ToGuest::Signal { job, signal } => self.jobs.signal(job, signal),
            ToGuest::Resize { job, size } => self.jobs.resize(job, size),
            ToGuest::Modes { job, modes } => self.jobs.change(job, &modes),
            // A program that has closed its socket waits for no answer.
            ToGuest::Datagram { to, from, bytes } => {
                let _ = datagrams::answer(to, from, &bytes);
            }
            ToGuest::Ping(number) => line.send(&ToHost::Pong(number)),
            ToGuest::Quiesce => {
                end_all();
                // What cannot be done now is done when there is a setting, or fails then.
                let _ = self.jobs.prepare();
                rustix::fs::sync();
                line.send(&ToHost::Quiet);
            }
            ToGuest::Hold { sync } => {
                // Nobody runs on: neither with another machine's name, nor in a moment that is on no record.
                self.jobs.stop();
                let errno = match sync {
                    true => self.jobs.write_back(),
                    false => 0,
                };
                self.jobs.collect(line);
                self.jobs.tell(line);
                self.tell_of_executions(line);
                line.send(&ToHost::Held { errno });
                line.hold();
            }
            ToGuest::GoOn { now } => {
                // The machine stood still, and its clock with it.
                let _ = clock::set(now);
                line.go_on();
                self.jobs.go_on();
            }
            ToGuest::Attach(to) => {
                self.jobs.attach(&to, line);
                // Who and when it is has been put into force before.
                self.jobs.go_on();
            }
            ToGuest::Close => {
                end_all();
                let errno = self.jobs.write_back();
                line.send(&ToHost::Closed { errno });
            }
        }
        Ok(())
    }

    fn opened(&mut self, _: u32, open: &[u8], _: &mut Line) -> Result<Opening, Fault> {
        let ends = match Mux::decode(open, Kind::Open)? {
            Open::Stdio => return Ok(Opening::Later),
            Open::Inward { port } => inward(port),
            Open::Echo => echo(),
            Open::Source { bytes } => self.load.source(bytes).map(Ends::source),
            Open::Sink => load::sink().map(Ends::sink),
            _ => return Ok(Opening::Refused),
        };
        // What is refused is reset, which whoever has opened it takes for a refused connection.
        Ok(ends.map_or(Opening::Refused, Opening::Leads))
    }

    fn over(&mut self, id: u32, line: &mut Line) {
        self.jobs.silence(id);
        self.jobs.tell(line);
    }

    fn ready(&mut self, token: u32, line: &mut Line) -> Result<(), Fault> {
        match token {
            CHILDREN => {
                let _ = rustix::io::read(&self.children, &mut [0; 1024]);
                self.jobs.collect(line);
            }
            EXECUTIONS => self.tell_of_executions(line),
            LOG => {
                self.log.take();
                self.jobs.tell_of_memory(line);
            }
            PROCESSES => {
                // Once: a program that forks on and on has nothing new to say.
                if self.processes.take_if(|p| p.are_too_many()).is_some() {
                    line.send(&ToHost::TooManyProcesses);
                }
            }
            WRITEBACK => {
                let ago = self.writeback.as_ref().and_then(Writeback::ago);
                if let Some(ago) = ago {
                    line.send(&ToHost::Synced { ago });
                }
            }
            CONNECTIONS.. => {
                let number = (token - CONNECTIONS) as usize;
                let accepted = self.network.accept(number, line)?;
                accepted.into_iter().for_each(|c| self.callers.look_for(c));
            }
            _ => {
                let socket = self.network.datagram((token - DATAGRAMS) as usize);
                if let Some(datagram) = socket.map(datagrams::take).transpose()?.flatten() {
                    line.send(&datagram);
                }
            }
        }
        Ok(())
    }

    fn reading(&mut self, line: &mut Line) {
        self.jobs.tell_of_keys(line);
    }

    fn turn(&mut self, line: &mut Line) {
        if self.jobs.has_news() {
            self.jobs.tell(line);
        }
        for called in self.callers.found() {
            line.send(&called);
        }
    }

    fn is_done(&self) -> bool {
        false
    }
}

/// A connection to a port of the machine's own loopback.
fn inward(port: u16) -> io::Result<Ends> {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::INET, SocketType::STREAM, flags, None)?;
    // The loopback answers at once, whatever the answer is.
    connect(&socket, &SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))?;
    Ends::both(socket)
}

/// Both ends of one pair: what comes goes back.
fn echo() -> io::Result<Ends> {
    let flags = SocketFlags::CLOEXEC;
    let (a, b) = socketpair(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    let mut ends = Ends::sink(a);
    ends.source = Some(b);
    Ok(ends)
}
