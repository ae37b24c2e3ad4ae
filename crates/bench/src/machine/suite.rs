//! One run of a suite about machines.

use super::ground::{Amounts, Ground, Way};
use super::record::{MachineRecord, class};
use super::row::Row;
use super::{boot, disk, lifecycle, rootfs, startup};
use crate::outcome::Outcome;
use crate::trial::Trial;
use crate::verdict::Verdict;
use bailiwick_event::{Failure, Text};
use bailiwick_vm::{Bare, MachineShape};
use std::path::PathBuf;

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MachineSuite {
    /// Starts of machines.
    Boot,
    /// A session from its start to the end of its record.
    Lifecycle,
    /// The workspace, with a large file of so many bytes: a whole number of MiB.
    Disk(u64),
    /// The files that a system has its programs from.
    Rootfs,
    /// Starts of programs.
    Startup,
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
const QUICK_RUNS: u32 = 2;
/// The large file of a quick run, in bytes.
const QUICK_SIZE: u64 = 8 << 20;

impl MachineSuite {
    fn name(self) -> &'static str {
        match self {
            Self::Boot => "boot",
            Self::Lifecycle => "lifecycle",
            Self::Disk(_) => "disk",
            Self::Rootfs => "rootfs",
            Self::Startup => "startup",
        }
    }

    /// Whether it says nothing where there is no machine.
    fn needs_machine(self) -> bool {
        matches!(self, Self::Boot | Self::Lifecycle)
    }

    fn rows(self) -> Vec<Row> {
        match self {
            Self::Boot => boot::rows(),
            Self::Lifecycle => lifecycle::rows(),
            Self::Disk(_) => disk::rows(),
            Self::Rootfs => rootfs::rows(),
            Self::Startup => startup::rows(),
        }
    }

    /// What has to show first that it is what it is called.
    fn ways(self) -> &'static [Way] {
        match self {
            Self::Boot | Self::Lifecycle | Self::Disk(_) => &[Way::Process, Way::Cold, Way::Warm],
            Self::Rootfs | Self::Startup => &[Way::Process, Way::Warm],
        }
    }
}

impl MachineOptions {
    fn amounts(&self) -> Amounts {
        let size = match self.suite {
            MachineSuite::Disk(size) => size,
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

    /// The rows that are run.
    fn wanted(&self) -> Result<Vec<Row>, Failure> {
        let rows = self.suite.rows();
        let names: Vec<String> = rows.iter().map(|r| r.description.name.clone()).collect();
        let unknown = |part: &&String| !names.iter().any(|name| name.contains(part.as_str()));
        if let Some(part) = self.rows.iter().find(unknown) {
            return Err(Failure::usage(format!(
                "--row: no row has \"{}\" in its name; there are: {}",
                Text::from(part.as_str()),
                names.join("; ")
            )));
        }
        let has = |row: &Row| {
            let name = &row.description.name;
            self.rows.is_empty() || self.rows.iter().any(|part| name.contains(part))
        };
        Ok(rows.into_iter().filter(has).collect())
    }

    /// The bare machine, where machines are measured.
    fn bare(&self) -> Result<Option<Bare>, Failure> {
        if self.machine.is_none() && self.suite.needs_machine() {
            return Err(Failure::usage(format!(
                "bench {} measures virtual machines\nhelp: add --backend vm",
                self.suite.name()
            )));
        }
        self.machine.as_ref().map(Bare::new).transpose()
    }
}

/// Notes which machine is measured.
fn describe(trial: &mut Trial, bare: Option<&Bare>) -> Result<(), Failure> {
    if let Some(bare) = bare {
        let environment = &mut trial.environment;
        environment.accelerator = bare.accelerator.to_string();
        environment.class = class(bare.accelerator, &environment.virtualisation).to_owned();
        trial.machine = Some(MachineRecord::of(bare)?);
    }
    Ok(())
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
    let rows = options.wanted()?;
    let bare = options.bare()?;
    let suite = options.suite;
    let (mut trial, fixture) =
        Trial::begin(suite.name(), &options.binary, options.quick, &options.out)?;
    describe(&mut trial, bare.as_ref())?;
    let shape = options.machine.clone().unwrap_or_default();
    let (ground, authority) = Ground::new(&trial, &fixture, bare, shape, options.amounts())?;
    progress("whether the sandboxes hold");
    let ways = suite.ways().iter().copied();
    let ways: Vec<Way> = ways
        .filter(|way| !way.is_machine() || ground.bare.is_some())
        .collect();
    trial.in_force = ground.prove(&ways)?;
    let broken = trial.in_force.iter().find(|(_, found)| !found.holds);
    let broken = broken.map(|(way, found)| Verdict::Fail(format!("{way}: {}", found.detail)));
    let load = trial.environment.load_per_cpu();
    let mut taken = Vec::new();
    for row in &rows {
        progress(&row.description.name);
        taken.push(row.take(&trial.conditions, load, &ground, broken.as_ref()));
    }
    drop(ground);
    let outcome = trial.conclude(vec![authority], taken)?;
    fixture.remove()?;
    Ok(outcome)
}
