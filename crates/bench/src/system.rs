//! A column of the table: one way of running the suite's commands. All of them get the same
//! workspace, the same files and the same command; only what stands around it differs, and that
//! is recorded word for word.

use crate::fixture::Fixture;
use crate::measure;
use crate::peer::{Peer, Place};
use crate::profile::{Profile, Profiles};
use crate::program::Program;
use crate::verdict::Verdict;
use crate::workload::{Job, Workload};
use bailiwick_event::Text;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of the column without a sandbox.
pub(crate) const PLAIN: &str = "plain";
/// The name of the column of whole runs.
pub(crate) const COLD: &str = "bailiwick cold";
/// The name of the column of commands that a process inside the sandbox starts.
pub(crate) const INSIDE: &str = "bailiwick inside";

/// The name of the column of whole runs without the write broker.
pub(crate) const SWEEP: &str = "bailiwick sweep";

/// The name of the column of commands that enter a run (`bailiwick exec`).
pub(crate) const EXEC: &str = "bailiwick exec";
/// The name of the column of whole runs that find a sandbox waiting (`bailiwick serve`).
pub(crate) const WARM: &str = "bailiwick warm";

/// The name of the column of whole runs of another build.
pub(crate) const AGAINST: &str = "against";

/// The name of the column of commands that enter a run through a connection that is open.
pub(crate) const CONNECTION: &str = "bailiwick connection";

/// Whether a column stands for the suite's own verdict: the product, or no sandbox at all.
pub(crate) fn is_own(system: &str) -> bool {
    [PLAIN, COLD, INSIDE, SWEEP, EXEC, WARM, CONNECTION].contains(&system)
}

/// The product under test.
pub(crate) struct Product {
    /// Its program.
    pub binary: PathBuf,
    /// The files of the policies.
    pub profiles: Profiles,
}

impl Product {
    /// `BINARY run --policy FILE --workspace WS --cold -- CMD`.
    pub(crate) fn run(
        &self,
        profile: Profile,
        workspace: &Path,
        argv: &[OsString],
    ) -> Vec<OsString> {
        self.words(profile, workspace, "run", &["--cold"], Some(argv))
    }

    /// `BINARY SUBCOMMAND --policy FILE --workspace WS WORDS [-- CMD]`.
    fn words(
        &self,
        profile: Profile,
        workspace: &Path,
        subcommand: &str,
        words: &[&str],
        argv: Option<&[OsString]>,
    ) -> Vec<OsString> {
        let policy = self.profiles.path(profile);
        let mut whole: Vec<OsString> = vec![self.binary.clone().into(), subcommand.into()];
        whole.extend(["--policy".into(), policy.into()]);
        whole.extend(["--workspace".into(), workspace.into()]);
        whole.extend(words.iter().map(OsString::from));
        if let Some(argv) = argv {
            whole.push("--".into());
            whole.extend(argv.iter().cloned());
        }
        whole
    }
}

/// A peer that was looked for.
pub(crate) struct FoundPeer {
    peer: &'static Peer,
    place: Place,
    program: Option<Program>,
    form: usize,
    refusal: Option<Verdict>,
}

/// One column.
pub(crate) enum System {
    /// No sandbox.
    Plain,
    /// A whole run of the product.
    Cold,
    /// A command that a process inside the product's sandbox starts.
    Inside,
    /// A whole run that sweeps instead of keeping absent names.
    Sweep,
    /// A command that enters a run of the product.
    Exec,
    /// A command that enters a run of the product, by a client that is connected to it.
    Connection,
    /// A whole run that finds a sandbox waiting.
    Warm,
    /// A whole run of another build of the product.
    Against(Product),
    /// Another sandbox.
    Peer(FoundPeer),
}

impl System {
    /// A peer, after it was tried: the first of its command lines that runs `true`.
    pub(crate) fn peer(peer: &'static Peer, fixture: &Fixture, trial: &Job) -> Self {
        let place = Place {
            workspace: fixture.workspace(),
            settings: fixture.peers().join(peer.name),
        };
        let mut found = FoundPeer {
            peer,
            place,
            program: peer.program(),
            form: 0,
            refusal: None,
        };
        let Some(program) = found.program.clone() else {
            found.refusal = Some(Verdict::Absent(format!("{} is not on PATH", peer.name)));
            return Self::Peer(found);
        };
        let mut said = String::new();
        for (i, form) in peer.forms.iter().enumerate() {
            let tried = form(&found.place, &program, trial, false)
                .and_then(|argv| measure::run(&argv, &found.place.workspace, &[]));
            said = match tried {
                Ok(sample) if sample.code == Some(0) => {
                    found.form = i;
                    return Self::Peer(found);
                }
                Ok(sample) => sample.ending(),
                Err(error) => error.to_string(),
            };
        }
        found.refusal = Some(Verdict::DoesNotStart(said));
        Self::Peer(found)
    }

