//! Small files in which git notes what it has begun, and which it obeys when the user goes on with it.

use super::config;
use super::content::Content;
use super::names::{is_path_of_tree, is_reference};
use std::collections::BTreeSet;

/// Strategies of a merge that git itself has; any other name is that of a program.
const STRATEGIES: [&[u8]; 6] = [
    b"ort",
    b"recursive",
    b"resolve",
    b"octopus",
    b"ours",
    b"subtree",
];
/// What a line of a list of things to do may begin with. `exec` is not among them: the user's
/// `git rebase --continue` would run it.
const VERBS: [&[u8]; 25] = [
    b"pick",
    b"p",
    b"revert",
    b"reword",
    b"r",
    b"edit",
    b"e",
    b"squash",
    b"s",
    b"fixup",
    b"f",
    b"break",
    b"b",
    b"drop",
    b"d",
    b"label",
    b"l",
    b"reset",
    b"t",
    b"merge",
    b"m",
    b"update-ref",
    b"u",
    b"noop",
    b"",
];
/// Git keeps room for so many images of a conflict, and before 2.45 wrote beyond it where a number is larger.
const IMAGES: usize = 24;
/// The longest number of steps, and the longest name of a commit.
const COUNT: usize = 10;
const ID: usize = 64;
/// Options of `git apply` with which it reads and writes nothing but what the patch names.
const APPLY: [&[u8]; 3] = [
    b"--ignore-space-change",
    b"--ignore-whitespace",
    b"--reject",
];
/// The same with a value: a text or a number.
const APPLY_TEXTS: [&[u8]; 4] = [
    b"--whitespace=",
    b"--directory=",
    b"--exclude=",
    b"--include=",
];
const APPLY_NUMBERS: [&[u8]; 2] = [b"-C", b"-p"];

/// Where `HEAD` leads while `git clone` (2.44 and newer) does not know the branch yet.
const DUMMY: &[u8] = b"refs/heads/.invalid";

/// Whether a reference holds an object's name, or leads to another reference: git writes to the file of the name that
/// is given, whatever name that is.
fn is_plain_reference(text: &[u8]) -> bool {
    text.strip_prefix(b"ref:").is_none_or(|target| {
        let target = target.trim_ascii();
        target.starts_with(b"refs/") && (is_reference(target) || target == DUMMY)
    })
}

/// Whether a file may say this.
pub(super) fn check(content: Content, text: &[u8]) -> Result<(), String> {
    let text = text.strip_suffix(b"\n").unwrap_or(text);
    match content {
        Content::Todo => todo(text),
        Content::Reference => one(
            is_plain_reference(text),
            "git would write where it leads, which is no reference",
        ),
        Content::Strategy => one(
            STRATEGIES.contains(&text),
            "it names a program as a strategy",
        ),
        Content::StrategyOptions => one(
            are_strategy_options(text),
            "it is not a list of options of a strategy",
        ),
        Content::Signing => one(text.is_empty(), "git would start a program that signs"),
        Content::ApplyOptions => one(
            are_apply_options(text),
            "git apply would get an option that may do more",
        ),
        Content::PickOptions => pick_options(text),
        Content::RefsToDelete => one(
            lines(text).all(|line| line.starts_with(b"refs/rewritten/") && is_reference(line)),
            "it would remove other references than those that a rebase makes",
        ),
        Content::RefsToMove => one(
            are_moves(text),
            "it would move other references than branches",
        ),
        Content::HeadName => one(
            text == b"detached HEAD" || text.starts_with(b"refs/") && is_reference(text),
            "it is not the name of a branch",
        ),
        Content::Count => one(
            is_short(text, u8::is_ascii_digit, COUNT),
            "it is not a number, and a shell's prompt would run what it says",
        ),
        Content::CommitId => one(
            is_short(text, u8::is_ascii_hexdigit, ID),
            "it is not the name of a commit",
        ),
        Content::BisectStart => one(
            is_id(text) || !text.starts_with(b"-") && is_reference(text),
            "git checkout would get it as an option",
        ),
        Content::MergeRr => one(
            text.split(|&b| b == 0)
                .filter(|record| !record.is_empty())
                .all(is_record),
            "it names a file outside of the working tree, or an image that git does not have",
        ),
        Content::Tables => one(
            lines(text).all(is_table),
            "it names a file that is no table of references",
        ),
        _ => Err("it is not a file of lines".to_owned()),
    }
}

