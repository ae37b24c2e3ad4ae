#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use std::io::Write as _;

fn heard(said: &[u8]) -> Words {
    let (from, to) = rustix::pipe::pipe().unwrap();
    let said = said.to_vec();
    let says = std::thread::spawn(move || File::from(to).write_all(&said).unwrap());
    let words = Words::listen(from);
    says.join().unwrap();
    words
}

#[test]
fn the_code_and_the_crash_are_found() {
    let words = heard(
        b"capos: cpus=2 memory=1 KiB at 3 us\ncapos: crash: process init (1): page fault\ncapos: init \
          exit=-2 frames=1/1 heap=1/1\n",
    );
    assert_eq!(words.code, Some(-2));
    assert_eq!(words.crashes, ["process init (1): page fault"]);
    assert!(words.rest.is_empty(), "{:?}", words.rest);
}

#[test]
fn a_kernel_that_cannot_go_on_says_why_and_has_no_code() {
    let words = heard(b"\ncapos: the kernel panicked: at x\n");
    assert_eq!(words.code, None);
    assert_eq!(words.rest, ["capos: the kernel panicked: at x"]);
}

#[test]
fn a_program_that_crashes_without_end_is_forgotten_and_its_code_is_not() {
    let mut said = b"capos: crash: again\n".repeat(100_000);
    said.extend_from_slice(b"capos: init exit=7 frames=1/1\n");
    let words = heard(&said);
    assert_eq!(words.code, Some(7));
    assert!(words.crashes.len() < 5000);
}
