//! Translations: what one processor takes away, another that uses it at that moment has no longer when the
//! call has returned. Three ways to see it: a child that dies of the access which comes behind, a page
//! that is another one each round, and threads of two processes that change the mappings of all at once,
//! 10,000 times, beside processes that end, and must not wait for one another without end.
#![no_std]
#![no_main]

extern crate alloc;

use bailiwick_capos_programs::memory::{
    COMMIT, DECOMMIT, MAP, NONE, OBJECT_MAP, OBJECT_PROTECT, OBJECT_UNMAP, PAGE, PROTECT, READ,
    RESERVE, Shared, UNMAP, WRITE, fresh, map_object, object, read, space, write,
};
use bailiwick_capos_programs::{Smoke, cap, child_of, processors, sleep};
use bailiwick_capos_rt::call::Failed;
use bailiwick_capos_rt::caps::Grant;
use bailiwick_capos_rt::{entry, held, sys, thread};
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

entry!(main);

/// Words that a child shares with the smoke: how often its other thread has reached the page, whether the
/// page is taken away, and whether it was reached behind that.
const COUNT: usize = 0;
const TAKEN: usize = 1;
const REACHED: usize = 2;

/// Where the page is that two threads have to do with.
const AT: u64 = 0x30_0000_0000;

/// Reads a page for ever, or writes to it.
extern "C" fn reaches(writes: u64, _: u32) -> ! {
    let Some(shared) = Shared::granted() else {
        sys::exit(91)
    };
    for number in 1_u32.. {
        // Looked at first: where it says so, the call has returned before the access.
        let is_taken = shared.get(TAKEN) != 0;
        match writes {
            0 => drop(read(AT)),
            _ => write(AT, number.into()),
        }
        if is_taken {
            shared.set(REACHED, 1);
        }
        shared.set(COUNT, number);
    }
    sys::exit(92)
}

/// How a page is taken away: a name, whether it is written, how it is made, and how it is taken.
type Step = fn() -> Result<(), Failed>;
const TAKES: [(&str, u64, Step, Step); 7] = [
    ("unmap-read", 0, own, || unmap(PAGE)),
    ("unmap-write", 1, own, || unmap(PAGE)),
    ("protect-none", 0, own, || protect(NONE)),
    ("protect-read", 1, own, || protect(READ)),
    ("decommit", 1, reserved, || {
        space(DECOMMIT, &[AT, PAGE]).map(drop)
    }),
    ("object-unmap", 1, granted, || {
        cap("page").numbers(OBJECT_UNMAP, &[AT, PAGE]).map(drop)
    }),
    ("object-protect", 1, granted, || {
        cap("page")
            .numbers(OBJECT_PROTECT, &[AT, PAGE, READ])
            .map(drop)
    }),
];

fn own() -> Result<(), Failed> {
    space(MAP, &[AT, PAGE, WRITE]).map(drop)
}

fn reserved() -> Result<(), Failed> {
    space(RESERVE, &[AT, 16 * PAGE])?;
    space(COMMIT, &[AT, PAGE, WRITE]).map(drop)
}

fn granted() -> Result<(), Failed> {
    map_object(cap("page"), AT, 1, WRITE).map(drop)
}

fn unmap(size: u64) -> Result<(), Failed> {
    space(UNMAP, &[AT, size]).map(drop)
}

fn protect(rights: u64) -> Result<(), Failed> {
    space(PROTECT, &[AT, PAGE, rights]).map(drop)
}

/// A child: its other thread uses the page, and then it is taken away.
fn takes(writes: u64, make: Step, take: Step) -> Result<i64, Failed> {
    let Some(shared) = Shared::granted() else {
        return Ok(93);
    };
    make()?;
    thread::begin(cap("thread_spawner"), reaches, writes)?;
    while shared.get(COUNT) < 1000 {
        // On one processor it is the other's turn when this one sleeps.
        sleep(1);
    }
    take()?;
    shared.set(TAKEN, 1);
    sleep(2000);
    Ok(4)
}

fn ends(smoke: &mut Smoke) -> Result<(), Failed> {
    let (words, page) = (object(1)?, object(1)?);
    let Some(shared) = Shared::of(words) else {
        smoke.check("a page is shared", false);
        return Ok(());
    };
    for _ in 0..4 {
        for (name, ..) in TAKES {
            for word in [COUNT, TAKEN, REACHED] {
                shared.set(word, 0);
            }
            let grants = [Grant::Copy("shared", words), Grant::Copy("page", page)];
            let child = child_of("shootdown", name, &grants)?;
            smoke.check(name, child.wait() == Ok(-2));
            smoke.check("it was reached before", shared.get(COUNT) >= 1000);
            smoke.check("and not behind", shared.get(REACHED) == 0);
            child.handle.release();
            child.manager.release();
        }
    }
    Ok(())
}

/// Pages that are looked at in one round.
const PAGES: u64 = 16;
static ROUND: AtomicU32 = AtomicU32::new(0);
static DONE: AtomicU32 = AtomicU32::new(0);
static SEEN: [AtomicU64; PAGES as usize] = [const { AtomicU64::new(0) }; PAGES as usize];

/// Looks at each page once a round, and writes to it.
extern "C" fn looks(_: u64, number: u32) -> ! {
    let mut done = 0;
    loop {
        let round = ROUND.load(Ordering::Acquire);
        if round == u32::MAX {
            thread::end(cap("thread_control"), number, 0)
        }
        if round == done {
            core::hint::spin_loop();
            continue;
        }
        done = round;
        for (at, seen) in (AT..).step_by(PAGE as usize).zip(&SEEN) {
            seen.store(read(at), Ordering::Relaxed);
            write(at + 8, round.into());
        }
        DONE.store(round, Ordering::Release);
    }
}

