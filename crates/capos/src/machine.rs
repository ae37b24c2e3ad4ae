//! What a machine is started with.

use bailiwick_vm::kilohertz;
use std::ffi::OsString;
use std::path::Path;

/// Where the kernel is inside.
pub(crate) const KERNEL: &str = "/capos/kernel";
/// Where the manifest is inside.
pub(crate) const MANIFEST: &str = "/capos/manifest";
/// QEMU's exit status where the kernel itself ended the machine is odd (isa-debug-exit).
const DEBUG_EXIT: &str = "isa-debug-exit,iobase=0xf4,iosize=4";

/// What a machine is to be.
#[derive(Clone, Debug)]
pub struct CaposShape {
    /// Its memory, in bytes.
    pub memory: u64,
    /// How many processors it has.
    pub cpus: u32,
    /// Names of the capabilities that the program is given besides the policy's.
    pub capabilities: Vec<String>,
}

impl CaposShape {
    /// What a machine has at least, in bytes.
    pub const LEAST: u64 = 32 << 20;
    /// What a machine has where nothing is said, in bytes.
    pub const MEMORY: u64 = 64 << 20;
}

/// The rate of the processor's counter, in kHz, where it cannot be known.
const UNKNOWN: u64 = 2_000_000;

/// What the kernel is told: the rate of its clock, which it cannot find out under QEMU.
pub(crate) fn append() -> String {
    format!("tsc_khz={}", kilohertz().unwrap_or(UNKNOWN))
}

/// The board, for so many bytes of memory and processors; what ends the machine is its only device.
pub(crate) fn board(memory: u64, cpus: u32) -> [String; 17] {
    [
        "-M",
        "microvm,x-option-roms=off,pit=off,pic=off,rtc=off,isa-serial=on",
        "-accel",
        "tcg,thread=multi,tb-size=64",
        "-cpu",
        "max",
        "-smp",
        &cpus.to_string(),
        "-m",
        &format!("{}M", memory >> 20),
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-device",
        DEBUG_EXIT,
    ]
    .map(str::to_owned)
}

/// The words by which QEMU is started: stdout is the program's console, stderr what the kernel says.
pub(crate) fn words(qemu: &Path, shape: &CaposShape) -> Vec<OsString> {
    let append = format!("{} words=apart", append());
    let words = [
        "-sandbox",
        "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
        "-chardev",
        "file,id=console,path=/dev/stdout",
        "-serial",
        "chardev:console",
        "-chardev",
        "file,id=words,path=/dev/stderr",
        "-device",
        "isa-debugcon,iobase=0xe9,chardev=words",
        "-kernel",
        KERNEL,
        "-initrd",
        MANIFEST,
        "-append",
        &append,
    ];
    let mut all = vec![qemu.as_os_str().to_owned()];
    all.extend(board(shape.memory, shape.cpus).map(OsString::from));
    all.extend(words.map(OsString::from));
    all
}
