use super::*;

#[test]
fn a_process_has_a_clock_and_a_memory() {
    let own = std::process::id();
    let before = cpu(own).unwrap();
    let until = std::time::Instant::now() + std::time::Duration::from_millis(20);
    while std::time::Instant::now() < until {
        std::hint::black_box(0);
    }
    assert!(cpu(own).unwrap() > before + 1_000_000);
    let memory = memory(own).unwrap();
    assert!(memory.now > 0.5 && memory.peak >= memory.now, "{memory:?}");
}

#[test]
fn memory_is_read_in_mebibytes() {
    let read = parse("Name:\tx\nVmHWM:\t    2048 kB\nVmRSS:\t    1024 kB\n");
    assert_eq!(
        read,
        Some(Memory {
            now: 1.0,
            peak: 2.0
        })
    );
    assert_eq!(parse("Name:\tx\n"), None);
}