/// Whether a file that is being written says what it may not, whatever follows; none where only its whole text can
/// tell.
pub(crate) fn is_hopeless(content: Content, text: &[u8]) -> Option<bool> {
    let hopeless = match content {
        Content::Reference => text.strip_prefix(b"ref:").is_some_and(|target| {
            let target = target.trim_ascii_start();
            let begins = target.starts_with(b"refs/") || b"refs/".starts_with(target);
            !begins || target.windows(2).any(|two| two == b"..")
        }),
        Content::Todo => text.split(|&b| b == b'\n').any(|line| {
            let line = line.trim_ascii_start();
            let verb = line.split(u8::is_ascii_whitespace).next();
            let whole = verb.filter(|verb| verb.len() < line.len());
            whole.is_some_and(|verb| !line.starts_with(b"#") && !VERBS.contains(&verb))
        }),
        Content::Count | Content::CommitId => return Some(check(content, text).is_err()),
        _ => return None,
    };
    Some(hopeless)
}

/// Whether a text is one word of such bytes, or nothing yet.
fn is_short(text: &[u8], is_one: fn(&u8) -> bool, most: usize) -> bool {
    text.len() <= most && text.iter().all(is_one)
}

/// Whether a file of references can be read by git, and has no more of those that show one object in the place of
/// another than it had.
pub(super) fn check_packed(old: &[u8], new: &[u8]) -> Result<(), String> {
    let replaces = |line: &&[u8]| line.windows(14).any(|part| part == b" refs/replace/");
    let known: BTreeSet<&[u8]> = lines(old).filter(replaces).collect();
    if lines(new)
        .filter(replaces)
        .any(|line| !known.contains(line))
    {
        return Err("git would show another object in the place of one".to_owned());
    }
    let reads = |line: &[u8]| match line {
        [b'#', ..] => true,
        [b'^', id @ ..] => is_id(id),
        _ => {
            let mut words = line.splitn(2, |&b| b == b' ');
            words.next().is_some_and(is_id)
                && words.next().is_some_and(|name| name.starts_with(b"refs/"))
        }
    };
    let ends = new.is_empty() || new.ends_with(b"\n");
    match ends && lines(new).all(reads) {
        true => Ok(()),
        false => Err("git could read no reference of it".to_owned()),
    }
}

fn one(holds: bool, reason: &str) -> Result<(), String> {
    match holds {
        true => Ok(()),
        false => Err(reason.to_owned()),
    }
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|&b| b == b'\n').filter(|line| !line.is_empty())
}

fn is_id(text: &[u8]) -> bool {
    matches!(text.len(), 40 | 64) && text.iter().all(u8::is_ascii_hexdigit)
}

/// For each reference its name, its value, and that which it gets.
fn are_moves(text: &[u8]) -> bool {
    let lines: Vec<&[u8]> = text.split(|&b| b == b'\n').collect();
    let is_move = |lines: &[&[u8]]| match lines {
        [name, before, after] => {
            name.starts_with(b"refs/heads/") && is_reference(name) && is_id(before) && is_id(after)
        }
        _ => false,
    };
    text.is_empty() || lines.chunks(3).all(is_move)
}

fn todo(text: &[u8]) -> Result<(), String> {
    for (number, line) in text.split(|&b| b == b'\n').enumerate() {
        let line = line.trim_ascii();
        let verb = line
            .split(u8::is_ascii_whitespace)
            .next()
            .unwrap_or_default();
        if !line.starts_with(b"#") && !VERBS.contains(&verb) {
            let shown = String::from_utf8_lossy(&verb[..verb.len().min(20)]);
            return Err(format!(
                "line {}: git rebase --continue would obey \"{shown}\"",
                number + 1
            ));
        }
    }
    Ok(())
}

