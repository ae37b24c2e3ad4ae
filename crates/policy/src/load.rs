//! From a request to the policy that is enforced. The order here is the security argument: the
//! workspace is judged first, files are read once, locks and trust are known before any entry of
//! a weaker layer is looked at, and sets are resolved last, only if something asked for them.

use crate::diagnostic::Severity;
use crate::entry::Value;
use crate::error::PolicyError;
use crate::explain::{Access, decide_path};
use crate::inspection::may_inspect;
use crate::keys::{KEYS, KeyId};
use crate::merge::{Giver, Merge};
use crate::obeyed;
use crate::paths::Bases;
use crate::request::Request;
use crate::roots;
use crate::sets::{self, ResolvedSet};
use crate::stack::{self, Collector, Layer, Unit};
use crate::trust::{self, SetHost, TrustStore};
use crate::unseen::Known;
use crate::{Effective, RuleLocks, built_in, contradictions, toolchains, unseen, wide, workspace};
use bailiwick_event::{Origin, Text};
use bailiwick_rules::Rule;
use std::path::{Path, PathBuf};

/// A file that took part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// `system`, `user`, `project` or `base`.
    pub layer: String,
    /// As the user knows it: `./bailiwick.toml`, `template:agent`.
    pub file: String,
    /// Where it is; None for a template.
    pub path: Option<PathBuf>,
    /// Whether it may widen; false for a project that was not trusted.
    pub trusted: bool,
}

/// A policy that is ready, and how it came to be.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What is enforced.
    pub effective: Effective,
    /// What the user should know, one sentence each.
    pub notices: Vec<String>,
    /// The files that took part, strongest first.
    pub sources: Vec<Source>,
    /// The sets that were asked for, and what they stand for here.
    pub sets: Vec<ResolvedSet>,
}

/// Makes the policy that a request asks for.
///
/// # Errors
/// [`PolicyError`]: a file cannot be read or has mistakes, the workspace cannot be used, or a set
/// stands for nothing on this machine.
pub fn load(request: &Request) -> Result<Loaded, PolicyError> {
    let workspace = workspace::resolve(request)?;
    let project_file = workspace::project_file(&workspace, &request.home);
    let stack = Stack::read(request, &workspace, project_file.as_deref())?;
    assemble(request, &workspace, stack)
}

/// The sets that a request asks for, and the hosts that only files of the workspace give them. The
/// project's own policy counts as it would once it was trusted.
pub(crate) fn hosts_of_workspace(
    request: &Request,
    workspace: &Path,
) -> Result<Vec<(String, Vec<sets::Named>)>, PolicyError> {
    let project_file = workspace::project_file(workspace, &request.home);
    let mut stack = Stack::read(request, workspace, project_file.as_deref())?;
    stack.project_trusted = true;
    let (merge, _) = merged(request, workspace, &stack)?;
    Ok(sets::of_workspace(request, &merge))
}

