//! Doors for the fuzz targets: a policy from its text alone, without a machine around it.
//!
//! Decision: behind a feature that no product is built with, and through the same functions as
//! [`crate::load`]; what is left out is what would look at this machine: the workspace, toolchains
//! on PATH, and the files of other layers.

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::entry::Value;
use crate::error::PolicyError;
use crate::import::{Imported, Tool, import_read};
use crate::keys::KeyId;
use crate::load::{Loaded, Stack, assemble};
use crate::paths::normalise;
use crate::request::Request;
use crate::source_text::{ReadError, SourceText};
use crate::stack::{Collector, Layer};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The file that a text is taken for. Neither it nor a folder above it exists.
const FILE: &str = "/nonexistent/home/project/fuzz.toml";

fn source(text: &str) -> SourceText {
    SourceText::new("fuzz.toml", Some(PathBuf::from(FILE)), text.to_owned())
}

/// Checks a text; the warnings, or every mistake.
///
/// # Errors
/// The mistakes.
pub fn check(text: &str) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
    Document::parse(source(text)).map(|document| document.warnings)
}

/// Makes the policy that a text means when it is all that `--policy` names; none where it asks
/// for something of the machine: another file, or a set.
///
/// # Errors
/// As [`crate::load`].
pub fn load(text: &str) -> Option<Result<Loaded, PolicyError>> {
    if let Ok(document) = Document::parse(source(text)) {
        let extended = document.of(KeyId::Extends).any(|entry| match &entry.value {
            Value::Text(text) => text.contains('/') || text.ends_with(".toml"),
            _ => false,
        });
        let sets = document.entries.iter();
        let sets = sets.filter(|e| matches!(e.value, Value::Set(_)));
        if extended || sets.count() > 0 {
            return None;
        }
    }
    let request = request();
    Some(loaded(&request, &request.workspace, text))
}

/// Makes a policy of another tool's configuration `text`, which is taken for `file`. `base` is the
/// only other file that there is: `base.json` in the workspace, and the user's own of Fence.
///
/// # Errors
/// As [`crate::import`].
pub fn import(
    tool: Tool,
    file: &str,
    text: &str,
    base: Option<&str>,
) -> Result<Imported, PolicyError> {
    let (file, text) = (PathBuf::from(file), text.to_owned());
    let base = base.map(str::to_owned);
    let own = file.clone();
    let read = move |path: &Path, shown: &str| {
        let path = normalise(path);
        let bases = [
            "/nonexistent/home/project/base.json",
            "/nonexistent/home/.config/fence/fence.jsonc",
        ];
        let text = match &base {
            _ if path == own => &text,
            Some(base) if bases.iter().any(|b| path == Path::new(b)) => base,
            _ => return Err(ReadError::Missing),
        };
        Ok(SourceText::new(shown, Some(path), text.clone()))
    };
    import_read(tool, &file, &request(), &read)
}

fn request() -> Request {
    let workspace = PathBuf::from("/nonexistent/home/project");
    Request {
        policies: Vec::new(),
        workspace: workspace.clone(),
        home: "/nonexistent/home".into(),
        system_file: "/nonexistent/etc/policy.toml".into(),
        user_file: "/nonexistent/home/.config/bailiwick/policy.toml".into(),
        trust_file: "/nonexistent/state/trust.json".into(),
        written_file: "/nonexistent/state/written".into(),
        cache: "/nonexistent/cache".into(),
        cwd: workspace,
        environment: BTreeMap::new(),
        allow_wide_workspace: false,
        toolchains: false,
    }
}

fn loaded(request: &Request, workspace: &Path, text: &str) -> Result<Loaded, PolicyError> {
    let mut collector = Collector::new(request, Layer::Base);
    collector.source(source(text))?;
    let mut units = collector.finish();
    units.reverse();
    let stack = Stack {
        units,
        project_trusted: false,
        trusted_hosts: Vec::new(),
        notices: Vec::new(),
    };
    assemble(request, workspace, stack)
}
