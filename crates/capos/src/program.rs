//! The program that is run, and the manifest that gives it what it holds.

use bailiwick_capos_core::elf::Image;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::manifest::Cap;
use bailiwick_capos_core::manifest::build::Builder;
use bailiwick_event::Failure;
use bailiwick_policy::Effective;
use std::path::Path;

/// What a manifest calls the program.
const PROGRAM: &str = "program";

/// The capabilities with these names.
///
/// # Errors
/// A [`Failure`] that says which there are.
pub fn capabilities(names: &[String]) -> Result<Vec<KernelSource>, Failure> {
    let one = |name: &String| {
        KernelSource::of_grant(name).ok_or_else(|| {
            let known: Vec<_> = KernelSource::granted().map(KernelSource::name).collect();
            Failure::usage(format!(
                "no capability is called {name:?}\nhelp: there are {}",
                known.join(", ")
            ))
        })
    };
    names.iter().map(one).collect()
}

/// What a program holds: what the policy says and what was asked for besides; a console where nothing is
/// said.
pub(crate) fn held(policy: &Effective, asked: &[String]) -> Vec<String> {
    let mut held = Vec::new();
    let of_policy = policy.capabilities.iter().map(|entry| &entry.value);
    for name in of_policy.chain(asked) {
        if !held.contains(name) {
            held.push(name.clone());
        }
    }
    if held.is_empty() {
        held.push(KernelSource::Console.name().to_owned());
    }
    held
}

/// A program's file.
///
/// # Errors
/// A [`Failure`] where it cannot be read, or is no program for this kernel.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let shown = path.display();
    let file = std::fs::read(path).map_err(|error| {
        Failure::usage(format!(
            "{shown}: {error}\nhelp: the backend \"capos\" runs a program's file, given by its path"
        ))
    })?;
    Image::parse(&file).map_err(|invalid| {
        Failure::usage(format!(
            "{shown}: {invalid}\nhelp: programs of the capability kernel are built for the target \
             x86_64-unknown-none and linked to 0x200000 with -Crelocation-model=static (docs/capos.md)"
        ))
    })?;
    Ok(file)
}

/// The manifest of a machine that runs the program in this file.
///
/// # Errors
/// A [`Failure`] where it cannot be read, or is no program for this kernel.
pub(crate) fn manifest(path: &Path, names: &[String]) -> Result<Vec<u8>, Failure> {
    let file = read(path)?;
    let caps: Vec<_> = names
        .iter()
        .zip(capabilities(names)?)
        .map(|(name, source)| Cap::kernel(name, source))
        .collect();
    let built = Builder::new()
        .binary(PROGRAM, &file)
        .init(PROGRAM, caps)
        .finish();
    built.map_err(|invalid| Failure::usage(format!("{}: {invalid}", path.display())))
}
