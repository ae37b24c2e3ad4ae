//! The kernel's own page table, whose upper half every address space has: code that is not written,
//! constants that are neither written nor run, data that is not run, and the direct map, not run either.

use super::{DIRECT, PAGE};
use crate::arch::{self, paging};
use crate::sync::SpinLock;

/// What is added to a physical address of the image.
const BASE: u64 = 0xffff_ffff_8000_0000;
/// Tables of 4 KiB pages: as much of 2 MiB each as the image may have.
const LEAVES: usize = 8;

#[repr(C, align(4096))]
struct Table([u64; 512]);

struct Tables {
    top: Table,
    direct: Table,
    directories: [Table; 4],
    pointers: Table,
    directory: Table,
    leaves: [Table; LEAVES],
}

const EMPTY: Table = Table([0; 512]);

static TABLES: SpinLock<Tables> = SpinLock::new(Tables {
    top: EMPTY,
    direct: EMPTY,
    directories: [EMPTY; 4],
    pointers: EMPTY,
    directory: EMPTY,
    leaves: [EMPTY; LEAVES],
});

static TOP: core::sync::atomic::AtomicU64 = core::sync::atomic::AtomicU64::new(0);

// SAFETY: link.ld has them; only their addresses are taken.
unsafe extern "C" {
    static text_start: u8;
    static rodata_start: u8;
    static data_start: u8;
    static kernel_end: u8;
}

/// The physical address of something in the image.
pub(crate) fn physical<T>(at: *const T) -> u64 {
    at as u64 - BASE
}

/// Where the image ends, physically.
pub(crate) fn end() -> u64 {
    physical(&raw const kernel_end)
}

/// Fills the tables; once.
pub(crate) fn init() {
    use paging::{GLOBAL, HUGE, NO_EXECUTE, PRESENT, WRITABLE};
    let mut tables = TABLES.lock();
    let tables = &mut *tables;
    let table = PRESENT | WRITABLE;
    let [text, rodata, data, end] = [
        physical(&raw const text_start),
        physical(&raw const rodata_start),
        physical(&raw const data_start),
        end(),
    ];
    for (number, directory) in (0_u64..).zip(&mut tables.directories) {
        for (at, entry) in (0_u64..).zip(&mut directory.0) {
            let address = (number << 30) + (at << 21);
            // Code and constants are not written by another address either. The image's data that lies in
            // the same 2 MiB is written by the image's own addresses.
            let writable = match address < data && text < address + (1 << 21) {
                true => 0,
                false => WRITABLE,
            };
            *entry = address | writable | PRESENT | HUGE | GLOBAL | NO_EXECUTE;
        }
        tables.direct.0[number as usize] = physical(directory) | table;
    }
    for page in text / PAGE..end.div_ceil(PAGE) {
        let at = page * PAGE;
        let rights = match at {
            at if at < rodata => 0,
            at if at < data => NO_EXECUTE,
            _ => NO_EXECUTE | WRITABLE,
        };
        let leaf = &mut tables.leaves[(page / 512) as usize];
        leaf.0[(page % 512) as usize] = at | rights | PRESENT | GLOBAL;
    }
    for (entry, leaf) in tables.directory.0.iter_mut().zip(&tables.leaves) {
        *entry = physical(leaf) | table;
    }
    tables.pointers.0[510] = physical(&raw const tables.directory) | table;
    tables.top.0[paging::index(DIRECT, 3)] = physical(&raw const tables.direct) | table;
    tables.top.0[511] = physical(&raw const tables.pointers) | table;
    let top = physical(&raw const tables.top);
    TOP.store(top, core::sync::atomic::Ordering::Release);
}

/// Its physical address.
pub(crate) fn table() -> u64 {
    TOP.load(core::sync::atomic::Ordering::Acquire)
}

/// Puts it into force on this processor.
pub(crate) fn enter() {
    // SAFETY: it maps the image with the rights that its parts need, and the direct map.
    unsafe { arch::set_page_table(table()) }
}

/// Gives another top table the kernel's half.
pub(crate) fn share(top: &mut [u64; 512]) {
    let tables = TABLES.lock();
    top[256..].copy_from_slice(&tables.top.0[256..]);
}
