//! Which files make a policy, and in which order. Each file is read once; a file that several
//! others extend stands once, below all of them, so that what builds on it always wins over it.

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::entry::{Entry, Value};
use crate::error::PolicyError;
use crate::keys::KeyId;
use crate::packs::{self, PackProblem};
use crate::reach::Reach;
use crate::request::Request;
use crate::source_text::{ReadError, SourceText};
use crate::templates;
use crate::workspace::PROJECT;
use bailiwick_event::{Text, closest};
use bailiwick_rules::{LESS_MEMORY, Memory};
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// How many files may extend one another in a row.
const MAX_DEPTH: usize = 16;
/// How many files one layer may have.
const MAX_FILES: usize = 64;

/// What helps where a project's policy names a file that it may not.
pub(crate) const OWN_FOLDER: &str = "a project's policy names files of its own folder only; copy it there, or name it in your own policy or by --policy";

/// Where a file stands among the layers, strongest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Layer {
    System,
    User,
    Project,
    /// What `--policy` names.
    Base,
    /// What was found on PATH.
    Toolchain,
}

impl Layer {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Project => "project",
            Self::Base => "base",
            Self::Toolchain => "toolchain",
        }
    }
}

/// One file of a layer.
#[derive(Clone, Debug)]
pub(crate) struct Unit {
    pub(crate) layer: Layer,
    pub(crate) document: Rc<Document>,
    /// Where its relative paths begin; None: the workspace.
    pub(crate) folder: Option<PathBuf>,
}

/// A text of `extends`, `packs` or `--policy`.
pub(crate) enum Reference {
    /// What is shipped under a name.
    Template(String),
    File(PathBuf),
}

/// What a text names; a relative path begins at a folder.
pub(crate) fn reference(text: &str, folder: &Path, home: &Path) -> Reference {
    if !text.contains('/') && !text.ends_with(".toml") {
        return Reference::Template(text.to_owned());
    }
    Reference::File(match text.strip_prefix("~/") {
        Some(rest) => home.join(rest),
        None => folder.join(text),
    })
}

/// Reads the files of one layer; the result is weakest first.
pub(crate) struct Collector<'a> {
    request: &'a Request,
    layer: Layer,
    /// Files that are being read, outermost first.
    open: Vec<String>,
    done: Vec<String>,
    units: Vec<Unit>,
    /// Packs that were named, each as often as it was.
    packs: usize,
    /// What the rules of the files take.
    memory: Memory,
    /// Keys of which one must have signed each pack that is not shipped; empty: none must.
    keys: Vec<String>,
    reach: Reach,
}

impl<'a> Collector<'a> {
    pub(crate) fn new(request: &'a Request, layer: Layer) -> Self {
        Self {
            request,
            layer,
            open: Vec::new(),
            done: Vec::new(),
            units: Vec::new(),
            packs: 0,
            memory: Memory::default(),
            keys: Vec::new(),
            reach: Reach::Anywhere,
        }
    }

    /// For a project's policy.
    pub(crate) fn project(request: &'a Request, file: &Path) -> Self {
        Self::new(request, Layer::Project).below(file)
    }

    /// The same, for a policy that may name what a project's at this place may.
    pub(crate) fn below(mut self, file: &Path) -> Self {
        self.reach = Reach::of_project(file);
        self
    }

    /// The same, for packs that one of these keys must have signed.
    pub(crate) fn needing(mut self, keys: &[String]) -> Self {
        self.keys = keys.to_vec();
        self
    }

    /// The files that were read, weakest first.
    pub(crate) fn finish(self) -> Vec<Unit> {
        self.units
    }

    /// Reads what a `--policy` argument names.
    pub(crate) fn argument(&mut self, text: &str) -> Result<(), PolicyError> {
        match reference(text, &self.request.cwd, &self.request.home) {
            Reference::Template(name) => {
                let body =
                    templates::text_of(&name).ok_or(PolicyError::UnknownTemplate(name.clone()))?;
                self.template(&name, body)
            }
            Reference::File(path) => self.file(&path, text),
        }
    }

    /// Reads a file that must exist and the files that it extends.
    pub(crate) fn file(&mut self, path: &Path, shown: &str) -> Result<(), PolicyError> {
        let source = self.reach.read(path, shown);
        let source = source.map_err(|why| PolicyError::Unreadable {
            file: shown.to_owned(),
            why,
            named: self.layer == Layer::Base,
        })?;
        self.source(source)
    }

    /// Reads a file if it exists. A link that leads nowhere exists: what was to be there may have
    /// been the policy that forbids.
    pub(crate) fn file_if_any(&mut self, path: &Path) -> Result<(), PolicyError> {
        match self.file(path, &self.request.shown(path)) {
            Err(PolicyError::Unreadable {
                why: ReadError::Missing,
                ..
            }) if path.symlink_metadata().is_err() => Ok(()),
            result => result,
        }
    }

