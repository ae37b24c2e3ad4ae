//! A program with a fault: it says so, and writes to its own code.
#![no_std]
#![no_main]

extern crate alloc;

use bailiwick_capos_rt::{entry, held};

entry!(main);

fn main() -> i64 {
    if let Some(console) = held("console") {
        let _ = console.write_line("capos: init exit=0");
    }
    let own = main as *const () as *mut u8;
    // SAFETY: there is none: the page cannot be written, which is what this is about. The kernel ends the
    // process here.
    unsafe { own.write_volatile(0) };
    0
}
