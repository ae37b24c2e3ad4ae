//! The scaling proof: boots the capability kernel, and beside it a Linux guest, with one processor, two and
//! four; judges how much faster more processors are; keeps logs and figures.
//!
//! Exit codes: 0 pass, 1 fail, 2 it cannot run as asked, 3 inconclusive (the host was too busy).

mod arguments;
mod cpio;
mod evidence;
mod gate;
mod host;
mod images;
mod line;
mod machine;
mod statistics;

use arguments::{Arguments, Control, Variant};
use clap::Parser as _;
use evidence::Evidence;
use gate::Verdict;
use host::Host;
use images::Images;
use machine::{Case, Machine, System};
use std::process::ExitCode;

/// The cases, interleaved: what happens to the host meanwhile happens to all.
fn measure(arguments: &Arguments, host: &Host) -> Result<Evidence, String> {
    let systems = arguments.systems();
    let images = Images::make(arguments, &systems)?;
    let mut evidence = Evidence::begin(arguments, host)?;
    for number in 1..=arguments.runs {
        for processors in arguments.processors(host) {
            for system in &systems {
                let case = Case {
                    system: *system,
                    processors,
                };
                let machine = Machine {
                    case,
                    images: &images,
                    pinned: match arguments.control {
                        Some(Control::OneCpu) => host.cpus.get(..1).map(<[usize]>::to_vec),
                        _ => arguments.pinned(*system)?,
                    },
                    is_one_thread: arguments.control == Some(Control::Single),
                };
                // What a busy host did is no figure; it is tried again, and all are kept.
                for _ in 0..=arguments.tries {
                    if !evidence.boot(&machine, number)?.is_contended {
                        break;
                    }
                }
            }
        }
    }
    Ok(evidence)
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if !arguments.workload.is_computing() && arguments.variant == Variant::Thread {
        eprintln!(
            "scale: NOPs and pairs go through a process's own ring; they have no threads: --variant process"
        );
        return ExitCode::from(2);
    }
    let host = Host::look(arguments.pinned(System::Capos).ok().flatten());
    let verdict = measure(&arguments, &host).and_then(|evidence| {
        let judged = gate::judge(&arguments, &host, evidence.runs());
        evidence.end(&judged)?;
        // What was compared with Linux was asked for.
        Ok(match arguments.beside_linux {
            true => judged.verdict().min(judged.own()),
            false => judged.verdict(),
        })
    });
    match verdict {
        Ok(Verdict::Pass) => ExitCode::SUCCESS,
        Ok(Verdict::Fail) => ExitCode::from(1),
        Ok(Verdict::Inconclusive) => ExitCode::from(3),
        Err(why) => {
            eprintln!("scale: {why}");
            ExitCode::from(2)
        }
    }
}