    fn template(&mut self, name: &str, body: &str) -> Result<(), PolicyError> {
        self.source(SourceText::new(
            &format!("template:{name}"),
            None,
            body.to_owned(),
        ))
    }

    /// Takes a file that was read and reads the files that it extends.
    pub(crate) fn source(&mut self, source: SourceText) -> Result<(), PolicyError> {
        let id = identity(&source);
        if self.done.contains(&id) {
            return Ok(());
        }
        let path = source.path.clone();
        let document = Document::parse(source).map_err(PolicyError::Invalid)?;
        self.check_place(&document)?;
        self.count(&document)?;
        let folder = path
            .as_deref()
            .and_then(Path::parent)
            .map(Path::to_path_buf);
        self.open.push(id.clone());
        for entry in document.of(KeyId::Extends) {
            if let Value::Text(text) = &entry.value {
                self.extended(&document, entry, text, folder.as_deref())?;
            }
        }
        self.open.pop();
        for entry in document.of(KeyId::Packs) {
            if let Value::Text(text) = &entry.value {
                self.pack(&document, entry, text, folder.as_deref())?;
            }
        }
        self.done.push(id);
        // A file of the user's or the system's speaks about every workspace.
        let own_folder = matches!(self.layer, Layer::Project | Layer::Base);
        self.units.push(Unit {
            layer: self.layer,
            document: Rc::new(document),
            folder: folder.filter(|_| own_folder),
        });
        Ok(())
    }

    fn extended(
        &mut self,
        by: &Document,
        entry: &Entry,
        text: &str,
        folder: Option<&Path>,
    ) -> Result<(), PolicyError> {
        let error = |message: String, help: String| {
            let found = Diagnostic::error(&by.source, entry.span.clone(), message, help);
            PolicyError::Invalid(vec![
                found.of_kind("what `extends` names here cannot be used"),
            ])
        };
        if self.open.len() >= MAX_DEPTH {
            return Err(error(
                format!("more than {MAX_DEPTH} policies extend one another"),
                "extend fewer".to_owned(),
            ));
        }
        if self.done.len() >= MAX_FILES {
            return Err(error(
                format!("more than {MAX_FILES} policies are extended"),
                "extend fewer".to_owned(),
            ));
        }
        let source = match reference(text, folder.unwrap_or(Path::new("/")), &self.request.home) {
            Reference::Template(name) => match templates::text_of(&name) {
                Some(body) => SourceText::new(&format!("template:{name}"), None, body.to_owned()),
                None => {
                    let near = closest(&name, templates::all().iter().map(|t| t.name));
                    let help = match near {
                        Some(near) => format!("did you mean \"{near}\"?"),
                        None => format!(
                            "the templates are {}; a path has a \"/\" in it or ends in .toml",
                            templates::names()
                        ),
                    };
                    return Err(error(
                        format!("there is no template \"{}\"", Text::from(name)),
                        help,
                    ));
                }
            },
            Reference::File(path) => {
                let shown = self.request.shown(&path);
                self.reach.read(&path, &shown).map_err(|why| {
                    let help = match why {
                        ReadError::Outside => OWN_FOLDER,
                        _ => "a path in `extends` is relative to the file that it stands in",
                    };
                    let message = format!("{} cannot be read: {why}", Text::from(shown));
                    error(message, help.to_owned())
                })?
            }
        };
        let source = source.named_by(&entry.origin);
        let id = identity(&source);
        if let Some(at) = self.open.iter().position(|o| *o == id) {
            let shown: Vec<_> = self.open[at..]
                .iter()
                .chain([&id])
                .map(|p| Text::from(p.as_str()).to_string())
                .collect();
            return Err(error(
                format!(
                    "the policies extend one another in a circle: {}",
                    shown.join(" → ")
                ),
                "remove this entry".to_owned(),
            ));
        }
        self.source(source)
    }

