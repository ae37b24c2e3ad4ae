//! `bailiwick rules check`.

use super::files::RuleFile;
use crate::Done;
use crate::output;
use std::path::PathBuf;

/// Tells what is wrong with files of rules, and what they have.
pub(super) fn check(files: &[PathBuf]) -> Done {
    let mut code = 0;
    for path in files {
        match RuleFile::read(path) {
            Ok(file) => {
                let told = file.warnings.iter().chain(&file.skipped);
                let told: String = told.map(|line| format!("{line}\n")).collect();
                output::print(&format!("{told}{}\n", file.summary()))?;
            }
            // What is wrong with one file is no reason to say nothing of the next.
            Err(failure) => {
                output::complain(&failure);
                code = failure.exit_code().max(code);
            }
        }
    }
    Ok(code)
}
