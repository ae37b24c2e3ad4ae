//! A process's ring: what it submits is taken in order, and what is done is told there. The page is the
//! program's to write, so that nothing in it is believed: the kernel has its own copies of the indices
//! that are the kernel's, each entry is read once, and an index that cannot be is taken for the other.
//!
//! Decision: an entry is taken only when there is a place for its completion, which it then has. So no
//! completion is lost, whatever else completes meanwhile, and a program that never reads its completions
//! stops itself alone.

use crate::call::Pending;
use crate::hold::Object;
use crate::memory::direct;
use crate::memory::space::Space;
use crate::schedule::{self, Due};
use crate::submit;
use crate::sync::SpinLock;
use crate::thread::Thread;
use crate::time;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use bailiwick_capos_core::layout;
use bailiwick_capos_core::ring::{
    CQ_ENTRIES, CQE_SIZE, Cqe, SQ_ENTRIES, SQE_SIZE, Sqe, cqe_at, flag, header, init_page, op,
    pending, sqe_at,
};
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};

/// What `cap_enter` returns where it does nothing: malformed; an entry of another thread's stands first;
/// another thread takes entries, or waits.
pub(crate) const REJECTED: u64 = u64::MAX;
const ANOTHERS: u64 = u64::MAX - 2;
const BUSY: u64 = u64::MAX - 3;
/// For how many nanoseconds entries are taken while others want the processor.
const LONGEST: u64 = 5_000_000;
/// A wait without an end.
const FOR_EVER: u64 = u64::MAX;

struct Completions {
    /// Where the next one goes.
    tail: u32,
    /// Entries that were taken and are not completed.
    outstanding: u32,
    waiting: Option<Waiting>,
}

/// Who waits for completions.
struct Waiting {
    thread: Arc<Thread>,
    /// The number of the wait.
    wait: u64,
    /// How many completions it waits for.
    least: u32,
    /// Whether the wait has an end.
    is_timed: bool,
}

/// A ring.
pub(crate) struct Ring {
    /// The page, by its physical address.
    frame: u64,
    /// Whether a thread takes entries now.
    is_taken: AtomicBool,
    /// The next entry to take; changed by whoever takes entries.
    head: AtomicU32,
    completions: SpinLock<Completions>,
    /// The objects at which its calls wait, so that those forget them when the process ends. A call has a
    /// place for its completion, so that there are never more.
    waits: SpinLock<[Option<Weak<dyn Object>>; CQ_ENTRIES as usize]>,
}

impl Ring {
    /// The ring of a new process, whose page is mapped.
    pub(crate) fn new(space: &Space) -> Option<Self> {
        let mut page = [0; 4096];
        init_page(&mut page);
        space.load(layout::RING, &page);
        Some(Self {
            frame: space.frame(layout::RING)?,
            is_taken: AtomicBool::new(false),
            head: AtomicU32::new(0),
            completions: SpinLock::new(Completions {
                tail: 0,
                outstanding: 0,
                waiting: None,
            }),
            waits: SpinLock::new([const { None }; CQ_ENTRIES as usize]),
        })
    }

    fn word(&self, offset: usize) -> &AtomicU32 {
        // SAFETY: the page stays mapped as long as the process lives, whose ring this is; the offset is
        // one of the header's, aligned and in the page. The program writes to it at the same time, which
        // an atomic word allows.
        unsafe { &*direct(self.frame + offset as u64).cast() }
    }

    fn bytes<const N: usize>(&self, offset: usize) -> [u8; N] {
        let from = direct(self.frame + offset as u64).cast::<[u8; N]>();
        // SAFETY: as for `word`; whatever the program makes of it meanwhile, these are bytes.
        unsafe { from.read_volatile() }
    }

    fn put<const N: usize>(&self, offset: usize, bytes: [u8; N]) {
        let to = direct(self.frame + offset as u64).cast::<[u8; N]>();
        // SAFETY: as for `word`; the place is a completion's, in the page.
        unsafe { to.write_volatile(bytes) }
    }

