//! Packs that a policy names. A pack is a file of the layer that names it: what it may do, and
//! whether it is trusted, is decided as for the policy itself, and its text counts for the trust in
//! a project.

use crate::diagnostic::Diagnostic;
use crate::document::Document;
use crate::entry::{Entry, Value};
use crate::keys::{self, KeyId};
use crate::reach::Reach;
use crate::request::Request;
use crate::source_text::{ReadError, SourceText};
use crate::stack::{OWN_FOLDER, Reference, reference};
use bailiwick_event::{Text, closest};
use bailiwick_rules::Memory;
use bailiwick_rules::pack::{Pack, shipped, shipped_names, verify};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Why a pack cannot be used.
pub(crate) enum PackProblem {
    /// What the policy says: the message and the help.
    Entry(String, String),
    /// What the pack says.
    Pack(Vec<Diagnostic>),
}

/// The text of a pack: a shipped one by its name, any other by its path.
pub(crate) fn source(
    name: &str,
    folder: &Path,
    request: &Request,
    reach: &Reach,
    keys: &[String],
) -> Result<SourceText, PackProblem> {
    let name = match reference(name, folder, &request.home) {
        Reference::File(path) => return file(&path, request, reach, keys),
        Reference::Template(name) => name,
    };
    if let Some((_, text)) = shipped().iter().find(|(id, _)| *id == name) {
        return Ok(SourceText::new(
            &format!("pack:{name}"),
            None,
            (*text).to_owned(),
        ));
    }
    let help = match closest(&name, shipped().iter().map(|(id, _)| *id)) {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!(
            "the packs are {}; a path has a \"/\" in it or ends in .toml",
            shipped_names()
        ),
    };
    let message = format!("there is no pack \"{}\"", Text::from(name));
    Err(PackProblem::Entry(message, help))
}

/// Reads a pack's text.
pub(crate) fn document(source: SourceText) -> Result<Document, PackProblem> {
    let source = Arc::new(source);
    let pack = Pack::read(&source.shown, &source.text).map_err(|error| {
        let found = error.mistakes.into_iter().map(|(_, _, mistake)| {
            Diagnostic::error(&source, mistake.span, mistake.message, mistake.help)
                .of_kind("what stands here has no place in a pack, or not in this way")
        });
        PackProblem::Pack(found.collect())
    })?;
    let entry = |rule: &bailiwick_rules::Rule| {
        let key = match rule.effect.action() {
            Some(_) => KeyId::Rules,
            None => KeyId::Detections,
        };
        Entry {
            key: keys::of(key),
            origin: rule.origin.clone(),
            value: Value::Rule(Box::new(rule.clone())),
            span: 0..0,
        }
    };
    Ok(Document {
        entries: pack.rules.iter().map(|rule| entry(rule.rule())).collect(),
        network: None,
        warnings: Vec::new(),
        memory: Memory::of(pack.rules.iter().map(|rule| rule.memory()).sum()),
        source,
    })
}

fn file(
    path: &Path,
    request: &Request,
    reach: &Reach,
    keys: &[String],
) -> Result<SourceText, PackProblem> {
    let shown = request.shown(path);
    if path
        .extension()
        .is_some_and(|ending| ending == "yml" || ending == "yaml")
    {
        let message = format!("{} is no pack", Text::from(shown));
        let help = "make one of Sigma rules with `bailiwick rules convert FILE.yml > FILE.toml`, and name that";
        return Err(PackProblem::Entry(message, help.to_owned()));
    }
    let unread = |path: &Path, why: &ReadError, help: &str| {
        let shown = Text::from(request.shown(path));
        let help = match why {
            ReadError::Outside => OWN_FOLDER,
            _ => help,
        };
        PackProblem::Entry(format!("{shown} cannot be read: {why}"), help.to_owned())
    };
    let relative = "a path in `packs` is relative to the file that it stands in";
    let source = reach
        .read(path, &shown)
        .map_err(|why| unread(path, &why, relative))?;
    if keys.is_empty() {
        return Ok(source);
    }
    let beside = PathBuf::from(format!("{}.minisig", path.display()));
    let signature = reach
        .read(&beside, &request.shown(&beside))
        .map_err(|why| {
            unread(
                &beside,
                &why,
                "the system's policy asks for signed packs: sign it with `minisign -Sm FILE`",
            )
        })?;
    verify(source.text.as_bytes(), &signature.text, keys).map_err(|why| {
        let shown = Text::from(shown);
        let help = "the system's policy asks for signed packs (`lock.pack_keys`)".to_owned();
        PackProblem::Entry(format!("{shown}: {why}"), help)
    })?;
    Ok(source)
}
