//! Makes a manifest: `pack OUT NAME=FILE[:CAPABILITY,…] …`. The first program is init; of the others, those
//! with capabilities are services of the same name. A capability is `[NAME=]SOURCE`: one of the kernel's, named
//! after its source unless it has a name of its own.

use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::manifest::build::Builder;
use bailiwick_capos_core::manifest::{Cap, Restart, Service};
use std::process::ExitCode;

struct Program {
    name: String,
    file: Vec<u8>,
    caps: Vec<String>,
}

fn program(word: &str) -> Result<Program, String> {
    let (name, rest) = word
        .split_once('=')
        .ok_or_else(|| format!("{word}: a program is NAME=FILE[:CAPABILITY,…]"))?;
    let (path, caps) = rest.rsplit_once(':').unwrap_or((rest, ""));
    let file = std::fs::read(path).map_err(|error| format!("{path}: {error}"))?;
    let caps = caps.split(',').filter(|cap| !cap.is_empty());
    Ok(Program {
        name: name.to_owned(),
        file,
        caps: caps.map(str::to_owned).collect(),
    })
}

/// A capability's name and its source.
fn named(word: &str) -> (&str, &str) {
    word.split_once('=').unwrap_or((word, word))
}

fn caps(program: &Program) -> Result<Vec<Cap<'_>>, String> {
    let cap = |word: &'_ String| {
        let (_, name) = named(word);
        let source = KernelSource::of_name(name);
        let known = || KernelSource::ALL.iter().map(|source| source.name());
        source.ok_or_else(|| {
            let known: Vec<_> = known().collect();
            format!(
                "{name}: no source of the kernel's; there are {}",
                known.join(", ")
            )
        })
    };
    let all = program.caps.iter();
    all.map(|word| Ok(Cap::kernel(named(word).0, cap(word)?)))
        .collect()
}

fn made(words: &[String]) -> Result<(), String> {
    let (out, words) = words.split_first().ok_or("which file is to be made?")?;
    let programs: Vec<_> = words
        .iter()
        .map(|word| program(word))
        .collect::<Result<_, _>>()?;
    let init = programs.first().ok_or("which program is init?")?;
    let mut builder = Builder::new();
    for program in &programs {
        builder = builder.binary(&program.name, &program.file);
    }
    builder = builder.init(&init.name, caps(init)?);
    for program in programs
        .iter()
        .skip(1)
        .filter(|program| !program.caps.is_empty())
    {
        builder = builder.service(Service {
            name: &program.name,
            binary: &program.name,
            restart: Restart::Never,
            caps: caps(program)?,
            exports: Vec::new(),
        });
    }
    let bytes = builder.finish().map_err(|invalid| invalid.to_string())?;
    std::fs::write(out, bytes).map_err(|error| format!("{out}: {error}"))
}

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    match made(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("pack: {why}");
            ExitCode::from(2)
        }
    }
}
