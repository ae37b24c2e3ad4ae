//! One load client, and what it must leave behind. What is asked of it is added up here, in the rows
//! that the gate has to write and the requests that the origin has to see; at the end both are
//! compared with what is really there.

use super::cost;
use super::origin::Asked;
use super::site::Site;
use super::tally::{ANSWERS, CONNECTIONS, INSPECTED, NAMES, REQUESTS, Tally, requests_refused};
use crate::inside_session::InsideSession;
use crate::load::BARE;
use crate::load::job::{Job, Report, Target};
use crate::verdict::Verdict;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

/// The name of the side without a sandbox.
pub(crate) const DIRECT: &str = "direct";
/// The name of the side behind the gate.
pub(crate) const THROUGH: &str = "through the gate";
/// The name of the side behind the gate in a machine.
pub(crate) const IN_MACHINE: &str = "through the gate, vm";
/// The name of the side with a name server of its own.
pub(crate) const BARE_SIDE: &str = "bare responder";
/// How much longer the host waits than the client.
const GRACE: Duration = Duration::from_secs(15);

/// A load client.
pub(crate) struct Side<'a> {
    site: &'a Site,
    name: &'static str,
    /// The name of the run in which it stands.
    run: Option<String>,
    /// Who has to certify the server.
    issuer: String,
    session: InsideSession,
    /// What the ledger has to hold.
    pub expected: Tally,
    /// What the origin has to have seen.
    pub asked: Asked,
}

impl<'a> Side<'a> {
    /// One on the host.
    pub(crate) fn direct(site: &'a Site) -> Result<Self, Verdict> {
        Self::start(site, DIRECT, None, &site.load(&[])).map_err(Verdict::Fail)
    }

    /// One on the host that asks a proxy, which certifies servers under a name of its own.
    pub(crate) fn by_proxy(
        site: &'a Site,
        name: &'static str,
        issuer: String,
    ) -> Result<Self, Verdict> {
        let side = Self::start(site, name, None, &site.load(&[])).map_err(Verdict::Fail)?;
        Ok(Self { issuer, ..side })
    }

    /// One in a sandbox.
    pub(crate) fn through(site: &'a Site) -> Result<Self, Verdict> {
        let run = site.next_run();
        let argv = site.run(&run);
        Self::start(site, THROUGH, Some(run), &argv).map_err(Verdict::Fail)
    }

    /// One in a machine.
    pub(crate) fn in_machine(site: &'a Site) -> Result<Self, Verdict> {
        let run = site.next_run();
        let argv = site.run_in_machine(&run);
        Self::start(site, IN_MACHINE, Some(run), &argv).map_err(Verdict::Fail)
    }

    /// All that there are: on the host, in a sandbox, and where machines are measured in one.
    pub(crate) fn all(site: &'a Site) -> Result<Vec<Self>, Verdict> {
        let mut sides = vec![Self::direct(site)?, Self::through(site)?];
        if !site.machine.is_empty() {
            sides.push(Self::in_machine(site)?);
        }
        Ok(sides)
    }

    /// Its name.
    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    /// One beside a name server that says no to everything. A machine that does not let it stand
    /// apart has no such figure.
    pub(crate) fn bare(site: &'a Site, settings: &Path) -> Result<Self, Verdict> {
        let settings = settings.to_string_lossy();
        let argv = site.load(&[BARE, &settings]);
        let cannot = |why| Verdict::Inconclusive(format!("no bare responder: {why}"));
        let mut side = Self::start(site, BARE_SIDE, None, &argv).map_err(cannot)?;
        let ready = Job::Lookups {
            name: "refused.test".to_owned(),
            count: 1,
        };
        match side.ask(&ready) {
            Ok(_) => Ok(side),
            Err(verdict) => Err(cannot(verdict.reason().to_owned())),
        }
    }

    fn start(
        site: &'a Site,
        name: &'static str,
        run: Option<String>,
        argv: &[std::ffi::OsString],
    ) -> Result<Self, String> {
        let session = InsideSession::start(argv, &site.fixture.workspace(), &site.variables)?;
        let issuer = match run {
            Some(_) => site.gate.clone(),
            None => site.direct.clone(),
        };
        Ok(Self {
            site,
            name,
            run,
            issuer,
            session,
            expected: Tally::default(),
            asked: Asked::default(),
        })
    }

    /// The name of the run.
    pub(crate) fn run(&self) -> &str {
        self.run.as_deref().unwrap_or_default()
    }

    /// The origin, as it is named here.
    pub(crate) fn target(&self) -> Target {
        self.site.target(self.run.is_some())
    }

    /// Has a job done, and notes what must have come of it.
    pub(crate) fn ask(&mut self, job: &Job) -> Result<Report, Verdict> {
        let report = self.ask_elsewhere(job)?;
        let name = self.name;
        let fail = |why: String| Verdict::Fail(format!("{name}: {why}"));
        self.account(job, &report).map_err(fail)?;
        Ok(report)
    }

