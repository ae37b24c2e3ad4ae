//! What a program gets of its session: variables, language, terminal.

use super::check::{Check, Outcome, said};
use super::world::{World, told};

/// Variables by which a host would have programs of the machine run something, and such that hold its
/// secrets. What begins so is meant where a name ends in `_`.
const BLOCKED: [&str; 21] = [
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "LD_DEBUG",
    "BASH_ENV",
    "ENV",
    "SHELLOPTS",
    "PYTHONSTARTUP",
    "PYTHONPATH",
    "PYTHONHOME",
    "NODE_OPTIONS",
    "PERL5LIB",
    "PERL5OPT",
    "RUBYOPT",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_",
    "SSH_AUTH_SOCK",
    "AWS_SECRET_ACCESS_KEY",
    "GITHUB_TOKEN",
    "DOCKER_HOST",
];

pub(super) const CHECKS: &[Check] = &[
    Check {
        name: "session.variables",
        expected: "no variable of the host by which its programs are led astray or its secrets shown",
        remedy: "a policy ([environment]) or --env hands it on: take it out",
        probe: variables,
    },
    Check {
        name: "session.locale",
        expected: "UTF-8 for the C library, python and file names",
        remedy: "LANG names a locale that the image does not have: use C.UTF-8",
        probe: locale,
    },
    Check {
        name: "terminal.pty",
        expected: "a terminal of the machine's own, with the caller's size, that a program can open",
        remedy: "this is a defect of bailiwick (crates/guest/src/terminal.rs): report it",
        probe: pty,
    },
];

fn variables(world: &dyn World) -> Outcome {
    let all = world.variables();
    let is_blocked = |name: &str| {
        BLOCKED.iter().any(|blocked| match blocked.ends_with('_') {
            true => name.starts_with(blocked),
            false => name == *blocked,
        })
    };
    let found: Vec<_> = all
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|n| is_blocked(n))
        .collect();
    if !found.is_empty() {
        return Err(format!("{} is set", found.join(", ")));
    }
    // Of an environment that holds nothing at all nothing follows.
    match all.iter().any(|(name, _)| name == "PATH") {
        true => Ok(format!("{} variables, none of those", all.len())),
        false => Err("there is no PATH, so that this is no session".to_owned()),
    }
}

fn locale(world: &dyn World) -> Outcome {
    let script = "locale charmap && python3 -c 'import sys,locale;print(sys.getfilesystemencoding(),\
                  locale.getpreferredencoding(),sys.stdout.encoding)'";
    let ran = world
        .shell(script)
        .map_err(|e| format!("sh: {}", said(&e)))?;
    let words: Vec<_> = ran
        .said
        .split_whitespace()
        .map(str::to_ascii_lowercase)
        .collect();
    match ran.code == 0 && words.len() == 4 && words.iter().all(|word| word == "utf-8") {
        true => Ok("UTF-8".to_owned()),
        false => Err(ran.said.trim().replace('\n', "; ")),
    }
}

fn pty(world: &dyn World) -> Outcome {
    let expected = told(world, "size")?;
    let (rows, columns) = world
        .terminal()
        .map_err(|e| format!("stdin is no terminal: {}", said(&e)))?;
    let found = format!("{rows}x{columns}");
    if found != expected {
        return Err(format!("the size is {found} instead of {expected}"));
    }
    let ran = world.shell("tty && : >/dev/tty && test -t 0 && stty -a </dev/tty >/dev/null");
    let ran = ran.map_err(|e| format!("sh: {}", said(&e)))?;
    match ran.code {
        0 => Ok(format!("{found} at {}", ran.said.trim())),
        _ => Err(ran.last().to_owned()),
    }
}
