//! `memcpy` and `memmove` in the place of the C library's, whose own begin every copy with a string
//! instruction: a start copies some thousand small things. Up to 128 bytes are read whole before
//! any is written, so that overlapping does not matter there.

use std::arch::global_asm;

// In a test they stand beside the C library's, under names of their own.
#[cfg(not(test))]
macro_rules! copy {
    () => {
        "memcpy"
    };
}
#[cfg(not(test))]
macro_rules! shift {
    () => {
        "memmove"
    };
}
#[cfg(test)]
macro_rules! copy {
    () => {
        "bailiwick_memcpy"
    };
}
#[cfg(test)]
macro_rules! shift {
    () => {
        "bailiwick_memmove"
    };
}

global_asm!(
    concat!(".globl ", copy!()),
    concat!(".globl ", shift!()),
    concat!(".type ", copy!(), ", @function"),
    concat!(".type ", shift!(), ", @function"),
    concat!(copy!(), ":"),
    concat!(shift!(), ":"),
    "mov rax, rdi",
    "cmp rdx, 16",
    "jb 20f",
    "cmp rdx, 32",
    "ja 12f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + rdx - 16], xmm1",
    "ret",
    // 33 to 64
    "12:",
    "cmp rdx, 64",
    "ja 13f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + rdx - 32]",
    "movups xmm3, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + rdx - 32], xmm2",
    "movups [rdi + rdx - 16], xmm3",
    "ret",
    // 65 to 128
    "13:",
    "cmp rdx, 128",
    "ja 30f",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + 32]",
    "movups xmm3, [rsi + 48]",
    "movups xmm4, [rsi + rdx - 64]",
    "movups xmm5, [rsi + rdx - 48]",
    "movups xmm6, [rsi + rdx - 32]",
    "movups xmm7, [rsi + rdx - 16]",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + 32], xmm2",
    "movups [rdi + 48], xmm3",
    "movups [rdi + rdx - 64], xmm4",
    "movups [rdi + rdx - 48], xmm5",
    "movups [rdi + rdx - 32], xmm6",
    "movups [rdi + rdx - 16], xmm7",
    "ret",
    // 8 to 15
    "20:",
    "cmp edx, 8",
    "jb 21f",
    "mov rcx, [rsi]",
    "mov r8, [rsi + rdx - 8]",
    "mov [rdi], rcx",
    "mov [rdi + rdx - 8], r8",
    "ret",
    // 4 to 7
    "21:",
    "cmp edx, 4",
    "jb 22f",
    "mov ecx, [rsi]",
    "mov r8d, [rsi + rdx - 4]",
    "mov [rdi], ecx",
    "mov [rdi + rdx - 4], r8d",
    "ret",
    // 0 to 3
    "22:",
    "test edx, edx",
    "jz 23f",
    "movzx ecx, byte ptr [rsi]",
    "movzx r8d, byte ptr [rsi + rdx - 1]",
    "mov r9, rdx",
    "shr r9",
    "movzx r10d, byte ptr [rsi + r9]",
    "mov [rdi], cl",
    "mov [rdi + r9], r10b",
    "mov [rdi + rdx - 1], r8b",
    "23:",
    "ret",
    // Longer. Where the end of the source would be overwritten before it is read: from the end.
    "30:",
    "mov rcx, rdi",
    "sub rcx, rsi",
    "cmp rcx, rdx",
    "jb 34f",
    "cmp rdx, 2048",
    "ja 33f",
    // 64 at a time; the last 64 are read first.
    "movups xmm4, [rsi + rdx - 64]",
    "movups xmm5, [rsi + rdx - 48]",
    "movups xmm6, [rsi + rdx - 32]",
    "movups xmm7, [rsi + rdx - 16]",
    "lea r8, [rdi + rdx - 64]",
    "32:",
    "movups xmm0, [rsi]",
    "movups xmm1, [rsi + 16]",
    "movups xmm2, [rsi + 32]",
    "movups xmm3, [rsi + 48]",
    "movups [rdi], xmm0",
    "movups [rdi + 16], xmm1",
    "movups [rdi + 32], xmm2",
    "movups [rdi + 48], xmm3",
    "add rsi, 64",
    "add rdi, 64",
    "cmp rdi, r8",
    "jb 32b",
    "movups [r8], xmm4",
    "movups [r8 + 16], xmm5",
    "movups [r8 + 32], xmm6",
    "movups [r8 + 48], xmm7",
    "ret",
    // Of much the processor knows best.
    "33:",
    "mov rcx, rdx",
    "rep movsb",
    "ret",
    // The same from the end; the first 64 are read first.
    "34:",
    "movups xmm4, [rsi]",
    "movups xmm5, [rsi + 16]",
    "movups xmm6, [rsi + 32]",
    "movups xmm7, [rsi + 48]",
    "35:",
    "movups xmm0, [rsi + rdx - 16]",
    "movups xmm1, [rsi + rdx - 32]",
    "movups xmm2, [rsi + rdx - 48]",
    "movups xmm3, [rsi + rdx - 64]",
    "movups [rdi + rdx - 16], xmm0",
    "movups [rdi + rdx - 32], xmm1",
    "movups [rdi + rdx - 48], xmm2",
    "movups [rdi + rdx - 64], xmm3",
    "sub rdx, 64",
    "cmp rdx, 64",
    "ja 35b",
    "movups [rdi], xmm4",
    "movups [rdi + 16], xmm5",
    "movups [rdi + 32], xmm6",
    "movups [rdi + 48], xmm7",
    "ret",
);

#[cfg(test)]
mod tests {
    use std::ffi::c_void;

    // SAFETY: the assembler above defines both, by the C calling convention and with the C library's arguments.
    unsafe extern "C" {
        fn bailiwick_memcpy(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
        fn bailiwick_memmove(to: *mut c_void, from: *const c_void, bytes: usize) -> *mut c_void;
    }

    /// Bytes of which no two near each other are equal.
    fn filled(length: usize) -> Vec<u8> {
        (0..length).map(|at| (at * 7 + at / 256) as u8).collect()
    }

    #[test]
    fn every_length_is_copied_and_nothing_beside_it() {
        for length in (0..2300).chain([4095, 4096, 70_001]) {
            let (from, mut to) = (filled(length), vec![0xee; length + 32]);
            let at = to[16..].as_mut_ptr().cast();
            // SAFETY: both buffers have `length` bytes from there on, and they are two.
            let returned = unsafe { bailiwick_memcpy(at, from.as_ptr().cast(), length) };
            assert_eq!(returned, at);
            assert_eq!(&to[16..16 + length], from, "{length}");
            assert!(
                to[..16]
                    .iter()
                    .chain(&to[16 + length..])
                    .all(|byte| *byte == 0xee)
            );
        }
    }

    #[test]
    fn what_overlaps_is_moved_whole_in_both_directions() {
        for length in (0..700).chain([2047, 2048, 2049, 4096]) {
            for distance in [0, 1, 7, 8, 15, 16, 31, 33, 64, 127, 129, 200, 4000] {
                for (from, to) in [(0, distance), (distance, 0)] {
                    let mut ours = filled(length + distance);
                    let mut theirs = ours.clone();
                    theirs.copy_within(from..from + length, to);
                    let start = ours.as_mut_ptr();
                    // SAFETY: both ranges of `length` bytes lie in the buffer.
                    unsafe {
                        bailiwick_memmove(start.add(to).cast(), start.add(from).cast(), length);
                    }
                    assert_eq!(ours, theirs, "{length} bytes from {from} to {to}");
                }
            }
        }
    }
}