    /// Has a job done that nobody but the client knows the truth of.
    pub(crate) fn ask_elsewhere(&mut self, job: &Job) -> Result<Report, Verdict> {
        let name = self.name;
        let fail = |why: String| Verdict::Fail(format!("{name}: {why}"));
        let mut line = serde_json::to_vec(job).map_err(|error| fail(error.to_string()))?;
        line.push(b'\n');
        let limit = Duration::from_secs(job.seconds()) + GRACE;
        let answer = self.session.ask(&line, limit).map_err(fail)?;
        let report: Report =
            serde_json::from_slice(&answer).map_err(|error| fail(error.to_string()))?;
        self.site.note(self.name, job, &report);
        if let Some(why) = &report.broken {
            return Err(fail(why.clone()));
        }
        Ok(report)
    }

    /// What a job leaves behind; a report that says less than was asked for is none.
    fn account(&mut self, job: &Job, report: &Report) -> Result<(), String> {
        let (connections, requests, refused_by) = match job {
            Job::Requests { what, .. } => (1, what.count + 1, what.refused_by.as_deref()),
            Job::Connections { what, .. } => (what.count, what.count, what.refused_by.as_deref()),
            Job::Download { .. } => (1, 1, None),
            Job::Crowd {
                connections,
                requests,
                ..
            } => (
                *connections,
                connections + requests / connections * connections,
                None,
            ),
            Job::Hold { connections, .. } => (*connections, *connections, None),
            // One that failed is the verifier's matter, and no other may have been tried.
            Job::Fetch(what) => (what.connections, what.count, None),
            Job::AskHeld => (0, report.requests, None),
            Job::Command { .. } | Job::Lookups { .. } | Job::Flood(_) | Job::Read { .. } => {
                return Ok(());
            }
        };
        if (report.connections, report.requests) != (connections, requests) {
            return Err(format!(
                "{} connections and {} requests instead of {connections} and {requests}",
                report.connections, report.requests
            ));
        }
        let issuer = &self.issuer;
        if connections > 0 && !report.issuers.iter().eq([issuer]) {
            let seen: Vec<&String> = report.issuers.iter().collect();
            return Err(format!(
                "the server was certified by {seen:?}, not by {issuer}"
            ));
        }
        let requests = u64::from(requests);
        match (refused_by, job) {
            (Some(_), _) => {}
            (None, Job::Download { .. }) => self.asked.bodies += 1,
            (None, _) => self.asked.pages += requests,
        }
        match refused_by {
            Some(rule) => self.expected.add(&requests_refused(rule), requests),
            None => {
                self.expected.add(REQUESTS, requests);
                self.expected.add(ANSWERS, requests);
            }
        }
        self.expected.add(CONNECTIONS, connections.into());
        self.expected.add(INSPECTED, connections.into());
        // A and AAAA of the one name, for all connections of a job.
        self.expected
            .add(NAMES, if connections > 0 { 2 } else { 0 });
        Ok(())
    }

    /// The CPU time of the supervisor, in nanoseconds.
    pub(crate) fn supervisor_cpu(&self) -> Result<u64, Verdict> {
        cost::cpu(self.session.id()).map_err(|error| Verdict::Inconclusive(error.to_string()))
    }

    /// The memory of the supervisor.
    pub(crate) fn supervisor_memory(&self) -> Result<cost::Memory, Verdict> {
        cost::memory(self.session.id()).map_err(|error| Verdict::Inconclusive(error.to_string()))
    }

    /// Ends it; the rows that its run has left, where it had one.
    fn end(self) -> Result<Option<(Tally, Tally)>, Verdict> {
        let Self {
            site,
            run,
            session,
            expected,
            ..
        } = self;
        drop(session);
        let Some(run) = run else {
            return Ok(None);
        };
        let found = Tally::of_run(&site.fixture.state(), &run).map_err(Verdict::Fail)?;
        Ok(Some((expected, found)))
    }
}

/// Ends all sides of a row: the origin has seen what it should, and the ledger holds what it should.
/// Returns what was counted.
pub(crate) fn close(site: &Site, sides: Vec<Side<'_>>) -> Result<BTreeMap<String, Tally>, Verdict> {
    let mut asked = Asked::default();
    let mut counted = BTreeMap::new();
    let mut wrong = Vec::new();
    for side in sides {
        asked.pages += side.asked.pages;
        asked.bodies += side.asked.bodies;
        if let Some((expected, found)) = side.end()? {
            if let Some(difference) = expected.differs(&found) {
                wrong.push(format!("the ledger: {difference}"));
            }
            counted.insert("expected of the ledger".to_owned(), expected);
            counted.insert("ledger".to_owned(), found);
        }
    }
    let seen = site.origin.take();
    if seen != asked {
        wrong.push(format!(
            "the server was asked for {seen:?} instead of {asked:?}"
        ));
    }
    let mut tally = Tally::default();
    tally.add("pages", seen.pages);
    tally.add("bodies", seen.bodies);
    counted.insert("origin".to_owned(), tally);
    match wrong.is_empty() {
        true => Ok(counted),
        false => Err(Verdict::Fail(wrong.join("; "))),
    }
}
