//! What the programs share: how a smoke says what it found.
#![no_std]

extern crate alloc;

use bailiwick_capos_rt::call::Cap;

/// A smoke: steps that hold or do not, told on the console. The verifier on the host counts them.
#[derive(Debug)]
pub struct Smoke {
    console: Cap,
    name: &'static str,
    steps: u32,
    failed: u32,
}

impl Smoke {
    /// A smoke of this name, which was given a console.
    pub fn begin(name: &'static str) -> Option<Self> {
        Some(Self {
            console: bailiwick_capos_rt::held("console")?,
            name,
            steps: 0,
            failed: 0,
        })
    }

    /// Tells a line.
    pub fn say(&self, text: &str) {
        let _ = self
            .console
            .write_line(&alloc::format!("{}: {text}", self.name));
    }

    /// A step.
    pub fn check(&mut self, what: &str, holds: bool) -> bool {
        self.steps += 1;
        if !holds {
            self.failed += 1;
            self.say(&alloc::format!("FAILED: {what}"));
        }
        holds
    }

    /// Tells the outcome; the code of the program.
    pub fn end(self) -> i64 {
        let Self { steps, failed, .. } = self;
        self.say(&alloc::format!("steps={steps} failed={failed}"));
        i64::from(failed != 0)
    }
}
