//! Memory: objects that are mapped, shared and let go of, the program's own address space, and what each
//! refuses. Acts that must not succeed are done by children, for they end them; a word that both share
//! says that a child came as far as that.
#![no_std]
#![no_main]

extern crate alloc;

use alloc::vec::Vec;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::ring::{Mode, error};
use bailiwick_capos_programs::memory::{
    COMMIT, DECOMMIT, MAP, NONE, OBJECT_MAP, OBJECT_PROTECT, OBJECT_UNMAP, PAGE, PROTECT, READ,
    RESERVE, RUN, Shared, UNMAP, WRITE, fill, fresh, is_zero, map_object, object, read, run, space,
    write, write_code,
};
use bailiwick_capos_programs::{
    INVALID, OVERLOADED, Smoke, UNIMPLEMENTED, cap, child_of, outcome, transfer,
};
use bailiwick_capos_rt::call::{Failed, numbers_message};
use bailiwick_capos_rt::caps::Grant;
use bailiwick_capos_rt::{entry, held};

mod ends;
mod table;

use ends::ENDS;
use table::{OBJECT_REFUSED, REFUSED};

entry!(main);

/// A part of the smoke; what it cannot do without has failed where it ends early.
type Part = fn(&mut Smoke) -> Result<(), Failed>;

/// An address where nothing is.
const FREE: u64 = 0x30_0000_0000;

/// What a child does.
fn role() -> Option<Result<i64, Failed>> {
    let is = |role: &str| held(&alloc::format!("role:{role}")).is_some();
    if let Some((_, act)) = ENDS.iter().find(|(role, _)| is(role)) {
        let shared = Shared::granted()?;
        return Some(act(&|| shared.set(0, 1)).map(|()| 3));
    }
    let act: fn() -> Result<i64, Failed> = match () {
        () if is("dirty") => || {
            for _ in 0..2 {
                let at = fresh(1500)?;
                fill(at, 1500, 0xd1d1_d1d1_d1d1_d1d1);
            }
            let object = object(1000)?;
            fill(map_object(object, 0, 1000, WRITE)?, 1000, u64::MAX);
            Ok(0)
        },
        () if is("clean") => || {
            for _ in 0..2 {
                if !is_zero(fresh(1500)?, 1500) {
                    return Ok(1);
                }
            }
            let object = object(1000)?;
            let at = map_object(object, 0, 1000, READ)?;
            Ok(i64::from(!is_zero(at, 1000)))
        },
        () if is("shares") => || {
            // Whatever it is sent it adds to, and then it has it no longer.
            let received = cap("ep").receive()?;
            let Some(object) = received.caps.first() else {
                return Ok(2);
            };
            let at = map_object(*object, 0, 1, WRITE)?;
            let was = read(at);
            write(at, was + 1);
            object.release();
            write(at + 8, was + 2);
            cap("ep").answer(received.call, &numbers_message(&[was]), &[]);
            Ok(41)
        },
        () if is("regions") => || {
            // As many ranges as can be: one page each, with a hole behind each.
            for number in 0..100_000 {
                if let Err(failed) = space(RESERVE, &[FREE + number * 2 * PAGE, PAGE]) {
                    return Ok(i64::from(outcome::<()>(&Err(failed)) != OVERLOADED));
                }
            }
            Ok(2)
        },
        () if is("holes") => || {
            let at = space(RESERVE, &[0, 100_000 * PAGE])?;
            for number in 0..50_000 {
                if let Err(failed) = space(UNMAP, &[at + (1 + 2 * number) * PAGE, PAGE]) {
                    // What could not be cut is whole, and goes as a whole.
                    let told = outcome::<()>(&Err(failed)) == OVERLOADED;
                    let from = at + (2 * number) * PAGE;
                    space(UNMAP, &[from, (100_000 - 2 * number) * PAGE])?;
                    return Ok(i64::from(!told));
                }
            }
            Ok(2)
        },
        () if is("tables") => || {
            // Pages as far from one another as can be: tables of their own for each, which are not given
            // back as long as it lives. Where it has some already it goes on.
            let near = fresh(1)?;
            for number in 0..100_000 {
                let at = FREE + (number << 30);
                let made = space(MAP, &[at, PAGE, WRITE]).and_then(|at| space(UNMAP, &[at, PAGE]));
                if let Err(failed) = made {
                    let goes_on = fresh(1).is_ok_and(|at| at == near + PAGE && is_zero(at, 1));
                    let told = outcome::<()>(&Err(failed)) == OVERLOADED;
                    return Ok(i64::from(!told || !goes_on));
                }
            }
            Ok(2)
        },
        () => return None,
    };
    Some(act())
}

