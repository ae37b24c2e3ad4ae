//! `bench overhead`: what the product costs per command, beside no sandbox and beside others. The
//! order is fixed: find out whether the program may be measured, generate the files, prove that
//! the forbidden works where nothing forbids it, measure, write the evidence, remove everything.

use crate::against::Against;
use crate::conditions::Conditions;
use crate::environment::{self, Environment};
use crate::evidence::{Evidence, Parameters, SCHEMA, SystemRecord};
use crate::fixture::Fixture;
use crate::in_force::Yard;
use crate::outcome::Outcome;
use crate::peer::{self, PEERS, Peer};
use crate::profile::Profiles;
use crate::selection::Selection;
use crate::server::Server;
use crate::suite::{RawLog, Suite};
use crate::system::{Product, System};
use crate::tested::{identify, locate};
use crate::workload::{Job, Workload};
use crate::{catalogue, counters, crowd, limit, program, row, row_limit, system};
use bailiwick_event::{Failure, SessionId, Text};
use serde::Serialize;
use std::collections::BTreeMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A quick run takes at most this many samples.
const QUICK_RUNS: u32 = 10;

/// What `bench overhead` is to do.
#[derive(Clone, Debug)]
pub struct OverheadOptions {
    /// The program under test; it is asked for its `--version` and used as `BINARY run …`.
    pub binary: PathBuf,
    /// Samples per system and row, after one warm-up. Fewer than 50 give no published row.
    pub runs: u32,
    /// At most ten samples, also of debug builds; never for publication.
    pub quick: bool,
    /// The folder for the evidence; it is made where it is missing.
    pub out: PathBuf,
    /// Whether to measure the row that reaches a server on loopback.
    pub network: bool,
    /// Another build of the product, which takes turns with `binary`; then nothing is measured but whole runs of both
    /// and the commands without a sandbox.
    pub against: Option<PathBuf>,
    /// Which other sandboxes to measure; none: every one that is on PATH.
    pub peers: Option<Vec<String>>,
    /// Only rows and limits whose name contains one of these; none: all.
    pub rows: Vec<String>,
    /// Whether to count programs, calls, switches and faults as well, in further runs; then `runs`
    /// may be 0.
    pub counters: bool,
}

