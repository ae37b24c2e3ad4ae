//! Where the rows of the table are in its text, and which have a name. This is found when the product is compiled: a
//! run that asks for a name pays for that name alone.

pub(super) const TEXT: &str = include_str!("../../../../policies/host-programs.tsv");

/// A row, without what is for people.
#[derive(Clone, Copy)]
pub(super) struct Row {
    /// Where its pattern begins in the text, and how long it is, in bytes.
    pattern: u32,
    length: u16,
    pub(super) unasked: bool,
}

impl Row {
    pub(super) fn pattern(self) -> &'static str {
        let from = self.pattern as usize;
        &TEXT[from..from + usize::from(self.length)]
    }

    const fn end(self) -> usize {
        self.pattern as usize + self.length as usize
    }
}

/// A name of a row's pattern: where it stands in the text.
#[derive(Clone, Copy)]
struct Span {
    row: u16,
    from: usize,
    to: usize,
}

/// How much of it there is.
#[derive(Clone, Copy)]
struct Counts {
    rows: usize,
    /// Names of all patterns.
    spans: usize,
}

/// How many of the names are of a kind; of the first of their patterns alone, or of all.
#[derive(Clone, Copy)]
struct Kinds {
    plain: usize,
    wild: usize,
    any: usize,
}

const COUNTS: Counts = counts();
static SPANS: [Span; COUNTS.spans] = spans();
const FIRST: Kinds = kinds(true);
const ALL: Kinds = kinds(false);
/// The rows, in their order.
pub(super) static ROWS: [Row; COUNTS.rows] = rows();
/// Those that begin with a name without a wildcard, by its hash and then in their order.
pub(super) static PLAIN: [(u64, u16); FIRST.plain] = plain(true);
/// The others.
pub(super) static WILD: [Wild; FIRST.wild] = wild(true);
/// All names without a wildcard, by their hashes.
pub(super) static NAMES: [(u64, u16); ALL.plain] = plain(false);
/// All names with a wildcard that are not of any name.
pub(super) static WILD_NAMES: [Wild; ALL.wild] = wild(false);
/// The hashes of names below which a pattern means any name.
pub(super) static ABOVE_ANY: [u64; ALL.any] = above_any();

/// A name with one wildcard, where it stands in the text, and its row.
#[derive(Clone, Copy)]
pub(super) struct Wild {
    from: u32,
    star: u32,
    to: u32,
    pub(super) row: u16,
}

impl Wild {
    /// Whether it stands for a name, in folders that ignore case as well.
    pub(super) fn may_be(&self, name: &[u8]) -> bool {
        let (star, text) = (self.star as usize, TEXT.as_bytes());
        let (before, after) = (
            &text[self.from as usize..star],
            &text[star + 1..self.to as usize],
        );
        super::is_around(before, after, name)
    }
}

/// What names that differ in case alone have in common (FNV-1a); others may have it too.
pub(super) const fn hash(text: &[u8], from: usize, to: usize) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325;
    let mut at = from;
    while at < to {
        hash = (hash ^ text[at].to_ascii_lowercase() as u64).wrapping_mul(0x0100_0000_01b3);
        at += 1;
    }
    hash
}

/// Where a byte is first, or where the text ends.
const fn find(byte: u8, from: usize, to: usize) -> usize {
    let mut at = from;
    while at < to && TEXT.as_bytes()[at] != byte {
        at += 1;
    }
    at
}

/// The row of a line; none where the line is a comment.
const fn row(from: usize, to: usize) -> Option<Row> {
    let text = TEXT.as_bytes();
    if text[from] == b'#' {
        return None;
    }
    let pattern = find(b'\t', from, to) + 1;
    let end = find(b'\t', pattern, to);
    assert!(pattern < end && end < to, "a row has six fields");
    Some(Row {
        pattern: pattern as u32,
        length: (end - pattern) as u16,
        unasked: text[from] == b'p',
    })
}

/// The row of the line that begins there, and where the next one begins.
const fn line(at: usize) -> (Option<Row>, usize) {
    let end = find(b'\n', at, TEXT.len());
    (row(at, end), end + 1)
}

impl Span {
    const fn star(self) -> usize {
        find(b'*', self.from, self.to)
    }

