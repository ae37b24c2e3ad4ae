//! A server of a test that is a program in Python: it prints its ports, and ends when its standard input
//! does, also when the test is killed.

use super::{Scratch, host_command};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};

/// A running program; it ends with this value.
pub(crate) struct Program(Child);

impl Program {
    /// Starts it, and waits for its `N` ports.
    #[track_caller]
    pub(crate) fn start<const N: usize, A: AsRef<OsStr>>(
        python: &str,
        scratch: &Scratch,
        (name, source): (&str, &str),
        args: impl IntoIterator<Item = A>,
    ) -> (Self, [u16; N]) {
        let mut child = host_command(python)
            .arg(scratch.write(name, source))
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect(python);
        let out = child.stdout.take().unwrap();
        // Ended also where what follows fails.
        let program = Self(child);
        let mut ports = String::new();
        BufReader::new(out).read_line(&mut ports).unwrap();
        let ports: Vec<u16> = ports
            .split_whitespace()
            .map(|port| port.parse().expect("a port"))
            .collect();
        let ports = ports
            .try_into()
            .expect("the test's server did not start; its error is above");
        (program, ports)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
