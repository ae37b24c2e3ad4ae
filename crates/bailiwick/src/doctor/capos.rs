//! `bailiwick doctor --backend capos`: whether the capability kernel starts here, and ends a program as it says.
//!
//! Decision: every machine is a `bailiwick run` of this program with a state of the doctor's own; the programs are a
//! few instructions, so that nothing has to be built or installed for them but the kernel.

use super::report::{self, Checked};
use crate::Done;
use crate::machine::MachineArguments;
use crate::output;
use bailiwick_capos::{ending_program, faulting_program};
use bailiwick_event::{Failure, Text};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Instant;

/// The code of the program that ends by itself: one that nothing else ends with.
const CODE: u8 = 42;
/// That of a run whose program crashed.
const CRASHED: u8 = 139;

/// Runs the checks and says what was found.
pub(super) fn doctor(asked: &MachineArguments) -> Done {
    let folder = tempfile::Builder::new()
        .prefix("bailiwick-doctor-")
        .tempdir();
    let folder = folder.map_err(|e| Failure::fault(format!("no temporary folder: {e}")))?;
    let checks = [
        (
            "kernel.starts",
            "the kernel starts, runs a program and ends with its code",
            ending_program(CODE),
            CODE,
            "",
        ),
        (
            "kernel.faults",
            "a program that crashes is ended, and the run says why",
            faulting_program(),
            CRASHED,
            "the program crashed",
        ),
    ];
    let workspace = folder.path().join("workspace");
    let fault = |e: std::io::Error| Failure::fault(format!("{}: {e}", workspace.display()));
    std::fs::create_dir(&workspace).map_err(fault)?;
    let mut all = Vec::new();
    for (name, expected, program, code, said) in checks {
        let path = workspace.join(name);
        std::fs::write(&path, program).map_err(fault)?;
        let began = Instant::now();
        let outcome = ends(asked, folder.path(), &path, code, said);
        let remedy = "docs/capos.md says what it needs: QEMU (qemu-system-x86), and the kernel beside \
                      this program";
        let took = began.elapsed();
        all.push(Checked::new(name, expected, remedy, outcome, took));
    }
    output::print(&report::table(&all))?;
    Ok(u8::from(all.iter().any(|checked| !checked.passed)))
}

/// Runs a program, which is to end with a code and have this word said of it.
fn ends(
    asked: &MachineArguments,
    folder: &Path,
    program: &Path,
    code: u8,
    word: &str,
) -> Result<String, String> {
    let began = Instant::now();
    let mut command = Command::new("/proc/self/exe");
    command.args(["run", "--backend", "capos", "--workspace", "."]);
    if let Some(memory) = asked.memory {
        command.arg(format!("--memory={memory}B"));
    }
    if let Some(cpus) = asked.cpus {
        command.arg(format!("--cpus={cpus}"));
    }
    let output = command
        .arg("--")
        .arg(program)
        .current_dir(folder.join("workspace"))
        .env("XDG_STATE_HOME", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .stdin(Stdio::null())
        .output();
    let output = output.map_err(|error| format!("this program cannot be started: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(ended) if ended == i32::from(code) && said.contains(word) => {
            Ok(format!("{} ms", began.elapsed().as_millis()))
        }
        ended => Err(format!(
            "it ended with {}: {}",
            ended.map_or("a signal".to_owned(), |code| code.to_string()),
            Text::from(said.trim())
        )),
    }
}
