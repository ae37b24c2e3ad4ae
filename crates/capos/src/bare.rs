//! A machine with the capability kernel as the benchmarks start it, and the least that such a machine can
//! be: a kernel that says a word.
//!
//! Decision: QEMU runs here as the caller's own program, in no sandbox, as the bare machine of virtual
//! machines does; what it runs is ours from the first byte to the last.

use crate::backend::{kernel, part};
use crate::elf::{self, Part};
use crate::machine::{CaposShape, append, board};
use crate::program;
use bailiwick_capos_core::interfaces::KernelSource;
use bailiwick_capos_core::manifest::Cap;
use bailiwick_capos_core::manifest::build::Builder;
use bailiwick_event::Failure;
use bailiwick_vm::monitor;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The program that says what the primitives cost.
const COSTS: &str = "costs";
/// What it holds.
const HELD: [KernelSource; 4] = [
    KernelSource::Console,
    KernelSource::ProcessSpawner,
    KernelSource::SystemInfo,
    KernelSource::Timer,
];

/// What machines of the benchmarks are made of.
#[derive(Clone, Debug)]
pub struct BareCapos {
    /// The kernel.
    pub kernel: PathBuf,
    /// The program that measures.
    pub costs: PathBuf,
    qemu: PathBuf,
}

impl BareCapos {
    /// Finds them.
    ///
    /// # Errors
    /// A [`Failure`] where QEMU, the kernel or the program is not there.
    pub fn new() -> Result<Self, Failure> {
        Ok(Self {
            kernel: kernel()?,
            costs: part("bailiwick-capos-costs", "BAILIWICK_CAPOS_COSTS")?,
            qemu: monitor()?,
        })
    }

    /// The manifest by which the program measures.
    ///
    /// # Errors
    /// A [`Failure`] where it cannot be read, or is no program.
    pub fn manifest(&self) -> Result<Vec<u8>, Failure> {
        let file = program::read(&self.costs)?;
        let caps = HELD.map(|source| Cap::kernel(source.name(), source));
        let built = Builder::new()
            .binary(COSTS, &file)
            .init(COSTS, caps)
            .finish();
        built.map_err(|invalid| Failure::fault(format!("{}: {invalid}", self.costs.display())))
    }

    /// QEMU and its words, with this kernel and so many processors; the console is stdout.
    #[must_use]
    pub fn words(&self, kernel: &Path, manifest: Option<&Path>, cpus: u32) -> Vec<OsString> {
        let mut words = vec![self.qemu.clone().into_os_string()];
        words.extend(board(CaposShape::MEMORY, cpus).map(OsString::from));
        words.extend(["-serial", "stdio", "-kernel"].map(OsString::from));
        words.push(kernel.into());
        if let Some(manifest) = manifest {
            words.extend(["-initrd".into(), manifest.into()]);
        }
        words.extend(["-append".into(), append().into()]);
        words
    }
}

/// What the least kernel says.
pub const WORD: &[u8] = b"bailiwick: hello\n";

/// The least kernel: an ELF file with the note by which QEMU finds the entry of a PVH kernel (Xen's
/// `XEN_ELFNOTE_PHYS32_ENTRY`), whose code writes [`WORD`] to the first serial port and stops.
#[must_use]
pub fn least_kernel() -> Vec<u8> {
    const BASE: u32 = 0x10_0000;
    const NOTE: u32 = elf::headers(2);
    const CODE: u32 = NOTE + 24;
    const CODE_SIZE: u32 = 21;
    let size = u64::from(CODE + CODE_SIZE) + WORD.len() as u64;
    let parts = [
        Part::loaded(size),
        Part {
            kind: elf::NOTE,
            offset: NOTE,
            size: 24,
            ..Part::loaded(0)
        },
    ];
    let mut file = elf::begin(BASE, CODE, &parts);
    let mut put = |bytes: &[u8]| file.extend_from_slice(bytes);
    for word in [4_u32, 8, 18] {
        put(&word.to_le_bytes());
    }
    put(b"Xen\0");
    put(&u64::from(BASE + CODE).to_le_bytes());
    put(&[0xbe]); // mov esi, the word
    put(&(BASE + CODE + CODE_SIZE).to_le_bytes());
    put(&[0xb9]); // mov ecx, its length
    put(&(WORD.len() as u32).to_le_bytes());
    put(&[0x66, 0xba, 0xf8, 0x03]); // mov dx, 0x3f8
    put(&[0xfc, 0xf3, 0x6e]); // cld; rep outsb
    put(&[0xfa, 0xf4, 0xeb, 0xfd]); // cli; hlt; jmp to the hlt
    put(WORD);
    file
}
