//! A thin runtime for programs: the entry, the two system calls, the ring, and calls on what the program
//! holds. Beside the published `capos-rt`, which has one thread, it serves programs with several.
//!
//! Decision: nothing here grants anything. A program finds what it holds by the names in its capability
//! set, and every failure is a value.
#![no_std]

extern crate alloc;

pub mod call;
pub mod caps;
mod heap;
mod lock;
pub mod park;
pub mod ring;
pub mod sys;
pub mod thread;

pub use bailiwick_capos_core as core_;
pub use caps::{held, required};

use core::panic::PanicInfo;
use core::sync::atomic::{AtomicBool, Ordering};

/// The code of a program that panicked.
pub const PANICKED: i64 = 101;

/// Says where a program begins: `entry!(main)` with `fn main() -> i64`, whose result is its code.
#[macro_export]
macro_rules! entry {
    ($main:path) => {
        #[unsafe(no_mangle)]
        extern "C" fn _start(_ring: u64, process: u64, _capset: u64) -> ! {
            $crate::begin(process);
            let code: i64 = $main();
            $crate::sys::exit(code)
        }
    };
}

/// Sets the runtime up.
pub fn begin(process: u64) {
    heap::init();
    sys::set_process(process);
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    static PANICS: AtomicBool = AtomicBool::new(false);
    // To tell needs memory, and that there is none may be why.
    if PANICS.swap(true, Ordering::Relaxed) {
        sys::exit(PANICKED)
    }
    if let Some(console) = held("console") {
        let _ = console.write_line(&alloc::format!("panic: {info}"));
    }
    sys::exit(PANICKED)
}
