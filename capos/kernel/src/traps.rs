//! How the kernel is entered: by a program's system call, by an interrupt, by a fault.

use crate::arch::context::{Context, SYSCALL};
use crate::arch::{apic, fault_address, serial};
use crate::process::FAULTED;
use crate::{arch, cpu, crash, ring, schedule};
use core::ptr;

/// System calls.
const EXIT: u64 = 1;
const CAP_ENTER: u64 = 2;

#[unsafe(no_mangle)]
extern "C" fn entered_by_syscall(context: *mut Context) -> ! {
    cpu::count(|counters| &counters.calls);
    // SAFETY: entry.s gives the running thread's registers, which only this processor touches now.
    let (number, first, second) = unsafe { ((*context).rax, (*context).rdi, (*context).rsi) };
    let thread = schedule::running();
    match number {
        EXIT => {
            thread.process.end(first.cast_signed());
            schedule::leave(thread)
        }
        CAP_ENTER => ring::enter(thread, first, second),
        _ => {
            // SAFETY: the thread has entered on this processor.
            unsafe { thread.set_result(ring::REJECTED) }
            schedule::leave(thread)
        }
    }
}

#[unsafe(no_mangle)]
extern "C" fn entered_by_interrupt(context: *mut Context) -> ! {
    // SAFETY: as above.
    let vector = unsafe { (*context).vector };
    debug_assert!(vector != SYSCALL);
    let thread = schedule::running();
    match u8::try_from(vector) {
        Ok(apic::TIMER) => {
            apic::taken();
            cpu::count(|counters| &counters.timers);
            schedule::tick(thread)
        }
        Ok(apic::RESCHEDULE | apic::SHOOTDOWN) => {
            apic::taken();
            cpu::count(|counters| &counters.interrupts);
            cpu::look_into_mailbox();
            schedule::leave(thread)
        }
        Ok(apic::SPURIOUS) => schedule::leave(thread),
        _ => {
            // SAFETY: as above.
            let context = unsafe { &*context };
            crash::report(&thread, context);
            thread.process.end(FAULTED);
            schedule::leave(thread)
        }
    }
}

/// The kernel was interrupted: while it waited for that, or it has a fault of its own.
#[unsafe(no_mangle)]
extern "C" fn interrupted(context: *mut Context) {
    // SAFETY: entry.s gives what it has pushed.
    let context = unsafe { &*context };
    match u8::try_from(context.vector) {
        Ok(apic::TIMER) => {
            apic::taken();
            cpu::count(|counters| &counters.timers);
            schedule::woken();
        }
        Ok(apic::RESCHEDULE | apic::SHOOTDOWN) => {
            apic::taken();
            cpu::count(|counters| &counters.interrupts);
            cpu::look_into_mailbox();
        }
        Ok(apic::SPURIOUS) => {}
        _ => {
            serial::last_line(format_args!(
                "capos: the kernel has a fault: {} at {:#x}, error {:#x}, address {:#x}",
                crash::name(context.vector),
                context.rip,
                context.error,
                fault_address(),
            ));
            arch::exit(crate::status::PANIC)
        }
    }
    let _ = ptr::from_ref(context);
}
