//! The ring (64 bytes of a submission, two counters, a descriptor): a submission is well-formed
//! exactly where a table of its bytes says so, and reads back; counters are judged as 64-bit
//! arithmetic judges them.
#![no_main]

use bailiwick_capos_core::ring::{self, Sqe, Transfer, error, flag, op};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let mut input = [0; 80];
    let length = data.len().min(80);
    input[..length].copy_from_slice(&data[..length]);
    let bytes: [u8; 64] = input[..64].try_into().expect("64 bytes");
    let sqe = Sqe::from_bytes(&bytes);
    assert_eq!(sqe.to_bytes(), bytes, "a submission does not read back");
    assert_eq!(sqe.check(), by_the_table(&bytes));

    let word = |at: usize| u32::from_le_bytes(input[at..at + 4].try_into().expect("four bytes"));
    let (head, tail) = (word(64), word(68));
    for entries in [ring::SQ_ENTRIES, ring::CQ_ENTRIES] {
        let count = (u64::from(tail) + (1 << 32) - u64::from(head)) % (1 << 32);
        let expected = (count <= u64::from(entries)).then_some(count as u32);
        assert_eq!(ring::pending(head, tail, entries).ok(), expected);
    }
    for at in [ring::sqe_at(head), ring::cqe_at(head)] {
        assert!((ring::SQES..4096 - 31).contains(&at));
    }
    let descriptor: [u8; 8] = input[72..].try_into().expect("eight bytes");
    match Transfer::parse(&descriptor) {
        Ok(transfer) => assert_eq!(transfer.to_bytes(), descriptor),
        Err(error) => {
            assert_eq!(error, ring::error::DESCRIPTOR);
            assert!(!matches!(descriptor[4..], [1 | 2, 0, 0, 0]));
        }
    }
    if let Some(start) = ring::transfers_at(sqe.addr, sqe.len) {
        assert_eq!(
            u128::from(start),
            u128::from(sqe.addr) + u128::from(sqe.len)
        );
        assert_eq!(start & 3, 0);
    }
});

/// The bytes that each operation uses, in pairs of first and one past the last.
fn by_the_table(sqe: &[u8; 64]) -> Result<(), i32> {
    const ALWAYS: &[(usize, usize)] = &[(0, 1), (8, 16)];
    let used: &[(usize, usize)] = match sqe[0] {
        op::CALL => &[(1, 8), (16, 40), (50, 57)],
        op::RETURN => &[(1, 2), (4, 8), (16, 28), (50, 56)],
        op::RECV => &[(4, 8), (28, 40)],
        op::RELEASE => &[(4, 8)],
        op::NOP => &[],
        op::CANCEL => &[(4, 8), (40, 48)],
        op::PARK => &[(1, 2), (4, 8), (16, 28), (40, 48), (52, 56)],
        op::UNPARK => &[(4, 8), (16, 28)],
        op::FINISH => return Err(error::UNSUPPORTED),
        _ => return Err(error::INVALID),
    };
    let may = |at: usize| {
        ALWAYS
            .iter()
            .chain(used)
            .any(|(from, to)| (*from..*to).contains(&at))
    };
    let zero = |from: usize, to: usize| sqe[from..to].iter().all(|byte| *byte == 0);
    let good = sqe
        .iter()
        .enumerate()
        .all(|(at, byte)| *byte == 0 || may(at))
        && match sqe[0] {
            op::CALL if sqe[1] == 0 => zero(52, 56) && sqe[56] < 8,
            op::CALL => sqe[1] == flag::THREAD_OWNED && !zero(52, 56) && sqe[56] < 8,
            op::RETURN => sqe[1] == 0 || (sqe[1] == flag::EXCEPTION && zero(50, 52)),
            op::CANCEL => !zero(40, 48),
            op::PARK => sqe[1] == flag::THREAD_OWNED && !zero(52, 56),
            _ => true,
        };
    if good { Ok(()) } else { Err(error::INVALID) }
}