/// Runs the suite.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be run as asked (an unknown peer, a debug build that is to be
/// published, a program that is not bailiwick); [`Failure::Fault`] when the machine does not let
/// the bench do its work. What a system does wrong is a verdict of the outcome, not an error.
pub fn overhead(
    options: &OverheadOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Outcome, Failure> {
    let conditions = Conditions::published().map_err(|error| {
        Failure::fault(format!("the bench cannot find its own program: {error}"))
    })?;
    overhead_under(&conditions, options, progress)
}

pub(crate) fn overhead_under(
    conditions: &Conditions,
    options: &OverheadOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<Outcome, Failure> {
    let started = jiff::Timestamp::now().to_string();
    let peers = wanted(options)?;
    let binary = locate("--binary", &options.binary)?;
    let product = identify("--binary", &binary, conditions, options.quick)?;
    let flag = "--against";
    let other = options.against.as_deref();
    let other = other.map(|other| locate(flag, other)).transpose()?;
    let against = other
        .as_deref()
        .map(|other| identify(flag, other, conditions, options.quick))
        .transpose()?;
    let runs = match options.quick {
        true => options.runs.min(QUICK_RUNS),
        false => options.runs,
    };
    if runs == 0 && !options.counters {
        return Err(Failure::usage(
            "--runs 0 measures nothing; give at least 1, or --counters to count alone",
        ));
    }
    let run_id = run_id();
    let out = std::fs::create_dir_all(&options.out)
        .and_then(|()| options.out.canonicalize())
        .map_err(|error| at(&options.out, &error))?;

    let mut environment = Environment::observe();
    progress("generating the workspace");
    let fixture = Fixture::generate(&out, &run_id)?;
    environment.workspace_filesystem = environment::filesystem_of(&fixture.workspace());
    environment.tools = tools(&fixture.workspace());
    crate::program::copy(&conditions.helper, &fixture.helper())
        .map_err(|error| at(&conditions.helper, &error))?;
    let server = options
        .network
        .then(Server::start)
        .transpose()
        .map_err(|error| Failure::fault(format!("no server on loopback: {error}")))?;
    let (profiles, authority) = Profiles::write(&fixture, server.as_ref())
        .map_err(|error| at(&fixture.policies(), &error))?;
    let selection = Selection::new(&options.rows);
    let all = catalogue::rows(
        &fixture,
        server.as_ref().map(Server::address),
        options.quick,
    );
    let workloads = selection.of(all)?;

    let yard = Yard::new(fixture.outside())
        .map_err(|error| Failure::fault(format!("no server on loopback: {error}")))?;
    let control = control(&yard, &fixture)?;
    let log_name = format!("overhead-{run_id}.log");
    let log = out.join(&log_name);
    let builds = other
        .map(|other| Against::new(&fixture, &binary, &other))
        .transpose()
        .map_err(|error| at(&binary, &error))?;
    let of = |binary: &Path| Product {
        binary: binary.to_path_buf(),
        profiles: profiles.clone(),
    };
    let (product_under_test, systems) = match builds.as_ref().map(Against::copies) {
        Some([own, other]) => {
            let systems = vec![System::Plain, System::Cold, System::Against(of(other))];
            (of(own), systems)
        }
        None => (of(&binary), own_systems(&workloads)),
    };
    let mut suite = Suite {
        conditions,
        product: product_under_test,
        fixture: &fixture,
        yard,
        systems,
        against: builds,
        variables: vec![("XDG_STATE_HOME".into(), fixture.state().into())],
        runs,
        quick: options.quick,
        load: environment.load_per_cpu(),
        control,
        log: RawLog::create(&log).map_err(|error| at(&log, &error))?,
    };
    let systems = enlist(
        &mut suite,
        &peers,
        options.peers.is_some(),
        &product.version,
    )?;

    let (mut rows, mut limits) = (Vec::new(), Vec::new());
    if runs > 0 {
        for workload in &workloads {
            progress(&format!(
                "{}: {} runs of {} systems",
                workload.name,
                workload.runs(runs),
                suite.systems.iter().filter(|s| workload.has(s)).count()
            ));
            rows.push(row::measure(&mut suite, workload)?);
        }
    }
    // A comparison of two builds has no limits.
    if runs > 0 && suite.against.is_none() {
        progress("limits");
        if selection.has(limit::MEMORY) {
            limits.push(limit::memory(&suite));
        }
        if selection.has(limit::VERSION) {
            limits.push(limit::version(&suite));
        }
        if selection.has(crowd::CROWD) {
            limits.push(crowd::crowd(&suite));
        }
        limits.append(&mut row_limit::of(&rows));
    }
    let mut counters = Vec::new();
    if options.counters {
        for workload in workloads.iter().filter(|workload| workload.counted) {
            progress(&format!("{}: counting", workload.name));
            counters.append(&mut counters::count(&suite, workload)?);
        }
    }
    drop(suite);
    drop(server);
    environment.load_after = environment::load();
    let evidence = Evidence {
        schema: SCHEMA,
        suite: "overhead".to_owned(),
        run_id: run_id.clone(),
        started,
        finished: jiff::Timestamp::now().to_string(),
        publishable: !options.quick
            && runs >= conditions.runs
            && product.release
            && product.bench_release,
        parameters: Parameters {
            runs,
            warm_up: 1,
            quick: options.quick,
            network: options.network,
            order: match &against {
                None => "round-robin over all systems, sample by sample",
                Some(_) => "round-robin over all systems, sample by sample, back and forth",
            }
            .to_owned(),
        },
        authority,
        product,
        against,
        environment,
        systems,
        rows,
        limits,
        counters,
        log: log_name,
    };
    let path = out.join(format!("overhead-{run_id}.json"));
    write(&path, &evidence)?;
    fixture.remove()?;
    Ok(Outcome::new(&evidence, path))
}

/// The columns without the other sandboxes. That of the sweep is there for a row that has it.
fn own_systems(workloads: &[Workload]) -> Vec<System> {
    let mut systems = vec![System::Plain, System::Cold, System::Inside];
    systems.extend([System::Exec, System::Connection, System::Warm]);
    if workloads
        .iter()
        .any(|workload| workload.has(&System::Sweep))
    {
        systems.push(System::Sweep);
    }
    systems
}

pub(crate) fn at(path: &Path, error: &std::io::Error) -> Failure {
    Failure::fault(format!("{}: {error}", path.display()))
}

fn wanted(options: &OverheadOptions) -> Result<Vec<&'static Peer>, Failure> {
    if options.against.is_some() {
        return Ok(Vec::new());
    }
    let Some(names) = &options.peers else {
        return Ok(PEERS.iter().collect());
    };
    names
        .iter()
        .map(|name| {
            peer::by_name(name).ok_or_else(|| {
                let known: Vec<&str> = PEERS.iter().map(|peer| peer.name).collect();
                Failure::usage(format!(
                    "\"{}\" is not a sandbox that the bench knows; it knows {}",
                    Text::from(name.as_str()),
                    known.join(", ")
                ))
            })
        })
        .collect()
}

pub(crate) fn run_id() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    let random = RandomState::new().build_hasher().finish() as u32;
    SessionId::new(seconds, random).as_str().to_owned()
}

