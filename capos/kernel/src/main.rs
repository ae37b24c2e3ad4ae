//! A capability kernel: a program has no authority but the capabilities in its manifest, and every act of
//! its is a call on one of them. It runs on several processors, without a lock that all of them share on
//! the way of a program's call.
//!
//! Decision: no thread has a stack in the kernel, which never waits with one; interrupts are off in it, so
//! that nothing interrupts it but faults of its own.
#![no_std]
#![no_main]

extern crate alloc;

#[macro_use]
mod arch;
mod call;
mod cpu;
mod crash;
mod hold;
mod memory;
mod objects;
mod options;
mod park;
mod process;
mod quota;
mod ring;
mod schedule;
mod status;
mod submit;
mod sync;
mod thread;
mod time;
mod traps;

use alloc::string::ToString;
use alloc::vec::Vec;
use arch::{acpi, apic, out8, pvh, serial};
use bailiwick_capos_core::manifest::Source;
use core::panic::PanicInfo;
use core::slice;
use memory::{frames, heap, kernel};

/// Where the first processor arrives; `start` is what QEMU tells.
#[unsafe(no_mangle)]
extern "C" fn kernel_main(start: u64) -> ! {
    // SAFETY: the old interrupt controllers are masked, which no memory has to do with.
    unsafe {
        out8(0x21, 0xff);
        out8(0xa1, 0xff);
    }
    serial::init();
    heap::init();
    // SAFETY: boot.s passes what EBX was, and nothing has written to that memory.
    let Some(start) = (unsafe { pvh::read(start) }) else {
        status::fail(format_args!(
            "capos: this was not started by QEMU's -kernel"
        ));
    };
    if options::has(start.options, "words=apart") {
        serial::speak_apart();
    }
    time::begin(options::number(start.options, "tsc_khz").unwrap_or(2_000_000));
    kernel::init();
    let module = start.module.unwrap_or((0, 0));
    let kept = [0..kernel::end(), module.0..module.0 + module.1];
    frames::init(start.memory, &kept);
    cpu::begin();
    let found = acpi::processors(start.rsdp, apic::id());
    let most = options::number(start.options, "cpus").unwrap_or(u64::MAX);
    let count = found
        .count
        .min(usize::try_from(most).unwrap_or(usize::MAX))
        .max(1);
    cpu::start_others(found.ids.get(1..count).unwrap_or_default());
    say!(
        "capos: cpus={} memory={} KiB at {} us",
        cpu::count_of_processors(),
        frames::available() * 4,
        time::now() / 1000,
    );
    if module.1 == 0 {
        status::fail(format_args!(
            "capos: there is no manifest: it is given by QEMU's -initrd"
        ));
    }
    // SAFETY: QEMU has put the module there, its frames are never given out, and nothing writes to them.
    let bytes = unsafe { slice::from_raw_parts(memory::direct(module.0), module.1 as usize) };
    if let Err(invalid) = options::init(bytes) {
        status::fail(format_args!("capos: manifest: {invalid}"));
    }
    status::begin();
    begin_init();
    schedule::run()
}

/// Starts init, with what the manifest says that it holds.
fn begin_init() {
    let Some(manifest) = options::decoded() else {
        return;
    };
    let init = &manifest.init;
    let mut holds = Vec::new();
    for cap in &init.caps {
        let hold = match cap.source {
            Source::Kernel(source) => objects::sources::hold(source),
            Source::Service { .. } => None,
        };
        let Some(mut hold) = hold else {
            status::fail(format_args!(
                "capos: init: the kernel gives no {}",
                cap.name
            ));
        };
        hold.badge = cap.badge;
        holds.push((cap.name.to_string(), hold));
    }
    let Some(file) = options::binary(init.binary) else {
        status::fail(format_args!(
            "capos: init: there is no program {}",
            init.binary
        ));
    };
    match process::Process::make("init", file, holds) {
        Ok((process, thread)) => {
            status::is_init(process.exit.clone());
            schedule::ready(thread, true);
        }
        Err(error) => status::fail(format_args!("capos: init cannot be made: {error:?}")),
    }
}

#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    serial::last_line(format_args!("capos: the kernel panicked: {info}"));
    arch::exit(status::PANIC)
}
