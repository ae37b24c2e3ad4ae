//! `bailiwick bench`.

mod arguments;
mod machine;

pub(crate) use arguments::BenchArguments;

use crate::Done;
use crate::output;
use arguments::{BenchCommand, EnforceWhat};
use bailiwick_bench::{
    EnforceOptions, Enforced, GateOptions, MachineSuite, Outcome, OverheadOptions, RowVerdict,
    Verdict,
};
use bailiwick_event::Failure;
use std::io::Write;
use std::path::PathBuf;

/// The program that is measured.
fn measured(binary: Option<PathBuf>) -> Result<PathBuf, Failure> {
    let own = || {
        std::env::current_exe()
            .map_err(|e| Failure::fault(format!("this program cannot find itself: {e}")))
    };
    binary.map_or_else(own, Ok)
}

fn tell(line: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{line}");
}

/// Shows what was found; the exit code says it in short.
fn show(outcome: &Outcome) -> Done {
    output::print(&format!("{outcome}\n"))?;
    let failed = |row: &RowVerdict| matches!(row.verdict, Verdict::Fail(_));
    Ok(match outcome.all_passed {
        true => 0,
        false if outcome.rows.iter().any(failed) => 1,
        false => 3,
    })
}

/// Measures or compares.
pub(crate) fn bench(arguments: BenchArguments) -> Done {
    match arguments.command {
        BenchCommand::Overhead {
            binary,
            runs,
            quick,
            out,
            network,
            against,
            peer,
            row,
            counters,
        } => {
            let options = OverheadOptions {
                binary: measured(binary)?,
                runs,
                quick,
                out,
                network,
                against,
                peers: (!peer.is_empty()).then_some(peer),
                rows: row,
                counters,
            };
            show(&bailiwick_bench::overhead(&options, &mut tell)?)
        }
        BenchCommand::Gate {
            binary,
            quick,
            full,
            out,
            row,
        } => {
            let options = GateOptions {
                binary: measured(binary)?,
                quick,
                full,
                out,
                rows: row,
            };
            show(&bailiwick_bench::gate(&options, &mut tell)?)
        }
        BenchCommand::Enforce {
            what,
            binary,
            runs,
            quick,
            out,
        } => {
            let options = EnforceOptions {
                what: match what {
                    EnforceWhat::Dns => Enforced::Dns,
                    EnforceWhat::Http => Enforced::Http,
                    EnforceWhat::Exec => Enforced::Exec,
                },
                binary: measured(binary)?,
                runs,
                quick,
                out,
            };
            show(&bailiwick_bench::enforce(&options, &mut tell)?)
        }
        BenchCommand::Capos(arguments) => machine::bench(MachineSuite::Capos, arguments),
        BenchCommand::Boot(arguments) => machine::bench(MachineSuite::Boot, arguments),
        BenchCommand::Lifecycle(arguments) => machine::bench(MachineSuite::Lifecycle, arguments),
        BenchCommand::Fork(arguments) => machine::bench(MachineSuite::Fork, arguments),
        BenchCommand::Disk(arguments) => machine::disk(arguments),
        BenchCommand::Http(arguments) => machine::http(arguments),
        BenchCommand::Throughput(arguments) => machine::bench(MachineSuite::Throughput, arguments),
        BenchCommand::Channel(arguments) => machine::channel(&arguments),
        BenchCommand::Rootfs(arguments) => machine::bench(MachineSuite::Rootfs, arguments),
        BenchCommand::Startup(arguments) => machine::bench(MachineSuite::Startup, arguments),
        BenchCommand::Compare { a, b } => {
            output::print(&format!("{}\n", bailiwick_bench::compare(&a, &b)?))?;
            Ok(0)
        }
        BenchCommand::Inside { runs, command } => {
            bailiwick_bench::inside(runs, &command)?;
            Ok(0)
        }
        BenchCommand::Connected {
            runs,
            session,
            command,
        } => {
            bailiwick_bench::connected(&session, runs, &command)?;
            Ok(0)
        }
        BenchCommand::Count { kind, command } => {
            bailiwick_bench::count(&kind, &command)?;
            Ok(0)
        }
        BenchCommand::Load { role } => {
            bailiwick_bench::load(&role)?;
            Ok(0)
        }
        BenchCommand::Act { kind, count, path } => {
            bailiwick_bench::act(&kind, count, &path)?;
            Ok(0)
        }
    }
}
