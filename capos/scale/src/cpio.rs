//! An archive of one program, which a kernel unpacks as its first file system (the `newc` format of Linux's
//! Documentation/driver-api/early-userspace/buffer-format.rst).

fn entry(into: &mut Vec<u8>, name: &str, mode: usize, contents: &[u8]) {
    let fields = [
        0,
        mode,
        0,
        0,
        1,
        0,
        contents.len(),
        0,
        0,
        0,
        0,
        name.len() + 1,
        0,
    ];
    into.extend_from_slice(b"070701");
    for field in fields {
        into.extend_from_slice(format!("{field:08x}").as_bytes());
    }
    for part in [&[name.as_bytes(), b"\0"].concat(), contents] {
        into.extend_from_slice(part);
        into.resize(into.len().next_multiple_of(4), 0);
    }
}

/// The archive of a first program.
pub(crate) fn archive(program: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(program.len() + 1024);
    entry(&mut bytes, "init", 0o100_755, program);
    entry(&mut bytes, "TRAILER!!!", 0, &[]);
    bytes
}

#[cfg(test)]
#[path = "cpio_tests.rs"]
mod tests;
