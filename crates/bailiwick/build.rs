//! Has the binary linked so that it starts quickly. The unwinder is in it: as a shared library it costs every start
//! the loading of a file and ten CPUID instructions, which are slow in a virtual machine. A static one relocates
//! itself, by a list of some kilobytes instead of half a megabyte.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let environment = std::env::var("CARGO_CFG_TARGET_ENV").unwrap_or_default();
    if environment == "musl" {
        // A linker that does not know it says so and goes on.
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // A binary that is linked statically has the unwinder already.
    if environment != "gnu" {
        return;
    }
    let found = Command::new("cc")
        .arg("-print-file-name=libgcc_eh.a")
        .output();
    let Ok(output) = found else { return };
    let path = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    // Without an absolute path the compiler has none, and the shared library serves as well.
    if let Some(folder) = Path::new(&path).parent().filter(|p| p.is_absolute()) {
        println!("cargo:rustc-link-search=native={}", folder.display());
        println!("cargo:rustc-link-lib=static:+whole-archive=gcc_eh");
    }
}