    /// How many completions the program has not read; it is taken to have read all where it says what
    /// cannot be.
    fn unread(&self, tail: u32) -> u32 {
        let head = self.word(header::CQ_HEAD).load(Ordering::Acquire);
        pending(head, tail, CQ_ENTRIES).unwrap_or_else(|_| {
            self.word(header::CQ_HEAD).store(tail, Ordering::Release);
            0
        })
    }

    /// Tells of something that was done, whose entry was taken.
    pub(crate) fn post(&self, cqe: &Cqe) {
        let mut completions = self.completions.lock();
        completions.outstanding = completions.outstanding.saturating_sub(1);
        let tail = completions.tail;
        self.put::<CQE_SIZE>(cqe_at(tail), cqe.to_bytes());
        completions.tail = tail.wrapping_add(1);
        self.word(header::CQ_TAIL)
            .store(completions.tail, Ordering::Release);
        let unread = self.unread(completions.tail);
        let waiting = completions
            .waiting
            .take_if(|waiting| unread >= waiting.least);
        drop(completions);
        if let Some(waiting) = waiting {
            if waiting.is_timed {
                schedule::forget_wait(&waiting.thread);
            }
            wake(waiting.thread, waiting.wait, unread);
        }
    }

    /// The time of a wait is over.
    pub(crate) fn time_out(&self, thread: &Arc<Thread>, wait: u64) {
        let mut completions = self.completions.lock();
        let is_it =
            |waiting: &mut Waiting| Arc::ptr_eq(&waiting.thread, thread) && waiting.wait == wait;
        let waiting = completions.waiting.take_if(is_it);
        let unread = self.unread(completions.tail);
        drop(completions);
        if let Some(waiting) = waiting {
            wake(waiting.thread, wait, unread);
        }
    }

    /// Writes down that a call waits at an object; where that stands.
    pub(crate) fn waits_at(&self, object: &Arc<dyn Object>) -> Option<usize> {
        let mut waits = self.waits.lock();
        let place = waits.iter().position(Option::is_none)?;
        waits[place] = Some(Arc::downgrade(object));
        Some(place)
    }

    /// It was answered.
    pub(crate) fn waits_no_longer(&self, place: usize) {
        let object = self.waits.lock().get_mut(place).and_then(Option::take);
        drop(object);
    }

    /// Where calls wait; the process ends.
    pub(crate) fn take_waits(&self) -> Vec<Arc<dyn Object>> {
        let waits = core::mem::replace(
            &mut *self.waits.lock(),
            [const { None }; CQ_ENTRIES as usize],
        );
        waits.iter().flatten().filter_map(Weak::upgrade).collect()
    }

    /// Nobody waits any more: the process ends.
    pub(crate) fn abandon(&self) {
        let waiting = self.completions.lock().waiting.take();
        drop(waiting);
    }

    /// Takes a place for a completion; none where there is none.
    fn reserve(&self) -> bool {
        let mut completions = self.completions.lock();
        let room = self.unread(completions.tail) + completions.outstanding < CQ_ENTRIES;
        completions.outstanding += u32::from(room);
        room
    }

    /// How many completions can be read.
    pub(crate) fn available(&self) -> u32 {
        let completions = self.completions.lock();
        self.unread(completions.tail)
    }

