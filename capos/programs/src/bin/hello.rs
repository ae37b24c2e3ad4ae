//! The smallest program that shows what it holds: a greeting on its console, one line for each further
//! capability that it knows, and as its code how many of them there were.
#![no_std]
#![no_main]

extern crate alloc;

use bailiwick_capos_rt::{entry, held};

entry!(main);

fn main() -> i64 {
    let Some(console) = held("console") else {
        return 100;
    };
    let _ = console.write_line("hello");
    let mut known = 0;
    if let Some(timer) = held("timer") {
        known += 1;
        let is_running = timer.call(0, &[]).is_ok_and(|answer| answer.u64(0) > 0);
        let _ = console.write_line(if is_running {
            "a clock that runs"
        } else {
            "a clock"
        });
    }
    if let Some(info) = held("system_info") {
        known += 1;
        let text = info
            .call(0, &[])
            .map(|answer| answer.text(0))
            .unwrap_or_default();
        let _ = console.write_line(&text);
    }
    known
}
