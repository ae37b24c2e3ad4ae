//! `bailiwick doctor`.

mod capos;
mod known;
mod machines;
mod report;
mod server;
mod starts;
mod tls;
mod vm;
mod wheel;

use crate::Done;
use crate::cli::DoctorArguments;
use crate::machine::Kind;
use crate::output;
use bailiwick_event::Failure;
use bailiwick_process::State;

/// Tries every layer and says what was found.
pub(crate) fn doctor(arguments: &DoctorArguments) -> Done {
    if arguments.tls {
        return tls::tls();
    }
    // A shape without a machine is a mistake.
    arguments.machine.backend(arguments.cold, None)?;
    if arguments.machine.backend == Kind::Vm {
        return vm::doctor(arguments);
    }
    let asked = [
        ("--cold", arguments.cold),
        ("--only", !arguments.only.is_empty()),
        ("--json", arguments.json),
        ("--junit", arguments.junit.is_some()),
    ];
    if let Some((flag, _)) = asked.iter().find(|(_, given)| *given) {
        return Err(Failure::usage(format!(
            "{flag} is of the checks of virtual machines\nhelp: add --backend vm"
        )));
    }
    if arguments.machine.backend == Kind::Capos {
        return capos::doctor(&arguments.machine);
    }
    let mut missing = 0;
    let mut isolated = true;
    let mut text = String::new();
    for finding in bailiwick_process::examine() {
        let (word, problem) = match finding.state {
            State::Works => ("works", String::new()),
            State::Weaker(problem) => ("WEAKER", problem),
            State::Missing(problem) => {
                missing += 1;
                isolated &= !finding.isolates;
                ("MISSING", problem)
            }
        };
        text += &format!("{:<28} {word}\n", finding.layer);
        if !problem.is_empty() {
            text += &format!("  {}\n", problem.replace('\n', "\n  "));
        }
    }
    if !isolated {
        text += "a run that does without namespaces (--best-effort) cannot stop these:\n";
        for what in bailiwick_process::WITHOUT_NAMESPACES {
            text += &format!("  - {what}\n");
        }
    }
    if (1..bailiwick_process::LANDLOCK_OF_SIGNALS).contains(&bailiwick_process::landlock_version())
    {
        text += "this kernel's Landlock is older than Linux 6.12: without namespaces (--best-effort) \
                 a program can send signals to other processes of the user\n";
    }
    text += match missing {
        0 => "every layer of the process backend works here\n",
        _ => {
            "a run that needs a missing layer is not started; [require] layers in a policy, or \
             --best-effort, does without it (docs/security.md says what then holds); without \
             namespaces the network is TCP to what the policy grants, without UDP and servers, and \
             where it grants nothing what is tried is refused but not recorded\n"
        }
    };
    text += "where TLS is not looked into (docs/network.md), a host that serves several names (a \
             content network) can be used to reach another of its names\n";
    output::print(&text)?;
    Ok(u8::from(missing > 0))
}
