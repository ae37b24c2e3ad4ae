//! What the grants of a policy come to on this machine: paths without links, each with the strongest
//! access that an entry gives it.
//!
//! Decision: an entry whose path leads through a foreign link, which a sandbox could have made, grants
//! nothing that the others do not. Where it would, the run is refused with the entry's line.

use crate::copies;
use crate::plan::{Access, refused, shown};
use bailiwick_event::Failure;
use bailiwick_policy::{Effective, Foreign, PathEntry, PathPattern, Step, Way};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A path that an entry names, and where that leads.
pub(crate) struct Granted<'p> {
    pub(crate) rule: &'static str,
    pub(crate) entry: &'p PathEntry,
    pub(crate) access: Access,
    pub(crate) way: Way,
}

/// What stands behind a path inside.
pub(crate) struct Behind {
    pub(crate) access: Access,
    pub(crate) source: PathBuf,
    pub(crate) folder: bool,
}

/// The paths that are to be inside; parents sort before children.
#[derive(Default)]
pub(crate) struct Wanted {
    pub(crate) paths: BTreeMap<PathBuf, Behind>,
    /// The links that lead to them.
    pub(crate) links: Vec<Step>,
    /// Where links are a sandbox's.
    pub(crate) foreign: Foreign,
}

impl Wanted {
    /// Puts a folder of the product's own at a path.
    pub(crate) fn private(&mut self, at: &Path, source: PathBuf) {
        let behind = Behind {
            access: Access::Private,
            source,
            folder: true,
        };
        self.paths.insert(at.to_path_buf(), behind);
    }

    /// Puts a copy of a file at its path, after what is granted was added.
    pub(crate) fn copy(&mut self, one: Granted<'_>, private: &Path) -> Result<(), Failure> {
        if self.foreign.among(&one.way.links).is_some() {
            return Err(not_followed(&one, &self.foreign));
        }
        let Way { real, links, .. } = one.way;
        self.links.extend(links);
        let behind = Behind {
            access: Access::Private,
            source: copies::made(private, &real)?,
            folder: false,
        };
        self.paths.insert(real, behind);
        Ok(())
    }

    /// Adds what a policy grants of the host; the private paths stand already.
    pub(crate) fn grant(
        &mut self,
        policy: &Effective,
        granted: Vec<Granted<'_>>,
    ) -> Result<(), Failure> {
        let written = granted.iter().filter(|one| one.access == Access::Write);
        let written = written.map(|one| PathPattern::Path(one.way.real.clone()));
        let foreign = Foreign::new(written.collect(), policy.written.as_deref());
        self.foreign = foreign.map_err(|why| Failure::fault(format!("not started: {why}")))?;
        let is_led = |one: &Granted<'_>| self.foreign.among(&one.way.links).is_some();
        let (led, clean): (Vec<_>, Vec<_>) = granted.into_iter().partition(is_led);
        for one in clean {
            self.add(one.access, one.way);
        }
        for one in &led {
            if !self.has(&one.way.real, one.access) {
                return Err(not_followed(one, &self.foreign));
            }
        }
        for one in led {
            self.add(one.access, one.way);
        }
        Ok(())
    }

    /// The strongest access of equal paths wins.
    fn add(&mut self, access: Access, way: Way) {
        let Way {
            real,
            links,
            folder,
        } = way;
        self.links.extend(links);
        let known = self.paths.get(&real).map(|behind| behind.access);
        if known.is_none_or(|known| known < access) {
            let behind = Behind {
                access,
                source: real.clone(),
                folder,
            };
            self.paths.insert(real, behind);
        }
    }

    /// Whether a path of the host is inside already, with at least this access.
    fn has(&self, path: &Path, access: Access) -> bool {
        let closest = path.ancestors().find_map(|above| self.paths.get(above));
        closest.is_some_and(|behind| behind.access != Access::Private && behind.access >= access)
    }
}

fn not_followed(one: &Granted<'_>, foreign: &Foreign) -> Failure {
    let real = shown(&one.way.real);
    let link = foreign.among(&one.way.links);
    let by_template = one.entry.origin.file.starts_with("template:");
    let remedy = match &link {
        Some(link) if by_template => link.remedy_in_place(),
        _ => format!("write the path that is meant, without the link: \"{real}\", if it is that"),
    };
    let link = link.map(|link| link.to_string()).unwrap_or_default();
    let resource = format!("{link}, and leads to {real}");
    refused(one.rule, one.entry, resource, &remedy)
}
