//! Processes: an address space, what it holds, a ring, and threads. A process has no authority but what is
//! in its table.
//!
//! Decision: a process ends in one place. Whatever ends it (exit, its last thread's end, a fault, whoever
//! holds its handle) only marks it; each of its threads is retired when a processor next comes by, and the
//! last one takes the process apart: what it held is released before its memory is.

use crate::arch::context::Context;
use crate::call::{Pending, Reply};
use crate::crash::Refused;
use crate::hold::Hold;
use crate::memory::space::{Kind, Rights, Space};
use crate::quota::Quota;
use crate::ring::Ring;
use crate::sync::SpinLock;
use crate::thread::Thread;
use crate::{cpu, park, schedule};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::sync::{Arc, Weak};
use alloc::vec::Vec;
use bailiwick_capos_core::capset;
use bailiwick_capos_core::elf::Image;
use bailiwick_capos_core::layout;
use bailiwick_capos_core::table::{CapId, Table};
use core::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// What a process that was ended from outside, or by a fault, leaves as its code.
pub(crate) const TERMINATED: i64 = -1;
pub(crate) const FAULTED: i64 = -2;

/// How many there are.
pub(crate) static COUNT: AtomicUsize = AtomicUsize::new(0);
static NEXT: AtomicU32 = AtomicU32::new(1);

/// How a process ended; outlives it.
pub(crate) struct Exit {
    pub(crate) code: SpinLock<Option<i64>>,
    pub(crate) waiting: SpinLock<Option<Pending>>,
}

/// A process. No other's is on its lines of the cache.
#[repr(align(64))]
pub(crate) struct Process {
    pub(crate) number: u32,
    pub(crate) name: String,
    pub(crate) space: Space,
    pub(crate) table: SpinLock<Table<Hold>>,
    pub(crate) ring: Ring,
    pub(crate) quota: Quota,
    pub(crate) exit: Arc<Exit>,
    threads: SpinLock<BTreeMap<u32, Weak<Thread>>>,
    next_thread: AtomicU32,
    /// Threads that were not retired.
    alive: AtomicUsize,
    is_ending: AtomicBool,
    /// The code of whoever ended it first.
    code: SpinLock<Option<i64>>,
    /// Calls of others that it has received and not answered, by their numbers.
    pub(crate) received: SpinLock<BTreeMap<u32, crate::objects::endpoint::Received>>,
    pub(crate) next_call: AtomicU32,
    /// For whoever has to find out why it crashed.
    pub(crate) refused: Refused,
    _alive: Alive,
}

/// Why a process cannot be made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Unmade {
    /// There is no memory, or a quota is full.
    Memory,
    /// There are as many as there may be.
    TooMany,
    /// The program's file is not one.
    Image,
    /// A capability's name is too long, or there are too many.
    Capabilities,
}

impl Process {
    /// Makes one from a program's file, with capabilities by their names; nothing of it runs yet.
    pub(crate) fn make(
        name: &str,
        file: &[u8],
        holds: Vec<(String, Hold)>,
    ) -> Result<(Arc<Self>, Arc<Thread>), Unmade> {
        let alive = Alive::new().ok_or(Unmade::TooMany)?;
        let image = Image::parse(file).map_err(|_| Unmade::Image)?;
        let space = Space::new().ok_or(Unmade::Memory)?;
        let fs_base = load(&space, &image, file).ok_or(Unmade::Memory)?;
        let mut page = [0; 4096];
        let mut table = Table::new(layout::CAP_SLOTS);
        let mut entries = Vec::new();
        for (name, hold) in &holds {
            let cap_id = table
                .insert(hold.clone())
                .map_err(|_| Unmade::Capabilities)?;
            entries.push(capset::Entry {
                cap_id,
                interface_id: hold.interface(),
                name,
            });
        }
        capset::write(&mut page, &entries).map_err(|_| Unmade::Capabilities)?;
        space.load(layout::CAPSET, &page);
        let ring = Ring::new(&space).ok_or(Unmade::Memory)?;
        let process = Arc::new(Self {
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            name: name.into(),
            space,
            table: SpinLock::new(table),
            ring,
            quota: Quota::new(),
            exit: Arc::new(Exit {
                code: SpinLock::new(None),
                waiting: SpinLock::new(None),
            }),
            threads: SpinLock::new(BTreeMap::new()),
            next_thread: AtomicU32::new(1),
            alive: AtomicUsize::new(0),
            is_ending: AtomicBool::new(false),
            code: SpinLock::new(None),
            received: SpinLock::new(BTreeMap::new()),
            next_call: AtomicU32::new(1),
            refused: Refused::new(),
            _alive: alive,
        });
        // What a call at the entry would have left: the stack 8 bytes from a multiple of 16.
        let arguments = [layout::RING, process.number.into(), layout::CAPSET];
        let context = Context::new(image.entry, layout::STACK_TOP - 8, arguments);
        let thread = process.add_thread(context, fs_base).ok_or(Unmade::Memory)?;
        // Nothing fails any more: what is held from here on is released when the process ends.
        for (_, hold) in &holds {
            hold.object.held(hold.facet);
        }
        Ok((process, thread))
    }

