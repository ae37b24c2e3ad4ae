//! The ring under a program that writes whatever it likes into it.
#![no_std]
#![no_main]

use bailiwick_capos_core::layout::RING;
use bailiwick_capos_core::ring::{Sqe, error, flag, header, op, sqe_at};
use bailiwick_capos_programs::memory::{MAP, PAGE, RESERVE, UNMAP, WRITE, space};
use bailiwick_capos_programs::{Smoke, cap, child, now, sleep};
use bailiwick_capos_rt::call::numbers_message;
use bailiwick_capos_rt::{entry, ring, sys};
use core::sync::atomic::Ordering;

entry!(main);

fn nop(number: u64) -> Sqe {
    Sqe {
        opcode: op::NOP,
        user_data: number,
        ..Sqe::default()
    }
}

/// Whether a NOP gets its completion, and nothing else does.
fn works(number: u64) -> bool {
    let submitted = ring::submit(&nop(number));
    sys::enter(0, 0);
    let read = ring::read();
    submitted
        && ring::read().is_none()
        && read.is_some_and(|c| c.user_data == number && c.result == 0)
}

/// What one entry is answered with.
fn result(sqe: &Sqe) -> Option<i32> {
    ring::submit(sqe);
    sys::enter(0, 0);
    ring::read().map(|cqe| cqe.result)
}

fn opcodes(smoke: &mut Smoke) {
    for number in 0..16 {
        ring::submit(&nop(1000 + number));
    }
    smoke.check("there is no room for a 17th", !ring::submit(&nop(0)));
    smoke.check("16 are done", sys::enter(16, sys::FOR_EVER) == 16);
    for number in 0..16 {
        let is_next = ring::read().is_some_and(|c| c.user_data == 1000 + number && c.result == 0);
        smoke.check("in their order", is_next);
    }
    let of = |opcode| Sqe { opcode, ..nop(7) };
    smoke.check(
        "FINISH is reserved",
        result(&of(op::FINISH)) == Some(error::UNSUPPORTED),
    );
    for opcode in [op::PARK_BENCH].into_iter().chain(10..=255) {
        smoke.check(
            "an unknown operation",
            result(&of(opcode)) == Some(error::INVALID),
        );
    }
    let fields = [
        Sqe { flags: 1, ..nop(7) },
        Sqe {
            flags: flag::THREAD_OWNED,
            call_id: 1,
            ..nop(7)
        },
        Sqe {
            method_id: 1,
            ..nop(7)
        },
        Sqe {
            cap_id: 1,
            ..nop(7)
        },
        Sqe { addr: 1, ..nop(7) },
        Sqe { len: 1, ..nop(7) },
        Sqe {
            result_addr: 1,
            ..nop(7)
        },
        Sqe {
            result_len: 1,
            ..nop(7)
        },
        Sqe {
            pipeline_dep: 1,
            ..nop(7)
        },
        Sqe {
            pipeline_field: 1,
            ..nop(7)
        },
        Sqe {
            xfer_cap_count: 1,
            ..nop(7)
        },
        Sqe {
            session_disclosure: 1,
            ..nop(7)
        },
    ];
    for sqe in &fields {
        smoke.check(
            "a field that is not used",
            result(sqe) == Some(error::INVALID),
        );
    }
    for number in [0, 3, 4, 99, u64::MAX] {
        // SAFETY: the kernel is expected to refuse it.
        let refused = unsafe { sys::any(number, RING, 4) } == sys::REJECTED;
        smoke.check("a system call that there is not", refused);
    }
    smoke.check(
        "more completions than there can be",
        sys::enter(33, 0) == sys::REJECTED,
    );
    smoke.check("a wait of no length", sys::enter(1, 0) == 0);
    let began = now();
    smoke.check("a wait that ends", sys::enter(1, 2_000_000) == 0);
    smoke.check("not before its time", now() - began >= 2_000_000);
}

fn full(smoke: &mut Smoke) {
    let mut number = 0;
    for _ in 0..2 {
        while ring::submit(&nop(number)) {
            number += 1;
        }
        sys::enter(0, 0);
    }
    while ring::submit(&nop(number)) {
        number += 1;
    }
    let overflow = ring::word(header::CQ_OVERFLOW).load(Ordering::Acquire);
    let head = ring::word(header::SQ_HEAD).load(Ordering::Acquire);
    smoke.check("48 were submitted", number == 48);
    smoke.check("32 are complete", sys::enter(0, 0) == 32);
    let over = ring::word(header::CQ_OVERFLOW).load(Ordering::Acquire);
    smoke.check("the lack of room is told", over > overflow);
    let stays = ring::word(header::SQ_HEAD).load(Ordering::Acquire) == head;
    smoke.check("what has no room is not taken", stays);
    let mut expected = 0;
    for _ in 0..2 {
        while let Some(cqe) = ring::read() {
            smoke.check("none is lost or twice", cqe.user_data == expected);
            expected += 1;
        }
        sys::enter(0, 0);
    }
    smoke.check("all are there", expected == 48);
}

