//! Threads. Decision: a thread has no stack in the kernel. What it does there is done at once, on the
//! processor's stack, or waits as an entry somewhere that whoever ends the wait completes; so a blocked
//! thread is its registers and nothing else.

use crate::arch::context::{Context, Vectors};
use crate::arch::{load_vectors, save_vectors};
use crate::objects::thread_handle::Outcome;
use crate::process::Process;
use crate::sync::SpinLock;
use alloc::sync::Arc;
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

/// The lowest bit of a thread's state: whether it waits. The rest counts how often it did, so that what
/// would end one wait does not end the next.
const WAITS: u64 = 1;

/// A thread. No other's is on its lines of the cache.
#[repr(align(64))]
pub(crate) struct Thread {
    /// Its number in its process, from 1 on.
    pub(crate) number: u32,
    pub(crate) process: Arc<Process>,
    registers: UnsafeCell<Context>,
    vectors: UnsafeCell<Vectors>,
    pub(crate) fs_base: AtomicU64,
    state: AtomicU64,
    is_over: AtomicBool,
    /// The processor that it ran on last.
    pub(crate) home: AtomicUsize,
    /// Its own word that it has ended, and with which code.
    ended: SpinLock<Option<i64>>,
    pub(crate) outcome: Arc<Outcome>,
}

// SAFETY: the registers are touched by the processor that runs the thread and, while it waits, by the
// one that has ended the wait (`claim`), which is one only.
unsafe impl Sync for Thread {}
// SAFETY: nothing in it belongs to a processor.
unsafe impl Send for Thread {}

impl Thread {
    /// A thread that is to begin; it is in no queue yet.
    pub(crate) fn new(number: u32, process: Arc<Process>, context: Context, fs_base: u64) -> Self {
        Self {
            number,
            process,
            registers: UnsafeCell::new(context),
            vectors: UnsafeCell::new(Vectors::NEW),
            fs_base: AtomicU64::new(fs_base),
            state: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            home: AtomicUsize::new(0),
            ended: SpinLock::new(None),
            outcome: Arc::new(Outcome::new()),
        }
    }

    /// It has ended itself, with this code.
    pub(crate) fn end(&self, code: i64) {
        *self.ended.lock() = Some(code);
        self.is_over.store(true, Ordering::Release);
    }

    /// The code that it has ended itself with.
    pub(crate) fn code(&self) -> Option<i64> {
        *self.ended.lock()
    }

    /// Whether it is run no more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Acquire) || self.process.is_ending()
    }

    /// Gives a thread that did not begin yet its number, as its second argument: what it owns in the ring
    /// is marked by that.
    pub(crate) fn tell_number(&mut self) {
        self.registers.get_mut().rsi = self.number.into();
    }

    /// Where its registers are.
    pub(crate) fn registers(&self) -> *mut Context {
        self.registers.get()
    }

    /// Has the system call that it waits in, or is in, return this.
    ///
    /// # Safety
    /// The caller runs it on this processor, or has claimed it.
    pub(crate) unsafe fn set_result(&self, value: u64) {
        // SAFETY: the caller's promise: nobody else touches them.
        unsafe { (*self.registers.get()).rax = value }
    }

    /// Has it make the system call that it is in once more when it goes on: its registers are as they were,
    /// with the instruction (two bytes) before them.
    ///
    /// # Safety
    /// It runs on this processor, which has not set a result.
    pub(crate) unsafe fn enter_again(&self) {
        // SAFETY: the caller's promise: nobody else touches them.
        unsafe { (*self.registers.get()).rip -= 2 }
    }

    /// Saves what is in the processor's vector registers.
    ///
    /// # Safety
    /// It runs on this processor.
    pub(crate) unsafe fn save_vectors(&self) {
        // SAFETY: the caller's promise.
        save_vectors(unsafe { &mut *self.vectors.get() });
    }

    /// Loads them.
    ///
    /// # Safety
    /// It is about to run on this processor.
    pub(crate) unsafe fn load_vectors(&self) {
        // SAFETY: the caller's promise.
        load_vectors(unsafe { &*self.vectors.get() });
    }

    /// It waits from now on: from here whoever [claims](Self::claim) this wait may go on with it on
    /// another processor, so that its registers are complete before. Returns the number of the wait.
    ///
    /// # Safety
    /// It runs on this processor, which touches its registers no more and goes to the scheduler.
    pub(crate) unsafe fn wait(&self) -> u64 {
        // SAFETY: the caller's promise.
        unsafe { self.save_vectors() }
        let wait = (self.state.load(Ordering::Relaxed) | WAITS) + 2;
        // Who waits looks afterwards whether its process ends; who ends one, afterwards who waits.
        self.state.store(wait, Ordering::SeqCst);
        wait
    }

    /// Ends a wait; whether it was this caller who did.
    pub(crate) fn claim(&self, wait: u64) -> bool {
        let exchanged =
            self.state
                .compare_exchange(wait, wait & !WAITS, Ordering::AcqRel, Ordering::Relaxed);
        exchanged.is_ok()
    }

    /// Ends whatever wait there is; whether there was one.
    pub(crate) fn claim_any(&self) -> bool {
        let now = self.state.load(Ordering::Acquire);
        now & WAITS != 0 && self.claim(now)
    }
}
