//! Whether files of authorities can be what the policy takes them for. The gate reads them when
//! something is looked into; a file that is none would be found only then, without its line.

use crate::diagnostic::Diagnostic;
use crate::source_text::{ReadError, read_regular};
use crate::stack::Unit;
use crate::{NetworkPolicy, Sourced, unseen};
use bailiwick_event::Text;
use std::path::PathBuf;

/// Bytes of the largest file that is read.
const LARGEST: u64 = 64 * 1024 * 1024;

/// What is wrong with the files. One that is not there is a mistake where it is needed, and may lie on
/// another machine where only the policy is looked at.
pub(crate) fn find(units: &[Unit], network: &NetworkPolicy, needed: bool) -> Vec<Diagnostic> {
    let wrong = |root: &Sourced<PathBuf>| {
        let (missing, why) = wrong(root)?;
        let (source, entry) = unseen::at(units, &root.origin)?;
        let shown = Text::from(root.value.as_os_str());
        let message = format!("{shown} {why}");
        let span = entry.span.clone();
        Some(match missing && !needed {
            true => {
                let help =
                    "no run that looks into TLS starts without it; in others no program trusts it";
                Diagnostic::warning(source, span, message, help)
            }
            false => {
                let help = "name a file of certificates in PEM, or take it out of [network] roots";
                Diagnostic::error(source, span, message, help)
            }
        })
    };
    network.roots.iter().filter_map(wrong).collect()
}

/// Whether a file is missing, and what is wrong with it.
fn wrong(root: &Sourced<PathBuf>) -> Option<(bool, String)> {
    const BEGIN: &[u8] = b"-----BEGIN CERTIFICATE-----";
    match read_regular(&root.value, LARGEST) {
        Ok(text) if text.windows(BEGIN.len()).any(|part| part == BEGIN) => None,
        Ok(_) => Some((false, "has no certificate in PEM in it".to_owned())),
        Err(ReadError::Missing) => Some((true, "does not exist".to_owned())),
        Err(why) => Some((false, format!("cannot be read: {why}"))),
    }
}
