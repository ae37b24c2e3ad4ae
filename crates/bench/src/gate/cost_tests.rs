use super::*;
use rustix::time::{ClockId, Timespec, clock_gettime};

#[test]
fn a_process_has_a_clock_and_a_memory() {
    let own = std::process::id();
    let before = cpu(own).unwrap();
    // By the thread's own clock: it has the CPU when it gets it.
    let clock = || clock_gettime(ClockId::ThreadCPUTime);
    let until = clock()
        + Timespec {
            tv_sec: 0,
            tv_nsec: 20_000_000,
        };
    while clock() < until {
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
