//! `bailiwick bench`.

use crate::Done;
use crate::cli::{BenchArguments, BenchCommand};
use crate::output;
use bailiwick_bench::{OverheadOptions, RowVerdict, Verdict};
use bailiwick_event::Failure;
use std::io::Write;

/// Measures or compares.
pub(crate) fn bench(arguments: BenchArguments) -> Done {
    match arguments.command {
        BenchCommand::Overhead {
            binary,
            runs,
            quick,
            out,
            network,
            peer,
            row,
            counters,
        } => {
            let own = || {
                std::env::current_exe()
                    .map_err(|e| Failure::fault(format!("this program cannot find itself: {e}")))
            };
            let options = OverheadOptions {
                binary: binary.map_or_else(own, Ok)?,
                runs,
                quick,
                out,
                network,
                peers: (!peer.is_empty()).then_some(peer),
                rows: row,
                counters,
            };
            let outcome = bailiwick_bench::overhead(&options, &mut |line| {
                let _ = writeln!(std::io::stderr().lock(), "{line}");
            })?;
            output::print(&format!("{outcome}\n"))?;
            let failed = |row: &RowVerdict| matches!(row.verdict, Verdict::Fail(_));
            Ok(match outcome.all_passed {
                true => 0,
                false if outcome.rows.iter().any(failed) => 1,
                false => 3,
            })
        }
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
        BenchCommand::Act { kind, count, path } => {
            bailiwick_bench::act(&kind, count, &path)?;
            Ok(0)
        }
    }
}
