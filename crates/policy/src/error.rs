//! Why no policy could be made. Each case says what, where and how to mend it when it is shown;
//! nothing falls back to a weaker policy.

use crate::diagnostic::Diagnostic;
use crate::source_text::ReadError;
use crate::templates;
use bailiwick_event::{Failure, Origin, Refused, RuleRef, Text, closest};
use std::fmt;
use std::path::PathBuf;

/// Why no policy could be made.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyError {
    /// Files with mistakes in them.
    Invalid(Vec<Diagnostic>),
    /// A file that cannot be read; its name as the user knows it.
    Unreadable {
        /// The file.
        file: String,
        /// Why.
        why: ReadError,
        /// Whether `--policy` names it; else it lies where policies are looked for.
        named: bool,
    },
    /// Another tool's configuration that cannot be read; its name as the user knows it.
    NotImported {
        /// The file.
        file: String,
        /// Why.
        why: ReadError,
    },
    /// `--policy` names no template.
    UnknownTemplate(String),
    /// The workspace is no folder that can be used.
    Workspace {
        /// What was given.
        path: PathBuf,
        /// Why it cannot be used.
        why: String,
    },
    /// The workspace would hand the sandbox too much.
    TooWide {
        /// The workspace.
        path: PathBuf,
        /// What it contains.
        why: String,
    },
    /// An entry of `filesystem.write` would hand the sandbox too much.
    WideEntry {
        /// The line.
        origin: Origin,
        /// What it opens.
        message: String,
        /// How to mend it.
        remedy: String,
    },
    /// A symbolic link that a sandbox could have made leads to what is asked for.
    Led {
        /// What was asked for, and where: a clause's subject.
        what: String,
        /// The link.
        link: String,
        /// Where it leads.
        real: PathBuf,
        /// How to mend it.
        help: String,
    },
    /// A set for which nothing was found on this machine.
    EmptySet {
        /// `@pip`.
        set: String,
        /// The line that asks for it.
        origin: Origin,
        /// What was looked at; empty, or one clause or more.
        why: String,
    },
    /// There is no project policy to trust.
    NothingToTrust(PathBuf),
    /// The machine does not do what it should.
    Machine(String),
}

impl PolicyError {
    /// The error as it is shown to a person; several lines.
    #[must_use]
    pub fn render(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |path: &PathBuf| Text::from(path.as_os_str());
        match self {
            Self::Invalid(found) => {
                let texts: Vec<_> = found.iter().map(ToString::to_string).collect();
                f.write_str(&texts.join("\n\n"))
            }
            Self::Unreadable { file, why, named } => {
                let file = Text::from(file.as_str());
                write!(f, "the policy {file} cannot be read: {why}\nhelp: ")?;
                match (named, why) {
                    (_, ReadError::Outside) => f.write_str(
                        "mend it, or remove it: a project's policy lies in the project's folder, and no link leads out of it; else give the file by --policy",
                    ),
                    (true, _) => write!(
                        f,
                        "give a template ({}), or the path of a policy file that can be read",
                        templates::names()
                    ),
                    (false, _) => f.write_str(
                        "mend it, or remove it: a policy that is there is never passed over",
                    ),
                }
            }
            Self::NotImported { file, why } => write!(
                f,
                "{} cannot be read: {why}\nhelp: give the path of the other tool's configuration file",
                Text::from(file.as_str())
            ),
            Self::UnknownTemplate(name) => {
                let names = templates::templates().map(|(name, _)| name);
                write!(f, "there is no template \"{}\"", Text::from(name.as_str()))?;
                match closest(name, names) {
                    Some(near) => write!(f, "\nhelp: did you mean \"{near}\"?"),
                    None => write!(
                        f,
                        "\nhelp: the templates are {}; a path has a \"/\" in it or ends in .toml",
                        templates::names()
                    ),
                }
            }
            Self::Workspace { path, why } => write!(
                f,
                "the workspace {} cannot be used: {why}\nhelp: give an existing folder",
                shown(path)
            ),
            Self::TooWide { path, why } => write!(f, "the workspace {} is {why}", shown(path)),
            Self::WideEntry {
                origin, message, ..
            } => write!(f, "{origin}: {message}"),
            Self::Led {
                what,
                link,
                real,
                help,
            } => write!(
                f,
                "{what} cannot be used: {link}, and leads to {}\nhelp: {help}",
                shown(real)
            ),
            Self::EmptySet { set, origin, why } => {
                write!(
                    f,
                    "{origin}: error: the set {set} stands for no machine here"
                )?;
                if !why.is_empty() {
                    write!(f, ": {why}")?;
                }
                write!(
                    f,
                    "\nhelp: write the machine itself in [network] allow instead of \"{set}\", like \"mirror.example.com:443\""
                )
            }
            Self::NothingToTrust(workspace) => write!(
                f,
                "there is no bailiwick.toml in {} or above it, and no set of your policy finds hosts in its files\nhelp: `bailiwick policy new` writes a policy; a set that only a template or a file asks for is looked at with --policy",
                shown(workspace)
            ),
            Self::Machine(why) => f.write_str(why),
        }
    }
}
impl std::error::Error for PolicyError {}

impl From<PolicyError> for Failure {
    fn from(error: PolicyError) -> Self {
        match &error {
            PolicyError::TooWide { .. } => Self::refused(
                "workspace.too-wide",
                error.to_string(),
                "start in a project's folder, or give --allow-wide-workspace",
            ),
            PolicyError::WideEntry {
                origin,
                message,
                remedy,
            } => Self::Refused(Refused {
                rule: RuleRef {
                    id: "filesystem.write".to_owned(),
                    origin: origin.clone(),
                },
                resource: message.clone(),
                remedy: remedy.clone(),
            }),
            PolicyError::Machine(_) => Self::fault(error.to_string()),
            _ => Self::usage(error.to_string()),
        }
    }
}
