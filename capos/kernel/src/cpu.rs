//! What each processor has of its own: tables, the thread that runs, threads that wait for it, and a
//! mailbox in which others leave what it is to do.
//!
//! Decision: nothing that a running program needs is shared between processors. What one tells another is
//! a flag in its structure and, where that one may not look soon, an interrupt.

use crate::arch::acpi::MOST;
use crate::arch::{self, apic, descriptors};
use crate::memory::space::Space;
use crate::memory::{self, kernel};
use crate::schedule::{Deadlines, Queue};
use crate::sync::SpinLock;
use crate::thread::Thread;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use core::cell::UnsafeCell;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

/// Bytes of a processor's stack.
const STACK: usize = 32 * 1024;

/// What a processor did, to show what a measured part of a program's work had to do with the kernel.
///
/// Those of all processors are in one frame, a line of the cache each, in the order of their numbers: a
/// measuring program has it mapped to be read, and so needs no system call to look (`objects/activity.rs`).
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct Counters {
    /// Locks taken.
    pub(crate) locks: AtomicU64,
    /// Interrupts of other processors taken.
    pub(crate) interrupts: AtomicU64,
    /// Timer interrupts taken.
    pub(crate) timers: AtomicU64,
    /// Other threads than before put onto the processor.
    pub(crate) switches: AtomicU64,
    /// System calls.
    pub(crate) calls: AtomicU64,
}

/// A whole page of lines, so that nothing else of the kernel is in it.
#[repr(C, align(4096))]
struct Lines([Counters; 64]);

static COUNTERS: Lines = Lines(
    [const {
        Counters {
            locks: AtomicU64::new(0),
            interrupts: AtomicU64::new(0),
            timers: AtomicU64::new(0),
            switches: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        }
    }; 64],
);

/// The frame of the counters.
pub(crate) fn frame_of_counters() -> u64 {
    kernel::physical(&raw const COUNTERS)
}

/// A processor, with lines of the cache to itself. entry.s knows the first four fields by their offsets.
#[repr(C, align(64))]
pub(crate) struct Cpu {
    own: *const Cpu,
    scratch: u64,
    /// The end of the running thread's registers.
    registers: UnsafeCell<u64>,
    stack: u64,
    pub(crate) task_state: UnsafeCell<descriptors::TaskState>,
    pub(crate) segments: UnsafeCell<[u64; 7]>,
    /// Its number, from 0 on.
    pub(crate) number: usize,
    /// Its interrupt controller's.
    pub(crate) apic: u32,
    /// The thread that runs; only this processor touches it.
    pub(crate) running: UnsafeCell<Option<Arc<Thread>>>,
    /// The address space in force.
    space: UnsafeCell<Option<*const Space>>,
    /// Whether it has nothing to run and waits for interrupts, or is about to.
    pub(crate) is_idle: AtomicBool,
    pub(crate) queue: SpinLock<Queue>,
    pub(crate) deadlines: SpinLock<Deadlines>,
    /// What the timer is set to, in nanoseconds since the start; `u64::MAX` is never.
    pub(crate) alarm: AtomicU64,
    /// When the thread that runs gives way to those that wait, on the same clock; `u64::MAX` where none do.
    pub(crate) slice: AtomicU64,
    /// How many times others have asked it to forget translations, and up to which of them it did.
    wanted: AtomicU64,
    done: AtomicU64,
    /// Whether it is to look at its queue.
    pub(crate) reschedule: AtomicBool,
    pub(crate) counters: &'static Counters,
}

/// All that have started, by their numbers.
static CPUS: [AtomicPtr<Cpu>; MOST] = [const { AtomicPtr::new(ptr::null_mut()) }; MOST];
static COUNT: AtomicUsize = AtomicUsize::new(0);

// SAFETY: boot.s has both; only their addresses are taken.
unsafe extern "C" {
    static trampoline: u8;
    static trampoline_end: u8;
}

