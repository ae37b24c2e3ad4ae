//! Every escape of the table, tried from inside: started by an ordinary user and by root, on a
//! machine that gives every layer, on one without namespaces, and in a container.
//!
//! A row counts because the same act succeeds outside, and succeeds inside a test build from which
//! exactly the layers are left out that stop it. This executable is its own attacker: as `--inside`
//! it tries acts with plain system calls and says what came of each.
#![allow(missing_docs, reason = "tests are named after what they prove")]

mod act;
mod document;
mod field;
mod inside;
mod machine;
mod patience;
mod row;
mod runner;
mod services;
mod stage;
mod sys;
mod table;

use row::{Mode, Who};
use std::path::{Path, PathBuf};

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let owned = |words: &[&str]| words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>();
    let failed = |what: &str, error: std::io::Error| {
        eprintln!("escapes: {what}: {error}");
        125
    };
    let code = match words[1..] {
        ["--inside", field, ref ids @ ..] => inside::attack(Path::new(field), &owned(ids)),
        // As a set-user-id program: whose rights it has.
        ["--who"] => (rustix::process::geteuid().as_raw() & 0xff) as i32,
        ["--services", outside] => match services::serve(Path::new(outside)) {
            Ok(()) => 0,
            Err(error) => failed("the services", error),
        },
        ["--machine", who, mode, ref ids @ ..] => {
            match machine::become_machine(who_of(who), mode_of(mode), &owned(ids)) {
                Ok(()) => 0,
                Err(error) => failed("the machine", error),
            }
        }
        ["--stage", who, mode, ref ids @ ..] => {
            let bin = |name: &str| -> PathBuf { machine::ground().join("bin").join(name) };
            let programs = stage::Programs {
                product: bin("bailiwick"),
                switches: bin("bailiwick-for-tests"),
                own: bin("escapes"),
            };
            match stage::run(who_of(who), mode_of(mode), &owned(ids), &programs) {
                Ok(()) => 0,
                Err(error) => failed("the stage", error),
            }
        }
        _ => runner::run(),
    };
    std::process::exit(code);
}

fn who_of(name: &str) -> Who {
    Who::ALL
        .into_iter()
        .find(|who| who.name() == name)
        .unwrap_or(Who::User)
}

fn mode_of(name: &str) -> Mode {
    Mode::ALL
        .into_iter()
        .find(|mode| mode.name() == name)
        .unwrap_or(Mode::Full)
}