/// A child of this program, with a page that both have.
fn with_child(smoke: &mut Smoke, role: &str, grants: &[Grant<'_>], code: i64) {
    let made = child_of("memory", role, grants);
    smoke.check(role, made.map(|child| child.wait()) == Ok(Ok(code)));
}

fn faults(smoke: &mut Smoke) {
    let Some((words, shared)) = object(1).ok().and_then(|o| Some((o, Shared::of(o)?))) else {
        smoke.check("a page is shared", false);
        return;
    };
    let Ok(secret) = fresh(1) else {
        smoke.check("there is a page", false);
        return;
    };
    write(secret, 0x5ec2e7);
    shared.set(1, secret as u32);
    shared.set(2, (secret >> 32) as u32);
    for (role, _) in ENDS {
        shared.set(0, 0);
        with_child(smoke, role, &[Grant::Copy("shared", words)], -2);
        smoke.check("it came as far as that", shared.get(0) == 1);
    }
    smoke.check("here nothing has changed", read(secret) == 0x5ec2e7);
}

fn refused(smoke: &mut Smoke) -> Result<(), Failed> {
    for (method, numbers, how) in REFUSED {
        let what = alloc::format!("{method} {numbers:x?} is refused");
        smoke.check(&what, outcome(&space(method, numbers)) == how);
    }
    let memory = cap("virtual_memory");
    for method in MAP..=DECOMMIT {
        let without = memory.call(method, &[]);
        smoke.check("without numbers", outcome(&without) == error::PARAMS);
    }
    smoke.check(
        "no such method",
        outcome(&memory.numbers(6, &[0, 0, 0])) == UNIMPLEMENTED,
    );
    let (one, other) = (object(3)?, object(1)?);
    let at = map_object(one, FREE, 3, WRITE)?;
    smoke.check("it is where it was asked for", at == FREE);
    for (method, numbers) in OBJECT_REFUSED {
        let what = alloc::format!("object {method} {numbers:x?} is refused");
        smoke.check(&what, outcome(&one.numbers(method, numbers)) == INVALID);
    }
    // What one has mapped another does not unmap.
    for refused in [
        other.numbers(OBJECT_UNMAP, &[FREE, PAGE]).map(drop),
        other.numbers(OBJECT_PROTECT, &[FREE, PAGE, READ]).map(drop),
        space(UNMAP, &[FREE, PAGE]).map(drop),
        space(PROTECT, &[FREE, PAGE, READ]).map(drop),
        space(DECOMMIT, &[FREE, PAGE]).map(drop),
    ] {
        smoke.check("it is another's", outcome(&refused) == INVALID);
    }
    let own = fresh(1)?;
    let refused = one.numbers(OBJECT_UNMAP, &[own, PAGE]);
    smoke.check("and the other way", outcome(&refused) == INVALID);
    space(UNMAP, &[own, PAGE])?;
    let twice = space(UNMAP, &[own, PAGE]);
    smoke.check("not twice", outcome(&twice) == INVALID);
    fill(FREE, 3, 9);
    one.numbers(OBJECT_UNMAP, &[FREE, 3 * PAGE])?;
    smoke.check(
        "nor with an object",
        outcome(&one.numbers(OBJECT_UNMAP, &[FREE, 3 * PAGE])) == INVALID,
    );
    let none = cap("frame_allocator").numbers(1, &[0]);
    smoke.check("no frames", outcome(&none) == INVALID);
    for count in [4097, u64::from(u32::MAX)] {
        let many = cap("frame_allocator").numbers(1, &[count]);
        smoke.check("too many frames", outcome(&many) == OVERLOADED);
    }
    smoke.check(
        "all is let go of",
        one.release() == 0 && other.release() == 0,
    );
    Ok(())
}

fn objects(smoke: &mut Smoke) -> Result<(), Failed> {
    for pages in [1, 3, 64] {
        let object = object(pages)?;
        let info = object.call(0, &[])?;
        let told = (info.u64(0) & 0xffff_ffff, info.u64(8));
        smoke.check("its size", told == (pages, pages * PAGE));
        let at = map_object(object, 0, pages, WRITE)?;
        smoke.check("zeros at first", is_zero(at, pages));
        fill(at, pages, 5);
        let last = object.numbers(OBJECT_MAP, &[0, (pages - 1) * PAGE, PAGE, READ])?;
        let last = last.u64(0);
        write(at + (pages - 1) * PAGE, 77);
        smoke.check("one memory at two places", read(last) == 77 && last != at);
        object.numbers(OBJECT_UNMAP, &[at, pages * PAGE])?;
        smoke.check("the other stays", read(last) == 77);
        object.numbers(OBJECT_PROTECT, &[last, PAGE, WRITE])?;
        write(last, 78);
        let again = map_object(object, 0, pages, READ)?;
        smoke.check(
            "what was written stays",
            read(again + (pages - 1) * PAGE) == 78,
        );
        smoke.check("it is let go of", object.release() == 0);
        smoke.check(
            "and stays mapped",
            read(again) == if pages == 1 { 78 } else { 5 },
        );
        smoke.check(
            "nobody unmaps it",
            outcome(&space(UNMAP, &[again, PAGE])) == INVALID,
        );
    }
    // More than there are in all, one after the other.
    let mut whole = 0;
    for _ in 0..12 {
        let object = object(3000)?;
        let at = map_object(object, 0, 3000, WRITE)?;
        whole += u32::from(is_zero(at, 1) && is_zero(at + 2999 * PAGE, 1));
        fill(at, 1, 1);
        fill(at + 2999 * PAGE, 1, 1);
        object.numbers(OBJECT_UNMAP, &[at, 3000 * PAGE])?;
        object.release();
    }
    smoke.check("frames come back", whole == 12);
    Ok(())
}

/// An object goes to another process, copied and moved.
fn shared(smoke: &mut Smoke) -> Result<(), Failed> {
    for mode in [Mode::Copy, Mode::Move] {
        let grants = [Grant::Kernel("ep", KernelSource::Endpoint)];
        let child = child_of("memory", "shares", &grants)?;
        let Some(client) = child.clients.first().copied() else {
            smoke.check("it can be called", false);
            return Ok(());
        };
        let object = object(1)?;
        let at = map_object(object, 0, 1, WRITE)?;
        write(at, 1000);
        let call = client.begin(0, &numbers_message(&[0]), &[transfer(object, mode)]);
        smoke.check(
            "the other sees it",
            call.wait().is_ok_and(|a| a.u64(0) == 1000),
        );
        let both = (read(at), read(at + 8));
        smoke.check("it writes to it", both == (1001, 1002));
        smoke.check("it ends", child.wait() == Ok(41));
        smoke.check("the memory stays", read(at) == 1001);
        let is_held = object.call(0, &[]).is_ok();
        smoke.check(
            "a copy is held, the moved is not",
            is_held == (mode == Mode::Copy),
        );
        client.release();
    }
    Ok(())
}

fn own(smoke: &mut Smoke) -> Result<(), Failed> {
    let at = fresh(8)?;
    smoke.check("zeros at first", is_zero(at, 8));
    fill(at, 8, 3);
    smoke.check(
        "an overlap",
        outcome(&space(MAP, &[at + PAGE, PAGE, READ])) == INVALID,
    );
    smoke.check(
        "from below",
        outcome(&space(MAP, &[at - PAGE, 2 * PAGE, READ])) == INVALID,
    );
    space(UNMAP, &[at + 2 * PAGE, 2 * PAGE])?;
    let over = space(UNMAP, &[at + PAGE, 2 * PAGE]);
    smoke.check("over a hole", outcome(&over) == INVALID);
    let over = space(PROTECT, &[at, 8 * PAGE, READ]);
    smoke.check("nor protected", outcome(&over) == INVALID);
    smoke.check(
        "nothing has changed",
        read(at + PAGE) == 3 && read(at + 4 * PAGE) == 3,
    );
    let again = space(MAP, &[at + 2 * PAGE, 2 * PAGE, WRITE])?;
    smoke.check("the hole is filled by zeros", is_zero(again, 2));
    smoke.check(
        "its neighbours stay",
        read(again - 8) == 3 && read(again + 2 * PAGE) == 3,
    );
    // The kernel itself writes no more than the program may.
    space(PROTECT, &[at, PAGE, READ])?;
    smoke.check("read, not written", read(at) == 3);
    space(PROTECT, &[at, PAGE, NONE])?;
    space(PROTECT, &[at, PAGE, WRITE])?;
    smoke.check("what was not reached is there", read(at) == 3);
    write_code(at);
    space(PROTECT, &[at, PAGE, RUN])?;
    run(at);
    smoke.check(
        "never both",
        outcome(&space(PROTECT, &[at, PAGE, 7])) == INVALID,
    );
    let reserved = space(RESERVE, &[0, 16 * PAGE])?;
    space(COMMIT, &[reserved + PAGE, 2 * PAGE, WRITE])?;
    smoke.check("zeros at first", is_zero(reserved + PAGE, 2));
    fill(reserved + PAGE, 2, 4);
    let twice = space(COMMIT, &[reserved, 3 * PAGE, WRITE]);
    smoke.check(
        "not twice",
        outcome(&twice) == INVALID && read(reserved + PAGE) == 4,
    );
    space(DECOMMIT, &[reserved, 16 * PAGE])?;
    space(COMMIT, &[reserved, 16 * PAGE, WRITE])?;
    smoke.check("zeros again", is_zero(reserved, 16));
    space(UNMAP, &[reserved, 16 * PAGE])?;
    space(UNMAP, &[at, 2 * PAGE])?;
    Ok(())
}

/// What is used up comes back.
fn quotas(smoke: &mut Smoke) -> Result<(), Failed> {
    let mut held = Vec::new();
    while let Ok(at) = fresh(100) {
        held.push(at);
    }
    smoke.check("as many as it may", (30..=40).contains(&held.len()));
    let most = held.len();
    smoke.check("then it is told", outcome(&fresh(100)) == OVERLOADED);
    smoke.check("of objects too", outcome(&object(100)) == OVERLOADED);
    for at in held.drain(..) {
        space(UNMAP, &[at, 100 * PAGE])?;
    }
    for round in 0..3 {
        while let Ok(at) = fresh(100) {
            held.push(at);
        }
        smoke.check("the same again", held.len() == most);
        for at in held.drain(..) {
            // In two parts, of either order.
            let (first, second) = if round == 0 { (0, 50) } else { (50, 0) };
            space(UNMAP, &[at + first * PAGE, 50 * PAGE])?;
            space(UNMAP, &[at + second * PAGE, 50 * PAGE])?;
        }
    }
    for _ in 0..3 {
        let at = space(RESERVE, &[0, 262_144 * PAGE])?;
        smoke.check(
            "all are reserved",
            outcome(&space(RESERVE, &[0, PAGE])) == OVERLOADED,
        );
        space(COMMIT, &[at + 1000 * PAGE, 1000 * PAGE, WRITE])?;
        let over = space(COMMIT, &[at + 2000 * PAGE, 4000 * PAGE, WRITE]);
        smoke.check("not all can be used", outcome(&over) == OVERLOADED);
        space(UNMAP, &[at, 262_144 * PAGE])?;
    }
    for role in ["regions", "holes", "tables"] {
        with_child(smoke, role, &[], 0);
    }
    Ok(())
}

/// What one process has left another does not see.
fn zeros(smoke: &mut Smoke) -> Result<(), Failed> {
    for _ in 0..2 {
        with_child(smoke, "dirty", &[], 0);
        with_child(smoke, "clean", &[], 0);
        let at = fresh(3000)?;
        smoke.check("nor does this one", is_zero(at, 3000));
        fill(at, 3000, 0xe2e2_e2e2_e2e2_e2e2);
        space(UNMAP, &[at, 3000 * PAGE])?;
        with_child(smoke, "clean", &[], 0);
    }
    Ok(())
}

fn main() -> i64 {
    if let Some(done) = role() {
        return done.unwrap_or(90);
    }
    let Some(mut smoke) = Smoke::begin("memory") else {
        return 2;
    };
    let parts: [(&str, Part); 6] = [
        ("refused", refused),
        ("objects", objects),
        ("shared", shared),
        ("own", own),
        ("quotas", quotas),
        ("zeros", zeros),
    ];
    for (name, part) in parts {
        let done = part(&mut smoke);
        smoke.check(name, done.is_ok());
    }
    faults(&mut smoke);
    smoke.end()
}
