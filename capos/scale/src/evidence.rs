//! What is kept: each boot's console, a line of figures for each, and what was judged of all.

use crate::arguments::Arguments;
use crate::gate::Judged;
use crate::host::{Host, load};
use crate::line::{self, Told};
use crate::machine::{Boot, Case, Machine, System};
use std::fs;
use std::path::PathBuf;

/// The part of its time for which a machine may wait for the host's processors.
const WAIT: f64 = 0.10;

/// A boot and what it is worth.
#[derive(Clone, Debug)]
pub(crate) struct Run {
    pub(crate) case: Case,
    pub(crate) number: u32,
    /// What was told, if it was right: the numbers of workers and processors, the verifier's word, the end.
    pub(crate) told: Result<Told, String>,
    pub(crate) status: Option<i32>,
    /// Waited, or others ran, for each nanosecond run.
    pub(crate) waited: f64,
    pub(crate) load: f64,
    /// The host was too busy for the figure to mean anything.
    pub(crate) is_contended: bool,
}

/// The evidence of one measurement.
pub(crate) struct Evidence {
    folders: Vec<(System, PathBuf)>,
    runs: Vec<Run>,
    host: Vec<String>,
    asked: String,
    cpus: usize,
    /// Waiting that a control brings upon itself is no fault of the host's.
    is_control: bool,
    is_computing: bool,
    workload: (&'static str, &'static str),
}

const COLUMNS: &str = "system,case,number,workers,cpus,status,verified,elapsed,unit,locks,ipis,timer,switches,\
                       calls,waited,load,contended,problem\n";

impl Evidence {
    /// Makes the folders, in which nothing of an earlier measurement is left.
    pub(crate) fn begin(arguments: &Arguments, host: &Host) -> Result<Self, String> {
        let mut folders = Vec::new();
        for system in arguments.systems() {
            let name = match system {
                System::Capos => "smp-process-scale",
                System::Linux => "linux-smp-process-scale",
            };
            let folder = arguments.out.join(name).join(&arguments.label);
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder)
                .map_err(|error| format!("{}: {error}", folder.display()))?;
            folders.push((system, folder));
        }
        Ok(Self {
            folders,
            runs: Vec::new(),
            host: host.words(),
            asked: format!(
                "workload: {}, {}; {} runs of each case, in turns; control: {}",
                arguments.workload.name(),
                arguments.variant.name(),
                arguments.runs,
                arguments.controls()
            ),
            cpus: host.cpus.len(),
            is_control: arguments.control.is_some(),
            is_computing: arguments.workload.is_computing(),
            workload: (arguments.workload.name(), arguments.variant.name()),
        })
    }

    /// Boots a machine and keeps what it said.
    pub(crate) fn boot(&mut self, machine: &Machine<'_>, number: u32) -> Result<Run, String> {
        let case = machine.case;
        let folder = self
            .folders
            .iter()
            .find(|(system, _)| *system == case.system);
        let folder = folder
            .map(|(_, folder)| folder)
            .ok_or("no folder for this system")?;
        let before = self
            .runs
            .iter()
            .filter(|run| run.case == case && run.number == number)
            .count();
        let again = if before == 0 {
            String::new()
        } else {
            format!("-again{before}")
        };
        let load = load();
        let boot =
            machine.boot(&folder.join(format!("run-{}-{number}{again}.log", case.name())))?;
        let ran = boot.ran.max(1);
        // Threads that only compute wait because somebody else has the processor. Where they wake one another
        // all the time waiting is part of it, and what others did is counted instead.
        let waited = match self.is_computing {
            true => boot.waited + boot.busy.stolen,
            false => boot.busy.all.saturating_sub(ran),
        };
        let waited = waited as f64 / ran as f64;
        // Nor is that of a case.
        let has_room = case.processors as usize <= self.cpus && !self.is_control;
        let run = Run {
            case,
            number,
            told: self.right(case, &boot),
            status: boot.status,
            waited,
            load,
            is_contended: has_room && waited > WAIT,
        };
        eprintln!(
            "scale: {} {} {number}{again}: {}",
            case.system.name(),
            case.name(),
            run.words()
        );
        self.runs.push(run.clone());
        Ok(run)
    }

    /// What was told, if all of it is as it has to be.
    fn right(&self, case: Case, boot: &Boot) -> Result<Told, String> {
        let told = line::told(&boot.said)?;
        if boot.status != Some(case.system.good_status()) {
            return Err(format!("the machine ended with {:?}", boot.status));
        }
        if (told.workload.as_str(), told.variant.as_str()) != self.workload {
            return Err(format!(
                "another work was done: {}, {}",
                told.workload, told.variant
            ));
        }
        if told.cpus != case.processors || told.workers != case.processors {
            return Err(format!(
                "{} workers on {} processors",
                told.workers, told.cpus
            ));
        }
        if !told.verified {
            return Err("what the workers found is not right".into());
        }
        Ok(told)
    }

    /// All boots.
    pub(crate) fn runs(&self) -> &[Run] {
        &self.runs
    }

    /// Writes what was found, and says it.
    pub(crate) fn end(&self, judged: &Judged) -> Result<(), String> {
        let mut text = format!("{}\n{}\n", self.host.join("\n"), self.asked);
        text += &judged.to_string();
        print!("{text}");
        for (system, folder) in &self.folders {
            let own = self.runs.iter().filter(|run| run.case.system == *system);
            let rows: String = own.map(Run::row).collect();
            let written = fs::write(folder.join("summary.csv"), format!("{COLUMNS}{rows}"))
                .and_then(|()| fs::write(folder.join("summary.log"), &text));
            written.map_err(|error| format!("{}: {error}", folder.display()))?;
            println!("evidence: {}", folder.display());
        }
        Ok(())
    }
}

impl Run {
    fn words(&self) -> String {
        let busy = if self.is_contended {
            ", while the host was busy"
        } else {
            ""
        };
        match &self.told {
            Ok(told) => format!(
                "{} {}{busy} (waited {:.0} %)",
                told.elapsed,
                self.case.system.unit(),
                self.waited * 100.0
            ),
            Err(why) => format!("FAILED: {why}"),
        }
    }

    fn row(&self) -> String {
        let told = self.told.as_ref().ok();
        let number = |of: fn(&Told) -> u64| told.map_or(String::new(), |told| of(told).to_string());
        let activity = told.and_then(|told| told.activity);
        let counters = activity.map_or(",,,,".into(), |a| {
            format!(
                "{},{},{},{},{}",
                a.locks, a.ipis, a.timer, a.switches, a.calls
            )
        });
        let problem = self.told.as_ref().err().map_or("", String::as_str);
        format!(
            "{},{},{},{},{},{},{},{},{},{counters},{:.3},{:.2},{},{:?}\n",
            self.case.system.name(),
            self.case.name(),
            self.number,
            number(|told| told.workers.into()),
            number(|told| told.cpus.into()),
            self.status
                .map_or("ended".into(), |status| status.to_string()),
            told.is_some(),
            number(|told| told.elapsed),
            self.case.system.unit(),
            self.waited,
            self.load,
            self.is_contended,
            problem,
        )
    }
}
