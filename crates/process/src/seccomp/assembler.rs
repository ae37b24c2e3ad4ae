//! Turns a table of verdicts into a classic-BPF search tree. Linear filters of 300 rules cost
//! 0.6 ms to attach; the depth here is the logarithm of the number of rules.

use libc::{
    BPF_ABS, BPF_JA, BPF_JEQ, BPF_JGE, BPF_JMP, BPF_JSET, BPF_K, BPF_LD, BPF_RET, BPF_W,
    SECCOMP_RET_ALLOW, SECCOMP_RET_ERRNO, SECCOMP_RET_KILL_PROCESS, SECCOMP_RET_USER_NOTIF,
    sock_filter,
};

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The write broker makes it.
    Notify,
    /// The write broker makes it if the low word of argument `index` has a bit of `mask`.
    NotifyIfBits { index: u32, mask: u32 },
    /// The write broker makes it unless the low word of argument `index` has a bit of `mask`.
    NotifyUnlessBits { index: u32, mask: u32 },
    /// It fails with this error number.
    Fail(i32),
    /// It fails with the error number if the low word of argument `index` has a bit of `mask`.
    FailIfBits { index: u32, mask: u32, errno: i32 },
    /// It fails with the error number if the low words of both arguments have a bit of their masks.
    FailIfBoth {
        first: (u32, u32),
        second: (u32, u32),
        errno: i32,
    },
    /// It fails with the error number if the low word of argument `index` is one of `values`.
    FailIfOneOf {
        index: u32,
        values: &'static [u32],
        errno: i32,
    },
    /// It fails with the error number unless the low word of argument `index` is one of `values`.
    FailUnlessOneOf {
        index: u32,
        values: &'static [u32],
        errno: i32,
    },
    /// As above; where the argument is `pivot`, argument `second` must be one of `and` besides.
    FailUnlessPair {
        index: u32,
        values: &'static [u32],
        errno: i32,
        pivot: u32,
        second: u32,
        and: &'static [u32],
    },
    /// Each of these arguments must have one of its values in its low word; else it fails with the
    /// error number of the first that has not.
    Require(&'static [(u32, &'static [u32], i32)]),
    /// It fails with the error number unless the low word of argument `index` is named, and that of
    /// the argument after it is one of the values that stand beside the name.
    FailUnlessNamed {
        index: u32,
        names: &'static [(u32, &'static [u32])],
        errno: i32,
    },
}

/// Offsets in `struct seccomp_data` (seccomp(2)); the low word of an argument comes first on
/// the little-endian machines that we build for.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const fn argument(index: u32) -> u32 {
    16 + 8 * index
}

fn statement(code: u32, k: u32) -> sock_filter {
    sock_filter {
        code: code as u16,
        jt: 0,
        jf: 0,
        k,
    }
}
fn jump(code: u32, k: u32, jt: usize, jf: usize) -> sock_filter {
    debug_assert!(jt < 256 && jf < 256);
    sock_filter {
        code: (BPF_JMP | code | BPF_K) as u16,
        jt: jt as u8,
        jf: jf as u8,
        k,
    }
}
fn load(offset: u32) -> sock_filter {
    statement(BPF_LD | BPF_W | BPF_ABS, offset)
}
fn answer(value: u32) -> sock_filter {
    statement(BPF_RET | BPF_K, value)
}
fn fail(errno: i32) -> sock_filter {
    answer(SECCOMP_RET_ERRNO | errno as u32)
}

/// Falls through to `after` if the loaded word is one of `values`, else fails.
fn require(values: &[u32], errno: i32) -> Vec<sock_filter> {
    let mut code: Vec<_> = (0..values.len())
        .map(|i| jump(BPF_JEQ, values[i], values.len() - i, 0))
        .collect();
    code.push(fail(errno));
    code
}

