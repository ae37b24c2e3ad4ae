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
}

/// How much of it there is.
#[derive(Clone, Copy)]
struct Counts {
    rows: usize,
    /// Rows that begin with a name without a wildcard.
    plain: usize,
    /// Names of all patterns, without a wildcard and with one.
    names: usize,
    wild_names: usize,
    /// Names of patterns that stand for any name.
    any: usize,
}

const COUNTS: Counts = counts();
/// The rows, in their order.
pub(super) static ROWS: [Row; COUNTS.rows] = rows();
/// Those that begin with a name without a wildcard, by its hash and then in their order.
pub(super) static PLAIN: [(u64, u16); COUNTS.plain] = plain();
/// The others.
pub(super) static WILD: [(Wild, u16); COUNTS.rows - COUNTS.plain] = wild();
/// The hashes of all names without a wildcard that any pattern has, in order.
pub(super) static NAMES: [u64; COUNTS.names] = names();
/// The hashes of names below which a pattern means any name.
pub(super) static ABOVE_ANY: [u64; COUNTS.any] = above_any();
/// All names with a wildcard that are not of any name.
pub(super) static WILD_NAMES: [Wild; COUNTS.wild_names] = wild_names();

/// A name with one wildcard, where it stands in the text.
#[derive(Clone, Copy)]
pub(super) struct Wild {
    from: u32,
    length: u16,
    /// The bytes that it begins and ends with, in lower case; a wildcard is any.
    ends: [u8; 2],
}

impl Wild {
    const fn of(from: usize, to: usize) -> Self {
        let text = TEXT.as_bytes();
        Self {
            from: from as u32,
            length: (to - from) as u16,
            ends: [
                text[from].to_ascii_lowercase(),
                text[to - 1].to_ascii_lowercase(),
            ],
        }
    }

    /// Whether it stands for a name, in folders that ignore case as well.
    pub(super) fn may_be(&self, name: &[u8]) -> bool {
        let (Some(first), Some(last)) = (name.first(), name.last()) else {
            return false;
        };
        let end = |own: u8, byte: &u8| own == b'*' || own == byte.to_ascii_lowercase();
        end(self.ends[0], first) && end(self.ends[1], last) && {
            let from = self.from as usize;
            let own = &TEXT.as_bytes()[from..from + usize::from(self.length)];
            own.iter().position(|byte| *byte == b'*').is_some_and(|at| {
                let (before, after) = (&own[..at], &own[at + 1..]);
                name.len() >= before.len() + after.len()
                    && name[..before.len()].eq_ignore_ascii_case(before)
                    && name[name.len() - after.len()..].eq_ignore_ascii_case(after)
            })
        }
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

/// Where a row's pattern begins and ends.
const fn ends(row: Row) -> (usize, usize) {
    let from = row.pattern as usize;
    (from, from + row.length as usize)
}

/// Where the first name of a row's pattern begins and ends.
const fn first_name(row: Row) -> (usize, usize) {
    let (from, end) = ends(row);
    (from, find(b'/', from, end))
}

/// Whether a name of a pattern stands for any.
const fn is_any(from: usize, to: usize) -> bool {
    to == from + 1 && TEXT.as_bytes()[from] == b'*'
}

const fn is_wild(row: Row) -> bool {
    let (from, to) = first_name(row);
    find(b'*', from, to) < to
}

/// The row of the line that begins there, and where the next one begins.
const fn line(at: usize) -> (Option<Row>, usize) {
    let end = find(b'\n', at, TEXT.len());
    (row(at, end), end + 1)
}

const fn counts() -> Counts {
    let mut counts = Counts {
        rows: 0,
        plain: 0,
        names: 0,
        wild_names: 0,
        any: 0,
    };
    let mut at = 0;
    while at < TEXT.len() {
        let (row, next) = line(at);
        if let Some(row) = row {
            counts.rows += 1;
            counts.plain += !is_wild(row) as usize;
            let (mut from, end) = ends(row);
            while from < end {
                let to = find(b'/', from, end);
                if is_any(from, to) {
                    counts.any += 1;
                } else if find(b'*', from, to) < to {
                    counts.wild_names += 1;
                } else {
                    counts.names += 1;
                }
                from = to + 1;
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

const fn plain() -> [(u64, u16); COUNTS.plain] {
    let rows = rows();
    let mut plain = [(0, 0); COUNTS.plain];
    let (mut number, mut count) = (0, 0);
    while number < rows.len() {
        if !is_wild(rows[number]) {
            let (from, to) = first_name(rows[number]);
            let hash = hash(TEXT.as_bytes(), from, to);
            // Put before those whose hash is greater.
            let mut place = count;
            while place > 0 && plain[place - 1].0 > hash {
                plain[place] = plain[place - 1];
                place -= 1;
            }
            plain[place] = (hash, number as u16);
            count += 1;
        }
        number += 1;
    }
    plain
}

const fn wild() -> [(Wild, u16); COUNTS.rows - COUNTS.plain] {
    let rows = rows();
    let mut wild = [(Wild::of(0, 1), 0); COUNTS.rows - COUNTS.plain];
    let (mut number, mut count) = (0, 0);
    while number < rows.len() {
        if is_wild(rows[number]) {
            let (from, to) = first_name(rows[number]);
            wild[count] = (Wild::of(from, to), number as u16);
            count += 1;
        }
        number += 1;
    }
    wild
}

const fn names() -> [u64; COUNTS.names] {
    let (rows, text) = (rows(), TEXT.as_bytes());
    let mut names = [0; COUNTS.names];
    let (mut number, mut count) = (0, 0);
    while number < rows.len() {
        let (mut from, end) = ends(rows[number]);
        while from < end {
            let to = find(b'/', from, end);
            if find(b'*', from, to) == to {
                let hash = hash(text, from, to);
                let mut place = count;
                while place > 0 && names[place - 1] > hash {
                    names[place] = names[place - 1];
                    place -= 1;
                }
                names[place] = hash;
                count += 1;
            }
            from = to + 1;
        }
        number += 1;
    }
    names
}

const fn wild_names() -> [Wild; COUNTS.wild_names] {
    let rows = rows();
    let mut names = [Wild::of(0, 1); COUNTS.wild_names];
    let (mut number, mut count) = (0, 0);
    while number < rows.len() {
        let (mut from, end) = ends(rows[number]);
        while from < end {
            let to = find(b'/', from, end);
            if find(b'*', from, to) < to && !is_any(from, to) {
                names[count] = Wild::of(from, to);
                count += 1;
            }
            from = to + 1;
        }
        number += 1;
    }
    names
}

const fn above_any() -> [u64; COUNTS.any] {
    let (rows, text) = (rows(), TEXT.as_bytes());
    let mut above = [0; COUNTS.any];
    let (mut number, mut count) = (0, 0);
    while number < rows.len() {
        let (mut from, end) = ends(rows[number]);
        let mut to = find(b'/', from, end);
        assert!(!is_any(from, to), "a pattern begins with a name");
        while to < end {
            let next = find(b'/', to + 1, end);
            if is_any(to + 1, next) {
                assert!(find(b'*', from, to) == to, "a name stands above any name");
                above[count] = hash(text, from, to);
                count += 1;
            }
            from = to + 1;
            to = next;
        }
        number += 1;
    }
    above
}
