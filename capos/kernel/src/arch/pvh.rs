//! What QEMU tells a kernel that it starts by the PVH entry (xen/include/public/arch-x86/hvm/start_info.h).
//! It is QEMU that is believed here, not a program.

use crate::memory::direct;
use core::slice;

const MAGIC: u32 = 0x336e_c578;

#[repr(C)]
struct StartInfo {
    magic: u32,
    version: u32,
    flags: u32,
    modules: u32,
    module_list: u64,
    command_line: u64,
    rsdp: u64,
    memory_map: u64,
    memory_entries: u32,
    reserved: u32,
}

#[repr(C)]
struct Module {
    at: u64,
    size: u64,
    command_line: u64,
    reserved: u64,
}

/// A range of physical memory.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct Range {
    pub(crate) at: u64,
    pub(crate) size: u64,
    kind: u32,
    reserved: u32,
}

impl Range {
    /// Whether it is memory that may be used.
    pub(crate) fn is_usable(&self) -> bool {
        self.kind == 1
    }
}

/// What was told.
#[derive(Clone, Copy)]
pub(crate) struct Start {
    pub(crate) memory: &'static [Range],
    /// Where the manifest lies; physical address and size in bytes.
    pub(crate) module: Option<(u64, u64)>,
    pub(crate) options: &'static str,
    pub(crate) rsdp: u64,
}

/// Reads it.
///
/// # Safety
/// `at` is what EBX was at the entry, and the memory behind it was not written to since.
pub(crate) unsafe fn read(at: u64) -> Option<Start> {
    // SAFETY: the boot protocol has a structure of this layout there, in the first 4 GiB, which are in the
    // direct map; nothing writes to it while the kernel lives, since its frames are never given out.
    let info = unsafe { &*direct(at).cast::<StartInfo>() };
    if info.magic != MAGIC {
        return None;
    }
    // SAFETY: as above; the number of entries is told beside their place.
    let memory = unsafe {
        slice::from_raw_parts(direct(info.memory_map).cast(), info.memory_entries as usize)
    };
    let module = (info.modules > 0).then(|| {
        // SAFETY: as above.
        let module = unsafe { &*direct(info.module_list).cast::<Module>() };
        (module.at, module.size)
    });
    let options = match info.command_line {
        0 => "",
        at => {
            let text = direct(at);
            // SAFETY: the command line ends with a NUL byte.
            let length = (0..4096)
                .find(|i| unsafe { *text.add(*i) } == 0)
                .unwrap_or(0);
            // SAFETY: as above.
            let bytes = unsafe { slice::from_raw_parts(text, length) };
            core::str::from_utf8(bytes).unwrap_or("")
        }
    };
    Some(Start {
        memory,
        module,
        options,
        rsdp: info.rsdp,
    })
}
