//! Makes a manifest: `pack OUT NAME=FILE[:CAPABILITY,…] … [OPTION …]`. The first program is init; of the others,
//! those with capabilities are services of the same name.
//!
//! - `--service NAME=PROGRAM[:CAPABILITY,…]`: a service of another name than its program.
//! - `--restart SERVICE=never|on-failure|always`: when it is started again.
//! - `--exit-when SERVICE`: its end is the machine's.
//!
//! A capability is `[NAME=]SOURCE[#BADGE][!]`: one of the kernel's, or what another service exports, as
//! `SERVICE/NAME`. It is named after its source unless it has a name of its own; `!` exports it.

mod words;

use bailiwick_capos_core::manifest::build::Builder;
use std::process::ExitCode;
use words::{Words, words};

fn made(given: &[String]) -> Result<(), String> {
    let Words {
        out,
        programs,
        services,
        exit_when,
    } = words(given)?;
    let mut files = Vec::new();
    for program in &programs {
        let file = std::fs::read(program.file);
        files.push(file.map_err(|error| format!("{}: {error}", program.file))?);
    }
    let init = programs.first().ok_or("which program is init?")?;
    let mut builder = Builder::new().init(init.name, init.caps.clone());
    for (program, file) in programs.iter().zip(&files) {
        builder = builder.binary(program.name, file);
    }
    for service in services {
        builder = builder.service(service);
    }
    if let Some(service) = exit_when {
        builder = builder.exit_when(service);
    }
    let bytes = builder.finish().map_err(|invalid| invalid.to_string())?;
    std::fs::write(out, bytes).map_err(|error| format!("{out}: {error}"))
}

fn main() -> ExitCode {
    let given: Vec<_> = std::env::args().skip(1).collect();
    match made(&given) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("pack: {why}");
            ExitCode::from(2)
        }
    }
}
