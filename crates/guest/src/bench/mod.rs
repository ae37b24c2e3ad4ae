//! `bailiwick-guest bench`: workloads of the benchmarks, done by the same program in a machine, in a
//! process sandbox and on the host, so that nothing but what stands around it differs.
//!
//! Decision: it reads a piece of work from a line of stdin, does it, and answers with a line of JSON, so
//! that many of them wait side by side and take turns. It times itself, by the clock of where it stands,
//! and checks what it reads: a wrong byte is an error and no figure.

mod about;
mod answer;
mod bare;
mod caches;
mod costs;
mod disk;
pub(crate) mod known;
mod resident;
mod rootfs;
mod start;
mod tree;

use answer::{Answer, Done};
use rootfs::Files;
use std::io::{self, BufRead as _, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::str::FromStr;

/// Does the work that stands on stdin, to its end.
pub(crate) fn run(words: impl Iterator<Item = String>) -> ExitCode {
    let words: Vec<String> = words.collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        [] => serve().map_err(|error| error.to_string()),
        // What the costs of starts and of pipes are measured with.
        ["nothing"] => return ExitCode::from(9),
        ["echo", cpu] => costs::echo(cpu),
        _ => {
            eprintln!("bailiwick-guest bench: it takes its work from stdin, and no words");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bailiwick-guest bench: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The same, as the first program of a bare machine.
pub(crate) fn first(words: impl Iterator<Item = String>) -> ! {
    let words: Vec<String> = words.collect();
    bare::run(&words)
}

fn serve() -> io::Result<()> {
    let mut files = None;
    for line in io::stdin().lock().lines() {
        let line = line?;
        // A console has no other end of its input.
        if line == "end" {
            break;
        }
        let words: Vec<&str> = line.split('\t').collect();
        let answer = work(&words, &mut files).unwrap_or_else(|why| Answer::error(&why));
        let mut stdout = io::stdout().lock();
        writeln!(stdout, "{}", answer.line())?;
        stdout.flush()?;
    }
    Ok(())
}

/// One piece of work; `files` are those of the system, once they were looked for.
fn work(words: &[&str], files: &mut Option<Files>) -> Done {
    if let ["rootfs", work @ ..] = words {
        let files = match files {
            Some(files) => files,
            None => files.insert(Files::find()?),
        };
        return match work {
            ["largest", how] => files.sequential(false, how),
            ["large", how] => files.sequential(true, how),
            ["random", count, seed, how] => files.random(number(count)?, number(seed)?, how),
            ["small", count, how] => files.small(number(count)?, how),
            ["walk", how] => rootfs::look(how),
            _ => Err(format!("there is no such work: {}", words.join(" "))),
        };
    }
    match words {
        ["start", program, how] => start::start(program, how),
        ["about"] => about::about(),
        ["disk-write", path, bytes] => disk::write(Path::new(path), number(bytes)?),
        ["disk-forget", path, how] => disk::forget(Path::new(path), how),
        ["disk-read", path, bytes] => disk::read(Path::new(path), number(bytes)?),
        ["disk-random-read", path, bytes, count, seed] => disk::random_read(
            Path::new(path),
            number(bytes)?,
            number(count)?,
            number(seed)?,
        ),
        ["disk-random-write", path, bytes, count, seed] => disk::random_write(
            Path::new(path),
            number(bytes)?,
            number(count)?,
            number(seed)?,
        ),
        ["disk-check", path, bytes, count, seed] => disk::check(
            Path::new(path),
            number(bytes)?,
            number(count)?,
            number(seed)?,
        ),
        ["tree-make", path, files] => tree::make(Path::new(path), number(files)?),
        ["tree-walk", path] => tree::walk(Path::new(path)),
        ["tree-status", path] => tree::status(Path::new(path)),
        _ => Err(format!("there is no such work: {}", words.join(" "))),
    }
}

fn number<T: FromStr>(word: &str) -> Result<T, String> {
    word.parse().map_err(|_| format!("{word} is no number"))
}
