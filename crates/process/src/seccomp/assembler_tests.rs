use super::*;
use proptest::prelude::*;

const ARCH: u32 = 0xc000_003e;
const ENOSYS: u32 = SECCOMP_RET_ERRNO | libc::ENOSYS as u32;
const EPERM: u32 = SECCOMP_RET_ERRNO | libc::EPERM as u32;

/// An interpreter of the instructions that the assembler emits (the kernel's meaning).
fn run(code: &[sock_filter], arch: u32, number: u32, arguments: [u64; 6]) -> u32 {
    let word = |offset: u32| match offset {
        NUMBER => number,
        ARCHITECTURE => arch,
        o => arguments[((o - 16) / 8) as usize] as u32,
    };
    let (mut at, mut a) = (0, 0);
    loop {
        let i = code[at];
        at += 1;
        let code_ = u32::from(i.code);
        let branch = |yes: bool| usize::from(if yes { i.jt } else { i.jf });
        if code_ == BPF_LD | BPF_W | BPF_ABS {
            a = word(i.k);
        } else if code_ == BPF_RET | BPF_K {
            return i.k;
        } else if code_ == BPF_JMP | BPF_JA {
            at += i.k as usize;
        } else if code_ == BPF_JMP | BPF_JEQ | BPF_K {
            at += branch(a == i.k);
        } else if code_ == BPF_JMP | BPF_JGE | BPF_K {
            at += branch(a >= i.k);
        } else if code_ == BPF_JMP | BPF_JSET | BPF_K {
            at += branch(a & i.k != 0);
        } else {
            panic!("instruction {code_:#x}");
        }
    }
}

proptest! {
    #[test]
    fn the_tree_decides_as_the_table_does(
        numbers in prop::collection::btree_set(0_u32..500, 0..80),
        asked in 0_u32..520,
    ) {
        let calls = numbers.iter().map(|&n| (n, Verdict::Fail(libc::EPERM))).rev().collect();
        let code = assemble(ARCH, Some(0x4000_0000), 480, calls);
        let expected = match asked {
            480.. => ENOSYS,
            n if numbers.contains(&n) => EPERM,
            _ => SECCOMP_RET_ALLOW,
        };
        prop_assert_eq!(run(&code, ARCH, asked, [0; 6]), expected);
    }

    #[test]
    fn arguments_are_decided_by_their_low_word(flags: u64, family: u32, protocol: u32) {
        let calls = vec![
            (1, Verdict::FailIfBits { index: 0, mask: 0x7e02_0000, errno: libc::EPERM }),
            (2, Verdict::FailIfOneOf { index: 1, values: &[0x5412, 0x541c], errno: libc::EPERM }),
            (3, Verdict::FailUnlessPair {
                index: 0, values: &[1, 2, 16], errno: libc::EPERM, pivot: 16, second: 2, and: &[0],
            }),
            (4, Verdict::FailUnlessOneOf { index: 0, values: &[1, 2], errno: libc::EPERM }),
        ];
        let code = assemble(ARCH, None, 480, calls);
        let verdict = |ok: bool| if ok { SECCOMP_RET_ALLOW } else { EPERM };
        let arg = |a: u64, b: u64, c: u64| [a, b, c, 0, 0, 0];
        prop_assert_eq!(run(&code, ARCH, 1, arg(flags, 0, 0)), verdict(flags as u32 & 0x7e02_0000 == 0));
        let command = if flags % 2 == 0 { 0x5412 } else { flags as u32 };
        prop_assert_eq!(
            run(&code, ARCH, 2, arg(0, u64::from(command) | flags << 32, 0)),
            verdict(command != 0x5412 && command != 0x541c)
        );
        for family in [family % 20, 16] {
            let protocol = protocol % 3;
            let ok = matches!(family, 1 | 2) || family == 16 && protocol == 0;
            prop_assert_eq!(
                run(&code, ARCH, 3, arg(family.into(), 0, protocol.into())), verdict(ok)
            );
            prop_assert_eq!(
                run(&code, ARCH, 4, arg(family.into(), 0, 0)), verdict(matches!(family, 1 | 2))
            );
        }
    }
}

proptest! {
    #[test]
    fn every_requirement_has_its_own_error(a: u32, b: u32, high: u32) {
        let calls = vec![
            (1, Verdict::Require(&[(0, &[2, 10], libc::EPERM), (1, &[1, 0x801], libc::ENOSYS)])),
            (2, Verdict::FailUnlessNamed {
                index: 1, names: &[(0, &[1, 2]), (6, &[2, 30])], errno: libc::EPERM,
            }),
        ];
        let code = assemble(ARCH, None, 480, calls);
        let wide = |low: u32| u64::from(low) | u64::from(high) << 32;
        for (a, b) in [(a, b), (a % 12, b), (a % 12, b % 3), (2, b), (10, 0x801)] {
            let expected = match (a, b) {
                (2 | 10, 1 | 0x801) => SECCOMP_RET_ALLOW,
                (2 | 10, _) => ENOSYS,
                _ => EPERM,
            };
            prop_assert_eq!(run(&code, ARCH, 1, [wide(a), wide(b), 0, 0, 0, 0]), expected);
        }
        for (a, b) in [(a, b), (a % 7, b % 31), (0, b % 4), (6, b % 4), (6, 30), (0, 30)] {
            let named = matches!((a, b), (0, 1 | 2) | (6, 2 | 30));
            let expected = if named { SECCOMP_RET_ALLOW } else { EPERM };
            prop_assert_eq!(run(&code, ARCH, 2, [0, wide(a), wide(b), 0, 0, 0]), expected);
        }
    }

    #[test]
    fn two_masks_must_both_match(flags: u64, mode: u64) {
        let verdict = Verdict::FailIfBoth { first: (1, 0x40), second: (2, 0o6000), errno: libc::EPERM };
        let code = assemble(ARCH, None, 480, vec![(1, verdict)]);
        for (flags, mode) in [(flags, mode), (flags | 0x40, mode), (flags, mode & !0o6000)] {
            let refused = flags & 0x40 != 0 && mode & 0o6000 != 0;
            let expected = if refused { EPERM } else { SECCOMP_RET_ALLOW };
            prop_assert_eq!(run(&code, ARCH, 1, [0, flags, mode, 0, 0, 0]), expected);
        }
    }
}

#[test]
fn other_architectures_and_x32_are_killed() {
    let code = assemble(ARCH, Some(0x4000_0000), 480, vec![]);
    assert_eq!(run(&code, 0x4000_0003, 1, [0; 6]), SECCOMP_RET_KILL_PROCESS);
    assert_eq!(
        run(&code, ARCH, 0x4000_0001, [0; 6]),
        SECCOMP_RET_KILL_PROCESS
    );
    assert_eq!(run(&code, ARCH, 1, [0; 6]), SECCOMP_RET_ALLOW);
}

#[test]
fn a_bit_can_keep_a_call_from_the_broker() {
    let verdict = Verdict::NotifyUnlessBits {
        index: 2,
        mask: 0x20,
    };
    let code = assemble(ARCH, None, 480, vec![(1, verdict)]);
    let decided = |flags| run(&code, ARCH, 1, [0, 0, flags, 0, 0, 0]);
    assert_eq!(decided(0x21), SECCOMP_RET_ALLOW);
    assert_eq!(decided(0x1), SECCOMP_RET_USER_NOTIF);
}