/// The entries of all files as one policy, in which sets are names yet; also what the user should
/// know.
fn merged(
    request: &Request,
    workspace: &Path,
    stack: &Stack,
) -> Result<(Merge, Vec<String>), PolicyError> {
    let home = request.home.clone();
    let mut notices = Vec::new();
    let mut merge = Merge::new(empty(request, workspace, &stack.units));
    for unit in stack.units.iter().filter(|u| u.layer == Layer::System) {
        for entry in unit.document.of(KeyId::Lock) {
            if let Value::Text(path) = &entry.value
                && let Some(key) = KEYS.iter().find(|k| k.path == path)
            {
                merge.lock(key.id, &entry.origin);
            }
        }
    }
    let system = stack.units.iter().filter(|u| u.layer == Layer::System);
    let keys = system.flat_map(|u| u.document.of(KeyId::PackKeys)).next();
    merge.effective.rule_locks = RuleLocks {
        rules: merge.locked(KeyId::Rules).cloned(),
        signed: keys.map(|entry| entry.origin.clone()),
    };
    let giver = |layer: Layer, folder: Option<&PathBuf>| Giver {
        layer,
        trusted: layer != Layer::Project || stack.project_trusted,
        bases: Bases {
            home: home.clone(),
            workspace: workspace.to_path_buf(),
            relative: folder.map_or(workspace, PathBuf::as_path).to_path_buf(),
        },
    };
    for unit in &stack.units {
        let giver = giver(unit.layer, unit.folder.as_ref());
        for entry in &unit.document.entries {
            merge.add(entry, &giver);
        }
    }
    wide::refuse(request, &merge.effective)?;
    obeyed::check(request, &stack.units, &merge.effective)?;
    if request.toolchains {
        let found = toolchains::find(request, workspace);
        let found = found.without_foreign(request, &merge.effective)?;
        notices.extend(found.notice);
        let giver = giver(Layer::Toolchain, None);
        for entry in &found.entries {
            merge.add(entry, &giver);
        }
        for folder in found.hidden {
            // Asked after every layer was heard: a policy may have made it visible.
            if !is_own(&folder) && decide_path(&merge.effective, &folder).0 == Access::Hidden {
                let shown = Text::from(request.shown(&folder));
                notices.push(format!(
                    "{shown} is on PATH but not visible in the sandbox; add it to [filesystem] read if its programs are needed"
                ));
            }
        }
    }
    Ok((merge, notices))
}

/// Makes the policy of files that were read.
pub(crate) fn assemble(
    request: &Request,
    workspace: &Path,
    stack: Stack,
) -> Result<Loaded, PolicyError> {
    let (mut merge, found) = merged(request, workspace, &stack)?;
    let mut notices = stack.notices;
    notices.extend(found);
    merge.effective.network.default_origin = Some(default_origin(
        request,
        &stack.units,
        stack.project_trusted,
        &merge,
    ));
    let (resolved, told) = sets::resolve_all(request, &stack.trusted_hosts, &mut merge)?;
    for set in &resolved {
        notices.extend(set.notices.iter().cloned());
    }
    notices.extend(told);
    let told = built_in::guard_own_files(request, &stack.units, &mut merge);
    notices.extend(told.map_err(PolicyError::Machine)?);
    let project = stack.units.iter().find(|u| u.layer == Layer::Project);
    let shown = project.map_or("", |u| &u.document.source.shown);
    let (effective, told) = merge.finish(shown);
    notices.extend(told);
    notices.extend(
        stack
            .units
            .iter()
            .flat_map(|u| &u.document.warnings)
            .map(ToString::to_string),
    );
    if may_inspect(&effective) {
        let wrong = roots::find(&stack.units, &effective.network, true);
        if !wrong.is_empty() {
            return Err(PolicyError::Invalid(wrong));
        }
    }
    let unseen = unseen::find(&stack.units, &effective, Known::Run);
    notices.extend(unseen.iter().map(ToString::to_string));
    Ok(Loaded {
        effective,
        notices,
        sources: stack
            .units
            .iter()
            .map(|u| source(u, stack.project_trusted))
            .collect(),
        sets: resolved,
    })
}

/// A policy that grants nothing.
fn empty(request: &Request, workspace: &Path, units: &[Unit]) -> Effective {
    Effective {
        layers: layer_names(units),
        written: Some(request.written_file.clone()),
        ..Effective::empty(workspace.to_path_buf(), request.home.clone())
    }
}

/// Checks one file with all that it extends; what it would mean in a sandbox is not looked at.
///
/// # Errors
/// [`PolicyError`] with every mistake that was found.
pub fn check(path: &Path) -> Result<Vec<String>, PolicyError> {
    let request = Request::from_environment(Vec::new(), PathBuf::from("."));
    check_of(&request, path)
}

pub(crate) fn check_of(request: &Request, path: &Path) -> Result<Vec<String>, PolicyError> {
    checked(request, path).map(|(_, notices)| notices)
}