fn corruption(smoke: &mut Smoke) {
    for by in [17, 100, u32::MAX, 1 << 31] {
        let tail = ring::word(header::SQ_TAIL);
        let wrong = ring::word(header::SQ_HEAD)
            .load(Ordering::Acquire)
            .wrapping_add(by);
        tail.store(wrong, Ordering::Release);
        smoke.check(
            "nothing of it is done",
            sys::enter(0, 0) == 0 && ring::read().is_none(),
        );
        let head = ring::word(header::SQ_HEAD).load(Ordering::Acquire);
        smoke.check("all of it is discarded", head == wrong);
        smoke.check("the ring works on", works(1));
    }
    for by in [1, 33, 1 << 31] {
        let tail = ring::word(header::CQ_TAIL).load(Ordering::Acquire);
        ring::word(header::CQ_HEAD).store(tail.wrapping_add(by), Ordering::Release);
        sys::enter(0, 0);
        smoke.check("the ring works on", works(2));
    }
    let others = [
        header::SQ_HEAD,
        header::SQ_MASK,
        header::SQ_ENTRIES,
        header::SQ_FLAGS,
        header::CQ_TAIL,
        header::CQ_MASK,
        header::CQ_ENTRIES,
        header::CQ_FLAGS,
        header::CQ_OVERFLOW,
        header::SQE_OFFSET,
        header::CQE_OFFSET,
    ];
    for offset in others {
        let word = ring::word(offset);
        let before = word.swap(0xdead_beef, Ordering::AcqRel);
        // SAFETY: an entry of the ring's, which is the program's to write.
        let tail = ring::word(header::SQ_TAIL);
        let at = (RING + sqe_at(tail.load(Ordering::Acquire)) as u64) as *mut [u8; 64];
        // SAFETY: as above.
        unsafe { at.write_volatile(nop(3).to_bytes()) }
        tail.fetch_add(1, Ordering::AcqRel);
        sys::enter(0, 0);
        // The kernel has written those that are its own; the others are put back.
        if ![header::SQ_HEAD, header::CQ_TAIL].contains(&offset) {
            word.store(before, Ordering::Release);
        }
        let told = ring::read().is_some_and(|cqe| cqe.user_data == 3 && cqe.result == 0);
        smoke.check("the kernel does not believe its own words", told);
    }
    smoke.check("the ring works on", works(4));
}

/// Entries of random bytes: each is answered by an error, and the ring works on.
fn noise(smoke: &mut Smoke) {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let mut answered = 0;
    for _ in 0..4000 {
        let mut bytes = [0; 64];
        for word in bytes.as_chunks_mut::<8>().0 {
            *word = next().to_le_bytes();
        }
        let mut sqe = Sqe::from_bytes(&bytes);
        sqe.opcode %= 12;
        sqe.flags &= flag::EXCEPTION;
        if next().is_multiple_of(2) {
            (
                sqe.pipeline_field,
                sqe.xfer_cap_count,
                sqe.session_disclosure,
            ) = (0, 0, 0);
            (sqe.result_len, sqe.result_addr, sqe.call_id) = (64, sqe.addr, 0);
        }
        let is_nop = sqe.check().is_ok() && sqe.opcode == op::NOP;
        answered += u32::from(result(&sqe).is_some_and(|code| code < 0 || is_nop));
    }
    smoke.check("4000 random entries are each refused", answered == 4000);
    smoke.check("the ring works on", works(5));
}

/// Programs that do nothing but submit leave others their turn.
fn fairness(smoke: &mut Smoke) {
    let hogs = [0; 3].map(|_| child("hog", &[]));
    let mut worst = 0;
    for _ in 0..10 {
        let began = now();
        sleep(1);
        worst = worst.max(now() - began);
    }
    smoke.check(
        "nobody waits longer than a second for three hogs",
        worst < 1_000_000_000,
    );
    for hog in hogs.into_iter().flatten() {
        smoke.check(
            "a hog is ended",
            hog.terminate().is_ok() && hog.wait() == Ok(-1),
        );
    }
}

/// A batch that takes long gives others their turn, and whoever has entered it waits for as much as it has
/// asked for all the same.
fn long_batch(smoke: &mut Smoke) {
    let pages = 1500 * PAGE;
    let (Ok(at), Ok(spins)) = (space(RESERVE, &[0, pages]), child("spin", &[])) else {
        smoke.check("a range and a child that spins", false);
        return;
    };
    let _ = space(UNMAP, &[at, pages]);
    sleep(50);
    for _ in 0..4 {
        let memory = cap("virtual_memory");
        let naps = cap("timer").begin(1, &numbers_message(&[50_000_000]), &[]);
        let maps = memory.begin(MAP, &numbers_message(&[at, pages, WRITE]), &[]);
        let unmaps = memory.begin(UNMAP, &numbers_message(&[at, pages]), &[]);
        let count = sys::enter(3, 2_000_000_000);
        smoke.check("as many as it has waited for", count == 3);
        let done = [naps, maps, unmaps].map(|call| call.wait().is_ok());
        smoke.check("and all of them done", done == [true; 3]);
    }
    smoke.check(
        "who spins is ended",
        spins.terminate().is_ok() && spins.wait() == Ok(-1),
    );
}

fn main() -> i64 {
    let Some(mut smoke) = Smoke::begin("ring") else {
        return 2;
    };
    opcodes(&mut smoke);
    full(&mut smoke);
    corruption(&mut smoke);
    noise(&mut smoke);
    fairness(&mut smoke);
    long_batch(&mut smoke);
    smoke.end()
}