    /// Takes entries, as many as a ring has at most; how far that went.
    fn take(&self, thread: &Arc<Thread>) -> Taken {
        // When the first entry that may take long was taken. Empty ones take less time than to look at it.
        let mut began = None;
        for number in 0..SQ_ENTRIES {
            let head = self.head.load(Ordering::Relaxed);
            let tail = self.word(header::SQ_TAIL).load(Ordering::Acquire);
            match pending(head, tail, SQ_ENTRIES) {
                Ok(0) => break,
                Ok(_) => {}
                Err(_) => {
                    // What the program says cannot be: all of it is discarded.
                    self.head.store(tail, Ordering::Relaxed);
                    self.word(header::SQ_HEAD).store(tail, Ordering::Release);
                    break;
                }
            }
            let sqe = Sqe::from_bytes(&self.bytes::<SQE_SIZE>(sqe_at(head)));
            let is_anothers = sqe.flags & flag::THREAD_OWNED != 0
                && sqe.check().is_ok()
                && sqe.call_id != thread.number;
            if is_anothers {
                return if number == 0 {
                    Taken::Anothers
                } else {
                    Taken::All
                };
            }
            if began.is_some_and(|began| schedule::is_wanted() && time::now() - began > LONGEST) {
                return Taken::Late;
            }
            if sqe.opcode != op::NOP {
                began = began.or_else(|| Some(time::now()));
            }
            if !self.reserve() {
                self.word(header::CQ_OVERFLOW)
                    .fetch_add(1, Ordering::Relaxed);
                break;
            }
            self.head.store(head.wrapping_add(1), Ordering::Relaxed);
            self.word(header::SQ_HEAD)
                .store(head.wrapping_add(1), Ordering::Release);
            // Nobody keeps what is answered at once by a number.
            let tell = |result| {
                self.post(&Cqe {
                    user_data: sqe.user_data,
                    result,
                    ..Cqe::default()
                });
            };
            match sqe.check() {
                Err(code) => tell(code),
                Ok(()) if sqe.opcode == op::NOP => tell(0),
                Ok(()) => {
                    let result = (sqe.result_addr, sqe.result_len);
                    let answer = Pending::new(&thread.process, sqe.user_data, result);
                    if let submit::Next::Parks(parks) = submit::one(thread, &sqe, answer) {
                        return Taken::Parks(parks);
                    }
                }
            }
            if thread.is_over() {
                break;
            }
        }
        Taken::All
    }
}

enum Taken {
    All,
    /// There are more, and others may want the processor.
    Late,
    Anothers,
    Parks(crate::park::Parks),
}

fn wake(thread: Arc<Thread>, wait: u64, unread: u32) {
    if thread.claim(wait) {
        // SAFETY: the wait was claimed by this.
        unsafe { thread.set_result(unread.into()) }
        schedule::ready(thread, false);
    }
}

/// The system call `cap_enter`: takes what was submitted, then waits until there are so many completions,
/// or for so many nanoseconds.
pub(crate) fn enter(thread: Arc<Thread>, least: u64, timeout: u64) -> ! {
    let ring = &thread.process.ring;
    // SAFETY (each `set_result` below): the thread has entered on this processor.
    let returns = |thread: Arc<Thread>, value: u64| -> ! {
        // SAFETY: see above.
        unsafe { thread.set_result(value) }
        schedule::leave(thread)
    };
    if least > u64::from(CQ_ENTRIES) {
        returns(thread, REJECTED);
    }
    if ring.is_taken.swap(true, Ordering::Acquire) {
        returns(thread, BUSY);
    }
    let taken = ring.take(&thread);
    ring.is_taken.store(false, Ordering::Release);
    match taken {
        Taken::Anothers => returns(thread, ANOTHERS),
        Taken::Parks(parks) => crate::park::wait(thread, parks),
        Taken::Late => {
            // The program sees nothing of it: it asks again for the same, with what is left to take.
            // SAFETY: it has entered on this processor, and nothing was returned.
            unsafe { thread.enter_again() }
            schedule::give_way(thread)
        }
        Taken::All => {}
    }
    let process = thread.process.clone();
    let mut completions = process.ring.completions.lock();
    let unread = process.ring.unread(completions.tail);
    let is_enough = u64::from(unread) >= least || timeout == 0 || thread.is_over();
    if is_enough || completions.waiting.is_some() {
        let value = if is_enough { unread.into() } else { BUSY };
        drop(completions);
        drop(process);
        returns(thread, value);
    }
    // SAFETY: nothing of its registers is touched behind this, and the scheduler is next.
    let wait = unsafe { thread.wait() };
    completions.waiting = Some(Waiting {
        thread: thread.clone(),
        wait,
        least: least as u32,
        is_timed: timeout != FOR_EVER,
    });
    // Under the lock: whoever ends the wait takes its deadline away, which has to be there by then.
    if timeout != FOR_EVER {
        schedule::at(schedule::after(timeout), Due::Enter(thread.clone(), wait));
    }
    drop(completions);
    // It may have been ended after it was looked at, and before it waited.
    if thread.is_over() && thread.claim(wait) {
        schedule::ready(thread.clone(), false);
    }
    drop(process);
    drop(thread);
    schedule::run()
}
