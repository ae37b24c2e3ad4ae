//! The work that measures how processes and threads scale: counting primes, hashing chunks.
//!
//! Decision: the same function runs in our programs, in the Linux guest that they are compared with
//! and on the host, and its result is known beforehand. A time counts only beside a right result;
//! a compiler that found the work needless, or a worker that did less, is found out by the sum.

pub mod hash;

/// Where the range begins.
pub const FROM: u32 = 2;
/// The end of the range, which is not in it: 2 to 3,000,000.
pub const TO: u32 = 3_000_001;
/// Primes in the range.
pub const COUNT: u64 = 216_816;
/// Their sum.
pub const CHECKSUM: u64 = 312_471_072_265;

/// Primes from `from` to before `to`: how many, and their wrapping sum.
///
/// By trial division with 2 and odd numbers up to the square root, which is the work that the cuts
/// balance; a faster way would measure something else.
pub fn primes(from: u32, to: u32) -> (u64, u64) {
    let mut found = (0u64, 0u64);
    for number in from..to {
        if is_prime(number) {
            found = (found.0 + 1, found.1.wrapping_add(u64::from(number)));
        }
    }
    found
}

fn is_prime(number: u32) -> bool {
    if number < 4 || number.is_multiple_of(2) {
        return number == 2 || number == 3;
    }
    let mut divisor = 3u32;
    // A divisor is below 2^16 and more than squares of 32 bits never are compared.
    while u64::from(divisor) * u64::from(divisor) <= u64::from(number) {
        if number.is_multiple_of(divisor) {
            return false;
        }
        divisor += 2;
    }
    true
}

/// The bounds of each worker's part, [`FROM`] first and [`TO`] last: worker `n` has the numbers
/// from `cuts[n]` to before `cuts[n + 1]`. The parts need the same number of divisions, to a
/// thousandth. Only for 1, 2, 4 and 8 workers.
pub fn cuts(workers: usize) -> Option<&'static [u32]> {
    Some(match workers {
        1 => &[FROM, TO],
        2 => &[FROM, 1_830_551, TO],
        4 => &[FROM, 1_114_871, 1_830_551, 2_444_681, TO],
        8 => &[
            FROM, 677_959, 1_114_871, 1_490_299, 1_830_551, 2_146_253, 2_444_681, 2_728_013, TO,
        ],
        _ => return None,
    })
}

#[cfg(test)]
#[path = "work_tests.rs"]
mod tests;
