//! Files that git obeys: a letter for the kind (`a` is the first of `KINDS`), then the file. Whatever is
//! accepted is, as git itself reads it, nothing that runs a program, leads git elsewhere or lets a commit hold
//! other files than `git status` shows.
//!
//! An index is preceded by a second letter and has no checksum, which the target appends: `.` for the index as
//! it is, `t` for one that gets the trees which follow from its entries, `x` for one whose trees get a wrong
//! bit. `m`, `n` and `o` are the same for an index that is made of a list (`reference/git/made.rs`).
//! A capital letter is the kind of the small one, with a text in which every second part between bytes 31 is
//! repeated until it is long, a byte 29 in it each time as another word. Alternates have the old text, a line `====`, and the new one.
#![no_main]

#[path = "../reference/git/mod.rs"]
mod git;
#[path = "../reference/git_config.rs"]
mod git_config;
#[path = "../reference/memory.rs"]
mod memory;

use bailiwick_process::fuzzing::check_git;
use git::{index, made, places, state};
use libfuzzer_sys::fuzz_target;
use std::time::{Duration, Instant};

/// No more than this is read, and for no input more of either.
const LONGEST: usize = 64 << 10;
const TIME: Duration = Duration::from_secs(1);
const MEMORY: usize = 100 << 20;

const SHARED_INDEX: u8 = 1;
const ALTERNATES: u8 = 5;
/// The index of a repository whose ids are SHA-256.
const LONG_INDEX: u8 = 18;

fuzz_target!(init: assert_eq!(check_git(3, b"", b"../..\n"), Ok(None)), |data: &[u8]| {
    let [letter, text @ ..] = data else {
        return;
    };
    let long = letter.is_ascii_uppercase().then(|| repeated(text));
    let text = long.as_deref().unwrap_or(text);
    if text.len() > LONGEST {
        return;
    }
    let kind = letter.to_ascii_lowercase().wrapping_sub(b'a');
    match kind {
        0 | SHARED_INDEX => indices(kind, 20, text),
        LONG_INDEX => indices(kind, 32, text),
        ALTERNATES => {
            let line = b"====\n";
            let at = text.windows(line.len()).position(|w| w == line);
            let (old, new) = at.map_or((&b""[..], text), |at| {
                (&text[..at], &text[at + line.len()..])
            });
            lines(kind, old, new);
        }
        _ => lines(kind, b"", text),
    }
});

/// A text of which every second part is repeated.
fn repeated(text: &[u8]) -> Vec<u8> {
    let mut long = Vec::new();
    for (number, part) in text.split(|&b| b == 31).enumerate() {
        if number % 2 == 0 || part.is_empty() {
            long.extend(part);
            continue;
        }
        let times = 28 * 1024 / (part.len() + 3);
        for time in 0..times {
            let word = format!("{time:x}");
            for piece in part.split_inclusive(|&b| b == 29) {
                match piece.split_last() {
                    Some((29, piece)) => long.extend([piece, word.as_bytes()].concat()),
                    _ => long.extend(piece),
                }
            }
        }
    }
    long
}

/// Asks within the limits of time and memory.
fn check(kind: u8, old: &[u8], new: &[u8]) -> Result<Option<Vec<u8>>, String> {
    let mut result = Err(String::new());
    let quick = |_| {
        let begin = Instant::now();
        let (answer, most) = memory::most(|| check_git(kind, old, new));
        result = answer;
        assert!(most <= MEMORY, "it took {most} bytes");
        begin.elapsed() < TIME
    };
    // A processor that others use makes one try slow, and hardly three.
    assert!((0..3).any(quick), "it took too long");
    if let Ok(Some(instead)) = &result {
        let again = check_git(kind, old, instead);
        assert_eq!(again, Ok(None), "what is said instead is not accepted");
    }
    if let Err(reason) = &result {
        assert!(!reason.is_empty(), "refused without a reason");
    }
    result
}

fn lines(kind: u8, old: &[u8], new: &[u8]) {
    if check(kind, old, new).is_err() {
        return;
    }
    let fault = match kind {
        2 => places::git_file(new),
        3 => places::common_dir(new),
        4 => places::git_dir(new),
        ALTERNATES => places::alternates(old, new),
        6 => state::todo(new),
        7 => state::options_of_picks(new),
        8 => state::options_of_apply(new),
        9 => state::merge_rr(new),
        10 => state::refs_to_delete(new),
        11 => state::bisect_start(new),
        12 => state::strategy(new),
        13 => state::strategy_options(new),
        14 => state::signing(new),
        15 => state::refs_to_move(new),
        16 => state::head_name(new),
        17 => state::tables(new),
        _ => Some("there is no such kind".into()),
    };
    assert!(fault.is_none(), "{}", fault.unwrap_or_default());
}

fn indices(kind: u8, width: usize, text: &[u8]) {
    let [mode, body @ ..] = text else {
        return;
    };
    let made = matches!(mode, b'm' | b'n' | b'o').then(|| made::index(body, width));
    let body = made.as_deref().unwrap_or(body);
    let plain = check_index(kind, width, body);
    if !matches!(mode, b't' | b'x' | b'n' | b'o') || plain != Some(false) {
        return;
    }
    let Some(read) = index::read(&summed(body, width), width) else {
        return;
    };
    let has = |name: &[u8; 4]| read.extensions.iter().any(|(n, _)| n == name);
    // Trees that lie deeper in each other are not followed.
    let deep = |entry: &index::Entry| entry.path.iter().filter(|&&b| b == b'/').count() > 200;
    if has(b"TREE") || has(b"link") || read.entries.iter().any(deep) {
        return;
    }
    let Some(trees) = index::tree_extension(&read.entries, width) else {
        return;
    };
    let mut with = [body, &trees].concat();
    if matches!(mode, b't' | b'n') {
        let taken = check_index(kind, width, &with);
        assert_eq!(taken, Some(false), "right trees are not taken");
        return;
    }
    // Behind the head of the extension, at a place that the input chooses.
    let places = trees.len() - 8;
    let choice = text.iter().rev().take(2);
    let place = choice.fold(0, |place, byte| (place << 8) | usize::from(*byte)) % places;
    with[body.len() + 8 + place] ^= 1 << (place % 7);
    check_index(kind, width, &with);
}

fn summed(body: &[u8], width: usize) -> Vec<u8> {
    [body, &index::digest(body, width)].concat()
}

/// Whether something is said instead; none where the index is refused.
fn check_index(kind: u8, width: usize, body: &[u8]) -> Option<bool> {
    let bytes = summed(body, width);
    let answer = check(kind, b"", &bytes).ok()?;
    let taken = answer.as_deref().unwrap_or(&bytes);
    let read = index::read(taken, width).expect("accepted, but git cannot read it");
    let fault = index::fault(&read, width, kind == SHARED_INDEX);
    assert!(fault.is_none(), "{}", fault.unwrap_or_default());
    if let Some(instead) = &answer {
        let before = index::read(&bytes, width).expect("accepted, but git cannot read it");
        let entries = |index: &index::Index| -> Vec<(u32, Vec<u8>, u16, Vec<u8>)> {
            let entry = |e: &index::Entry| (e.mode, e.id.clone(), e.stage, e.path.clone());
            index.entries.iter().map(entry).collect()
        };
        assert_eq!(entries(&before), entries(&read), "it has other entries");
        let (body, sum) = instead.split_at(instead.len() - width);
        assert_eq!(index::digest(body, width), sum, "its checksum is wrong");
    }
    Some(answer.is_some())
}
