//! Files whose content a run obeys or uses: policies, packs, secrets, authorities. None is read through a
//! link that a sandbox could have made, which would choose another file. A project's own policy needs no
//! such care: it widens only where its place and its bytes were trusted.

use crate::error::PolicyError;
use crate::foreign::written_by;
use crate::request::Request;
use crate::stack::{Layer, Unit};
use crate::{Effective, Foreign, SecretSource, Step, Way};
use bailiwick_event::{Origin, Text};
use std::path::{Path, PathBuf};

/// A file, and the links through which it was found.
struct Found<'a> {
    /// What it is, and where it is named.
    what: String,
    links: &'a [Step],
    real: PathBuf,
    /// Whether nobody names it: it is where such a file is looked for.
    fixed: bool,
}

/// Refuses files to which a foreign link leads.
pub(crate) fn check(
    request: &Request,
    units: &[Unit],
    policy: &Effective,
) -> Result<(), PolicyError> {
    let named = named(policy);
    let read = units.iter().filter_map(read);
    let of_entries = named.iter().map(|(what, way)| Found {
        what: what.clone(),
        links: &way.links,
        real: way.real.clone(),
        fixed: false,
    });
    let found: Vec<Found<'_>> = read
        .chain(of_entries)
        .filter(|found| !found.links.is_empty())
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    let foreign = Foreign::new(written_by(policy), Some(&request.written_file));
    let foreign = foreign.map_err(PolicyError::Machine)?;
    let led = found
        .into_iter()
        .find_map(|found| foreign.among(found.links).map(|link| (found, link)));
    match led {
        None => Ok(()),
        Some((found, link)) => Err(PolicyError::Led {
            what: found.what,
            link: link.to_string(),
            real: found.real,
            help: match found.fixed {
                true => link.remedy_in_place(),
                false => {
                    "if that is the file that is meant, name it itself, without the link".into()
                }
            },
        }),
    }
}

/// A policy file that was read.
fn read(unit: &Unit) -> Option<Found<'_>> {
    let source = &unit.document.source;
    let real = source.path.clone()?;
    let shown = &source.shown;
    let what = match &source.by {
        Some(origin) => format!("{origin}: error: {shown}"),
        None => format!("the policy {shown}"),
    };
    let found = Found {
        what,
        links: &source.links,
        real,
        fixed: source.by.is_none() && matches!(unit.layer, Layer::User | Layer::System),
    };
    (unit.layer != Layer::Project).then_some(found)
}

/// Files that a policy names and that are read later.
fn named(policy: &Effective) -> Vec<(String, Way)> {
    let one = |what: &str, origin: &Origin, path: &Path| {
        let shown = Text::from(path.as_os_str());
        let what = format!("{origin}: error: the file {shown} of {what}");
        Some((what, Way::of(path)?))
    };
    let secrets = policy.secrets.iter().filter_map(|entry| {
        let SecretSource::File(path) = &entry.value.from else {
            return None;
        };
        one(
            &format!("the secret {}", entry.value.name),
            &entry.origin,
            path,
        )
    });
    let roots = policy.network.roots.iter();
    let roots = roots.filter_map(|entry| one("`network.roots`", &entry.origin, &entry.value));
    secrets.chain(roots).collect()
}

#[cfg(test)]
#[path = "obeyed_tests.rs"]
mod tests;
