//! Which thread runs where. Each processor has a queue of its own; a thread goes back to the processor that
//! it ran on, whose caches know it, and moves when that one is busy while another has nothing to do.
//!
//! Decision: the timer is set only for something: a deadline, or other threads that wait for the
//! processor. A program that runs alone is not interrupted.

use crate::arch::{self, apic, msr, paging, write_msr};
use crate::call::Pending;
use crate::cpu::{self, Cpu};
use crate::process::Process;
use crate::thread::Thread;
use crate::time::now;
use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::Ordering;

/// How long a thread runs while others wait for its processor, in nanoseconds.
const SLICE: u64 = 10_000_000;
/// How long one waits for its own processor while another has nothing to do, in nanoseconds: whoever
/// wakes somebody mostly waits for the answer, and then the same processor is free at once.
const PATIENCE: u64 = 200_000;

/// Threads that wait for a processor.
pub(crate) struct Queue(VecDeque<Arc<Thread>>);

impl Queue {
    pub(crate) const fn new() -> Self {
        Self(VecDeque::new())
    }
}

/// What happens when a time has come.
pub(crate) enum Due {
    /// A thread's wait in `cap_enter` ends.
    Enter(Arc<Thread>, u64),
    /// A parked thread goes on.
    Park(Arc<Thread>, u64),
    /// A sleep is over.
    Sleep(Pending),
}

impl Due {
    fn is_of(&self, process: &Arc<Process>) -> bool {
        match self {
            Self::Enter(thread, _) | Self::Park(thread, _) => Arc::ptr_eq(&thread.process, process),
            Self::Sleep(pending) => pending.is_of(process),
        }
    }

    fn happens(self) {
        match self {
            Self::Enter(thread, wait) => thread.process.clone().ring.time_out(&thread, wait),
            Self::Park(thread, wait) => crate::park::time_out(&thread, wait),
            Self::Sleep(pending) => {
                if let Some(process) = pending.process() {
                    process.quota.sleepers.give(1);
                }
                pending.complete(crate::call::Reply::nothing());
            }
        }
    }
}

/// What is due on a processor, in no order: there are few.
pub(crate) struct Deadlines(Vec<(u64, Due)>);

impl Deadlines {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    fn earliest(&self) -> u64 {
        self.0.iter().map(|(at, _)| *at).min().unwrap_or(u64::MAX)
    }
}

/// The time so many nanoseconds from now.
pub(crate) fn after(nanoseconds: u64) -> u64 {
    now().saturating_add(nanoseconds)
}

/// Has something happen at a time.
pub(crate) fn at(time: u64, due: Due) {
    let own = cpu::own();
    own.deadlines.lock().0.push((time, due));
    arm(own);
}

/// Forgets a thread's wait that has ended.
pub(crate) fn forget_wait(thread: &Arc<Thread>) {
    let is_its = |due: &Due| match due {
        Due::Enter(other, _) | Due::Park(other, _) => Arc::ptr_eq(other, thread),
        Due::Sleep(_) => false,
    };
    take_out(is_its);
}

/// Forgets all that a process waits for.
pub(crate) fn forget_process(process: &Arc<Process>) {
    take_out(|due| due.is_of(process));
}

fn take_out(which: impl Fn(&Due) -> bool) {
    for cpu in cpu::all() {
        let mut deadlines = cpu.deadlines.lock();
        let (out, rest) = core::mem::take(&mut deadlines.0)
            .into_iter()
            .partition::<Vec<_>, _>(|(_, due)| which(due));
        deadlines.0 = rest;
        drop(deadlines);
        // Not under the lock: to end a wait may begin another.
        drop(out);
    }
}

fn idle() -> Option<&'static Cpu> {
    cpu::all().find(|cpu| cpu.is_idle.load(Ordering::SeqCst))
}

