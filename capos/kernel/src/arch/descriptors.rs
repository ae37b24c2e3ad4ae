//! Segments, the task state, and where interrupts lead (Intel SDM vol. 3, chapters 3, 6 and 8).
//!
//! Decision: exceptions of programs come to the thread's own place as interrupts do; a double fault, a
//! machine check and an NMI, which can come at any moment, have a stack of their own.

use super::{apic, msr, write_msr};
use crate::cpu::Cpu;
use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

// SAFETY: entry.s has it; only its address is taken.
unsafe extern "C" {
    fn syscall_entry();
}

macro_rules! vectors {
    ($($name:ident $number:expr),* $(,)?) => {
        // SAFETY: entry.s has one of each number; only their addresses are taken.
        unsafe extern "C" { $(fn $name();)* }
        const VECTORS: &[(u8, unsafe extern "C" fn())] = &[$(($number, $name)),*];
    };
}

vectors! {
    vector_0 0, vector_1 1, vector_2 2, vector_3 3, vector_4 4, vector_5 5, vector_6 6, vector_7 7,
    vector_8 8, vector_9 9, vector_10 10, vector_11 11, vector_12 12, vector_13 13, vector_14 14,
    vector_15 15, vector_16 16, vector_17 17, vector_18 18, vector_19 19, vector_20 20, vector_21 21,
    vector_64 apic::TIMER, vector_65 apic::RESCHEDULE, vector_66 apic::SHOOTDOWN,
    vector_255 apic::SPURIOUS,
}

/// Vectors with a stack of their own.
const APART: [u8; 3] = [2, 8, 18];
/// Those that a program may cause by an instruction for it: breakpoint, overflow.
const OPEN: [u8; 2] = [3, 4];

/// Written by the first processor before there is another.
static IDT: [[AtomicU64; 2]; 256] = [const { [const { AtomicU64::new(0) }; 2] }; 256];

/// The task state: where interrupts of programs are pushed, and the stack of the worst of them.
#[repr(C, packed(4))]
pub(crate) struct TaskState {
    reserved: u32,
    /// Of privilege 0: where a program's registers go.
    pub(crate) entry: u64,
    unused: [u64; 2],
    reserved2: u64,
    apart: u64,
    others: [u64; 6],
    reserved3: u64,
    reserved4: u16,
    ports: u16,
}

const _: () = assert!(core::mem::size_of::<TaskState>() == 104);

impl TaskState {
    /// One with this stack.
    pub(crate) const fn new(apart: u64) -> Self {
        Self {
            reserved: 0,
            entry: 0,
            unused: [0; 2],
            reserved2: 0,
            apart,
            others: [0; 6],
            reserved3: 0,
            reserved4: 0,
            ports: 104,
        }
    }
}

/// Fills the interrupt table.
pub(crate) fn init() {
    for (vector, handler) in VECTORS {
        let at = *handler as usize as u64;
        let stack = u64::from(APART.contains(vector));
        // Present, an interrupt gate; programs may ask for the open ones.
        let kind: u64 = if OPEN.contains(vector) { 0xee } else { 0x8e };
        let low = at & 0xffff | 8 << 16 | stack << 32 | kind << 40 | (at >> 16 & 0xffff) << 48;
        let [first, second] = &IDT[usize::from(*vector)];
        first.store(low, Ordering::Relaxed);
        second.store(at >> 32, Ordering::Relaxed);
    }
}

#[repr(C, packed)]
struct Pointer {
    limit: u16,
    base: u64,
}

/// Puts the tables into force on this processor.
///
/// # Safety
/// `own` is this processor's, which loads it once.
pub(crate) unsafe fn load(own: &'static Cpu) {
    let state = &raw const own.task_state as u64;
    // Null, kernel's code and data, programs' data and code, the task state in two parts.
    let segments = [
        0,
        0x00af_9a00_0000_ffff,
        0x00cf_9200_0000_ffff,
        0x00cf_f200_0000_ffff,
        0x00af_fa00_0000_ffff,
        0x0000_8900_0000_0067 | (state & 0xff_ffff) << 16 | (state >> 24 & 0xff) << 56,
        state >> 32,
    ];
    // SAFETY: the caller's promise: nobody else reads or writes them.
    unsafe { *own.segments.get() = segments }
    let segments = Pointer {
        limit: 55,
        base: own.segments.get() as u64,
    };
    let interrupts = Pointer {
        limit: 4095,
        base: &raw const IDT as u64,
    };
    // SAFETY: the tables are complete and live as long as the kernel; the selectors are theirs. The
    // kernel's code segment stays the one in force, whose descriptor is the same in both tables.
    unsafe {
        asm!("lgdt [{}]", in(reg) &segments, options(nostack, readonly, preserves_flags));
        asm!("mov ds, {0:e}", "mov es, {0:e}", "mov ss, {0:e}", "mov fs, {1:e}", "mov gs, {1:e}",
            in(reg) 0x10, in(reg) 0, options(nomem, nostack, preserves_flags));
        asm!("ltr {0:x}", in(reg) 0x28, options(nostack, preserves_flags));
        asm!("lidt [{}]", in(reg) &interrupts, options(nostack, readonly, preserves_flags));
        write_msr(msr::GS_BASE, core::ptr::from_ref(own) as u64);
        write_msr(msr::KERNEL_GS_BASE, 0);
        // SYSRET: programs' data 0x18 and code 0x20; SYSCALL: the kernel's 8 and 0x10.
        write_msr(msr::STAR, 0x10 << 48 | 8 << 32);
        write_msr(msr::LSTAR, syscall_entry as *const () as u64);
        // Interrupts, single steps, direction, nested task and alignment checks are off in the kernel.
        write_msr(msr::FMASK, 0x4_4700);
        // What RDTSCP tells a program beside the time.
        if has_rdtscp() {
            write_msr(msr::TSC_AUX, own.number as u64);
        }
    }
    protect();
}

/// Whether a program can ask which processor it is on (AMD64 APM vol. 3, CPUID function 8000_0001h).
pub(crate) fn has_rdtscp() -> bool {
    core::arch::x86_64::__cpuid(0x8000_0001).edx & 1 << 27 != 0
}

/// Has the processor keep the kernel from a program's pages, where it can: SMEP (bit 20 of CR4) and SMAP
/// (bit 21). The kernel reaches programs' memory by the direct map alone, so that it needs no exception.
fn protect() {
    let features = core::arch::x86_64::__cpuid_count(7, 0).ebx;
    let mut bits = 0_u64;
    for (feature, bit) in [(7, 20), (20, 21)] {
        if features & 1 << feature != 0 {
            bits |= 1 << bit;
        }
    }
    // SAFETY: only bits that the processor has said to have are set. Time stamps stay readable.
    unsafe {
        asm!("mov {0}, cr4", "or {0}, {1}", "mov cr4, {0}", out(reg) _, in(reg) bits, options(nostack));
    }
}
