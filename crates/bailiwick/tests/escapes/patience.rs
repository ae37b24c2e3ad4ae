//! Runs a program to its end, or for so long and no longer.

use std::io::{self, Read};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Runs a command whose streams are piped, for at most so many milliseconds.
pub(crate) fn run(mut command: Command, milliseconds: u64) -> io::Result<Output> {
    let mut child = command.spawn()?;
    // A pseudo-terminal that the command was given must end with it.
    drop(command);
    let mut readers = Vec::new();
    let streams: [Option<Box<dyn Read + Send>>; 2] = [
        child
            .stdout
            .take()
            .map(|s| Box::new(s) as Box<dyn Read + Send>),
        child
            .stderr
            .take()
            .map(|s| Box::new(s) as Box<dyn Read + Send>),
    ];
    for stream in streams {
        readers.push(std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut stream) = stream {
                let _ = stream.read_to_end(&mut bytes);
            }
            bytes
        }));
    }
    let deadline = Instant::now() + Duration::from_millis(milliseconds);
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            break child.wait()?;
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let mut read = readers
        .into_iter()
        .map(|reader| reader.join().unwrap_or_default());
    Ok(Output {
        status,
        stdout: read.next().unwrap_or_default(),
        stderr: read.next().unwrap_or_default(),
    })
}
