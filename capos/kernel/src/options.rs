//! What the machine was started with: the manifest, and words on the kernel's command line.

use alloc::boxed::Box;
use bailiwick_capos_core::manifest::{Invalid, Manifest};
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

struct Boot {
    bytes: &'static [u8],
    manifest: Manifest<'static>,
}

static BOOT: AtomicPtr<Boot> = AtomicPtr::new(ptr::null_mut());

/// Takes the manifest.
pub(crate) fn init(bytes: &'static [u8]) -> Result<(), Invalid> {
    let manifest = Manifest::decode(bytes)?;
    let boot = Box::leak(Box::new(Boot { bytes, manifest }));
    BOOT.store(boot, Ordering::Release);
    Ok(())
}

fn boot() -> Option<&'static Boot> {
    // SAFETY: what was stored was leaked, and nothing changes it.
    unsafe { BOOT.load(Ordering::Acquire).as_ref() }
}

/// The manifest as it came.
pub(crate) fn manifest() -> &'static [u8] {
    boot().map_or(&[], |boot| boot.bytes)
}

/// The manifest, read.
pub(crate) fn decoded() -> Option<&'static Manifest<'static>> {
    boot().map(|boot| &boot.manifest)
}

/// A program of the manifest's.
pub(crate) fn binary(name: &str) -> Option<&'static [u8]> {
    boot()?.manifest.binary(name)
}

/// A number on the command line: `name=123`.
pub(crate) fn number(line: &str, name: &str) -> Option<u64> {
    let mut words = line.split_ascii_whitespace();
    words.find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse().ok())
}

/// Whether a word is on the command line.
pub(crate) fn has(line: &str, word: &str) -> bool {
    line.split_ascii_whitespace().any(|other| other == word)
}