    /// Reads a pack; it stands below the file that names it, as a policy that is extended does.
    fn pack(
        &mut self,
        by: &Document,
        entry: &Entry,
        name: &str,
        folder: Option<&Path>,
    ) -> Result<(), PolicyError> {
        let refused = |problem: PackProblem| match problem {
            PackProblem::Entry(message, help) => {
                let span = entry.span.clone();
                let found = Diagnostic::error(&by.source, span, message, help);
                let kind = "what `packs` names here cannot be used";
                PolicyError::Invalid(vec![found.of_kind(kind)])
            }
            PackProblem::Pack(found) => PolicyError::Invalid(found),
        };
        self.packs += 1;
        if self.packs > MAX_FILES {
            return Err(refused(PackProblem::Entry(
                format!("more than {MAX_FILES} packs are named"),
                "name each once, or make one of several".to_owned(),
            )));
        }
        let folder = folder.unwrap_or(Path::new("/"));
        let source = packs::source(name, folder, self.request, &self.reach, &self.keys);
        let source = source.map_err(refused)?.named_by(&entry.origin);
        let id = identity(&source);
        if self.done.contains(&id) {
            return Ok(());
        }
        let document = packs::document(source).map_err(refused)?;
        self.count(&document)?;
        self.done.push(id);
        self.units.push(Unit {
            layer: self.layer,
            document: Rc::new(document),
            folder: None,
        });
        Ok(())
    }

    /// Counts what a file's rules take: each file is bounded, and a layer may have many.
    fn count(&mut self, document: &Document) -> Result<(), PolicyError> {
        let whose = format!("the {} layer", self.layer.name());
        let added = self.memory.add(document.memory.bytes(), &whose);
        added.map_err(|message| {
            let source = &document.source;
            PolicyError::Invalid(vec![Diagnostic::plain(source, 0..0, message, LESS_MEMORY)])
        })
    }

    /// Keys that not every layer may have.
    fn check_place(&self, document: &Document) -> Result<(), PolicyError> {
        let template = document.source.path.is_none();
        let found: Vec<_> = document
            .entries
            .iter()
            .filter_map(|entry| {
                let (message, help) = no_place(entry, self.layer, template)?;
                let span = entry.span.clone();
                Some(Diagnostic::plain(&document.source, span, message, help))
            })
            .collect();
        match found.is_empty() {
            true => Ok(()),
            false => Err(PolicyError::Invalid(found)),
        }
    }
}

/// Why an entry has no place in a layer, and how to mend that.
fn no_place(entry: &Entry, layer: Layer, template: bool) -> Option<(&'static str, &'static str)> {
    match entry.key.id {
        KeyId::Hosts if template || layer == Layer::Project => Some((
            "`network.hosts` has no place in a project's policy",
            "write it in your own policy, or give the file by --policy",
        )),
        KeyId::Secrets if template || layer == Layer::Project => Some((
            "`secrets` have no place in a project's policy",
            "write them in your own policy, or give the file by --policy",
        )),
        KeyId::Roots if template || layer == Layer::Project => Some((
            "`network.roots` has no place in a project's policy",
            "write it in your own policy, or give the file by --policy",
        )),
        KeyId::Resolvers if template || layer == Layer::Project => Some((
            "`network.resolvers` has no place in a project's policy",
            "write it in your own policy, or give the file by --policy",
        )),
        KeyId::KeepBodies if template || layer == Layer::Project => Some((
            "`network.keep_bodies` has no place in a project's policy",
            "write it in your own policy, or give the file by --policy",
        )),
        KeyId::PackKeys if template || layer != Layer::System => Some((
            "`lock.pack_keys` has its place only in the system's policy",
            "remove it, or write it in /etc/bailiwick/policy.toml",
        )),
        KeyId::Lock if template || layer != Layer::System => Some((
            "`lock.keys` has its place only in the system's policy",
            "remove it, or write it in /etc/bailiwick/policy.toml",
        )),
        _ => None,
    }
}

/// Whether a file is a project's policy by its name.
pub(crate) fn is_project(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == PROJECT)
}

/// What a file that lies here may not say, though another may: a run that finds it there is refused.
pub(crate) fn out_of_place(units: &[Unit], path: &Path, request: &Request) -> Vec<Diagnostic> {
    let layer = match path {
        path if path == request.system_file => return Vec::new(),
        path if is_project(path) => Layer::Project,
        _ => Layer::Base,
    };
    let mut found = Vec::new();
    for unit in units {
        for entry in &unit.document.entries {
            if let Some((message, help)) = no_place(entry, layer, false) {
                let (source, span) = (&unit.document.source, entry.span.clone());
                found.push(Diagnostic::warning(source, span, message, help));
            }
        }
    }
    found
}

/// The keys of which one must have signed each pack.
pub(crate) fn pack_keys(system: &[Unit]) -> Vec<String> {
    let entries = system
        .iter()
        .flat_map(|unit| unit.document.of(KeyId::PackKeys));
    let keys = entries.filter_map(|entry| match &entry.value {
        Value::Text(key) => Some(key.clone()),
        _ => None,
    });
    keys.collect()
}

/// What makes two files the same.
fn identity(source: &SourceText) -> String {
    match &source.path {
        Some(path) => path.to_string_lossy().into_owned(),
        None => source.shown.to_string(),
    }
}