fn body(verdict: &Verdict) -> Vec<sock_filter> {
    match *verdict {
        Verdict::Notify => vec![answer(SECCOMP_RET_USER_NOTIF)],
        Verdict::NotifyIfBits { index, mask } => vec![
            load(argument(index)),
            jump(BPF_JSET, mask, 0, 1),
            answer(SECCOMP_RET_USER_NOTIF),
            answer(SECCOMP_RET_ALLOW),
        ],
        Verdict::NotifyUnlessBits { index, mask } => vec![
            load(argument(index)),
            jump(BPF_JSET, mask, 1, 0),
            answer(SECCOMP_RET_USER_NOTIF),
            answer(SECCOMP_RET_ALLOW),
        ],
        Verdict::Fail(errno) => vec![fail(errno)],
        Verdict::FailIfBits { index, mask, errno } => vec![
            load(argument(index)),
            jump(BPF_JSET, mask, 0, 1),
            fail(errno),
            answer(SECCOMP_RET_ALLOW),
        ],
        Verdict::FailIfBoth {
            first,
            second,
            errno,
        } => vec![
            load(argument(first.0)),
            jump(BPF_JSET, first.1, 0, 3),
            load(argument(second.0)),
            jump(BPF_JSET, second.1, 0, 1),
            fail(errno),
            answer(SECCOMP_RET_ALLOW),
        ],
        Verdict::FailIfOneOf {
            index,
            values,
            errno,
        } => {
            let mut code = vec![load(argument(index))];
            for (i, &value) in values.iter().enumerate() {
                code.push(jump(BPF_JEQ, value, values.len() - i, 0));
            }
            code.extend([answer(SECCOMP_RET_ALLOW), fail(errno)]);
            code
        }
        Verdict::FailUnlessOneOf {
            index,
            values,
            errno,
        } => {
            let mut code = vec![load(argument(index))];
            code.extend(require(values, errno));
            code.push(answer(SECCOMP_RET_ALLOW));
            code
        }
        Verdict::FailUnlessPair {
            index,
            values,
            errno,
            pivot,
            second,
            and,
        } => {
            let mut code = vec![load(argument(index))];
            code.extend(require(values, errno));
            code.extend([jump(BPF_JEQ, pivot, 1, 0), answer(SECCOMP_RET_ALLOW)]);
            code.push(load(argument(second)));
            code.extend(require(and, errno));
            code.push(answer(SECCOMP_RET_ALLOW));
            code
        }
        Verdict::Require(each) => {
            let mut code = Vec::new();
            for &(index, values, errno) in each {
                code.push(load(argument(index)));
                code.extend(require(values, errno));
            }
            code.push(answer(SECCOMP_RET_ALLOW));
            code
        }
        Verdict::FailUnlessNamed {
            index,
            names,
            errno,
        } => {
            let mut code = vec![load(argument(index))];
            for &(name, values) in names {
                let mut named = vec![load(argument(index + 1))];
                named.extend(require(values, errno));
                named.push(answer(SECCOMP_RET_ALLOW));
                code.push(jump(BPF_JEQ, name, 0, named.len()));
                code.extend(named);
            }
            code.push(fail(errno));
            code
        }
    }
}

fn tree(calls: &[(u32, Verdict)], code: &mut Vec<sock_filter>) {
    match calls {
        [] => code.push(answer(SECCOMP_RET_ALLOW)),
        [(number, verdict)] => {
            let body = body(verdict);
            code.push(jump(BPF_JEQ, *number, 0, body.len()));
            code.extend(body);
            code.push(answer(SECCOMP_RET_ALLOW));
        }
        _ => {
            let (left, right) = calls.split_at(calls.len() / 2);
            code.push(jump(BPF_JGE, right[0].0, 0, 1));
            let leap = code.len();
            code.push(statement(BPF_JMP | BPF_JA, 0));
            tree(left, code);
            code[leap].k = (code.len() - leap - 1) as u32;
            tree(right, code);
        }
    }
}

/// The whole filter: other architectures die, calls at or above `unknown` fail with ENOSYS, the
/// rest is decided by `calls` (sorted here), and what `calls` does not name is allowed.
pub(super) fn assemble(
    architecture: u32,
    x32: Option<u32>,
    unknown: u32,
    mut calls: Vec<(u32, Verdict)>,
) -> Vec<sock_filter> {
    calls.sort_by_key(|(number, _)| *number);
    let mut code = vec![
        load(ARCHITECTURE),
        jump(BPF_JEQ, architecture, 1, 0),
        answer(SECCOMP_RET_KILL_PROCESS),
        load(NUMBER),
    ];
    if let Some(bit) = x32 {
        code.extend([jump(BPF_JGE, bit, 0, 1), answer(SECCOMP_RET_KILL_PROCESS)]);
    }
    code.extend([jump(BPF_JGE, unknown, 0, 1), fail(libc::ENOSYS)]);
    tree(&calls, &mut code);
    code
}

#[cfg(test)]
#[path = "assembler_tests.rs"]
mod tests;
