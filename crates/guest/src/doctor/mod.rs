//! `bailiwick-guest doctor`: whether a machine is what it is said to be, found out from inside, as a
//! program of the machine and with nothing that such a program does not have.
//!
//! Decision: a check does what an attacker or a user would do and looks at what comes of it; no check
//! passes because something could not be tried. What it needs to know of the host (whom to ask, what
//! must not answer) it is told by words `name=value`, so that the same check can be run where it has to
//! fail.

mod bulk;
mod check;
mod clients;
mod dns;
#[cfg(test)]
mod fake;
mod files;
mod identity;
mod kernel;
mod network;
mod real;
mod session;
mod world;

use check::Check;
pub(crate) use check::quoted;
use std::io::Write as _;
use std::process::ExitCode;
use std::time::Instant;

/// Checks that only say something in a second machine or at a terminal.
const ON_REQUEST: [&str; 2] = ["again.", "terminal."];

/// Every check, in the order in which they run.
fn all() -> impl Iterator<Item = &'static Check> {
    kernel::CHECKS
        .iter()
        .chain(files::CHECKS)
        .chain(identity::CHECKS)
        .chain(session::CHECKS)
        .chain(network::CHECKS)
        .chain(dns::CHECKS)
        .chain(clients::CHECKS)
        .chain(bulk::CHECKS)
}

/// Runs the checks that the words name, or all that need nothing special; 1 where one fails.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let mut only = Vec::new();
    let mut told = Vec::new();
    let mut words = words;
    while let Some(word) = words.next() {
        match (word.as_str(), word.split_once('=')) {
            ("--list", _) => return list(),
            ("--only", _) => match words.next() {
                Some(name) if all().any(|check| check.name.starts_with(&name)) => only.push(name),
                Some(name) => {
                    return usage(&format!("there is no check {name}; --list names them"));
                }
                None => return usage("--only needs the name of a check, or how names begin"),
            },
            (_, Some((name, value))) => told.push((name.to_owned(), value.to_owned())),
            _ => return usage(&format!("{word} is neither --only nor name=value")),
        }
    }
    let world = real::Real::new(told);
    let chosen = |check: &&Check| match only.is_empty() {
        true => !ON_REQUEST.iter().any(|on| check.name.starts_with(on)),
        false => only.iter().any(|name| check.name.starts_with(name)),
    };
    let (mut ran, mut failed) = (false, false);
    for check in all().filter(chosen) {
        let began = Instant::now();
        let outcome = (check.probe)(&world);
        failed |= outcome.is_err();
        ran = true;
        let line = check.line(&outcome, began.elapsed());
        if writeln!(std::io::stdout(), "{line}").is_err() {
            return ExitCode::from(2);
        }
    }
    match ran {
        true => ExitCode::from(u8::from(failed)),
        false => usage("no check has such a name; --list names them"),
    }
}

fn list() -> ExitCode {
    for check in all() {
        println!("{:<24} {}", check.name, check.expected);
    }
    ExitCode::SUCCESS
}

fn usage(why: &str) -> ExitCode {
    eprintln!("bailiwick-guest doctor: {why}");
    ExitCode::from(2)
}

/// `bailiwick-guest stream BYTES`: so many known bytes on stdout, for a host that counts and compares.
pub(crate) fn stream(words: impl Iterator<Item = String>) -> ExitCode {
    bulk::stream(words)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_check_has_a_name_of_its_own_and_says_what_to_do() {
        let mut names = BTreeSet::new();
        for check in all() {
            assert!(names.insert(check.name), "{}: twice", check.name);
            assert!(check.name.contains('.'), "{}: no group", check.name);
            assert!(!check.expected.is_empty() && !check.remedy.is_empty());
        }
    }

    #[test]
    fn in_a_world_where_nothing_is_as_it_should_be_every_check_fails() {
        let world = fake::Fake::broken();
        let passed: Vec<_> = all()
            .filter(|check| (check.probe)(&world).is_ok())
            .map(|check| check.name)
            .collect();
        assert_eq!(passed, Vec::<&str>::new(), "these cannot fail");
    }
}
