//! What all rows about machines share: one workspace, one policy, and three ways to run a command in it.
//! Only what stands around the command differs, and before anything is timed each way has to show that
//! it is what it is called: that it holds, and on whose kernel it runs.

use super::worker::Worker;
use crate::companion::Companion;
use crate::evidence::Authority;
use crate::fixture::Fixture;
use crate::in_force::{InForce, Yard};
use crate::measure::{self, Sample};
use crate::overhead::at;
use crate::profile::POLICY;
use crate::trial::Trial;
use crate::verdict::Verdict;
use bailiwick_event::Failure;
use bailiwick_vm::{Bare, MachineShape, guest_binary};
use serde::Serialize;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::Duration;

/// The guest's binary, where a machine has it.
const IN_MACHINE: &str = "/run/bailiwick/guest";
/// A machine that is started takes seconds where the host is busy.
const PATIENCE: Duration = Duration::from_secs(120);

/// A way to run a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    /// As it is, on the host.
    Native,
    /// In a run of the process backend.
    Process,
    /// In a machine whose kernel is started.
    Cold,
    /// In a machine that is a copy of a template.
    Warm,
}

impl Way {
    /// The name of its series.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Process => "process",
            Self::Cold => "vm, cold",
            Self::Warm => "vm",
        }
    }

    /// Whether it is a machine.
    pub(crate) fn is_machine(self) -> bool {
        matches!(self, Self::Cold | Self::Warm)
    }
}

/// What a suite is to do, beside its name.
#[derive(Clone, Debug)]
pub(crate) struct Amounts {
    /// Samples, where one takes less than a second.
    pub runs: u32,
    /// Bytes of the large file, where there is one.
    pub size: u64,
    pub quick: bool,
}

/// One run of a suite.
pub(crate) struct Ground<'a> {
    pub binary: PathBuf,
    pub fixture: &'a Fixture,
    pub amounts: Amounts,
    /// The bare machine; none where no machine is measured.
    pub bare: Option<Bare>,
    shape: MachineShape,
    variables: Vec<(OsString, OsString)>,
    names: Cell<u32>,
    log: RefCell<BufWriter<File>>,
}

impl<'a> Ground<'a> {
    /// Writes everything that the rows need.
    pub(crate) fn new(
        trial: &Trial,
        fixture: &'a Fixture,
        bare: Option<Bare>,
        shape: MachineShape,
        amounts: Amounts,
    ) -> Result<(Self, Authority), Failure> {
        let copy = |from: &std::path::Path, to: PathBuf| {
            std::fs::copy(from, to).map_err(|error| at(from, &error))
        };
        copy(&trial.conditions.helper, fixture.helper())?;
        copy(&guest_binary()?, workload(fixture))?;
        let path = policy(fixture);
        std::fs::write(&path, POLICY).map_err(|error| at(&path, &error))?;
        let log = trial.log();
        let file = File::options().create(true).append(true).open(&log);
        let ground = Self {
            binary: trial.binary.clone(),
            fixture,
            amounts,
            bare,
            shape,
            variables: vec![("XDG_STATE_HOME".into(), fixture.state().into())],
            names: Cell::new(0),
            log: RefCell::new(BufWriter::new(file.map_err(|error| at(&log, &error))?)),
        };
        let authority = Authority {
            rows: "all that have no server".to_owned(),
            hash: blake3::hash(POLICY.as_bytes()).to_hex().to_string(),
            text: POLICY.to_owned(),
        };
        Ok((ground, authority))
    }

    /// The ways that are measured beside each other; of machines this one.
    pub(crate) fn ways(&self, machine: Way) -> Vec<Way> {
        let mut ways = vec![Way::Native, Way::Process];
        ways.extend(self.bare.as_ref().map(|_| machine));
        ways
    }

    /// The bare machine.
    pub(crate) fn bare(&self) -> Result<&Bare, Verdict> {
        let missing = || Verdict::NotApplicable("no machine is measured".to_owned());
        self.bare.as_ref().ok_or_else(missing)
    }

    /// The shape of the machines here, with so many processors.
    pub(crate) fn shape(&self, cpus: u32) -> MachineShape {
        MachineShape {
            cpus,
            ..self.shape.clone()
        }
    }

    /// A name for one more run.
    pub(crate) fn next_name(&self) -> String {
        self.names.set(self.names.get() + 1);
        format!("bench-{}", self.names.get())
    }

    /// The guest's binary as a command of this way finds it: the same bytes everywhere.
    pub(crate) fn workload(&self, way: Way) -> OsString {
        match way.is_machine() {
            true => IN_MACHINE.into(),
            false => workload(self.fixture).into(),
        }
    }