    /// Its name in the table.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Plain => PLAIN,
            Self::Cold => COLD,
            Self::Inside => INSIDE,
            Self::Sweep => SWEEP,
            Self::Exec => EXEC,
            Self::Connection => CONNECTION,
            Self::Warm => WARM,
            Self::Against(_) => AGAINST,
            Self::Peer(found) => found.peer.name,
        }
    }

    /// The file of its program, of another sandbox that is installed.
    pub(crate) fn program(&self) -> Option<&Path> {
        match self {
            Self::Peer(found) => Some(&found.program.as_ref()?.path),
            _ => None,
        }
    }

    /// Whether it is the product, for whose sake the bench exists.
    pub(crate) fn is_product(&self) -> bool {
        !matches!(self, Self::Plain | Self::Against(_) | Self::Peer(_))
    }

    /// Whether the process that is timed leaves the work to others, which then have the CPUs.
    pub(crate) fn hands_over(&self) -> bool {
        matches!(self, Self::Exec | Self::Connection | Self::Warm)
    }

    /// The first line that its program prints about its version.
    pub(crate) fn version(&self) -> Option<String> {
        match self {
            Self::Against(other) => version(other.binary.as_os_str(), "--version", Path::new("/")),
            Self::Peer(found) => {
                let program = found.program.as_ref()?;
                version(&program.word, found.peer.version, &found.place.workspace)
            }
            _ => None,
        }
    }

    /// The command line for `job` in the configuration of `workload`.
    ///
    /// # Errors
    /// The verdict that stands in the row's place where there is none.
    pub(crate) fn argv(
        &self,
        product: &Product,
        workload: &Workload,
        job: &Job,
    ) -> Result<Vec<OsString>, Verdict> {
        match self {
            Self::Plain => Ok(job.argv.clone()),
            Self::Cold | Self::Inside => {
                Ok(product.run(workload.profile, &workload.workspace, &job.argv))
            }
            Self::Against(other) => Ok(other.run(workload.profile, &workload.workspace, &job.argv)),
            Self::Sweep => Ok(product.run(Profile::Sweep, &workload.workspace, &job.argv)),
            Self::Exec => {
                let mut argv: Vec<OsString> = vec![product.binary.clone().into()];
                argv.extend(["exec", ENTERED, "--"].map(OsString::from));
                argv.extend(job.argv.iter().cloned());
                Ok(argv)
            }
            Self::Connection => {
                let mut argv: Vec<OsString> = vec![product.binary.clone().into()];
                let runs = u32::MAX.to_string();
                let words = ["bench", "connected", "--runs", &runs, CONNECTED, "--"];
                argv.extend(words.map(OsString::from));
                argv.extend(job.argv.iter().cloned());
                Ok(argv)
            }
            Self::Warm => Ok(product.words(
                workload.profile,
                &workload.workspace,
                "run",
                &[],
                Some(&job.argv),
            )),
            Self::Peer(found) => found.argv(workload, job),
        }
    }

    /// What has to go on while it is measured.
    pub(crate) fn companion(
        &self,
        product: &Product,
        workload: &Workload,
    ) -> Option<Vec<OsString>> {
        let (profile, workspace) = (workload.profile, &workload.workspace);
        match self {
            Self::Exec | Self::Connection => {
                let wait = ["sh", "-c", "echo ready; cat"].map(OsString::from);
                let name = match self {
                    Self::Exec => ENTERED,
                    _ => CONNECTED,
                };
                let words = ["--cold", "--name", name];
                Some(product.words(profile, workspace, "run", &words, Some(&wait)))
            }
            Self::Warm => Some(product.words(profile, workspace, "serve", &[], None)),
            _ => None,
        }
    }
}

/// The name of the run that is entered.
const ENTERED: &str = "bench-entered";
/// The name of the run that a client is connected to.
const CONNECTED: &str = "bench-connected";

impl FoundPeer {
    fn argv(&self, workload: &Workload, job: &Job) -> Result<Vec<OsString>, Verdict> {
        if let Some(refusal) = &self.refusal {
            return Err(refusal.clone());
        }
        if workload.profile == Profile::Network {
            return Err(Verdict::NotApplicable(self.peer.no_network.to_owned()));
        }
        let Some(program) = &self.program else {
            return Err(Verdict::Absent(format!(
                "{} is not on PATH",
                self.peer.name
            )));
        };
        self.peer.forms[self.form](&self.place, program, job, workload.bare)
            .map_err(|error| Verdict::Fail(format!("its settings cannot be written: {error}")))
    }
}

/// The first line that a program prints when it is asked for its version.
pub(crate) fn version(program: &std::ffi::OsStr, flag: &str, cwd: &Path) -> Option<String> {
    let sample = measure::run(&[program.to_owned(), flag.into()], cwd, &[]).ok()?;
    let line = |text: &Text| {
        let text = text.to_string_lossy();
        let line = text.lines().map(str::trim).find(|l| !l.is_empty())?;
        Some(Text::from(line).truncated(200).to_string())
    };
    line(&sample.stdout).or_else(|| line(&sample.stderr))
}
