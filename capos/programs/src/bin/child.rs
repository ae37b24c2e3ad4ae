//! What the smokes start as children: it knows what it is to do by the name of a capability.
#![no_std]
#![no_main]

extern crate alloc;

use bailiwick_capos_core::ring::{Sqe, header, op};
use bailiwick_capos_programs::memory::Shared;
use bailiwick_capos_programs::{cap, data_message, now, sleep};
use bailiwick_capos_rt::call::numbers_message;
use bailiwick_capos_rt::{entry, held, park, ring, sys, thread};
use core::arch::asm;
use core::sync::atomic::{AtomicU32, Ordering};

entry!(main);

/// The entry of the ring that the first thread submits last.
static LAST: AtomicU32 = AtomicU32::new(u32::MAX);
static WORD: AtomicU32 = AtomicU32::new(0);

extern "C" fn parks(_: u64, number: u32) -> ! {
    loop {
        park::park(cap("park_space"), number, &WORD, 0, u64::MAX);
    }
}

extern "C" fn spins(_: u64, _: u32) -> ! {
    loop {
        core::hint::spin_loop();
    }
}

/// Ends the thread when the first one has ended: the kernel has taken what that one submitted last.
extern "C" fn ends(code: u64, number: u32) -> ! {
    while ring::word(header::SQ_HEAD).load(Ordering::Acquire) <= LAST.load(Ordering::Acquire) {
        core::hint::spin_loop();
    }
    sleep(20);
    thread::end(cap("thread_control"), number, code.cast_signed())
}

/// Ends the process after some milliseconds.
extern "C" fn exits(code: u64, _: u32) -> ! {
    let until = now() + 5_000_000;
    while now() < until {}
    sys::exit(code.cast_signed())
}

fn begin(
    entry: extern "C" fn(u64, u32) -> !,
    argument: u64,
) -> Option<bailiwick_capos_rt::call::Cap> {
    thread::begin(cap("thread_spawner"), entry, argument).ok()
}

fn hog() -> i64 {
    let nop = Sqe {
        opcode: op::NOP,
        ..Sqe::default()
    };
    loop {
        while ring::submit(&nop) {}
        sys::enter(0, 0);
        while ring::read().is_some() {}
    }
}

#[expect(unconditional_recursion, reason = "the stack is to overflow")]
fn overflow(depth: u64) -> u64 {
    let mut frame = [depth; 512];
    frame[(depth % 512) as usize] = core::hint::black_box(depth);
    overflow(depth + 1) + core::hint::black_box(&frame)[7]
}

fn fault(kind: &str) -> i64 {
    // SAFETY: none of these is sound, and each ends the process at once: that is what is tested.
    unsafe {
        match kind {
            "page" => (0x70_0000_0000 as *mut u8).write_volatile(1),
            "null" => asm!("mov rax, [rax]", inout("rax") 0_u64 => _),
            "kernel" => (0xffff_ffff_8080_0000_u64 as *mut u8).write_volatile(1),
            "execute" => asm!("jmp {}", in(reg) WORD.as_ptr()),
            "code" => (main as *const () as *mut u8).write_volatile(1),
            "capset" => (bailiwick_capos_core::layout::CAPSET as *mut u8).write_volatile(1),
            "gp" => asm!("hlt"),
            "address" => asm!("mov rax, [rax]", inout("rax") 0x8000_0000_0000_0000_u64 => _),
            "port" => asm!("out dx, al", in("dx") 0xf4_u16, in("al") 0_u8),
            "ud" => asm!("ud2"),
            "divide" => asm!("div {0:e}", in(reg) 0, inout("eax") 1 => _, inout("edx") 0 => _),
            "stack" => return overflow(0).cast_signed(),
            "breakpoint" => asm!("int3"),
            "interrupt" => asm!("int 0x20"),
            _ => return 1,
        }
    }
    3
}

