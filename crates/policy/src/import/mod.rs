//! Another tool's configuration as a policy.
//!
//! Decision: an import never grants more than its source names. What a policy cannot say exactly
//! is said more narrowly or left out, and every such key is told to the user with its line, so
//! that nobody believes in a rule that does not hold. Extending a template is part of this: the
//! workspace is writable only where the source says so.

mod claude;
mod codex;
mod draft;
mod fence;
mod fence_templates;
mod files;
mod hosts;
mod jsonc;
mod left_out;
mod srt;
mod tree;
mod variables;
mod writer;

use crate::diagnostic::Diagnostic;
use crate::error::PolicyError;
use crate::request::Request;
use crate::source_text::{ReadError, SourceText};
use draft::Draft;
pub use left_out::LeftOut;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tree::{Item, Node};

/// Whose configuration it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// Fence: `fence.json`, `fence.jsonc`.
    Fence,
    /// Claude Code: `settings.json`.
    Claude,
    /// The sandbox runtime `srt`: `~/.srt-settings.json`.
    Srt,
    /// Codex: `config.toml`.
    Codex,
}

impl Tool {
    /// The tool's name, for people.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Fence => "Fence",
            Self::Claude => "Claude Code",
            Self::Srt => "srt",
            Self::Codex => "Codex",
        }
    }
}

/// What became of a configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    /// The policy file: TOML that this crate has read back.
    pub policy: String,
    /// What is not in it, or is narrower, in the order of the source.
    pub left_out: Vec<LeftOut>,
}

/// Reads the file at a path, which people know under a name.
type Read = dyn Fn(&Path, &str) -> Result<SourceText, ReadError>;

/// Makes a policy of the configuration `file` of another tool. Only that file is read, and those
/// that it extends.
///
/// # Errors
/// [`PolicyError`]: a file cannot be read, or has mistakes.
pub fn import(tool: Tool, file: &Path, request: &Request) -> Result<Imported, PolicyError> {
    import_read(tool, file, request, &SourceText::read)
}

/// As [`import`], of the files that `read` gives.
pub(crate) fn import_read(
    tool: Tool,
    file: &Path,
    request: &Request,
    read: &Read,
) -> Result<Imported, PolicyError> {
    let path = request.cwd.join(file);
    let shown = request.shown(&path);
    let text = read(&path, &shown).map_err(|why| PolicyError::NotImported {
        file: shown.clone(),
        why,
    })?;
    let source = Arc::new(text);
    let node = parse(tool, &source).map_err(PolicyError::Invalid)?;
    let item = Item::whole(&source, &node);
    let mut draft = Draft::default();
    draft.table(&item);
    match tool {
        Tool::Fence => {
            let around = fence::Around { request, read };
            fence::read(&mut draft, &item, &around, &[identity(&source)]);
        }
        Tool::Claude => claude::read(&mut draft, &item, request),
        Tool::Srt => srt::read(&mut draft, &item),
        Tool::Codex => codex::read(&mut draft, &item),
    }
    draft.narrow(request);
    draft.settle();
    if !draft.wrong.is_empty() {
        return Err(PolicyError::Invalid(draft.wrong));
    }
    let title = format!(
        "Made from {shown} ({}) by `bailiwick policy import`.",
        tool.name()
    );
    writer::write(draft, &title)
}

fn parse(tool: Tool, source: &Arc<SourceText>) -> Result<Node, Vec<Diagnostic>> {
    match tool {
        Tool::Codex => tree::read_toml(source),
        _ => jsonc::read(source).map_err(|d| vec![d]),
    }
}

/// What makes two files the same.
fn identity(source: &SourceText) -> PathBuf {
    source.path.clone().unwrap_or_default()
}

#[cfg(test)]
#[path = "import_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "import_properties_tests.rs"]
mod properties;
