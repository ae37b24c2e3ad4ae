//! Files in which git notes what it has begun, as git reads them, and what they must not say.

use super::names::{is_refname, verify_path};
use crate::git_config;

const STRATEGIES: [&[u8]; 6] = [
    b"ort",
    b"recursive",
    b"resolve",
    b"octopus",
    b"ours",
    b"subtree",
];

fn shown(text: &[u8]) -> String {
    format!("{:?}", String::from_utf8_lossy(text))
}

fn c_text(text: &[u8]) -> &[u8] {
    text.split(|&b| b == 0).next().unwrap_or_default()
}

fn is_space(b: &u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | b'\r')
}

fn is_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

/// `todo_list_parse_insn_buffer`: a line that `is_command` takes for `exec`, whatever `core.commentChar` is.
pub fn todo(text: &[u8]) -> Option<String> {
    for line in c_text(text).split(|&b| b == b'\n') {
        let begin = line.iter().position(|b| !matches!(b, b' ' | b'\t'));
        let line = &line[begin.unwrap_or(line.len())..];
        let is = |name: &[u8]| {
            let rest = line.strip_prefix(name);
            rest.is_some_and(|rest| matches!(rest.first(), None | Some(b' ' | b'\t' | b'\r')))
        };
        if is(b"exec") || is(b"x") {
            return Some(format!("{} is run", shown(line)));
        }
    }
    None
}

/// `read_populate_opts`
pub fn options_of_picks(text: &[u8]) -> Option<String> {
    const PLAIN: [&[u8]; 12] = [
        b"options.no-commit",
        b"options.edit",
        b"options.allow-empty",
        b"options.allow-empty-message",
        b"options.keep-redundant-commits",
        b"options.drop-redundant-commits",
        b"options.signoff",
        b"options.record-origin",
        b"options.allow-ff",
        b"options.mainline",
        b"options.allow-rerere-auto",
        b"options.default-msg-cleanup",
    ];
    // Git dies of one that it cannot read.
    for (name, value) in git_config::parse(text)? {
        let value = value.unwrap_or_default();
        let well = match name.as_slice() {
            b"options.strategy" => STRATEGIES.contains(&value.as_slice()),
            // An argument `--VALUE` of a strategy.
            b"options.strategy-option" => !value.iter().any(u8::is_ascii_control),
            name => PLAIN.contains(&name),
        };
        if !well {
            return Some(format!("{} is {}", shown(&name), shown(&value)));
        }
    }
    None
}

/// `am_load` and `sq_dequote_to_strvec`: words that `git apply` gets.
pub fn options_of_apply(text: &[u8]) -> Option<String> {
    let text = c_text(text);
    let begin = text.iter().position(|b| !is_space(b)).unwrap_or(text.len());
    let mut rest = &text[begin..];
    while let [b'\'', ..] = rest {
        let mut word = Vec::new();
        rest = &rest[1..];
        loop {
            // An open quote: git dies.
            let end = rest.iter().position(|&b| b == b'\'')?;
            word.extend_from_slice(&rest[..end]);
            rest = &rest[end + 1..];
            match rest {
                [b'\\', c @ (b'\'' | b'!'), b'\'', ..] => {
                    word.push(*c);
                    rest = &rest[3..];
                }
                _ => break,
            }
        }
        if let Some(fault) = option_of_apply(&word) {
            return Some(fault);
        }
        let spaces = rest.iter().position(|b| !is_space(b)).unwrap_or(rest.len());
        if spaces == 0 && !rest.is_empty() {
            return None;
        }
        rest = &rest[spaces..];
    }
    None
}

/// An option that reads or writes something else than the patch says (git-apply(1)), also shortened, and a
/// word that is none: the name of a patch.
fn option_of_apply(word: &[u8]) -> Option<String> {
    const HARMLESS: [&[u8]; 8] = [
        b"whitespace",
        b"ignore-space-change",
        b"ignore-whitespace",
        b"directory",
        b"exclude",
        b"include",
        b"reject",
        b"3way",
    ];
    let well = match word {
        [b'-', b'-', long @ ..] => {
            let name = long.split(|&b| b == b'=').next().unwrap_or_default();
            HARMLESS.contains(&name)
        }
        [b'-', b'p' | b'C', number @ ..] => number.iter().all(u8::is_ascii_digit),
        _ => false,
    };
    (!well).then(|| format!("git apply gets {}", shown(word)))
}