/// Where another processor finds its stack and its number (boot.s).
#[unsafe(no_mangle)]
static other_stack: AtomicU64 = AtomicU64::new(0);
#[unsafe(no_mangle)]
static other_number: AtomicU64 = AtomicU64::new(0);
static OTHER_APIC: AtomicU32 = AtomicU32::new(0);

/// How many processors run, as they said themselves.
pub(crate) fn count_of_processors() -> usize {
    COUNT.load(Ordering::Acquire)
}

/// All processors.
pub(crate) fn all() -> impl Iterator<Item = &'static Cpu> {
    let running = CPUS.iter().take(count_of_processors());
    // SAFETY: what is in the table was leaked and lives as long as the kernel.
    running.filter_map(|cpu| unsafe { cpu.load(Ordering::Acquire).as_ref() })
}

/// This processor.
pub(crate) fn own() -> &'static Cpu {
    let own: *const Cpu;
    // SAFETY: GS leads to this processor's structure since `join`, before which nothing calls this.
    unsafe {
        core::arch::asm!("mov {}, gs:[0]", out(reg) own, options(nostack, readonly, preserves_flags));
        &*own
    }
}

static IS_SET_UP: AtomicBool = AtomicBool::new(false);

/// Counts something that this processor does.
pub(crate) fn count(which: impl Fn(&'static Counters) -> &'static AtomicU64) {
    if IS_SET_UP.load(Ordering::Relaxed) {
        let counter = which(own().counters);
        // Nobody else writes to it.
        counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
    }
}

/// Does what other processors have asked for.
pub(crate) fn look_into_mailbox() {
    if IS_SET_UP.load(Ordering::Relaxed) {
        own().empty_mailbox();
    }
}

impl Cpu {
    /// Makes one, with its stacks.
    fn make(number: usize, apic: u32) -> &'static Self {
        let stack = || {
            let stack = Box::leak(vec![0_u128; STACK / 16].into_boxed_slice());
            stack.as_mut_ptr_range().end as u64
        };
        let cpu = Box::leak(Box::new(Self {
            own: ptr::null(),
            scratch: 0,
            registers: UnsafeCell::new(0),
            stack: stack(),
            task_state: UnsafeCell::new(descriptors::TaskState::new(stack())),
            segments: UnsafeCell::new([0; 7]),
            number,
            apic,
            running: UnsafeCell::new(None),
            space: UnsafeCell::new(None),
            is_idle: AtomicBool::new(false),
            queue: SpinLock::new(Queue::new()),
            deadlines: SpinLock::new(Deadlines::new()),
            alarm: AtomicU64::new(u64::MAX),
            slice: AtomicU64::new(u64::MAX),
            wanted: AtomicU64::new(0),
            done: AtomicU64::new(0),
            reschedule: AtomicBool::new(false),
            counters: &COUNTERS.0[number],
        }));
        cpu.own = cpu;
        CPUS[number].store(cpu, Ordering::Release);
        cpu
    }

    /// Where the kernel's work for the next program begins.
    pub(crate) fn stack(&self) -> u64 {
        self.stack
    }

    /// Says where the next program's registers are to go.
    pub(crate) fn set_registers(&self, end: u64) {
        // SAFETY: only this processor reads or writes these two, and it is in the kernel, where nothing
        // pushes to them.
        unsafe {
            *self.registers.get() = end;
            (&raw mut (*self.task_state.get()).entry).write_unaligned(end);
        }
    }

    /// Uses an address space from now on, and no other.
    pub(crate) fn use_space(&self, space: &Space) {
        space.enter(self.number);
        // SAFETY: a complete table with the kernel's half, which stays until this processor has left it.
        unsafe { arch::set_page_table(space.top()) }
        self.leave_space(space);
    }

    /// Uses none. Neither locks nor allocates: it may happen wherever a lock is waited for.
    fn use_no_space(&self) {
        kernel::enter();
        self.leave_space(ptr::null());
    }

    fn leave_space(&self, next: *const Space) {
        // SAFETY: only this processor touches the field; a space stays until all have left it.
        unsafe {
            let before = (*self.space.get()).replace(next);
            if let Some(before) = before.and_then(|before| before.as_ref()) {
                before.leave(self.number);
            }
        }
    }

    /// Asks it to look at its queue.
    pub(crate) fn poke(&self) {
        self.reschedule.store(true, Ordering::SeqCst);
        if self.number != own().number {
            apic::interrupt(self.apic, apic::RESCHEDULE);
        }
    }

    fn empty_mailbox(&self) {
        let wanted = self.wanted.load(Ordering::SeqCst);
        if wanted != self.done.load(Ordering::Relaxed) {
            // SAFETY: only this processor touches it.
            let runs = unsafe { (*self.running.get()).is_some() };
            match runs {
                // SAFETY: it is the one in force.
                true => unsafe { arch::set_page_table(arch::page_table()) },
                false => self.use_no_space(),
            }
            self.done.store(wanted, Ordering::SeqCst);
        }
    }

    /// Asks it to forget its translations, and where it runs nothing also the page table that it used
    /// last; returns what [`Cpu::has_forgotten`] waits for.
    pub(crate) fn forget(&self) -> u64 {
        let wanted = self.wanted.fetch_add(1, Ordering::SeqCst) + 1;
        if self.number == own().number {
            self.empty_mailbox();
        } else {
            apic::interrupt(self.apic, apic::SHOOTDOWN);
        }
        wanted
    }

    /// Whether it did.
    pub(crate) fn has_forgotten(&self, wanted: u64) -> bool {
        self.done.load(Ordering::SeqCst) >= wanted
    }

    fn join(&'static self) {
        // SAFETY: it was leaked, and only this processor is given it.
        unsafe { descriptors::load(self) }
        memory::kernel::enter();
        apic::init();
        COUNT.fetch_add(1, Ordering::AcqRel);
    }
}

