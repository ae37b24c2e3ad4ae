//! Links the unwinder into the binary. As a shared library it costs every start the loading of a
//! file and ten CPUID instructions, which are slow in a virtual machine.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A binary that is linked statically has it already.
    if std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|name| name != "gnu") {
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