/// Sets this processor's timer to what comes next.
fn arm(own: &Cpu) {
    let deadline = own.deadlines.lock().earliest();
    // It begins when somebody waits, and is not begun again by whatever else happens meanwhile.
    let slice = match (
        own.queue.lock().0.is_empty(),
        own.slice.load(Ordering::Relaxed),
    ) {
        (true, _) => u64::MAX,
        (false, u64::MAX) if idle().is_some() => after(PATIENCE),
        (false, u64::MAX) => after(SLICE),
        (false, begun) => begun,
    };
    own.slice.store(slice, Ordering::Relaxed);
    let next = deadline.min(slice);
    if own.alarm.swap(next, Ordering::Relaxed) != next {
        let wait = match next {
            u64::MAX => 0,
            next => next.saturating_sub(now()).max(1),
        };
        apic::tell_in(wait);
    }
}

/// Puts a thread that can run into a queue: a new one where nobody runs, another where it was.
pub(crate) fn ready(thread: Arc<Thread>, is_new: bool) {
    let own = cpu::own();
    let home = thread.home.load(Ordering::Relaxed);
    let at_home = || cpu::all().find(|cpu| cpu.number == home).unwrap_or(own);
    let to = match is_new {
        true => idle().unwrap_or_else(least_loaded),
        false => at_home(),
    };
    let was_empty = {
        let mut queue = to.queue.lock();
        queue.0.push_back(thread);
        queue.0.len() == 1
    };
    if was_empty {
        to.poke();
    }
}

fn least_loaded() -> &'static Cpu {
    let load = |cpu: &&Cpu| cpu.queue.lock().0.len();
    cpu::all().min_by_key(load).unwrap_or_else(cpu::own)
}

/// Lets what is due on this processor happen.
fn happen(own: &Cpu) {
    let now = now();
    loop {
        let mut deadlines = own.deadlines.lock();
        let at = deadlines.0.iter().position(|(at, _)| *at <= now);
        let due = at.map(|at| deadlines.0.swap_remove(at).1);
        drop(deadlines);
        match due {
            Some(due) => due.happens(),
            None => return,
        }
    }
}

/// A thread for this processor: of its own queue, or the oldest of another's.
fn next(own: &Cpu) -> Option<Arc<Thread>> {
    if let Some(thread) = own.queue.lock().0.pop_front() {
        return Some(thread);
    }
    let others = cpu::all().filter(|cpu| cpu.number != own.number);
    // One that is about to be run there stays: it would only be looked for again.
    let mut busy = others.filter(|cpu| !cpu.is_idle.load(Ordering::SeqCst));
    busy.find_map(|cpu| {
        let mut queue = cpu.queue.lock();
        match queue.0.len() {
            0 | 1 => None,
            _ => queue.0.pop_front(),
        }
    })
}

/// Gives threads that wait here to processors that have nothing to do.
fn share(own: &Cpu) {
    while let Some(to) = idle() {
        let Some(thread) = own.queue.lock().0.pop_front() else {
            return;
        };
        to.queue.lock().0.push_back(thread);
        to.is_idle.store(false, Ordering::SeqCst);
        to.poke();
    }
}

// SAFETY: entry.s has both, with these parameters; what they need stands at each call.
unsafe extern "C" {
    fn resume(registers: *mut arch::context::Context) -> !;
    fn wait_for_interrupt();
}

/// Runs threads on this processor, for ever. What ran there before is no longer this caller's.
pub(crate) fn run() -> ! {
    let own = cpu::own();
    // SAFETY: the kernel's stack of this processor holds nothing that is needed any more, and this
    // function never returns to it.
    unsafe {
        core::arch::asm!(
            "mov rsp, {stack}", "xor ebp, ebp", "call {turn}", "ud2",
            stack = in(reg) own.stack(), turn = sym turns, options(noreturn)
        )
    }
}

extern "C" fn turns() -> ! {
    let own = cpu::own();
    // SAFETY: only this processor touches it.
    drop(unsafe { (*own.running.get()).take() });
    loop {
        cpu::look_into_mailbox();
        own.reschedule.store(false, Ordering::SeqCst);
        happen(own);
        if let Some(thread) = next(own) {
            if thread.is_over() {
                crate::process::retire(thread);
                continue;
            }
            switch_to(own, thread);
        }
        crate::status::end_if_done();
        own.is_idle.store(true, Ordering::SeqCst);
        arm(own);
        let has_work = !own.queue.lock().0.is_empty() || own.reschedule.load(Ordering::SeqCst);
        if !has_work {
            // SAFETY: interrupts that come here are of the kernel's own vectors, and return.
            unsafe { wait_for_interrupt() }
        }
        own.is_idle.store(false, Ordering::SeqCst);
    }
}