    /// Adds a thread that is to begin so.
    pub(crate) fn add_thread(
        self: &Arc<Self>,
        context: Context,
        fs_base: u64,
    ) -> Option<Arc<Thread>> {
        if !self.quota.threads.take(1) {
            return None;
        }
        let number = self.next_thread.fetch_add(1, Ordering::Relaxed);
        let mut thread = Thread::new(number, self.clone(), context, fs_base);
        if number > 1 {
            thread.tell_number();
        }
        let thread = Arc::new(thread);
        self.alive.fetch_add(1, Ordering::AcqRel);
        self.threads.lock().insert(number, Arc::downgrade(&thread));
        Some(thread)
    }

    /// Whether it is about to end: none of its threads runs on.
    pub(crate) fn is_ending(&self) -> bool {
        self.is_ending.load(Ordering::SeqCst)
    }

    /// Has it end with this code, unless it ends already.
    pub(crate) fn end(&self, code: i64) {
        {
            let mut first = self.code.lock();
            if first.is_some() {
                return;
            }
            *first = Some(code);
            // Whoever sees this finds the code.
            self.is_ending.store(true, Ordering::SeqCst);
        }
        let threads: Vec<_> = self
            .threads
            .lock()
            .values()
            .filter_map(Weak::upgrade)
            .collect();
        for thread in threads {
            if thread.claim_any() {
                schedule::ready(thread, false);
            }
        }
        // Those that run are interrupted, so that they come by: whoever uses its memory from now on sees
        // first that it ends (schedule.rs).
        let resident = self.space.resident();
        cpu::all()
            .filter(|cpu| resident & 1 << cpu.number != 0)
            .for_each(cpu::Cpu::poke);
    }

    /// Puts capabilities into its table, all of them or none; their ids and interfaces. They can be used when
    /// they are revealed; one that has been taken apart has none.
    pub(crate) fn install(self: &Arc<Self>, holds: Vec<Hold>) -> Option<Vec<(CapId, u64)>> {
        let mut table = self.table.lock();
        if table.room() < holds.len() {
            return None;
        }
        let mut records = Vec::new();
        let mut is_whole = true;
        for hold in holds {
            let (object, facet) = (hold.object.clone(), hold.facet);
            let interface = hold.interface();
            // There are no ids left; there was room.
            let Ok(id) = table.insert(hold) else {
                is_whole = false;
                break;
            };
            object.held(facet);
            is_whole &= table.reserve(id).is_ok();
            records.push((id, interface));
        }
        drop(table);
        if !is_whole {
            self.release_all(&records);
            return None;
        }
        Some(records)
    }

    /// Lets it use what was installed: all of it has arrived.
    pub(crate) fn reveal(&self, records: &[(CapId, u64)]) {
        let mut table = self.table.lock();
        for (id, _) in records {
            table.cancel(*id);
        }
    }

    /// What it holds by an id.
    pub(crate) fn hold(&self, id: CapId) -> Option<Hold> {
        let hold = self.table.lock().get(id).ok().cloned();
        if hold.is_none() {
            self.refused.note(id);
        }
        hold
    }

    /// Lets go of what it holds by an id; whether it held something.
    pub(crate) fn release(self: &Arc<Self>, id: CapId) -> bool {
        let hold = self.table.lock().remove(id);
        match hold {
            Ok(hold) => {
                hold.object.released(hold.facet, self);
                true
            }
            Err(_) => false,
        }
    }

    /// Takes away what it holds by an id, wherever that is on its way to; what it held.
    pub(crate) fn revoke(self: &Arc<Self>, id: CapId) -> Option<Hold> {
        let hold = self.table.lock().evict(id)?;
        hold.object.released(hold.facet, self);
        Some(hold)
    }

