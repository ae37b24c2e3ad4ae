//! The suite without the product's command line: to develop it, and to measure a program that
//! stands in for the product. It takes the arguments that the product takes after its name.

use bailiwick_bench::{OverheadOptions, act, compare, count, inside, overhead};
use bailiwick_event::Failure;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    match dispatch(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(failure) => {
            eprintln!("{failure}");
            ExitCode::from(failure.exit_code())
        }
    }
}

fn dispatch(arguments: &[OsString]) -> Result<bool, Failure> {
    let words: Vec<&str> = arguments.iter().map(|a| a.to_str().unwrap_or("")).collect();
    match words.as_slice() {
        ["bench", "inside", "--runs", runs, "--", ..] => {
            let runs = runs
                .parse()
                .map_err(|_| Failure::usage("--runs is not a number"))?;
            inside(runs, &arguments[5..]).map(|()| true)
        }
        ["bench", "count", kind, "--", ..] => count(kind, &arguments[4..]).map(|()| true),
        ["bench", "act", kind, times, _] => {
            let times = times
                .parse()
                .map_err(|_| Failure::usage("bench act: not a number"))?;
            act(kind, times, &arguments[4]).map(|()| true)
        }
        ["bench", "compare", a, b] => {
            print!("{}", compare(Path::new(a), Path::new(b))?);
            Ok(true)
        }
        ["bench", "overhead", flags @ ..] => {
            let outcome = overhead(&options(flags)?, &mut |line| eprintln!("{line}"))?;
            print!("{outcome}");
            Ok(outcome.all_passed)
        }
        _ => Err(Failure::usage(
            "usage: bench bench overhead --binary FILE [--out DIR] [--runs N] [--quick] \
             [--network] [--peers A,B] [--rows A,B] [--counters]\n       bench bench compare A B",
        )),
    }
}

fn options(flags: &[&str]) -> Result<OverheadOptions, Failure> {
    let mut options = OverheadOptions {
        binary: "bailiwick".into(),
        runs: 50,
        quick: false,
        out: "benchmarks".into(),
        network: false,
        against: None,
        peers: None,
        rows: Vec::new(),
        counters: false,
    };
    let mut rest = flags.iter();
    while let Some(flag) = rest.next() {
        match *flag {
            "--quick" => options.quick = true,
            "--network" => options.network = true,
            "--counters" => options.counters = true,
            _ => {
                let value = rest
                    .next()
                    .ok_or_else(|| Failure::usage(format!("{flag} needs a value")))?;
                match *flag {
                    "--binary" => options.binary = value.into(),
                    "--out" => options.out = value.into(),
                    "--runs" => {
                        options.runs = value
                            .parse()
                            .map_err(|_| Failure::usage("--runs is not a number"))?;
                    }
                    "--rows" => options.rows = value.split(',').map(str::to_owned).collect(),
                    "--peers" => {
                        options.peers = Some(value.split(',').map(str::to_owned).collect());
                    }
                    _ => return Err(Failure::usage(format!("there is no flag {flag}"))),
                }
            }
        }
    }
    Ok(options)
}
