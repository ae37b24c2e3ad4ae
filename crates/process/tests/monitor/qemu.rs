//! QEMU as a monitor, where it is installed.

use crate::world::{Live, SHARE, World};
use bailiwick_process::ProcessBackend;
use bailiwick_sandbox::OwnAccess;
use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

crate::tests![it_starts_with_a_template_as_its_memory];

const QEMU: &str = "/usr/bin/qemu-system-x86_64";

/// Starts it with a control socket as its second stream; none where it is not installed.
fn start(world: &World, more: &[&str]) -> Option<Live> {
    if !Path::new(QEMU).exists() {
        println!("  {QEMU} is not installed: not tried");
        return None;
    }
    let words = [
        QEMU,
        "-M",
        "microvm,x-option-roms=off,isa-serial=on,acpi=off",
        "-accel",
        "tcg,thread=multi",
        "-cpu",
        "max",
        "-smp",
        "2",
        "-nodefaults",
        "-no-user-config",
        "-display",
        "none",
        "-no-reboot",
        "-sandbox",
        "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny",
        "-chardev",
        "socket,id=q,fd=1",
        "-mon",
        "chardev=q,mode=control",
    ];
    let words: Vec<OsString> = words.iter().chain(more).map(OsString::from).collect();
    let backend = ProcessBackend::for_monitor();
    Some(
        world
            .start_with(&backend, &words, Path::new(SHARE))
            .unwrap(),
    )
}

fn it_starts_with_a_template_as_its_memory() {
    let world = World::new(&[("ws/file", "text"), ("vm/ram", "")])
        .own("vm", "/vm", OwnAccess::Write)
        .own("vm/ram", "/vm/template", OwnAccess::Template);
    let ram = std::fs::File::options()
        .write(true)
        .open(world.top().join("vm/ram"));
    ram.unwrap().set_len(64 << 20).unwrap();
    let more = [
        "-S",
        "-m",
        "64M",
        "-object",
        "memory-backend-file,id=ram,size=64M,mem-path=/vm/template,share=off",
        "-machine",
        "memory-backend=ram",
        "-chardev",
        "socket,id=c,fd=0",
        "-serial",
        "chardev:c",
    ];
    let since = Instant::now();
    let Some(mut live) = start(&world, &more) else {
        return;
    };
    let greeting = live.hear();
    assert!(greeting.contains("QMP"), "{greeting}{}", live.end().errors);
    println!("  greeting after {:?}", since.elapsed());
    let mut execute = |command: &str| {
        writeln!(live.output, "{{\"execute\": \"{command}\"}}").unwrap();
        live.hear()
    };
    assert!(execute("qmp_capabilities").contains("return"));
    let status = execute("query-status");
    assert!(status.contains("prelaunch"), "{status}");
    execute("quit");
    let ended = live.end();
    assert_eq!(ended.code, 0, "{}", ended.errors);
    assert_eq!(ended.refused, []);
}