/// What is done in a state in which a process may be ended; none where there is no such role.
fn blocked() -> Option<i64> {
    let is = |role: &str| held(role).is_some();
    if is("role:enter") {
        sys::enter(1, sys::FOR_EVER);
    } else if is("role:timed") {
        sys::enter(1, 3_600_000_000_000);
    } else if is("role:park") {
        park::park(cap("park_space"), 1, &WORD, 0, u64::MAX);
    } else if is("role:park-timed") {
        park::park(cap("park_space"), 1, &WORD, 0, 3_600_000_000_000);
    } else if is("role:sleep") {
        sleep(3_600_000);
    } else if is("role:call") {
        return Some(match cap("ep").call(7, &numbers_message(&[1])) {
            Ok(answer) => answer.u64(0).cast_signed(),
            Err(failed) => failed.exception.map_or(i64::from(failed.code), i64::from),
        });
    } else if is("role:receive") {
        let _ = cap("ep").receive();
    } else if is("role:read") {
        let _ = cap("pipe").numbers(0, &[16]);
    } else if is("role:write") {
        loop {
            if cap("pipe").call(1, &data_message(&[1; 64])).is_err() {
                break;
            }
        }
    } else if is("role:join") {
        let handle = begin(parks, 0)?;
        let _ = thread::join(handle);
    } else if is("role:spin") {
        loop {
            core::hint::spin_loop();
        }
    } else if is("role:spins") {
        for _ in 0..3 {
            begin(spins, 0)?;
        }
        begin(parks, 0)?;
        spins(0, 0);
    } else if is("role:exit-others") {
        // It ends while other threads of it park and run.
        for _ in 0..4 {
            begin(parks, 0)?;
            begin(spins, 0)?;
        }
        sleep(2);
        return Some(11);
    } else {
        return None;
    }
    Some(99)
}

fn main() -> i64 {
    let is = |role: &str| held(role).is_some();
    // Whoever is to end it where it waits knows that it is about to.
    if let Some(shared) = Shared::granted() {
        shared.set(0, 1);
    }
    if is("role:exit7") {
        return 7;
    }
    if is("role:late7") {
        sleep(10);
        return 7;
    }
    if is("role:hog") {
        return hog();
    }
    if is("role:last-thread") {
        begin(ends, 9);
        let head = ring::word(header::SQ_HEAD).load(Ordering::Acquire);
        LAST.store(head, Ordering::Release);
        thread::end(cap("thread_control"), 1, 5)
    }
    if is("role:thread-exits") {
        begin(exits, 13);
        parks(0, 1)
    }
    if is("role:serve-and-die") {
        // It receives a call, keeps another waiting, and ends without a word.
        let _ = cap("ep").receive();
        return 21;
    }
    if is("role:take") {
        // It takes a capability by a call, and ends.
        return i64::from(cap("ep").receive().map_or(0, |call| call.caps.len() as u32));
    }
    if is("role:parent") {
        // It makes a process that lives longer than itself.
        let grants = [
            bailiwick_capos_rt::caps::Grant::Kernel(
                "role:late7",
                bailiwick_capos_core::interfaces::KernelSource::Null,
            ),
            bailiwick_capos_rt::caps::Grant::Kernel(
                "timer",
                bailiwick_capos_core::interfaces::KernelSource::Timer,
            ),
        ];
        let made = bailiwick_capos_rt::caps::spawn(cap("spawner"), "grandchild", "child", &grants);
        if let Ok(child) = made {
            // Its wait for it is under way when it ends.
            let wait = child.handle.begin(0, &[], &[]);
            sys::enter(0, 0);
            core::mem::forget(wait);
            return 31;
        }
        return 32;
    }
    for kind in [
        "page",
        "null",
        "kernel",
        "execute",
        "code",
        "capset",
        "gp",
        "address",
        "port",
        "ud",
        "divide",
        "stack",
        "breakpoint",
        "interrupt",
    ] {
        if is(&alloc::format!("role:fault-{kind}")) {
            return fault(kind);
        }
    }
    WORD.store(0, Ordering::Relaxed);
    blocked().unwrap_or(98)
}
