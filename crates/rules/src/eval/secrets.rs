//! Shapes of credentials. A shape is a fixed beginning, by which all of them are looked for in one
//! pass, and what must follow it; a beginning alone is no credential.

use aho_corasick::{AhoCorasick, MatchKind};
use std::sync::LazyLock;

struct Shape {
    kind: &'static str,
    prefix: &'static str,
    /// What may follow.
    alphabet: Alphabet,
    /// How many of them, at least and at most; more is something else.
    count: (usize, usize),
}

#[derive(Clone, Copy)]
enum Alphabet {
    UpperDigit,
    Alnum,
    Word,
    WordDash,
    Base64,
    Dotted,
    Any,
}

impl Alphabet {
    fn has(self, b: u8) -> bool {
        let alnum = b.is_ascii_alphanumeric();
        match self {
            Self::UpperDigit => b.is_ascii_uppercase() || b.is_ascii_digit(),
            Self::Alnum => alnum,
            Self::Word => alnum || b == b'_',
            Self::WordDash => alnum || matches!(b, b'_' | b'-'),
            Self::Base64 => alnum || matches!(b, b'+' | b'/' | b'=' | b'_' | b'-'),
            Self::Dotted => alnum || matches!(b, b'_' | b'-' | b'.'),
            Self::Any => true,
        }
    }
}

const MANY: usize = usize::MAX;

const fn shape(
    kind: &'static str,
    prefix: &'static str,
    alphabet: Alphabet,
    least: usize,
    most: usize,
) -> Shape {
    Shape {
        kind,
        prefix,
        alphabet,
        count: (least, most),
    }
}

/// Of two beginnings of which one begins the other, the longer counts.
const SHAPES: &[Shape] = &[
    shape("aws-access-key", "AKIA", Alphabet::UpperDigit, 16, 16),
    shape("aws-access-key", "ASIA", Alphabet::UpperDigit, 16, 16),
    shape("github-token", "ghp_", Alphabet::Word, 36, 255),
    shape("github-token", "gho_", Alphabet::Word, 36, 255),
    shape("github-token", "ghu_", Alphabet::Word, 36, 255),
    shape("github-token", "ghs_", Alphabet::Word, 36, 255),
    shape("github-token", "ghr_", Alphabet::Word, 36, 255),
    shape("github-token", "github_pat_", Alphabet::Word, 60, 255),
    shape("gitlab-token", "glpat-", Alphabet::WordDash, 20, 255),
    shape("slack-token", "xoxb-", Alphabet::WordDash, 20, 255),
    shape("slack-token", "xoxp-", Alphabet::WordDash, 20, 255),
    shape("slack-token", "xoxa-", Alphabet::WordDash, 20, 255),
    shape("slack-token", "xapp-", Alphabet::WordDash, 20, 255),
    shape("stripe-key", "sk_live_", Alphabet::Word, 16, 255),
    shape("stripe-key", "rk_live_", Alphabet::Word, 16, 255),
    shape("anthropic-key", "sk-ant-", Alphabet::WordDash, 32, 255),
    shape("openai-key", "sk-proj-", Alphabet::WordDash, 32, 255),
    shape("openai-key", "sk-svcacct-", Alphabet::WordDash, 32, 255),
    shape("openai-key", "sk-", Alphabet::Word, 40, 255),
    shape("google-api-key", "AIza", Alphabet::WordDash, 35, 35),
    shape("npm-token", "npm_", Alphabet::Alnum, 36, 36),
    shape("pypi-token", "pypi-", Alphabet::WordDash, 50, 512),
    shape("huggingface-token", "hf_", Alphabet::Alnum, 30, 64),
    shape("cargo-token", "cio", Alphabet::Word, 32, 32),
    shape("age-key", "AGE-SECRET-KEY-1", Alphabet::UpperDigit, 58, 58),
    shape(
        "private-key",
        "-----BEGIN PRIVATE KEY-----",
        Alphabet::Any,
        0,
        MANY,
    ),
    shape(
        "private-key",
        "-----BEGIN RSA PRIVATE KEY-----",
        Alphabet::Any,
        0,
        MANY,
    ),
    shape(
        "private-key",
        "-----BEGIN EC PRIVATE KEY-----",
        Alphabet::Any,
        0,
        MANY,
    ),
    shape(
        "private-key",
        "-----BEGIN DSA PRIVATE KEY-----",
        Alphabet::Any,
        0,
        MANY,
    ),
    shape(
        "private-key",
        "-----BEGIN ENCRYPTED PRIVATE KEY-----",
        Alphabet::Any,
        0,
        MANY,
    ),
    shape(
        "private-key",
        "-----BEGIN OPENSSH PRIVATE KEY-----",
        Alphabet::Any,
        0,
        MANY,
    ),
    shape(
        "private-key",
        "-----BEGIN PGP PRIVATE KEY BLOCK-----",
        Alphabet::Any,
        0,
        MANY,
    ),
    shape("jwt", "eyJ", Alphabet::Dotted, 40, MANY),
    shape("azure-storage-key", "AccountKey=", Alphabet::Base64, 86, 90),
];