    /// Lets go of what was installed and not revealed.
    pub(crate) fn release_all(self: &Arc<Self>, records: &[(CapId, u64)]) {
        for (id, _) in records {
            self.revoke(*id);
        }
    }

    /// Takes it apart.
    fn take_apart(self: &Arc<Self>) {
        let held: Vec<CapId> = {
            let mut table = self.table.lock();
            // What others are about to put into it goes back.
            table.close();
            table.iter().map(|(id, _)| id).collect()
        };
        for id in held {
            // What is on its way to another process stays here, where it ends.
            self.revoke(id);
        }
        // What it waits for elsewhere, also where it holds nothing any more.
        for object in self.ring.take_waits() {
            object.forget(self);
        }
        let received = core::mem::take(&mut *self.received.lock());
        drop(received);
        self.ring.abandon();
        // Who is about to park enters a deadline under the bucket's lock: deadlines are looked at after that.
        park::forget_process(self);
        schedule::forget_process(self);
        let code = self.code.lock().unwrap_or(TERMINATED);
        *self.exit.code.lock() = Some(code);
        let waiting = self.exit.waiting.lock().take();
        if let Some(pending) = waiting {
            pending.complete(Reply::numbers(&[code.cast_unsigned()]));
        }
    }
}

/// Counts a process as long as anything of it is there: it is the last field that is dropped.
struct Alive;

impl Alive {
    /// One more; none where there are as many as there may be.
    fn new() -> Option<Self> {
        let one_more = |count: usize| (count < layout::PROCESSES).then_some(count + 1);
        let counted = COUNT.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more);
        counted.ok().map(|_| Self)
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        if COUNT.fetch_sub(1, Ordering::AcqRel) == 1 {
            // One of them ends the machine.
            cpu::all().for_each(cpu::Cpu::poke);
        }
    }
}

/// Fills an address space with a program; its first thread's FS base.
fn load(space: &Space, image: &Image, file: &[u8]) -> Option<u64> {
    for segment in &image.segments {
        let rights = match (segment.write, segment.execute) {
            (true, _) => Rights::WRITE,
            (_, true) => Rights::EXECUTE,
            _ => Rights::READ,
        };
        let start = segment.vaddr & !(layout::PAGE - 1);
        let size = segment.vaddr + segment.memsz - start;
        space.map(start, size, rights, Kind::Fixed).ok()?;
        let end = segment.offset.checked_add(segment.filesz)?;
        space.load(
            segment.vaddr,
            file.get(segment.offset as usize..end as usize)?,
        );
    }
    let stack = layout::STACK_PAGES * layout::PAGE;
    let fixed = [
        (layout::STACK_BASE, stack, Rights::WRITE),
        (layout::RING, layout::PAGE, Rights::WRITE),
        (layout::CAPSET, layout::PAGE, Rights::READ),
    ];
    for (start, size, rights) in fixed {
        space.map(start, size, rights, Kind::Fixed).ok()?;
    }
    let Some(tls) = &image.tls else {
        return Some(0);
    };
    // The x86-64 psABI's variant II: the block ends at the thread pointer, which leads to itself.
    let align = tls.align.max(16);
    let block = tls.memsz.next_multiple_of(align);
    let pointer = (layout::TLS_BASE + block).next_multiple_of(align);
    let size = pointer + 8 - layout::TLS_BASE;
    if size > layout::TLS_LIMIT - layout::TLS_BASE {
        return None;
    }
    space
        .map(layout::TLS_BASE, size, Rights::WRITE, Kind::Fixed)
        .ok()?;
    let end = tls.offset.checked_add(tls.filesz)?;
    space.load(
        pointer - block,
        file.get(tls.offset as usize..end as usize)?,
    );
    space.load(pointer, &pointer.to_le_bytes());
    Some(pointer)
}

/// A thread of a process that ends, or that has ended itself, is run no more.
pub(crate) fn retire(thread: Arc<Thread>) {
    let process = thread.process.clone();
    process.threads.lock().remove(&thread.number);
    schedule::forget_wait(&thread);
    let code = thread.code().unwrap_or(TERMINATED);
    process.quota.threads.give(1);
    thread.outcome.is(code);
    drop(thread);
    if process.alive.fetch_sub(1, Ordering::AcqRel) == 1 {
        // The last one: what it leaves is the process's code, unless that had one before.
        process.end(code);
        process.take_apart();
    }
}