/// Sets the first processor up.
pub(crate) fn begin() {
    descriptors::init();
    let cpu = Cpu::make(0, 0);
    cpu.join();
    IS_SET_UP.store(true, Ordering::Relaxed);
}

/// Waits so many microseconds, by the time-stamp counter.
fn wait(microseconds: u64) {
    let until = crate::time::now() + microseconds * 1000;
    while crate::time::now() < until {
        core::hint::spin_loop();
    }
}

/// Starts the others, one after the other: what a processor needs to start is in one place for all.
pub(crate) fn start_others(ids: &[u32]) {
    if ids.is_empty() {
        return;
    }
    let from = &raw const trampoline as u64;
    let length = (&raw const trampoline_end as u64 - from) as usize;
    // SAFETY: the trampoline is that long, and nothing else lies at 0x8000: frames of the image and of what
    // is below are never given out. Both are in the direct map; it is linked where it is loaded.
    unsafe { ptr::copy_nonoverlapping(memory::direct(from), memory::direct(0x8000), length) }
    for (number, id) in (1..MOST).zip(ids) {
        let cpu = Cpu::make(number, *id);
        other_stack.store(cpu.stack, Ordering::SeqCst);
        other_number.store(number as u64, Ordering::SeqCst);
        OTHER_APIC.store(*id, Ordering::SeqCst);
        let before = count_of_processors();
        apic::reset(*id);
        wait(200);
        apic::start(*id, 8);
        let until = crate::time::now() + 2_000_000_000;
        while count_of_processors() == before && crate::time::now() < until {
            core::hint::spin_loop();
        }
        if count_of_processors() == before {
            crate::say!("capos: processor {number} does not start");
            return;
        }
    }
}

/// Where another processor arrives.
#[unsafe(no_mangle)]
extern "C" fn other_main(number: u64) -> ! {
    let cpu = CPUS[number as usize].load(Ordering::Acquire);
    // SAFETY: the first processor has put it there for this one.
    unsafe { &*cpu }.join();
    crate::schedule::run()
}