static FINDER: LazyLock<Option<AhoCorasick>> = LazyLock::new(|| {
    AhoCorasick::builder()
        .match_kind(MatchKind::LeftmostLongest)
        .build(SHAPES.iter().map(|shape| shape.prefix))
        .ok()
});

/// The kinds of credentials whose shape a text contains, each once, in the order in which they
/// appear.
pub(crate) fn find(text: &str) -> Vec<&'static str> {
    let mut found = Vec::new();
    scan(text, |kind| {
        if !found.contains(&kind) {
            found.push(kind);
        }
        true
    });
    found
}

/// Whether a text contains the shape of any credential.
pub(crate) fn any(text: &str) -> bool {
    let mut found = false;
    scan(text, |_| {
        found = true;
        false
    });
    found
}

/// Tells each credential's kind until that is enough.
fn scan(text: &str, mut more: impl FnMut(&'static str) -> bool) {
    let Some(finder) = &*FINDER else { return };
    let bytes = text.as_bytes();
    // The end of the word that was last looked at, so that a word of many beginnings is read once.
    let mut word_end = 0;
    for hit in finder.find_iter(text) {
        let shape = &SHAPES[hit.pattern().as_usize()];
        if !begins_word(&bytes[..hit.start()]) {
            continue;
        }
        let (least, most) = shape.count;
        let rest = &bytes[hit.end()..];
        // One more than may follow shows that it is something else; the rest is never looked at.
        let looked = if most == MANY { least } else { most + 1 };
        let count = rest
            .iter()
            .take(looked)
            .take_while(|b| shape.alphabet.has(**b))
            .count();
        let enough = count >= least && (most == MANY || count <= most);
        if enough && shape.kind == "jwt" {
            if word_end < hit.end() {
                let more = rest.iter().take_while(|b| Alphabet::WordDash.has(**b));
                word_end = hit.end() + more.count();
            }
            if !is_jwt(rest, word_end - hit.end()) {
                continue;
            }
        }
        if shape.kind == "private-key" && !has_body(rest) {
            continue;
        }
        if enough && !more(shape.kind) {
            return;
        }
    }
}

/// Whether what stands before a place ends there, so that a word begins: in the middle of a word a
/// beginning is none. A letter or digit that ends an escape (`\n`, `\u000a`, `%3D`) is no part of
/// the word after it.
fn begins_word(before: &[u8]) -> bool {
    let hex = |all: &[u8]| all.iter().all(u8::is_ascii_hexdigit);
    match before {
        [] => true,
        [.., last] if !last.is_ascii_alphanumeric() => true,
        [.., b'\\', b'n' | b'r' | b't' | b'b' | b'f' | b'v' | b'0'] => true,
        [.., b'%', a, b] => hex(&[*a, *b]),
        [.., b'\\', b'x', a, b] => hex(&[*a, *b]),
        [.., b'\\', b'u', a, b, c, d] => hex(&[*a, *b, *c, *d]),
        _ => false,
    }
}

/// Whether a key follows the line that begins one: the line alone stands in every manual.
fn has_body(rest: &[u8]) -> bool {
    let near = &rest[..rest.len().min(400)];
    let in_key = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'/');
    near.split(|b| !in_key(b)).any(|run| run.len() >= 32)
}

/// Whether what follows `eyJ` are the three parts of a token, of which the first ends at a place;
/// the second begins like the first.
fn is_jwt(rest: &[u8], end: usize) -> bool {
    let rest = &rest[..rest.len().min(8192)];
    let payload = rest.get(end..).and_then(|rest| rest.strip_prefix(b"."));
    payload.is_some_and(|payload| {
        payload.starts_with(b"eyJ") && memchr::memchr(b'.', payload).is_some()
    })
}
