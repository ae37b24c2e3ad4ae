//! A worker of the scaling proof, or the threads that are all workers: each does its part between two looks
//! at the processor's own counter, with no system call in between, into a place of its own. Granted `serve`,
//! it is the server of a pair.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use bailiwick_capos_core::message::{Builder, Message};
use bailiwick_capos_core::ring::{Sqe, op};
use bailiwick_capos_core::work::{self, hash};
use bailiwick_capos_programs::scale::{
    ASK, Activity, Board, CALLS, DISTURB, HASHES, NOPS, RESULT, Workload,
};
use bailiwick_capos_rt::call::{Cap, numbers_message};
use bailiwick_capos_rt::{entry, held, required, ring, sys, thread};
use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU64, Ordering};

entry!(main);

/// Entries that are submitted at a time: as many as the ring has.
const BATCH: u64 = 16;

/// A worker's part, and the place of what it finds: nobody else's line of the cache.
#[repr(align(64))]
struct Part {
    workload: Workload,
    index: u64,
    workers: u64,
    board: Board,
    activity: Activity,
    found: [AtomicU64; 8],
    hashes: UnsafeCell<Vec<[u8; 32]>>,
}

// SAFETY: the hashes are written by the one thread whose part it is, and read after that has ended.
unsafe impl Sync for Part {}

impl Part {
    fn new(
        (workload, index, workers): (Workload, u64, u64),
        board: Board,
        activity: Activity,
    ) -> &'static Self {
        let hashes = match workload {
            Workload::Hash => vec![[0; 32]; hash::CHUNKS as usize / workers.max(1) as usize],
            _ => Vec::new(),
        };
        Box::leak(Box::new(Self {
            workload,
            index,
            workers,
            board,
            activity,
            found: [const { AtomicU64::new(0) }; 8],
            hashes: UnsafeCell::new(hashes),
        }))
    }

    /// What is timed.
    fn work(&self) -> (u64, u64) {
        match self.workload {
            Workload::Primes => self.primes(),
            Workload::Hash => self.hash(),
            Workload::Nops => nops(),
            Workload::Pairs => calls(required("server")),
        }
    }

    fn primes(&self) -> (u64, u64) {
        let cuts = work::cuts(self.workers as usize).unwrap_or_default();
        let at = self.index as usize;
        let (Some(from), Some(to)) = (cuts.get(at), cuts.get(at + 1)) else {
            return (0, 0);
        };
        if cfg!(feature = "shared-counter") {
            return (*from..*to).fold((0, 0), |sum, number| {
                self.board.shared().fetch_add(1, Ordering::SeqCst);
                let (count, prime) = work::primes(number, number + 1);
                (sum.0 + count, sum.1 + prime)
            });
        }
        if cfg!(feature = "disturbed") && self.index == 0 {
            let half = from.midpoint(*to);
            let first = work::primes(*from, half);
            let _ = required("gate").call(DISTURB, &[]);
            let second = work::primes(half, *to);
            return (first.0 + second.0, first.1 + second.1);
        }
        work::primes(*from, *to)
    }

    fn hash(&self) -> (u64, u64) {
        // SAFETY: only this thread writes to them, and nobody reads before it has ended.
        let hashes = unsafe { &mut *self.hashes.get() };
        let first = self.index as u32 * hashes.len() as u32;
        for (chunk, place) in (first..).zip(hashes.iter_mut()) {
            *place = hash::chunk(chunk);
        }
        (hashes.len() as u64, 0)
    }

    /// Does the part at the same time as the others do theirs, and looks at what the kernel had to do on its
    /// processor meanwhile.
    fn run(&self, thread: u32) {
        self.board.begin(self.workers);
        let before = self.activity.look();
        let began = sys::ticks();
        let (count, sum) = self.work();
        let ticks = sys::ticks() - began;
        let disturbed = before.since(self.activity.look());
        let found = [count, sum, ticks].into_iter().chain(disturbed);
        for (place, value) in self.found.iter().zip(found) {
            place.store(value, Ordering::SeqCst);
        }
        self.board.end(self.workers, required("park_space"), thread);
    }

    /// Tells the coordinator. The thread whose part it is has ended.
    fn tell(&self, gate: Cap) -> Option<()> {
        let found = self.found.iter().map(|place| place.load(Ordering::SeqCst));
        let numbers: Vec<u64> = [self.index].into_iter().chain(found).collect();
        // SAFETY: nobody writes to them any more.
        let hashes = unsafe { &*self.hashes.get() };
        if !hashes.is_empty() {
            let mut builder = Builder::new(1, 1);
            let root = builder.root();
            builder.set_u64(root, 0, self.index);
            builder.set_data(root, 0, hashes.as_flattened());
            gate.call(HASHES, &builder.finish()).ok()?;
        }
        gate.call(RESULT, &numbers_message(&numbers)).ok().map(drop)
    }
}

