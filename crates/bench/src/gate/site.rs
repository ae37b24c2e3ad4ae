//! What all rows of one run share: the folders, the origin, the policy and the two authorities. Every
//! row has a run of the product of its own, so that its ledger holds that row and nothing else.

use super::authority::{NAME, TestAuthority, subject};
use super::origin::Origin;
use crate::evidence::Authority;
use crate::fixture::Fixture;
use crate::load::job::{Job, Report, Target};
use crate::measure;
use crate::overhead::at;
use crate::trial::Trial;
use bailiwick_event::Failure;
use std::cell::{Cell, RefCell};
use std::ffi::OsString;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};

/// The host's authorities.
const AUTHORITIES: &str = "/etc/ssl/certs/ca-certificates.crt";
/// The rule that refuses requests.
pub(crate) const RULE: &str = "bench-refused";
/// What it refuses.
pub(crate) const REFUSED_PATH: &str = "/refused";

/// One run of a suite.
pub(crate) struct Site {
    pub binary: PathBuf,
    pub fixture: Fixture,
    pub origin: Origin,
    /// Who certifies servers, as a client sees it behind the gate.
    pub gate: String,
    /// The same without a gate.
    pub direct: String,
    pub quick: bool,
    pub variables: Vec<(OsString, OsString)>,
    /// The words that make a run one of a machine; empty where none is measured.
    pub machine: Vec<OsString>,
    /// The policy and its text.
    pub authority: Authority,
    runs: Cell<u32>,
    log: RefCell<BufWriter<File>>,
}

impl Site {
    /// Starts the origin and writes everything that a run needs; `allow` (a machine besides the origin)
    /// and `rules` stand in the policy.
    pub(crate) fn prepare(
        trial: &Trial,
        fixture: Fixture,
        allow: Option<&str>,
        rules: &str,
    ) -> Result<Self, Failure> {
        let (binary, helper) = (trial.binary.clone(), &trial.conditions.helper);
        let (log, quick) = (trial.log(), trial.quick);
        std::fs::copy(helper, fixture.helper()).map_err(|error| at(helper, &error))?;
        let authority = TestAuthority::make()?;
        let origin = Origin::start(&authority)
            .map_err(|error| Failure::fault(format!("no server on loopback: {error}")))?;
        let variables = vec![(
            OsString::from("XDG_STATE_HOME"),
            OsString::from(fixture.state()),
        )];
        let gate = gate_authority(&binary, &fixture, &variables)?;
        let write = |path: PathBuf, text: &str| {
            std::fs::write(&path, text).map_err(|error| at(&path, &error))
        };
        let own = fixture.policies().join("origin.pem");
        write(own.clone(), &authority.certificate)?;
        // Both clients trust both authorities: so they read the same file, and do the same work.
        // Servers elsewhere have others.
        let others = match allow {
            Some(_) => std::fs::read_to_string(AUTHORITIES).unwrap_or_default(),
            None => String::new(),
        };
        let all = format!("{}{gate}{others}", authority.certificate);
        write(roots(&fixture), &all)?;
        let allow = allow.map_or(String::new(), |allow| format!("allow = [{allow:?}]\n"));
        let text = format!(
            "extends = [\"default\"]\n\n[network]\ninspect = \"always\"\nroots = [{own:?}]\n{allow}\n\
             [network.hosts]\n\"{NAME}\" = \"{}\"\n{rules}",
            origin.address()
        );
        write(policy(&fixture), &text)?;
        let file = File::create_new(&log).map_err(|error| at(&log, &error))?;
        Ok(Self {
            binary,
            gate: subject(&gate)?,
            direct: subject(&authority.certificate)?,
            fixture,
            origin,
            quick,
            variables,
            machine: Vec::new(),
            authority: Authority {
                rows: "all".to_owned(),
                hash: blake3::hash(text.as_bytes()).to_hex().to_string(),
                text,
            },
            runs: Cell::new(0),
            log: RefCell::new(BufWriter::new(file)),
        })
    }

    /// A name for one more run.
    pub(crate) fn next_run(&self) -> String {
        self.runs.set(self.runs.get() + 1);
        format!("bench-{}", self.runs.get())
    }

    /// `BINARY run … --name NAME -- HELPER bench load`.
    pub(crate) fn run(&self, name: &str) -> Vec<OsString> {
        self.run_with(&["--cold".into()], name)
    }

    /// The same in a machine, a copy of a template.
    pub(crate) fn run_in_machine(&self, name: &str) -> Vec<OsString> {
        self.run_with(&self.machine, name)
    }

    fn run_with(&self, words: &[OsString], name: &str) -> Vec<OsString> {
        let mut argv: Vec<OsString> = vec![self.binary.clone().into(), "run".into()];
        argv.extend(["--policy".into(), policy(&self.fixture).into()]);
        argv.extend(["--workspace".into(), self.fixture.workspace().into()]);
        argv.extend(words.iter().cloned());
        argv.extend(["--name", name, "--"].map(OsString::from));
        argv.extend(self.load(&[]));
        argv
    }

    /// `HELPER bench load ROLE`.
    pub(crate) fn load(&self, role: &[&str]) -> Vec<OsString> {
        let mut argv: Vec<OsString> = vec![self.fixture.helper().into()];
        argv.extend(["bench", "load"].iter().chain(role).map(OsString::from));
        argv
    }

    /// Another command of the product, without a sandbox of its own.
    pub(crate) fn product(&self, words: &[&str]) -> Result<measure::Sample, String> {
        let mut argv: Vec<OsString> = vec![self.binary.clone().into()];
        argv.extend(words.iter().map(OsString::from));
        measure::run(&argv, &self.fixture.workspace(), &self.variables)
            .map_err(|error| error.to_string())
    }

    /// The origin, as a program in a sandbox names it, or as one on the host does.
    pub(crate) fn target(&self, inside: bool) -> Target {
        Target {
            name: NAME.to_owned(),
            address: (!inside).then(|| self.origin.address()),
            proxy: None,
            roots: roots(&self.fixture),
            http2: false,
            port: 443,
            plain: false,
        }
    }

    /// The file of the authorities that clients trust.
    pub(crate) fn roots(&self) -> String {
        roots(&self.fixture).to_string_lossy().into_owned()
    }

    /// Keeps what was asked of a client and what it said.
    pub(crate) fn note(&self, side: &str, job: &Job, report: &Report) {
        let mut log = self.log.borrow_mut();
        let line = (side, job, report);
        // A log that cannot be written takes nothing from the evidence, which holds the samples.
        if let Ok(line) = serde_json::to_string(&line) {
            let _ = writeln!(log, "{line}").and_then(|()| log.flush());
        }
    }
}

fn roots(fixture: &Fixture) -> PathBuf {
    fixture.workspace().join("roots.pem")
}

fn policy(fixture: &Fixture) -> PathBuf {
    fixture.policies().join("gate.toml")
}

/// The certificate of the installation's authority, which is made here.
fn gate_authority(
    binary: &Path,
    fixture: &Fixture,
    variables: &[(OsString, OsString)],
) -> Result<String, Failure> {
    let argv: Vec<OsString> = vec![binary.into(), "ca".into(), "export".into()];
    let said =
        measure::run(&argv, &fixture.workspace(), variables).map_err(|error| at(binary, &error))?;
    match said.code {
        Some(0) => Ok(said.stdout.to_string_lossy()),
        _ => Err(Failure::fault(format!("`ca export`: {}", said.ending()))),
    }
}