pub(crate) fn tools(cwd: &Path) -> BTreeMap<String, String> {
    ["python3", "node", "git", "rg", "curl", "cc"]
        .into_iter()
        .map(|name| {
            let version = program::find(name)
                .and_then(|found| system::version(&found.word, "--version", cwd));
            let absent = || "absent".to_owned();
            (name.to_owned(), version.unwrap_or_else(absent))
        })
        .collect()
}

/// The positive control: a check that would also pass without a sandbox proves nothing.
fn control(yard: &Yard, fixture: &Fixture) -> Result<String, Failure> {
    match yard.control(&fixture.helper(), &fixture.workspace()) {
        Ok(Ok(())) => Ok("pass: without a sandbox all of it succeeds".to_owned()),
        Ok(Err(reason)) => Err(Failure::fault(format!(
            "the in-force check does not work on this machine, even without a sandbox: {reason}"
        ))),
        Err(error) => Err(at(&fixture.helper(), &error)),
    }
}

/// Tries the peers and adds their columns. A peer that was asked for by name and is absent has a
/// column that says so; of the others only the names are kept.
fn enlist(
    suite: &mut Suite<'_>,
    peers: &[&'static Peer],
    by_name: bool,
    product: &str,
) -> Result<Vec<SystemRecord>, Failure> {
    let found = program::find("true")
        .ok_or_else(|| Failure::fault("there is no program `true` on PATH"))?;
    let trial = Job {
        argv: vec![found.word],
        path: found.path,
    };
    let mut missing = Vec::new();
    for peer in peers {
        if by_name || peer.program().is_some() {
            suite
                .systems
                .push(System::peer(peer, suite.fixture, &trial));
        } else {
            missing.push(SystemRecord {
                name: peer.name.to_owned(),
                version: None,
                measured: false,
            });
        }
    }
    let mut records: Vec<SystemRecord> = suite
        .systems
        .iter()
        .map(|system| SystemRecord {
            name: system.name().to_owned(),
            version: match system.is_product() {
                true => Some(product.to_owned()),
                false => system.version(),
            },
            measured: true,
        })
        .collect();
    records.append(&mut missing);
    Ok(records)
}

pub(crate) fn write(path: &Path, evidence: &impl Serialize) -> Result<(), Failure> {
    let text = bailiwick_event::json::lines(evidence)
        .map_err(|error| Failure::fault(format!("the evidence cannot be written: {error}")))?;
    // A finished file or none: a half-written one would be read as damaged evidence.
    let temporary = path.with_extension("json.part");
    std::fs::write(&temporary, text)
        .and_then(|()| std::fs::rename(&temporary, path))
        .map_err(|error| at(path, &error))
}

#[cfg(test)]
#[path = "overhead_tests.rs"]
mod tests;