/// Has the kernel take empty entries, as many at a time as there is room for.
fn nops() -> (u64, u64) {
    let nop = Sqe {
        opcode: op::NOP,
        ..Sqe::default()
    };
    let mut done = 0;
    for _ in 0..NOPS / BATCH {
        for _ in 0..BATCH {
            ring::submit(&nop);
        }
        sys::enter(0, 0);
        while let Some(cqe) = ring::read() {
            done += u64::from(cqe.result == 0);
        }
    }
    (done, 0)
}

/// Calls the server of this pair.
fn calls(server: Cap) -> (u64, u64) {
    let mut sum = 0;
    let mut done = 0;
    for number in 0..CALLS {
        if let Ok(answer) = server.call(0, &numbers_message(&[number])) {
            sum += answer.u64(0);
            done += 1;
        }
    }
    (done, sum)
}

/// Answers each number with the next one, until a call of another method.
fn serve(endpoint: Cap) -> i64 {
    loop {
        let Ok(call) = endpoint.receive() else {
            return 0;
        };
        let message = Message::parse(&call.params);
        let number = message.ok().and_then(|m| Some(m.root().ok()?.u64(0)));
        let answer = numbers_message(&[number.unwrap_or_default() + 1]);
        endpoint.answer(call.call, &answer, &[]);
        if call.method != 0 {
            return 0;
        }
    }
}

extern "C" fn begins(part: u64, number: u32) -> ! {
    // SAFETY: it is the address of a part that was leaked for this thread.
    let part = unsafe { &*(part as *const Part) };
    part.run(number);
    thread::end(required("thread_control"), number, 0)
}

fn main() -> i64 {
    if let Some(endpoint) = held("serve") {
        return serve(endpoint);
    }
    let gate = required("gate");
    let Ok(asked) = gate.call(ASK, &[]) else {
        return 3;
    };
    let [workload, index, has_threads, workers] = [0, 8, 16, 24].map(|at| asked.u64(at));
    let threads = if has_threads == 0 { 1 } else { workers };
    let Some(board) = Board::of(required("board"), has_threads == 0) else {
        return 3;
    };
    let Some(workload) = Workload::ALL.get(workload as usize) else {
        return 4;
    };
    let Some(activity) = Activity::of(required("activity")) else {
        return 8;
    };
    let part = |index| Part::new((*workload, index, workers), board, activity);
    let parts: Vec<&'static Part> = (index..index + threads).map(part).collect();
    let Some((own, others)) = parts.split_first() else {
        return 4;
    };
    let begin = |part: &&'static Part| {
        let address = &raw const **part as u64;
        thread::begin(required("thread_spawner"), begins, address)
    };
    let handles: Result<Vec<Cap>, _> = others.iter().map(begin).collect();
    let Ok(handles) = handles else {
        return 5;
    };
    own.run(1);
    if handles
        .into_iter()
        .any(|handle| thread::join(handle) != Ok(0))
    {
        return 6;
    }
    let told = parts.iter().try_for_each(|part| part.tell(gate));
    told.map_or(7, |()| 0)
}