    /// Whether it stands for any name.
    const fn is_any(self) -> bool {
        self.to == self.from + 1 && self.star() == self.from
    }

    const fn is_plain(self) -> bool {
        self.star() == self.to
    }

    const fn is_first(self) -> bool {
        TEXT.as_bytes()[self.from - 1] == b'\t'
    }

    const fn hash(self) -> u64 {
        hash(TEXT.as_bytes(), self.from, self.to)
    }
}

const fn counts() -> Counts {
    let mut counts = Counts { rows: 0, spans: 0 };
    let mut at = 0;
    while at < TEXT.len() {
        let (row, next) = line(at);
        if let Some(row) = row {
            let (mut from, end) = (row.pattern as usize, row.end());
            counts.rows += 1;
            while from < end {
                counts.spans += 1;
                from = find(b'/', from, end) + 1;
            }
        }
        at = next;
    }
    counts
}

const fn rows() -> [Row; COUNTS.rows] {
    const NONE: Row = Row {
        pattern: 0,
        length: 0,
        unasked: false,
    };
    let mut rows = [NONE; COUNTS.rows];
    let (mut at, mut next) = (0, 0);
    while at < TEXT.len() {
        let (row, after) = line(at);
        if let Some(row) = row {
            rows[next] = row;
            next += 1;
        }
        at = after;
    }
    rows
}

const fn spans() -> [Span; COUNTS.spans] {
    const NONE: Span = Span {
        row: 0,
        from: 0,
        to: 0,
    };
    let rows = rows();
    let mut spans = [NONE; COUNTS.spans];
    let (mut number, mut count) = (0, 0);
    while number < rows.len() {
        let (mut from, end) = (rows[number].pattern as usize, rows[number].end());
        while from < end {
            let to = find(b'/', from, end);
            let row = number as u16;
            spans[count] = Span { row, from, to };
            count += 1;
            from = to + 1;
        }
        number += 1;
    }
    spans
}

const fn kinds(first: bool) -> Kinds {
    let mut kinds = Kinds {
        plain: 0,
        wild: 0,
        any: 0,
    };
    let mut at = 0;
    while at < SPANS.len() {
        let span = SPANS[at];
        if span.is_first() || !first {
            if span.is_any() {
                assert!(!span.is_first(), "a pattern begins with a name");
                kinds.any += 1;
            } else if span.is_plain() {
                kinds.plain += 1;
            } else {
                kinds.wild += 1;
            }
        }
        at += 1;
    }
    kinds
}

/// The names without a wildcard, of the first of their patterns alone or of all, by hash and row.
const fn plain<const N: usize>(first: bool) -> [(u64, u16); N] {
    let mut plain = [(0, 0); N];
    let (mut at, mut count) = (0, 0);
    while at < SPANS.len() {
        let span = SPANS[at];
        if span.is_plain() && (span.is_first() || !first) {
            let hash = span.hash();
            // Put before those whose hash is greater.
            let mut place = count;
            while place > 0 && plain[place - 1].0 > hash {
                plain[place] = plain[place - 1];
                place -= 1;
            }
            plain[place] = (hash, span.row);
            count += 1;
        }
        at += 1;
    }
    plain
}

/// The same of those with a wildcard, in their order.
const fn wild<const N: usize>(first: bool) -> [Wild; N] {
    const NONE: Wild = Wild {
        from: 0,
        star: 0,
        to: 0,
        row: 0,
    };
    let mut wild = [NONE; N];
    let (mut at, mut count) = (0, 0);
    while at < SPANS.len() {
        let span = SPANS[at];
        if !span.is_plain() && !span.is_any() && (span.is_first() || !first) {
            wild[count] = Wild {
                from: span.from as u32,
                star: span.star() as u32,
                to: span.to as u32,
                row: span.row,
            };
            count += 1;
        }
        at += 1;
    }
    wild
}

const fn above_any() -> [u64; ALL.any] {
    let mut above = [0; ALL.any];
    let (mut at, mut count) = (1, 0);
    while at < SPANS.len() {
        if SPANS[at].is_any() {
            let span = SPANS[at - 1];
            assert!(span.is_plain(), "a name stands above any name");
            above[count] = span.hash();
            count += 1;
        }
        at += 1;
    }
    above
}
