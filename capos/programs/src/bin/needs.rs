//! A program that cannot do without a clock: without one it ends, and the kernel says what it lacked.
#![no_std]
#![no_main]

extern crate alloc;

use bailiwick_capos_rt::{entry, held, required};

entry!(main);

fn main() -> i64 {
    if let Some(console) = held("console") {
        let _ = console.write_line("begins");
    }
    i64::from(required("timer").call(0, &[]).is_err())
}
