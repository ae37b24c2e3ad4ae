use super::*;

/// The names, modes and contents of an archive.
fn entries(mut archive: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let mut all = Vec::new();
    while !archive.is_empty() {
        let field = |number: usize| {
            let text = std::str::from_utf8(&archive[6 + 8 * number..14 + 8 * number]).unwrap();
            u32::from_str_radix(text, 16).unwrap()
        };
        assert_eq!(&archive[..6], b"070701");
        let (mode, size, named) = (field(1), field(6) as usize, field(11) as usize);
        let name = std::str::from_utf8(&archive[110..110 + named - 1]).unwrap();
        let start = (110 + named).next_multiple_of(4);
        let contents = archive[start..start + size].to_vec();
        all.push((name.to_owned(), mode, contents));
        archive = &archive[(start + size).next_multiple_of(4)..];
    }
    all
}

#[test]
fn the_archive_holds_one_program() {
    let all = entries(&archive(b"a program"));
    let [(name, mode, contents), (end, ..)] = &all[..] else {
        panic!("{all:?}")
    };
    assert_eq!((name.as_str(), *mode), ("init", 0o100_755));
    assert_eq!(contents, b"a program");
    assert_eq!(end, "TRAILER!!!");
}

#[test]
fn a_program_that_asks_for_a_loader_is_told_from_a_static_one() {
    // This one is linked as the host links, and the next begins as an ELF file and has no headers.
    let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    assert_eq!(asks_for_a_loader(&own), cfg!(target_env = "gnu"));
    let mut without = own;
    without[56..58].fill(0);
    assert!(!asks_for_a_loader(&without));
    for length in 0..128 {
        asks_for_a_loader(&without[..length]);
    }
    // Headers beyond the end of the file.
    without[32..40].fill(0xff);
    without[56..58].fill(0xff);
    assert!(!asks_for_a_loader(&without));
}
