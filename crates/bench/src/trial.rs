//! One run of a suite of series: what stands before its first row and after its last, the same for
//! every suite, so that no suite can be published that another would have refused.

use crate::conditions::Conditions;
use crate::environment::{self, Environment};
use crate::evidence::{Authority, ProductRecord};
use crate::fixture::Fixture;
use crate::gate::record::{BoundaryRow, Record, SCHEMA};
use crate::in_force::InForce;
use crate::machine::MachineRecord;
use crate::outcome::Outcome;
use crate::overhead::{at, run_id, tools, write};
use crate::tested::{identify, locate};
use bailiwick_event::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A run that has begun.
pub(crate) struct Trial {
    pub conditions: Conditions,
    pub environment: Environment,
    /// The program under test.
    pub binary: PathBuf,
    /// Few samples, never for publication.
    pub quick: bool,
    /// The machine that the suite measures; none where it measures no machine.
    pub machine: Option<MachineRecord>,
    /// What each sandbox refused before anything was timed, where that is found out once for all rows.
    pub in_force: BTreeMap<String, InForce>,
    suite: &'static str,
    run_id: String,
    started: String,
    product: ProductRecord,
    out: PathBuf,
}

impl Trial {
    /// Finds out whether the program may be measured, and makes the folders.
    pub(crate) fn begin(
        suite: &'static str,
        binary: &Path,
        quick: bool,
        out: &Path,
    ) -> Result<(Self, Fixture), Failure> {
        let started = jiff::Timestamp::now().to_string();
        let conditions = Conditions::published().map_err(|error| {
            Failure::fault(format!("the bench cannot find its own program: {error}"))
        })?;
        let binary = locate("--binary", binary)?;
        let product = identify("--binary", &binary, &conditions, quick)?;
        let run_id = run_id();
        let out = std::fs::create_dir_all(out)
            .and_then(|()| out.canonicalize())
            .map_err(|error| at(out, &error))?;
        let mut environment = Environment::observe();
        let fixture = Fixture::empty(&out, &run_id)?;
        let workspace = fixture.workspace();
        environment.workspace_filesystem = environment::filesystem_of(&workspace);
        environment.workspace_device = environment::device_of(&workspace);
        environment.tools = tools(&workspace);
        let trial = Self {
            conditions,
            environment,
            binary,
            quick,
            machine: None,
            in_force: BTreeMap::new(),
            suite,
            run_id,
            started,
            product,
            out,
        };
        Ok((trial, fixture))
    }

    /// The name of the raw log.
    fn log_name(&self) -> String {
        format!("{}-{}.log", self.suite, self.run_id)
    }

    /// The file of the raw log.
    pub(crate) fn log(&self) -> PathBuf {
        self.out.join(self.log_name())
    }

    /// Writes the evidence.
    pub(crate) fn conclude(
        self,
        authority: Vec<Authority>,
        rows: Vec<BoundaryRow>,
    ) -> Result<Outcome, Failure> {
        let log = self.log_name();
        let path = self
            .out
            .join(format!("{}-{}.json", self.suite, self.run_id));
        let mut environment = self.environment;
        environment.load_after = environment::load();
        let record = Record {
            schema: SCHEMA,
            suite: self.suite.to_owned(),
            run_id: self.run_id,
            started: self.started,
            finished: jiff::Timestamp::now().to_string(),
            publishable: !self.quick && self.product.release && self.product.bench_release,
            quick: self.quick,
            order: "round-robin over all sides, block by block".to_owned(),
            authority,
            product: self.product,
            environment,
            machine: self.machine,
            in_force: self.in_force,
            rows,
            log,
        };
        write(&path, &record)?;
        Ok(record.outcome(path))
    }
}
