//! What a program's registers are while it does not run. Decision: the place is the processor's own stack
//! for interrupts of that thread, so that nothing is copied (entry.s).

/// Entered by a system call; every other value is a vector.
pub(crate) const SYSCALL: u64 = 0x100;

/// Selectors of programs (descriptors.rs).
const USER_CODE: u64 = 0x23;
const USER_DATA: u64 = 0x1b;
/// Interrupts are on, and the bit that always is.
const FLAGS: u64 = 0x202;

/// The registers, in the order of entry.s.
#[derive(Clone, Debug)]
#[repr(C, align(16))]
pub(crate) struct Context {
    pub(crate) r15: u64,
    pub(crate) r14: u64,
    pub(crate) r13: u64,
    pub(crate) r12: u64,
    pub(crate) r11: u64,
    pub(crate) r10: u64,
    pub(crate) r9: u64,
    pub(crate) r8: u64,
    pub(crate) rdi: u64,
    pub(crate) rsi: u64,
    pub(crate) rbp: u64,
    pub(crate) rbx: u64,
    pub(crate) rdx: u64,
    pub(crate) rcx: u64,
    pub(crate) rax: u64,
    /// How the kernel was entered.
    pub(crate) vector: u64,
    pub(crate) error: u64,
    pub(crate) rip: u64,
    pub(crate) cs: u64,
    pub(crate) flags: u64,
    pub(crate) rsp: u64,
    pub(crate) ss: u64,
}

const _: () = assert!(core::mem::size_of::<Context>() == 176);

impl Context {
    /// A program that begins here, with these first three arguments.
    pub(crate) const fn new(entry: u64, stack: u64, arguments: [u64; 3]) -> Self {
        let [rdi, rsi, rdx] = arguments;
        Self {
            r15: 0,
            r14: 0,
            r13: 0,
            r12: 0,
            r11: 0,
            r10: 0,
            r9: 0,
            r8: 0,
            rdi,
            rsi,
            rbp: 0,
            rbx: 0,
            rdx,
            rcx: 0,
            rax: 0,
            vector: 0,
            error: 0,
            rip: entry,
            cs: USER_CODE,
            flags: FLAGS,
            rsp: stack,
            ss: USER_DATA,
        }
    }
}

/// Floating-point and vector registers, as FXSAVE has them.
#[derive(Clone)]
#[repr(C, align(16))]
pub(crate) struct Vectors([u8; 512]);

impl Vectors {
    /// What a program begins with: all exceptions masked, nothing in use.
    pub(crate) const NEW: Self = {
        let mut bytes = [0; 512];
        bytes[0] = 0x7f;
        bytes[1] = 0x03;
        bytes[24] = 0x80;
        bytes[25] = 0x1f;
        Self(bytes)
    };
}
