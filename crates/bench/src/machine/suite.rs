//! One run of a suite about machines.

use super::ground::{Amounts, Ground, Way};
use super::http::{self, Elsewhere, HttpRequests};
use super::record::{MachineRecord, class};
use super::row::Row;
use super::{boot, capos, disk, fork, lifecycle, rootfs, startup, throughput};
use crate::fixture::Fixture;
use crate::gate;
use crate::gate::site::Site;
use crate::load::outlive_peers;
use crate::outcome::Outcome;
use crate::trial::Trial;
use crate::verdict::Verdict;
use bailiwick_capos::BareCapos;
use bailiwick_event::{Failure, Text};
use bailiwick_vm::{Bare, MachineShape};
use std::path::PathBuf;

/// What is measured.
#[derive(Clone, Debug)]
pub enum MachineSuite {
    /// Starts of machines.
    Boot,
    /// A session from its start to the end of its record.
    Lifecycle,
    /// Copies of a session that runs.
    Fork,
    /// The workspace, with a large file of so many bytes: a whole number of MiB.
    Disk(u64),
    /// The files that a system has its programs from.
    Rootfs,
    /// Starts of programs.
    Startup,
    /// Requests through the gate.
    Http(HttpRequests),
    /// The channel, and a download through the gate.
    Throughput,
    /// The capability kernel, beside the kernel of machines.
    Capos,
}

/// What a suite about machines is to do.
#[derive(Clone, Debug)]
pub struct MachineOptions {
    /// What is measured.
    pub suite: MachineSuite,
    /// The program under test.
    pub binary: PathBuf,
    /// The machines; none where only natively and in process sandboxes.
    pub machine: Option<MachineShape>,
    /// Samples of what takes less than a second.
    pub runs: u32,
    /// Few and small samples, also of debug builds; never for publication.
    pub quick: bool,
    /// The folder for the evidence; it is made where it is missing.
    pub out: PathBuf,
    /// Only rows whose name contains one of these; none: all.
    pub rows: Vec<String>,
}

/// A quick run takes so many samples.
const QUICK_RUNS: u32 = 1;
/// The large file of a quick run, in bytes.
const QUICK_SIZE: u64 = 2 << 20;

impl MachineSuite {
    fn name(&self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Lifecycle => "lifecycle",
            Self::Fork => "fork",
            Self::Disk(_) => "disk",
            Self::Rootfs => "rootfs",
            Self::Startup => "startup",
            Self::Http(_) => "http",
            Self::Throughput => "throughput",
            Self::Capos => "capos",
        }
    }

    /// Whether it says nothing where there is no machine.
    fn needs_machine(&self) -> bool {
        matches!(self, Self::Boot | Self::Lifecycle | Self::Fork)
    }

    fn rows(&self) -> Vec<Row> {
        match self {
            Self::Boot => boot::rows(),
            Self::Lifecycle => lifecycle::rows(),
            Self::Fork => fork::rows(),
            Self::Disk(_) => disk::rows(),
            Self::Rootfs => rootfs::rows(),
            Self::Startup => startup::rows(),
            Self::Throughput => throughput::rows(),
            Self::Capos => capos::rows(),
            Self::Http(_) => Vec::new(),
        }
    }

    /// What has to show first that it is what it is called.
    fn ways(&self) -> &'static [Way] {
        match self {
            Self::Boot | Self::Lifecycle | Self::Disk(_) => &[Way::Process, Way::Cold, Way::Warm],
            Self::Fork => &[Way::Warm],
            // What they run is ours, and in no sandbox but where the row says so.
            Self::Capos => &[],
            Self::Rootfs | Self::Startup | Self::Http(_) | Self::Throughput => {
                &[Way::Process, Way::Warm]
            }
        }
    }
}

impl MachineOptions {
    fn amounts(&self) -> Amounts {
        let size = match &self.suite {
            MachineSuite::Disk(size) => *size,
            _ => 0,
        };
        let (runs, size) = match self.quick {
            true => (QUICK_RUNS, QUICK_SIZE.min(size)),
            false => (self.runs, size),
        };
        Amounts {
            runs,
            size,
            quick: self.quick,
        }
    }

    /// Only what was asked for of rows that have names.
    fn chosen<T>(&self, rows: Vec<T>, name: impl Fn(&T) -> &str) -> Vec<T> {
        let has =
            |row: &T| self.rows.is_empty() || self.rows.iter().any(|part| name(row).contains(part));
        rows.into_iter().filter(has).collect()
    }

    /// The rows that are run: those on the ground, and those at the gate.
    fn wanted(&self, elsewhere: Option<Elsewhere>) -> Result<Rows, Failure> {
        let mut own = self.suite.rows();
        let gate = match &self.suite {
            MachineSuite::Http(what) => http::rows(what, elsewhere),
            MachineSuite::Throughput => vec![http::download()],
            _ => Vec::new(),
        };
        if self.machine.is_none() && matches!(self.suite, MachineSuite::Throughput) {
            // A process sandbox has no channel.
            own.clear();
        }
        let names: Vec<&str> = own
            .iter()
            .map(|row| row.description.name.as_str())
            .chain(gate.iter().map(|row| row.name.as_str()))
            .collect();
        let unknown = |part: &&String| !names.iter().any(|name| name.contains(part.as_str()));
        if let Some(part) = self.rows.iter().find(unknown) {
            return Err(Failure::usage(format!(
                "--row: no row has \"{}\" in its name; there are: {}",
                Text::from(part.as_str()),
                names.join("; ")
            )));
        }
        Ok(Rows {
            own: self.chosen(own, |row| &row.description.name),
            gate: self.chosen(gate, |row| &row.name),
        })
    }