/// Each page is another one each round: of one object, of another, and a fresh one.
fn rounds(smoke: &mut Smoke, count: u32) -> Result<(), Failed> {
    let objects = [object(PAGES)?, object(PAGES)?];
    let mut views = [0; 2];
    for (which, object) in objects.iter().enumerate() {
        views[which] = map_object(*object, 0, PAGES, WRITE)?;
        for page in 0..PAGES {
            write(views[which] + page * PAGE, 100 + which as u64);
        }
    }
    let handle = thread::begin(cap("thread_spawner"), looks, 0)?;
    let (mut stale, mut lost) = (0, 0);
    for round in 1..=count {
        let which = |page: u64| ((u64::from(round) + page) % 3) as usize;
        for page in 0..PAGES {
            let at = AT + page * PAGE;
            match objects.get(which(page)) {
                Some(object) => object.numbers(OBJECT_MAP, &[at, page * PAGE, PAGE, WRITE])?,
                None => cap("virtual_memory").numbers(MAP, &[at, PAGE, WRITE])?,
            };
        }
        ROUND.store(round, Ordering::Release);
        let mut turns = 0_u32;
        while DONE.load(Ordering::Acquire) != round {
            turns += 1;
            match turns {
                0..1_000_000 => core::hint::spin_loop(),
                _ => sleep(1),
            }
        }
        for (page, seen) in (0..PAGES).zip(&SEEN) {
            let (at, which) = (AT + page * PAGE, which(page));
            let view = views.get(which).map_or(at, |view| view + page * PAGE);
            let expected = views.get(which).map_or(0, |_| 100 + which as u64);
            stale += u32::from(seen.load(Ordering::Relaxed) != expected);
            lost += u32::from(read(view + 8) != u64::from(round));
            match objects.get(which) {
                Some(object) => object.numbers(OBJECT_UNMAP, &[at, PAGE])?,
                None => cap("virtual_memory").numbers(UNMAP, &[at, PAGE])?,
            };
        }
    }
    ROUND.store(u32::MAX, Ordering::Release);
    smoke.check("no old page is read", stale == 0);
    smoke.check("nor written", lost == 0);
    smoke.check("the other ends", thread::join(handle) == Ok(0));
    Ok(())
}

/// Maps an object, uses it and unmaps it, so often; whether all was right.
fn churns(rounds: u64, number: u64) -> Result<bool, Failed> {
    let object = object(2)?;
    let mut right = true;
    for round in 0..rounds {
        let at = map_object(object, 0, 2, WRITE)?;
        right &= read(at + PAGE) == if round == 0 { 0 } else { number + round - 1 };
        write(at + PAGE, number + round);
        if round % 4 == 3 {
            object.numbers(OBJECT_PROTECT, &[at, 2 * PAGE, READ])?;
        }
        object.numbers(OBJECT_UNMAP, &[at, 2 * PAGE])?;
    }
    Ok(right)
}

extern "C" fn churns_too(rounds: u64, number: u32) -> ! {
    let code = i64::from(churns(rounds, 1 << 40) != Ok(true));
    thread::end(cap("thread_control"), number, code)
}

/// A child with two threads that change the mappings of both.
fn crosses() -> Result<i64, Failed> {
    let rounds = Shared::granted().map_or(1, |shared| shared.get(0)).into();
    let other = thread::begin(cap("thread_spawner"), churns_too, rounds)?;
    let own = churns(rounds, 1)?;
    Ok(i64::from(!own || thread::join(other) != Ok(0)))
}

/// Two such children, and meanwhile others that are ended, whose address spaces go.
fn cross(smoke: &mut Smoke, rounds: u32) -> Result<(), Failed> {
    let words = object(1)?;
    let Some(shared) = Shared::of(words) else {
        smoke.check("a page is shared", false);
        return Ok(());
    };
    shared.set(0, rounds);
    let grants = [Grant::Copy("shared", words)];
    let pair = [
        child_of("shootdown", "crosses", &grants)?,
        child_of("shootdown", "crosses", &grants)?,
    ];
    for _ in 0..20 {
        let other = child_of("shootdown", "spins", &[])?;
        sleep(2);
        other.terminate()?;
        smoke.check("one is ended", other.wait() == Ok(-1));
        other.handle.release();
        other.manager.release();
    }
    for child in pair {
        smoke.check("both come to their end", child.wait() == Ok(0));
    }
    Ok(())
}

/// What a child does.
fn role() -> Option<Result<i64, Failed>> {
    let is = |role: &str| held(&alloc::format!("role:{role}")).is_some();
    if let Some((_, writes, make, take)) = TAKES.iter().find(|(name, ..)| is(name)) {
        return Some(takes(*writes, *make, *take));
    }
    if is("crosses") {
        return Some(crosses());
    }
    if is("spins") {
        return Some(fresh(8).map(|at| {
            loop {
                write(at, read(at) + 1);
            }
        }));
    }
    None
}

fn main() -> i64 {
    if let Some(done) = role() {
        return done.unwrap_or(90);
    }
    let Some(mut smoke) = Smoke::begin("shootdown") else {
        return 2;
    };
    // Threads of one processor see one another's turns, which are long.
    let several = processors() > 1;
    let (looks, crosses) = if several { (120, 2500) } else { (5, 250) };
    let done = ends(&mut smoke);
    smoke.check("ends", done.is_ok());
    let done = rounds(&mut smoke, looks);
    smoke.check("rounds", done.is_ok());
    let done = cross(&mut smoke, crosses);
    smoke.check("cross", done.is_ok());
    smoke.end()
}
