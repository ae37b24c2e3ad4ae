//! What was found of toolchains, and what of it a sandbox could have chosen: a link that it left on the way
//! to a program would show the next run whatever the link leads to.

use crate::entry::{Entry, Value};
use crate::error::PolicyError;
use crate::foreign::{Grant, grants, shows, written_by};
use crate::keys::KeyId;
use crate::request::Request;
use crate::{Effective, Foreign, Way};
use bailiwick_event::Text;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) entries: Vec<Entry>,
    /// The paths of readable entries, and every way by which each was found.
    pub(super) ways: Vec<(PathBuf, Way)>,
    /// Folders of PATH that no entry makes visible.
    pub(crate) hidden: Vec<PathBuf>,
    /// What was left out.
    pub(crate) notice: Option<String>,
}

impl Found {
    /// The same without what only foreign links lead to, unless the policy shows it anyway.
    pub(crate) fn without_foreign(
        mut self,
        request: &Request,
        policy: &Effective,
    ) -> Result<Self, PolicyError> {
        if self.ways.iter().all(|(_, way)| way.links.is_empty()) {
            return Ok(self);
        }
        let foreign = Foreign::new(written_by(policy), Some(&request.written_file));
        let foreign = foreign.map_err(PolicyError::Machine)?;
        let led = |way: &Way| foreign.among(&way.links).is_some();
        if !self.ways.iter().any(|(_, way)| led(way)) {
            return Ok(self);
        }
        let mut shown = grants(policy);
        shown.retain(|(way, _)| !led(way));
        let own = self.ways.iter().filter(|(_, way)| !led(way));
        shown.extend(own.map(|(_, way)| (way.clone(), Grant::Read)));
        let is_shown = |path: &Path| {
            let shown = shown.iter();
            shows(shown.map(|(way, grant)| (way.real.as_path(), *grant)), path)
        };
        let left: BTreeMap<PathBuf, Way> = (self.ways.iter())
            .filter(|(_, way)| led(way) && !is_shown(&way.real))
            .cloned()
            .collect();
        self.entries.retain(|entry| match &entry.value {
            Value::Text(path) if entry.key.id == KeyId::Read => {
                !left.contains_key(Path::new(path.as_str()))
            }
            _ => true,
        });
        self.notice = left.values().next().and_then(|way| {
            let link = foreign.among(&way.links)?;
            let real = Text::from(way.real.as_os_str());
            let more = match left.len() {
                1 => String::new(),
                n => format!(" ({} more are like it)", n - 1),
            };
            Some(format!(
                "{link}, and leads to {real}: programs on PATH are not shown through it{more}; if they \
                 are needed, add \"{real}\" to [filesystem] read"
            ))
        });
        Ok(self)
    }
}
