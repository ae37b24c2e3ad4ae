//! One run of `bench gate`, and what `bench enforce` has in common with it.

use super::record::BoundaryRow;
use super::requests::Cpus;
use super::row::Row;
use super::site::{REFUSED_PATH, RULE, Site};
use super::{bodies, crowds, names, requests};
use crate::load::outlive_peers;
use crate::outcome::Outcome;
use crate::trial::Trial;
use bailiwick_event::{Failure, Text};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::path::{Path, PathBuf};

/// What `bench gate` is to do.
#[derive(Clone, Debug)]
pub struct GateOptions {
    /// The program under test.
    pub binary: PathBuf,
    /// Few samples, also of debug builds; never for publication.
    pub quick: bool,
    /// Also the rows that take minutes.
    pub full: bool,
    /// The folder for the evidence; it is made where it is missing.
    pub out: PathBuf,
    /// Only rows whose name contains one of these; none: all but the long ones.
    pub rows: Vec<String>,
}

/// A suite that is about to measure.
pub(crate) struct Prepared {
    pub trial: Trial,
    pub site: Site,
}

/// Finds out whether the program may be measured, and makes everything that the rows share.
pub(crate) fn prepare(
    suite: &'static str,
    binary: &Path,
    quick: bool,
    out: &Path,
    rules: &str,
) -> Result<Prepared, Failure> {
    let (trial, fixture) = Trial::begin(suite, binary, quick, out)?;
    raise_descriptors();
    outlive_peers();
    let site = Site::prepare(&trial, fixture, None, rules)?;
    Ok(Prepared { trial, site })
}

impl Prepared {
    /// Measures rows.
    pub(crate) fn take(&self, rows: &[Row], progress: &mut dyn FnMut(&str)) -> Vec<BoundaryRow> {
        let load = self.trial.environment.load_per_cpu();
        let take = |row: &Row| {
            progress(&row.name);
            row.take(&self.trial.conditions, load, &self.site, None)
        };
        rows.iter().map(take).collect()
    }
}

/// Writes the evidence and removes everything else.
pub(crate) fn finish(prepared: Prepared, rows: Vec<BoundaryRow>) -> Result<Outcome, Failure> {
    let Prepared { trial, site } = prepared;
    let outcome = trial.conclude(vec![site.authority.clone()], rows)?;
    let Site {
        fixture, origin, ..
    } = site;
    drop(origin);
    fixture.remove()?;
    Ok(outcome)
}

/// Each connection of a crowd is a descriptor in every process that it passes.
fn raise_descriptors() {
    let limit = getrlimit(Resource::Nofile);
    // Where it cannot be raised the rows of crowds say so.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    );
}

/// The rows, in the table's order.
fn rows() -> Vec<Row> {
    let mut rows = vec![
        requests::kept_alive(false, Cpus::One),
        requests::kept_alive(true, Cpus::One),
        requests::kept_alive(false, Cpus::Any),
        requests::kept_alive(true, Cpus::Any),
        requests::refused_kept_alive(),
        requests::fresh_curl(),
        requests::new_connection(),
        bodies::download(),
        bodies::beside_mitmproxy(),
    ];
    rows.extend(crowds::SIZES.map(crowds::crowd));
    rows.extend([
        crowds::largest(),
        names::lookup(),
        names::flood(),
        bodies::long_body(),
        crowds::idle(),
    ]);
    rows
}

/// The rows that are run.
fn wanted(options: &GateOptions) -> Result<Vec<Row>, Failure> {
    let rows = rows();
    let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
    let unknown = |part: &&String| !names.iter().any(|name| name.contains(part.as_str()));
    if let Some(part) = options.rows.iter().find(unknown) {
        return Err(Failure::usage(format!(
            "--row: no row has \"{}\" in its name; there are: {}",
            Text::from(part.as_str()),
            names.join("; ")
        )));
    }
    let has = |row: &Row| match options.rows.is_empty() {
        true => options.full || !row.long,
        false => options.rows.iter().any(|part| row.name.contains(part)),
    };
    Ok(rows.into_iter().filter(has).collect())
}

/// Runs the suite.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be run as asked; [`Failure::Fault`] when the machine does not
/// let the bench do its work. What the product does wrong is a verdict of the outcome.
pub fn gate(options: &GateOptions, progress: &mut dyn FnMut(&str)) -> Result<Outcome, Failure> {
    let rows = wanted(options)?;
    let rules = format!(
        "\n[[rules]]\nid = \"{RULE}\"\non = \"http.request\"\naction = \"deny\"\n\
         when = 'http.request.path == \"{REFUSED_PATH}\"'\n\
         reason = \"the benchmark asks for it\"\nremedy = \"none is needed\"\n"
    );
    let prepared = prepare("gate", &options.binary, options.quick, &options.out, &rules)?;
    let taken = prepared.take(&rows, progress);
    finish(prepared, taken)
}
