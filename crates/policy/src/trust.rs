//! Which project policies may widen. A project's files come from whoever wrote the repository, so
//! trust is given to exact bytes at an exact place: BLAKE3 over the path and the text of the file
//! and of every file that it extends. A changed byte, or the same file elsewhere, is not trusted.
//!
//! What the client of a set is configured by in the workspace is trusted for what it means, not for
//! its bytes: by the exact hosts that it gives to the set ([`hosts`]).

mod hosts;

pub(crate) use hosts::SetHost;

use crate::error::PolicyError;
use crate::load::hosts_of_workspace;
use crate::request::Request;
use crate::source_text::{ReadError, read_regular};
use crate::stack::{Collector, Unit};
use crate::workspace;
use bailiwick_event::Text;
use hosts::{HostDiff, TrustedHosts};
use serde::{Deserialize, Serialize};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The largest trust store, in bytes.
const MAX_STORE: u64 = 16 << 20;

/// A project's files, the project's own first.
type Texts = Vec<(PathBuf, String)>;

/// What was trusted: one project.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Trusted {
    /// The project's policy file, canonical.
    path: PathBuf,
    /// The hash of all of it.
    hash: String,
    /// The texts, for a later comparison.
    files: Texts,
}

/// The trust store.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct TrustStore {
    trusted: Vec<Trusted>,
    /// Hosts by workspace. Stores of earlier versions have none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    workspaces: Vec<TrustedHosts>,
}

fn hash(texts: &Texts) -> String {
    let mut hasher = blake3::Hasher::new();
    for (path, text) in texts {
        for part in [path.as_os_str().as_encoded_bytes(), text.as_bytes()] {
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
    }
    hasher.finalize().to_hex().to_string()
}

/// The files of a project's layer that lie on disk, the project's own first.
pub(crate) fn texts(units: &[Unit]) -> Texts {
    let sources = units.iter().rev().map(|u| &u.document.source);
    sources
        .filter_map(|s| Some((s.path.clone()?, s.text.clone())))
        .collect()
}

impl TrustStore {
    /// Reads the store; one that does not exist trusts nothing.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let shown = Text::from(path.as_os_str());
        match read_regular(path, MAX_STORE) {
            Err(ReadError::Missing) => Ok(Self::default()),
            Err(why) => Err(format!("the trust store {shown} cannot be read: {why}")),
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|e| {
                format!(
                    "the trust store {shown} is damaged: {}",
                    Text::from(e.to_string())
                )
            }),
        }
    }

    pub(crate) fn trusts(&self, texts: &Texts) -> bool {
        let hash = hash(texts);
        texts.first().is_some_and(|(path, _)| {
            self.trusted
                .iter()
                .any(|t| t.path == *path && t.hash == hash)
        })
    }

    fn write(&self, path: &Path) -> std::io::Result<()> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
        let draft = folder.join(format!(".trust.{}.json", std::process::id()));
        let _ = fs::remove_file(&draft);
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&draft)?;
        let done = bailiwick_event::json::lines(self)
            .map_err(std::io::Error::other)
            .and_then(|text| file.write_all(text.as_bytes()))
            .and_then(|()| file.sync_all())
            .and_then(|()| fs::rename(&draft, path));
        if done.is_err() {
            let _ = fs::remove_file(&draft);
        }
        done
    }
}

/// What of a workspace could be trusted: the project's policy, and the hosts that files of the
/// workspace give to sets. Nothing is stored before [`TrustCandidate::store`].
#[derive(Clone, Debug)]
pub struct TrustCandidate {
    /// The project's policy file, canonical; the workspace where there is none.
    pub path: PathBuf,
    /// The files that trust would cover: the project's policy and what it extends.
    pub files: Vec<PathBuf>,
    /// The hosts that trust would cover, each with the set that it is given to. Safe to show.
    pub hosts: Vec<String>,
    /// What changed since it was last trusted: files as a unified diff, then hosts; where nothing was
    /// trusted, all of it. Safe to show.
    pub diff: String,
    /// Whether all of it is trusted as it stands.
    pub trusted: bool,
    texts: Texts,
    given: TrustedHosts,
    store: PathBuf,
}

