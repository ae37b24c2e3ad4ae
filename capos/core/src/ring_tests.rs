use super::*;
use proptest::prelude::*;

fn call() -> Sqe {
    Sqe {
        opcode: op::CALL,
        cap_id: 7,
        method_id: 1,
        addr: 0x1000,
        len: 8,
        ..Sqe::default()
    }
}

#[test]
fn an_unused_field_is_refused() {
    assert_eq!(call().check(), Ok(()));
    assert_eq!(
        Sqe {
            pipeline_dep: 1,
            ..call()
        }
        .check(),
        Err(error::INVALID)
    );
    assert_eq!(
        Sqe {
            session_disclosure: 8,
            ..call()
        }
        .check(),
        Err(error::INVALID)
    );
    let nop = Sqe {
        opcode: op::NOP,
        user_data: 9,
        ..Sqe::default()
    };
    assert_eq!(nop.check(), Ok(()));
    assert_eq!(Sqe { cap_id: 1, ..nop }.check(), Err(error::INVALID));
}

#[test]
fn a_thread_owns_a_call_only_with_its_id() {
    let owned = Sqe {
        flags: flag::THREAD_OWNED,
        ..call()
    };
    assert_eq!(owned.check(), Err(error::INVALID));
    assert_eq!(
        Sqe {
            call_id: 3,
            ..owned
        }
        .check(),
        Ok(())
    );
    assert_eq!(
        Sqe {
            call_id: 3,
            ..call()
        }
        .check(),
        Err(error::INVALID)
    );
    let park = Sqe {
        opcode: op::PARK,
        call_id: 3,
        ..Sqe::default()
    };
    assert_eq!(park.check(), Err(error::INVALID));
    assert_eq!(
        Sqe {
            flags: flag::THREAD_OWNED,
            ..park
        }
        .check(),
        Ok(())
    );
}

#[test]
fn reserved_and_unknown_operations_are_told_apart() {
    let of = |opcode| {
        Sqe {
            opcode,
            ..Sqe::default()
        }
        .check()
    };
    assert_eq!(of(op::FINISH), Err(error::UNSUPPORTED));
    assert_eq!(of(10), Err(error::INVALID));
    assert_eq!(of(255), Err(error::INVALID));
    let bench = Sqe {
        opcode: op::PARK_BENCH,
        addr: 0x1000,
        ..Sqe::default()
    };
    assert_eq!(bench.check(), Err(error::INVALID));
    assert_eq!(bench.check_measuring(), Ok(()));
    assert_eq!(
        Sqe {
            method_id: 2,
            ..bench
        }
        .check_measuring(),
        Err(error::INVALID)
    );
}

#[test]
fn an_empty_ring_has_the_sizes_of_the_abi() {
    let mut page = [0xff; 4096];
    init_page(&mut page);
    let words: std::vec::Vec<u32> = (0..13)
        .map(|i| u32::from_le_bytes(page[i * 4..][..4].try_into().unwrap()))
        .collect();
    assert_eq!(words, [0, 0, 15, 16, 0, 0, 0, 31, 32, 0, 0, 128, 1152]);
    assert!(page[52..].iter().all(|byte| *byte == 0));
}

#[test]
fn counters_may_wrap_and_not_lie() {
    assert_eq!(pending(u32::MAX, 3, 16), Ok(4));
    assert_eq!(pending(0, 16, 16), Ok(16));
    assert_eq!(pending(0, 17, 16), Err(Corrupt));
    assert_eq!(pending(1, 0, 16), Err(Corrupt));
}

#[test]
fn descriptors_begin_at_a_multiple_of_four() {
    assert_eq!(transfers_at(0x1000, 8), Some(0x1008));
    assert_eq!(transfers_at(0x1000, 6), None);
    assert_eq!(transfers_at(u64::MAX, 1), None);
    assert_eq!(
        Transfer::parse(&[1, 0, 0, 0, 3, 0, 0, 0]),
        Err(error::DESCRIPTOR)
    );
    assert_eq!(
        Transfer::parse(&[1, 0, 0, 0, 1, 0, 1, 0]),
        Err(error::DESCRIPTOR)
    );
}

proptest! {
    #[test]
    fn entries_read_back(a: [u8; 32], b: [u8; 32], c: [u8; 16], cap_id: u32) {
        let mut sqe = [0; 64];
        sqe[..32].copy_from_slice(&a);
        sqe[32..].copy_from_slice(&b);
        prop_assert_eq!(Sqe::from_bytes(&sqe).to_bytes(), sqe);
        let mut cqe = a;
        cqe[28..].fill(0);
        prop_assert_eq!(Cqe::from_bytes(&cqe).to_bytes(), cqe);
        let mut result = c;
        result[4..8].fill(0);
        prop_assert_eq!(TransferResult::from_bytes(&result).to_bytes(), result);
        let mut header = [0; 56];
        header[..16].copy_from_slice(&c);
        prop_assert_eq!(MessageHeader::from_bytes(&header).to_bytes(), header);
        for mode in [Mode::Copy, Mode::Move] {
            let transfer = Transfer { cap_id, mode };
            prop_assert_eq!(Transfer::parse(&transfer.to_bytes()), Ok(transfer));
        }
    }

    #[test]
    fn slots_lie_in_the_page_and_apart(counter: u32) {
        prop_assert!(sqe_at(counter) >= 128 && sqe_at(counter) + SQE_SIZE <= CQES);
        prop_assert!(cqe_at(counter) >= CQES && cqe_at(counter) + CQE_SIZE <= 4096);
        prop_assert_ne!(sqe_at(counter), sqe_at(counter.wrapping_add(1)));
    }
}