/// Words with two dashes, each of which git gives to a strategy of its own.
fn are_strategy_options(text: &[u8]) -> bool {
    let harmless = |b: &u8| b.is_ascii_alphanumeric() || b" '=-_./%\n".contains(b);
    text.iter().all(harmless)
}

/// Words in single quotes, as git quotes them for a shell.
fn are_apply_options(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    if text.is_empty() {
        return true;
    }
    let Some(inner) = text
        .strip_prefix(b"'")
        .and_then(|rest| rest.strip_suffix(b"'"))
    else {
        return false;
    };
    let inner = String::from_utf8_lossy(inner);
    inner
        .split("' '")
        .all(|word| is_apply_option(word.as_bytes()))
}

fn is_apply_option(word: &[u8]) -> bool {
    let value = |options: &[&[u8]]| options.iter().find_map(|option| word.strip_prefix(*option));
    let plain = |b: &u8| !b.is_ascii_control() && !b"'\\".contains(b);
    let number = |text: &[u8]| !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    APPLY.contains(&word)
        || value(&APPLY_TEXTS).is_some_and(|text| text.iter().all(plain))
        || value(&APPLY_NUMBERS).is_some_and(number)
}

/// The options of a sequence of picks, which git keeps as a configuration.
fn pick_options(text: &[u8]) -> Result<(), String> {
    const TRUTHS: [&str; 10] = [
        "no-commit",
        "edit",
        "allow-empty",
        "allow-empty-message",
        "keep-redundant-commits",
        "drop-redundant-commits",
        "signoff",
        "record-origin",
        "allow-ff",
        "allow-rerere-auto",
    ];
    for (key, values) in config::variables(text).map_err(|objection| objection.to_string())? {
        let harmless = |value: &Vec<u8>| match key.name.as_str() {
            "mainline" => value.iter().all(u8::is_ascii_digit),
            "strategy" => STRATEGIES.contains(&value.as_slice()),
            "strategy-option" => are_strategy_options(value),
            "default-msg-cleanup" => value.iter().all(u8::is_ascii_lowercase),
            name => TRUTHS.contains(&name) && matches!(value.as_slice(), b"true" | b"false"),
        };
        if key.section != "options" || key.subsection.is_some() || !values.iter().all(harmless) {
            return Err(format!("{key} may not be set so"));
        }
    }
    Ok(())
}

/// `ID TAB PATH` or `ID.NUMBER TAB PATH`.
fn is_record(record: &[u8]) -> bool {
    let Some(at) = record.iter().position(|&b| b == b'\t') else {
        return false;
    };
    let (id, path) = (&record[..at], &record[at + 1..]);
    let mut parts = id.splitn(2, |&b| b == b'.');
    let numbered = |number: &[u8]| {
        let number = std::str::from_utf8(number).unwrap_or_default();
        number.bytes().all(|b| b.is_ascii_digit())
            && number.parse::<usize>().is_ok_and(|number| number < IMAGES)
    };
    parts.next().is_some_and(is_id)
        && parts.next().is_none_or(numbered)
        && is_path_of_tree(path, false)
}

/// `0xMINIMUM-0xMAXIMUM-RANDOM.ref`.
fn is_table(line: &[u8]) -> bool {
    let Some(name) = line.strip_suffix(b".ref") else {
        return false;
    };
    let number =
        |part: &[u8], digits: usize| part.len() == digits && part.iter().all(u8::is_ascii_hexdigit);
    let parts: Vec<&[u8]> = name.split(|&b| b == b'-').collect();
    match parts.as_slice() {
        [least, most, random] => {
            let named = |part: &[u8]| {
                part.strip_prefix(b"0x")
                    .is_some_and(|part| number(part, 12))
            };
            named(least) && named(most) && number(random, 8)
        }
        _ => false,
    }
}

#[cfg(test)]
#[path = "lines_tests.rs"]
mod tests;