/// A file and all that it names, weakest first, and what is allowed there and hardly meant.
fn checked(request: &Request, path: &Path) -> Result<(Vec<Unit>, Vec<String>), PolicyError> {
    // The most that a file can be: the system's own policy.
    let full = request.cwd.join(path);
    let collector = Collector::new(request, Layer::System);
    let mut collector = match stack::is_project(&full) {
        true => collector.below(&full),
        false => collector,
    };
    collector.file(&full, &request.shown(&full))?;
    let units = collector.finish();
    let own = units.iter().flat_map(|u| &u.document.warnings).cloned();
    let places = stack::out_of_place(&units, &full, request);
    let across = contradictions::across(&units, &full, request);
    let (effective, known) = by_itself(&units, &full, request);
    let wide = wide::find(&units, &full, request);
    if !wide.is_empty() {
        return Err(PolicyError::Invalid(wide));
    }
    let roots = roots::find(&units, &effective.network, false);
    if roots.iter().any(|one| one.severity == Severity::Error) {
        let errors = roots
            .into_iter()
            .filter(|one| one.severity == Severity::Error);
        return Err(PolicyError::Invalid(errors.collect()));
    }
    let unseen = unseen::find(&units, &effective, known);
    let all = own.chain(places).chain(across).chain(roots).chain(unseen);
    let notices = all.map(|finding| finding.to_string()).collect();
    Ok((units, notices))
}

/// What a file and all that it names would mean by themselves, and how much of a run that is.
fn by_itself(units: &[Unit], path: &Path, request: &Request) -> (Effective, Known) {
    let folder = path.parent().unwrap_or(path);
    let mut merge = Merge::new(empty(request, folder, units));
    for unit in units.iter().rev() {
        let giver = Giver {
            layer: unit.layer,
            trusted: true,
            bases: Bases {
                home: request.home.clone(),
                workspace: folder.to_path_buf(),
                relative: unit.folder.clone().unwrap_or_else(|| folder.to_path_buf()),
            },
        };
        for entry in &unit.document.entries {
            merge.add(entry, &giver);
        }
    }
    let known = match merge.sets.is_empty() {
        true => Known::File,
        false => Known::FileWithSets,
    };
    let (effective, _) = merge.finish("");
    (effective, known)
}

/// The rules of a policy file.
#[derive(Clone, Debug)]
pub struct FileRules {
    /// Its rules and detections, those of the packs and policies that it names too; of one name the
    /// strongest.
    pub rules: Vec<Rule>,
    /// What is allowed and hardly meant, each in a line.
    pub warnings: Vec<String>,
}

/// The rules of a policy file.
///
/// # Errors
/// [`PolicyError`] with every mistake in the file and in what it names.
pub fn rules_of(path: &Path) -> Result<FileRules, PolicyError> {
    let request = Request::from_environment(Vec::new(), PathBuf::from("."));
    let (units, warnings) = checked(&request, path)?;
    let mut rules: Vec<Rule> = Vec::new();
    for entry in units.iter().flat_map(|unit| &unit.document.entries) {
        let Value::Rule(rule) = &entry.value else {
            continue;
        };
        // Weakest first: what comes later stands in the place of what was there.
        rules.retain(|there| there.id != rule.id);
        rules.push(Rule::clone(rule));
    }
    Ok(FileRules { rules, warnings })
}

/// All files of a request.
pub(crate) struct Stack {
    /// Strongest first.
    pub(crate) units: Vec<Unit>,
    pub(crate) project_trusted: bool,
    /// What the user has trusted of the hosts that files of the workspace give to sets.
    pub(crate) trusted_hosts: Vec<SetHost>,
    pub(crate) notices: Vec<String>,
}