impl TrustCandidate {
    /// Trusts exactly what was read, in place of what was trusted before at this path.
    ///
    /// # Errors
    /// [`PolicyError::Machine`] where the trust store cannot be read or written.
    pub fn store(&self) -> Result<(), PolicyError> {
        let mut store = TrustStore::read(&self.store).map_err(PolicyError::Machine)?;
        if !self.texts.is_empty() {
            store.trusted.retain(|t| t.path != self.path);
            store.trusted.push(Trusted {
                path: self.path.clone(),
                hash: hash(&self.texts),
                files: self.texts.clone(),
            });
        }
        store.trust_hosts(self.given.clone());
        store.write(&self.store).map_err(|e| {
            let shown = Text::from(self.store.as_os_str());
            PolicyError::Machine(format!("the trust store {shown} cannot be written: {e}"))
        })
    }
}

/// What trusting this request's workspace would mean: the project's policy, and the hosts that its
/// files give to the sets that the request asks for.
///
/// # Errors
/// [`PolicyError`] where there is nothing to trust, or a policy cannot be read or has mistakes.
pub fn trust(request: &Request) -> Result<TrustCandidate, PolicyError> {
    let workspace = workspace::resolve(request)?;
    let file = workspace::project_file(&workspace, &request.home);
    let mut texts = Texts::new();
    if let Some(file) = &file {
        let mut collector = Collector::project(request, file);
        collector.file(file, &request.shown(file))?;
        texts = self::texts(&collector.finish());
    }
    let store = TrustStore::read(&request.trust_file).map_err(PolicyError::Machine)?;
    let asked = hosts_of_workspace(request, &workspace)?;
    let hosts = HostDiff::new(&store, &workspace, asked);
    if texts.is_empty() && hosts.is_nothing() {
        return Err(PolicyError::NothingToTrust(workspace));
    }
    let path = texts.first().map_or(&workspace, |(path, _)| path).clone();
    let before = store.trusted.iter().find(|t| t.path == path);
    let mut diff = diff(before.map_or(&[][..], |t| &t.files), &texts);
    diff.push_str(&hosts.lines());
    Ok(TrustCandidate {
        diff,
        trusted: (texts.is_empty() || store.trusts(&texts)) && !hosts.is_change(),
        files: texts.iter().map(|(path, _)| path.clone()).collect(),
        hosts: hosts.shown(),
        path,
        texts,
        given: hosts.into_trusted(),
        store: request.trust_file.clone(),
    })
}

fn diff(old: &[(PathBuf, String)], new: &[(PathBuf, String)]) -> String {
    let text_in = |list: &[(PathBuf, String)], path: &Path| {
        list.iter()
            .find(|(p, _)| p == path)
            .map_or_else(String::new, |(_, text)| text.clone())
    };
    let mut paths: Vec<&PathBuf> = new.iter().map(|(path, _)| path).collect();
    paths.extend(
        old.iter()
            .map(|(path, _)| path)
            .filter(|p| !new.iter().any(|(n, _)| n == *p)),
    );
    let mut shown = String::new();
    for path in paths {
        let (old, new) = (text_in(old, path), text_in(new, path));
        let name = Text::from(path.as_os_str()).to_string();
        let changes = similar::TextDiff::from_lines(&old, &new);
        let unified = changes
            .unified_diff()
            .context_radius(3)
            .header(&name, &name)
            .to_string();
        for line in unified.lines() {
            // The text is a stranger's; its tabs and backslashes stay, its escapes do not work.
            let safe = line.split('\t').map(|part| {
                part.split('\\')
                    .map(|p| Text::from(p).to_string())
                    .collect::<Vec<_>>()
                    .join("\\")
            });
            shown.push_str(&safe.collect::<Vec<_>>().join("\t"));
            shown.push('\n');
        }
    }
    shown
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
