//! The values that events and literals share. The pool is small, so that a rule often finds what it
//! asks for, and has what is nearly the same: another case, a part, one character more.

use crate::random::Random;

pub(crate) const TEXTS: [&str; 60] = [
    "",
    "a",
    "b",
    "GET",
    "get",
    "Post",
    "curl",
    "CURL",
    "-rf",
    "--force",
    "example.com",
    "evil-example.com",
    "a.example.com",
    "EXAMPLE.com.",
    ".example.com",
    "a.b.example.co.uk",
    "co.uk",
    "/etc/passwd",
    "/etc/ssh/key",
    "a.txt",
    "A.TXT",
    "é",
    "É",
    "aé",
    "éaéaé",
    "éaé",
    "ſK",
    "日本",
    "10.1.2.3",
    "::ffff:10.1.2.3",
    "FD12::1",
    "0x7f.1",
    "10.0.0.0/8",
    "1.2.3.4/33",
    "key=AKIAIOSFODNN7EXAMPLE;",
    "AKIAIOSFODNN7EXAMPLE",
    "akiaiosfodnn7example",
    "-----BEGIN RSA PRIVATE KEY-----",
    "0",
    "1",
    "-1",
    "42",
    "443",
    "1.5",
    "NaN",
    "9223372036854775808",
    "true",
    "False",
    "2026-11-20T08:30:00Z",
    "1969-12-31T23:59:59.5+01:00",
    "1h30m",
    "-1.5s",
    "UTC",
    "(",
    "a,b,,c",
    " x\t",
    "aaab",
    "aaaaab",
    "\"\\\n\u{2028}",
    "a\0b",
];

pub(crate) const INTS: [i64; 20] = [
    0,
    1,
    -1,
    2,
    3,
    4,
    -3,
    22,
    53,
    80,
    443,
    65535,
    1_700_000_000,
    i64::MAX,
    i64::MAX - 1,
    i64::MIN,
    1 << 53,
    (1 << 53) + 1,
    -(1 << 53) - 1,
    i64::MIN + 1,
];

pub(crate) const UINTS: [u64; 9] = [
    0,
    1,
    2,
    80,
    443,
    1 << 53,
    i64::MAX as u64,
    i64::MAX as u64 + 1,
    u64::MAX,
];

pub(crate) const DOUBLES: [f64; 13] = [
    0.0,
    1.0,
    1.5,
    2.0,
    0.1,
    80.0,
    443.0,
    9_007_199_254_740_992.0,
    9_223_372_036_854_775_808.0,
    18_446_744_073_709_551_616.0,
    1e300,
    5e-324,
    2.321_928_094_887_362,
];

pub(crate) const HEADERS: [&str; 7] =
    ["host", "Host", "X-Token", "x-token", "accept", "É-x", "é-x"];
pub(crate) const KEYS: [&str; 5] = ["a", "b", "c", "x-y", "if"];
pub(crate) const REGEXES: [&str; 12] = [
    "a",
    "^a",
    "(?i)get",
    "[0-9]+",
    "é|b",
    "^$",
    "(a+)+$",
    "^.{3}$",
    "\\.com\\.?$",
    "\\bx",
    "[^\\x00-\\x7f]",
    "",
];
pub(crate) const GLOBS: [&str; 10] = [
    "*", "**", "/etc/*", "/etc/**", "?", "[a-z]*", "{a,b}*", "*.com", "é*", "*.[tT]??",
];
pub(crate) const DOMAINS: [&str; 5] = [
    "example.com",
    ".example.com",
    "EXAMPLE.com.",
    "example.co.uk",
    "a",
];
pub(crate) const NETWORKS: [&str; 6] = [
    "10.0.0.0/8",
    "0.0.0.0/0",
    "fd00::/8",
    "::/0",
    "10.1.2.3/32",
    "10.1.2.2/31",
];
pub(crate) const ADDRESSES: [&str; 7] = [
    "10.1.2.3",
    "::1",
    "::ffff:10.1.2.3",
    "127.0.0.9",
    "fd12::1",
    "8.8.8.8",
    "11.1.2.3",
];
pub(crate) const TIMES: [&str; 6] = [
    "2026-11-20T08:30:00Z",
    "1969-12-31T23:59:59.5+01:00",
    "1970-01-01T00:00:00Z",
    "2024-02-29T23:59:59.999Z",
    "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59.999999999Z",
];
pub(crate) const DURATIONS: [&str; 8] = [
    "0",
    "1s",
    "-1.5s",
    "1h30m",
    "10ms",
    "86400s",
    "1ns",
    "200000000000s",
];
pub(crate) const ZONES: [&str; 7] = [
    "UTC",
    "+01:00",
    "-02:30",
    "14:00",
    "Europe/Berlin",
    "America/New_York",
    "nowhere",
];
/// The variables of macros. They are few, so that one often hides another.
pub(crate) const VARIABLES: [&str; 4] = ["x", "y", "z", "it"];

/// A text of the pool, or one that is nearly one.
pub(crate) fn text(random: &mut Random) -> String {
    let text = random.pick(&TEXTS);
    match random.below(16) {
        0 => text.to_ascii_uppercase(),
        1 => text.to_ascii_lowercase(),
        2 => format!("{text}b"),
        3 => format!("A{text}"),
        4 => text.chars().skip(1).collect(),
        5 => format!("{text}{}", random.pick(&TEXTS)),
        _ => text.to_owned(),
    }
}