/// `read_rr`: a path that git would not take, or the number of an image that may lie beyond what git has in
/// memory for a folder of images (24 places, where it has any).
pub fn merge_rr(text: &[u8]) -> Option<String> {
    for record in text.split(|&b| b == 0) {
        let tab = record.iter().position(|&b| b == b'\t')?;
        let (id, path) = (&record[..tab], &record[tab + 1..]);
        let (id, number) = match id.iter().position(|&b| b == b'.') {
            Some(dot) => (&id[..dot], &id[dot + 1..]),
            None => (id, &b"0"[..]),
        };
        let number = std::str::from_utf8(number).ok();
        let number = number.and_then(|number| number.trim().parse::<i128>().ok());
        // Git dies of an id that is none.
        if !is_id(id) {
            return None;
        }
        if !number.is_some_and(|number| (0..24).contains(&number)) {
            return Some(format!("the number of {}", shown(record)));
        }
        if !verify_path(path, 0o100_644) {
            return Some(format!("the path {}", shown(path)));
        }
    }
    None
}

/// `sequencer_remove_state`: each line is deleted as a reference.
pub fn refs_to_delete(text: &[u8]) -> Option<String> {
    let lines = c_text(text).split(|&b| b == b'\n');
    let well = |line: &[u8]| line.starts_with(b"refs/rewritten/") && is_refname(line, false);
    let bad = lines
        .into_iter()
        .find(|line| !line.is_empty() && !well(line))?;
    Some(format!("{} is deleted", shown(bad)))
}

/// `sequencer_get_update_refs_state`: a name, and two ids.
pub fn refs_to_move(text: &[u8]) -> Option<String> {
    let lines: Vec<&[u8]> = c_text(text).split(|&b| b == b'\n').collect();
    for triple in lines.chunks(3) {
        let name = triple[0].strip_suffix(b"\r").unwrap_or(triple[0]);
        let well = name.starts_with(b"refs/heads/") && is_refname(name, false);
        if triple.len() == 3 && !well {
            return Some(format!("{} is moved", shown(name)));
        }
    }
    None
}

/// `bisect_reset`: an argument of `git checkout`.
pub fn bisect_start(text: &[u8]) -> Option<String> {
    let text = c_text(text);
    let end = text.iter().rposition(|b| !is_space(b));
    let text = &text[..end.map_or(0, |at| at + 1)];
    let well = is_id(text) || !text.starts_with(b"-") && is_refname(text, true);
    (!well).then(|| format!("git checkout gets {}", shown(text)))
}

/// `read_oneliner`
fn one_line(text: &[u8]) -> &[u8] {
    let line = match text.strip_suffix(b"\n") {
        Some(line) => line.strip_suffix(b"\r").unwrap_or(line),
        None => text,
    };
    c_text(line)
}

/// `read_strategy_opts`: the name of a program `git-merge-NAME`.
pub fn strategy(text: &[u8]) -> Option<String> {
    let line = one_line(text);
    (!text.is_empty() && !STRATEGIES.contains(&line)).then(|| format!("{} is run", shown(line)))
}

/// Words `--OPTION` of a strategy.
pub fn strategy_options(text: &[u8]) -> Option<String> {
    let bad = |b: &u8| b.is_ascii_control() && *b != b'\n' || b"`$;|&<>\"\\".contains(b);
    text.iter().any(bad).then(|| shown(text))
}

/// `read_populate_opts`, `am_load`: anything is the key of a signature.
pub fn signing(text: &[u8]) -> Option<String> {
    let text = c_text(text);
    (!text.iter().all(is_space)).then(|| format!("git signs with {}", shown(text)))
}

/// A reference that is checked out, and a text that prompts show.
pub fn head_name(text: &[u8]) -> Option<String> {
    let line = one_line(text);
    let well = line == b"detached HEAD" || line.starts_with(b"refs/") && is_refname(line, false);
    (!well).then(|| format!("{} is checked out", shown(line)))
}

/// `stack_read_lines`: files in the folder of references, which are opened and removed.
pub fn tables(text: &[u8]) -> Option<String> {
    let bad = |line: &&[u8]| line.contains(&b'/') || !line.is_empty() && !line.ends_with(b".ref");
    let line = text.split(|&b| b == b'\n').find(bad)?;
    Some(format!("{} is opened", shown(line)))
}