    /// `--image NAME --memory SIZE --cpus N`, of the machines here.
    pub(crate) fn machine(&self, memory: Option<u64>) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["--image", &self.shape.image].map(OsString::from).into();
        let cpus = self.shape.cpus.to_string();
        words.extend(["--cpus", &cpus].map(OsString::from));
        if let Some(memory) = memory.or(self.shape.memory) {
            words.extend(["--memory", &format!("{memory}B")].map(OsString::from));
        }
        words
    }

    /// A whole run of the command, with these words for the run; natively just the command.
    pub(crate) fn run(&self, way: Way, words: &[&str], command: &[OsString]) -> Vec<OsString> {
        self.sized(way, None, words, command)
    }

    /// The same, of machines with so many bytes of memory.
    pub(crate) fn sized(
        &self,
        way: Way,
        memory: Option<u64>,
        words: &[&str],
        command: &[OsString],
    ) -> Vec<OsString> {
        let mut argv: Vec<OsString> = Vec::new();
        if way != Way::Native {
            argv.extend([self.binary.clone().into(), "run".into()]);
            argv.extend(["--policy".into(), policy(self.fixture).into()]);
            argv.extend(["--workspace".into(), self.fixture.workspace().into()]);
            if way.is_machine() {
                argv.extend(["--backend", "vm"].map(OsString::from));
                argv.extend(self.machine(memory));
            }
            if way != Way::Warm {
                argv.push("--cold".into());
            }
            argv.extend(words.iter().map(OsString::from));
            argv.push("--".into());
        }
        argv.extend(command.iter().cloned());
        argv
    }

    /// Runs the product, or anything else, to its end.
    ///
    /// # Errors
    /// A fail, where it does not start or does not end with 0.
    pub(crate) fn complete(&self, argv: &[OsString]) -> Result<Sample, Verdict> {
        let workspace = self.fixture.workspace();
        let sample = measure::run_within(PATIENCE, argv, &workspace, &self.variables);
        let sample = sample.map_err(|error| Verdict::Fail(error.to_string()))?;
        self.note(&(argv_text(argv), &sample));
        match sample.code {
            Some(0) => Ok(sample),
            _ => Err(Verdict::Fail(format!(
                "{}: {}",
                argv_text(argv),
                sample.ending()
            ))),
        }
    }

    /// `BINARY WORDS`, to its end.
    pub(crate) fn product(&self, words: &[&str]) -> Result<Sample, Verdict> {
        let mut argv: Vec<OsString> = vec![self.binary.clone().into()];
        argv.extend(words.iter().map(OsString::from));
        self.complete(&argv)
    }

    /// `bailiwick serve`, with one machine that waits for a run.
    pub(crate) fn serve(&self) -> Result<Companion, Verdict> {
        let mut argv: Vec<OsString> = vec![self.binary.clone().into(), "serve".into()];
        argv.extend(["--keep", "1", "--backend", "vm"].map(OsString::from));
        argv.extend(["--policy".into(), policy(self.fixture).into()]);
        argv.extend(["--workspace".into(), self.fixture.workspace().into()]);
        argv.extend(self.machine(None));
        let serve = Companion::start(&argv, &self.fixture.workspace(), &self.variables);
        serve.map_err(Verdict::DoesNotStart)
    }

    /// The guest's binary, waiting for work in this way.
    pub(crate) fn worker(&self, way: Way, words: &[&str]) -> Result<Worker, Verdict> {
        self.working(way, None, words)
    }

    /// The same, in a machine with so many bytes of memory.
    pub(crate) fn sized_worker(
        &self,
        way: Way,
        memory: u64,
        words: &[&str],
    ) -> Result<Worker, Verdict> {
        self.working(way, Some(memory), words)
    }

    fn working(&self, way: Way, memory: Option<u64>, words: &[&str]) -> Result<Worker, Verdict> {
        let command = [self.workload(way), "bench".into()];
        let argv = self.sized(way, memory, words, &command);
        Worker::start(way, &argv, &self.fixture.workspace(), &self.variables)
    }

    /// The variables of every run.
    pub(crate) fn variables(&self) -> &[(OsString, OsString)] {
        &self.variables
    }

    /// Keeps what was seen.
    pub(crate) fn note(&self, what: &impl Serialize) {
        let mut log = self.log.borrow_mut();
        // A log that cannot be written takes nothing from the evidence, which holds the samples.
        if let Ok(line) = serde_json::to_string(what) {
            let _ = writeln!(log, "{line}").and_then(|()| log.flush());
        }
    }

    /// Whether each way is what it is called: that the policy holds, and whose kernel it is.
    pub(crate) fn prove(&self, ways: &[Way]) -> Result<BTreeMap<String, InForce>, Failure> {
        let yard = Yard::new(self.fixture.outside())
            .map_err(|error| Failure::fault(format!("no server on loopback: {error}")))?;
        let helper = self.fixture.helper();
        let mut found = BTreeMap::new();
        for way in ways.iter().copied().filter(|way| *way != Way::Native) {
            let argv = self.run(way, &[], &yard.command(&helper));
            let workspace = self.fixture.workspace();
            let mut in_force = yard
                .check(&argv, &workspace, &self.variables)
                .map_err(|error| at(&helper, &error))?;
            let kernel = self.kernel(way);
            in_force.detail = format!(
                "{}; {}",
                in_force.detail,
                kernel
                    .as_ref()
                    .map_or_else(|v| v.reason().to_owned(), Clone::clone)
            );
            in_force.holds &= kernel.is_ok();
            found.insert(way.name().to_owned(), in_force);
        }
        Ok(found)
    }

    /// On whose kernel a command runs.
    fn kernel(&self, way: Way) -> Result<String, Verdict> {
        let command = ["uname".into(), "-r".into()];
        let said = self.complete(&self.run(way, &[], &command))?;
        let said = said.stdout.to_string_lossy().trim().to_owned();
        let host = rustix::system::uname()
            .release()
            .to_string_lossy()
            .into_owned();
        let own = match (&self.bare, way.is_machine()) {
            (Some(bare), true) => said.starts_with(&bare.image.manifest.kernel.version),
            (_, is_machine) => (said == host) != is_machine,
        };
        match own {
            true => Ok(format!("kernel {said}")),
            false => Err(Verdict::Fail(format!(
                "{}: the kernel is {said}, which is not the one that was to run it",
                way.name()
            ))),
        }
    }
}

/// A command line as one text.
fn argv_text(argv: &[OsString]) -> String {
    let words: Vec<_> = argv.iter().map(|word| word.to_string_lossy()).collect();
    words.join(" ")
}

/// The copy of the guest's binary in the workspace.
fn workload(fixture: &Fixture) -> PathBuf {
    fixture.workspace().join("bench-guest")
}

fn policy(fixture: &Fixture) -> PathBuf {
    fixture.policies().join("machine.toml")
}