fn switch_to(own: &'static Cpu, thread: Arc<Thread>) -> ! {
    cpu::count(|counters| &counters.switches);
    thread.home.store(own.number, Ordering::Relaxed);
    let space = &thread.process.space;
    let top = space.top();
    let before = arch::page_table() & paging::ADDRESS;
    if before != top {
        own.use_space(space);
        // Whoever ends the process from now on sees that this processor is to be interrupted.
        if thread.is_over() {
            crate::process::retire(thread);
            run()
        }
    }
    let fs_base = thread.fs_base.load(Ordering::Relaxed);
    let registers = thread.registers();
    own.set_registers(registers as u64 + size_of::<arch::context::Context>() as u64);
    // SAFETY: the thread runs on this processor from here on; its FS base was checked to be a program's.
    unsafe {
        thread.load_vectors();
        write_msr(msr::FS_BASE, fs_base);
        *own.running.get() = Some(thread);
    }
    own.slice.store(u64::MAX, Ordering::Relaxed);
    arm(own);
    // SAFETY: the registers are those of a program in the address space in force.
    unsafe { resume(registers) }
}

/// The thread that has entered the kernel on this processor.
pub(crate) fn running() -> Arc<Thread> {
    // SAFETY: only this processor touches it.
    let running = unsafe { &*cpu::own().running.get() };
    match running {
        Some(thread) => thread.clone(),
        None => panic!("a program has entered the kernel on a processor that runs none"),
    }
}

/// Whether others want this processor: some wait for it, somebody has said that it is to look, or
/// something is due.
pub(crate) fn is_wanted() -> bool {
    let own = cpu::own();
    // Where nothing will ever be due, the clock need not be read, for which processors may have to wait for
    // one another below a hypervisor.
    let alarm = own.alarm.load(Ordering::Relaxed);
    own.slice.load(Ordering::Relaxed) != u64::MAX
        || own.reschedule.load(Ordering::Relaxed)
        || (alarm != u64::MAX && alarm <= now())
}

/// Lets others have the processor; the thread goes on as its registers say, behind those that wait.
pub(crate) fn give_way(thread: Arc<Thread>) -> ! {
    // SAFETY: it runs on this processor.
    unsafe { thread.save_vectors() }
    cpu::own().queue.lock().0.push_back(thread);
    run()
}

/// Goes on with the thread that has entered, unless another is to have the processor.
pub(crate) fn leave(thread: Arc<Thread>) -> ! {
    let own = cpu::own();
    if thread.is_over() {
        // SAFETY: only this processor touches it.
        drop(unsafe { (*own.running.get()).take() });
        crate::process::retire(thread);
        run()
    }
    if own.reschedule.swap(false, Ordering::SeqCst) {
        arm(own);
    }
    let registers = thread.registers();
    drop(thread);
    // SAFETY: it is still the one that runs here: its registers and its address space are in force.
    unsafe { resume(registers) }
}

/// The timer has told: what is due happens, and if others wait, one of them has the processor.
pub(crate) fn tick(thread: Arc<Thread>) -> ! {
    let own = cpu::own();
    own.alarm.store(u64::MAX, Ordering::Relaxed);
    own.slice.store(u64::MAX, Ordering::Relaxed);
    happen(own);
    share(own);
    let others_wait = !own.queue.lock().0.is_empty();
    if !others_wait || thread.is_over() {
        arm(own);
        leave(thread)
    }
    give_way(thread)
}

/// Something interrupted the wait for work: the loop that waited looks what it is.
pub(crate) fn woken() {
    cpu::own().alarm.store(u64::MAX, Ordering::Relaxed);
}