impl Stack {
    fn read(
        request: &Request,
        workspace: &Path,
        project: Option<&Path>,
    ) -> Result<Self, PolicyError> {
        let layer = |layer: Layer, file: &Path, keys: &[String]| {
            let mut collector = Collector::new(request, layer).needing(keys);
            collector.file_if_any(file)?;
            Ok::<_, PolicyError>(collector.finish())
        };
        // The system's own packs need the signatures that it asks for like all others.
        let mut system = layer(Layer::System, &request.system_file, &[])?;
        let keys = stack::pack_keys(&system);
        if !keys.is_empty() {
            system = layer(Layer::System, &request.system_file, &keys)?;
        }
        let mut base = Collector::new(request, Layer::Base).needing(&keys);
        for argument in &request.policies {
            base.argument(argument)?;
        }
        if request.policies.is_empty() {
            base.argument("default")?;
        }
        let base = base.finish();
        let user = layer(Layer::User, &request.user_file, &keys)?;
        // A file that was named by hand is the user's own, wherever it lies.
        let named = project.and_then(|p| p.canonicalize().ok());
        let is_named = |p: &PathBuf| {
            base.iter()
                .chain(&user)
                .chain(&system)
                .any(|u| u.document.source.path.as_ref() == Some(p))
        };
        let project = match project {
            Some(file) if !named.as_ref().is_some_and(is_named) => {
                let mut collector = Collector::project(request, file).needing(&keys);
                collector.file(file, &request.shown(file))?;
                collector.finish()
            }
            _ => Vec::new(),
        };
        let project_texts = trust::texts(&project);
        let units: Vec<Unit> = base
            .into_iter()
            .chain(project)
            .chain(user)
            .chain(system)
            .rev()
            .collect();
        let mut stack = Self {
            units,
            project_trusted: false,
            trusted_hosts: Vec::new(),
            notices: Vec::new(),
        };
        let entries = stack.units.iter().flat_map(|u| &u.document.entries);
        let sets = entries.filter(|e| matches!(e.value, Value::Set(_))).count();
        if !project_texts.is_empty() || sets > 0 {
            match TrustStore::read(&request.trust_file) {
                Ok(store) => {
                    stack.project_trusted = store.trusts(&project_texts);
                    stack.trusted_hosts = store.hosts(workspace);
                }
                Err(why) => stack
                    .notices
                    .push(format!("{why}; no project is trusted until it is mended")),
            }
        }
        Ok(stack)
    }
}

fn source(unit: &Unit, project_trusted: bool) -> Source {
    Source {
        layer: unit.layer.name().to_owned(),
        file: unit.document.source.shown.to_string(),
        path: unit.document.source.path.clone(),
        trusted: unit.layer != Layer::Project || project_trusted,
    }
}

fn layer_names(units: &[Unit]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for unit in units {
        let name = match unit.layer {
            Layer::Base => unit.document.source.shown.to_string(),
            layer => layer.name().to_owned(),
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

/// The place that a refusal by default tells people to write in: the strongest file of their own
/// that speaks about the network, or a file in which they could begin to.
fn default_origin(
    request: &Request,
    units: &[Unit],
    project_trusted: bool,
    merge: &Merge,
) -> Origin {
    if let Some(lock) = merge.locked(KeyId::NetworkAllow) {
        return lock.clone();
    }
    let rank = |unit: &Unit| match unit.layer {
        Layer::Base if unit.document.source.path.is_some() => Some(0),
        Layer::Project if project_trusted && unit.document.source.path.is_some() => Some(1),
        Layer::User if unit.document.source.path.is_some() => Some(2),
        _ => None,
    };
    let own = || units.iter().filter_map(|u| Some((rank(u)?, u)));
    let speaking = own()
        .filter(|(_, u)| u.document.network.is_some())
        .min_by_key(|(r, _)| *r);
    match speaking.or_else(|| own().min_by_key(|(r, _)| *r)) {
        Some((_, unit)) => unit.document.network.clone().unwrap_or_else(|| {
            Origin::new(std::sync::Arc::clone(&unit.document.source.shown), 0, 0)
        }),
        None => Origin::new(request.shown(&request.user_file), 0, 0),
    }
}

/// Whether this program itself lies in the folder: it is of no use inside of a sandbox.
fn is_own(folder: &Path) -> bool {
    let own = std::env::current_exe().ok();
    let own = own.as_deref().and_then(Path::parent);
    own.is_some() && workspace::canonical(folder).ok().as_deref() == own
}

#[cfg(test)]
#[path = "load_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "load_rules_tests.rs"]
mod rules;

#[cfg(test)]
#[path = "load_properties_tests.rs"]
mod properties;