    /// The bare machine, where machines are measured.
    fn bare(&self) -> Result<Option<Bare>, Failure> {
        if self.machine.is_none() && self.suite.needs_machine() {
            return Err(Failure::usage(format!(
                "bench {} measures virtual machines\nhelp: add --backend vm",
                self.suite.name()
            )));
        }
        let default = MachineShape::default();
        let shape = match &self.suite {
            MachineSuite::Capos => Some(self.machine.as_ref().unwrap_or(&default)),
            _ => self.machine.as_ref(),
        };
        shape.map(Bare::new).transpose()
    }
}

/// Notes which machine is measured.
fn describe(
    trial: &mut Trial,
    bare: Option<&Bare>,
    capos: Option<&BareCapos>,
) -> Result<(), Failure> {
    if let Some(bare) = bare {
        let environment = &mut trial.environment;
        environment.accelerator = bare.accelerator.to_string();
        environment.class = class(bare.accelerator, &environment.virtualisation).to_owned();
        let record = MachineRecord::of(bare)?;
        trial.machine = Some(match capos {
            Some(capos) => record.with_capos(capos)?,
            None => record,
        });
    }
    Ok(())
}

/// The rows of a suite.
struct Rows {
    /// On the ground that all suites about machines have.
    own: Vec<Row>,
    /// With a server behind the gate.
    gate: Vec<gate::row::Row>,
}

/// Where the rows are measured: with a server behind the gate, or without.
enum Place {
    Site(Box<Site>),
    Plain(Fixture),
}

impl Place {
    fn fixture(&self) -> &Fixture {
        match self {
            Self::Site(site) => &site.fixture,
            Self::Plain(fixture) => fixture,
        }
    }

    fn remove(self) -> Result<(), Failure> {
        match self {
            Self::Site(site) => {
                let Site {
                    fixture, origin, ..
                } = *site;
                drop(origin);
                fixture.remove()
            }
            Self::Plain(fixture) => fixture.remove(),
        }
    }
}

/// Runs a suite.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be run as asked; [`Failure::Fault`] when the machine does not let
/// the bench do its work. What the product does wrong is a verdict of the outcome.
pub fn machine(
    options: &MachineOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Outcome, Failure> {
    let elsewhere = match &options.suite {
        MachineSuite::Http(HttpRequests { url: Some(url), .. }) => Some(Elsewhere::parse(url)?),
        _ => None,
    };
    let allow = elsewhere.as_ref().map(Elsewhere::grant);
    let rows = options.wanted(elsewhere)?;
    let bare = options.bare()?;
    let capos = match options.suite {
        MachineSuite::Capos => Some(BareCapos::new()?),
        _ => None,
    };
    let (mut trial, fixture) = Trial::begin(
        options.suite.name(),
        &options.binary,
        options.quick,
        &options.out,
    )?;
    describe(&mut trial, bare.as_ref(), capos.as_ref())?;
    let place = match rows.gate.is_empty() {
        true => Place::Plain(fixture),
        false => {
            outlive_peers();
            let site = Site::prepare(&trial, fixture, allow.as_deref(), "")?;
            Place::Site(Box::new(site))
        }
    };
    let shape = options.machine.clone().unwrap_or_default();
    let (ground, authority) = Ground::new(&trial, place.fixture(), bare, shape, options.amounts())?;
    progress("whether the sandboxes hold");
    let ways = options.suite.ways().iter().copied();
    let ways: Vec<Way> = ways
        .filter(|way| !way.is_machine() || ground.bare.is_some())
        .collect();
    trial.in_force = ground.prove(&ways)?;
    let broken = trial.in_force.iter().find(|(_, found)| !found.holds);
    let broken = broken.map(|(way, found)| Verdict::Fail(format!("{way}: {}", found.detail)));
    let load = trial.environment.load_per_cpu();
    let mut taken = Vec::new();
    for row in &rows.own {
        progress(&row.description.name);
        taken.push(row.take(&trial.conditions, load, &ground, broken.as_ref()));
    }
    let machine = match &ground.bare {
        Some(_) => [vec!["--backend".into(), "vm".into()], ground.machine(None)].concat(),
        None => Vec::new(),
    };
    drop(ground);
    let mut authorities = vec![authority];
    let place = match place {
        Place::Site(mut site) => {
            site.machine = machine;
            authorities.push(site.authority.clone());
            for row in &rows.gate {
                progress(&row.name);
                taken.push(row.take(&trial.conditions, load, &site, broken.as_ref()));
            }
            Place::Site(site)
        }
        plain @ Place::Plain(_) => plain,
    };
    let outcome = trial.conclude(authorities, taken)?;
    place.remove()?;
    Ok(outcome)
}
