//! No test may hang: every program that a test starts has a time limit, after which the test
//! fails and says what the program had printed until then.

use super::waiting;
use std::io::{Read, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A program that ended.
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: Vec<u8>,
}

impl Finished {
    pub(crate) fn stdout(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    pub(crate) fn stderr(&self) -> String {
        String::from_utf8_lossy(&self.stderr).into_owned()
    }

    /// Fails the test with everything that the program printed, unless it succeeded.
    #[track_caller]
    pub(crate) fn success(self) -> Self {
        assert!(
            self.status.success(),
            "it ended with {}\n--- stdout\n{}\n--- stderr\n{}",
            self.status,
            self.stdout(),
            self.stderr()
        );
        self
    }
}

/// What a stream carried so far, and whether it has ended.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<(Vec<u8>, bool)>>);

impl Captured {
    fn from(mut stream: impl Read + Send + 'static) -> Self {
        let captured = Self::default();
        let shared = captured.clone();
        std::thread::spawn(move || {
            let mut chunk = [0; 8192];
            while let Ok(n @ 1..) = stream.read(&mut chunk) {
                shared.0.lock().unwrap().0.extend_from_slice(&chunk[..n]);
            }
            shared.0.lock().unwrap().1 = true;
        });
        captured
    }

    fn ended(&self) -> bool {
        self.0.lock().unwrap().1
    }

    fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().0.clone()
    }
}

/// Runs a program to its end and to the end of its output.
///
/// A program that leaves a descendant behind which still holds its output counts as not ended:
/// a sandbox that outlives its supervisor must not go unnoticed.
#[track_caller]
pub(crate) fn run_to_end(command: &mut Command, stdin: &[u8], limit: Duration) -> Finished {
    let start = Instant::now();
    let mut child = command
        .stdin(if stdin.is_empty() {
            Stdio::null()
        } else {
            Stdio::piped()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|e| panic!("{command:?} does not start: {e}"));
    if let Some(mut pipe) = child.stdin.take() {
        let bytes = stdin.to_vec();
        // The program may end without reading its input: that is not the test's business.
        std::thread::spawn(move || drop(pipe.write_all(&bytes)));
    }
    let stdout = Captured::from(child.stdout.take().unwrap());
    let stderr = Captured::from(child.stderr.take().unwrap());
    let mut ended;
    loop {
        // Before the look: whoever was not let run for so long may look once more.
        let late = start.elapsed() >= limit;
        ended = child.try_wait().expect("the program's status");
        if late || (ended.is_some() && stdout.ended() && stderr.ended()) {
            break;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let waits = match ended {
        Some(_) => String::new(),
        None => waiting::shown(child.id()),
    };
    // Neither does anything to a program that has ended.
    let _ = child.kill();
    let status = child.wait().expect("the program's status");
    let finished = Finished {
        status,
        stdout: stdout.bytes(),
        stderr: stderr.bytes(),
    };
    if ended.is_some() && stdout.ended() && stderr.ended() {
        return finished;
    }
    panic!(
        "{command:?} {} after {limit:?}\n{waits}--- stdout\n{}\n--- stderr\n{}",
        match ended {
            Some(_) => "ended, but something that it started still holds its output",
            None => "had not ended",
        },
        finished.stdout(),
        finished.stderr(),
    );
}
