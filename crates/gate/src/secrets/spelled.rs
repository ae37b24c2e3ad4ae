//! A secret some of whose characters are written in another way ([`super::units`]), each in its own.
//! What is written plainly throughout is found by faster means.
//!
//! Decision: looked for from the first character that is not written as it is. Text without marks, and
//! marks behind which no character of a secret stands, cost next to nothing.

use super::units::{self, Unit, Units};

/// A secret, and what stands for it; both are of one length.
pub(super) struct Spelled {
    from: Vec<u8>,
    to: Vec<u8>,
    /// How many bytes both begin with.
    common: usize,
    /// The characters that it is made of.
    made_of: [bool; 256],
    /// Whether a letter in the other case is the same.
    any_case: bool,
}

/// What bytes come to where they were read up to one of a secret's characters.
#[derive(Clone, Copy)]
struct Step {
    /// Where they end.
    at: usize,
    /// How many characters they are.
    characters: usize,
    /// The step before; the first has none.
    before: Option<usize>,
    /// How the last character is written; none where as it is.
    unit: Option<Unit>,
}

impl Step {
    /// Where its last character begins.
    fn begin(&self) -> usize {
        self.at - self.unit.map_or(1, |unit| unit.length())
    }
}

/// How much at the end of bytes could be the beginning of a secret, and how much of that could become
/// something else.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Open {
    pub(super) keep: usize,
    pub(super) hold: usize,
}

impl Open {
    pub(super) fn add(&mut self, other: Self) {
        self.keep = self.keep.max(other.keep);
        self.hold = self.hold.max(other.hold);
    }
}

/// What looking for a secret from one of its characters on came to.
#[derive(Default)]
struct Walk {
    steps: Vec<Step>,
    /// Steps that more bytes could go on from.
    open: Vec<usize>,
}

impl Spelled {
    pub(super) fn new(from: &str, to: &str) -> Self {
        let (from, to) = (from.as_bytes().to_vec(), to.as_bytes().to_vec());
        let mut made_of = [false; 256];
        for character in &from {
            made_of[usize::from(*character)] = true;
        }
        Self {
            common: from.iter().zip(&to).take_while(|(a, b)| a == b).count(),
            from,
            to,
            made_of,
            any_case: false,
        }
    }

    /// The same whatever case its letters are in.
    pub(super) fn in_any_case(&self) -> Self {
        let mut made_of = self.made_of;
        for character in &self.from {
            made_of[usize::from(character.to_ascii_lowercase())] = true;
            made_of[usize::from(character.to_ascii_uppercase())] = true;
        }
        Self {
            from: self.from.clone(),
            to: self.to.clone(),
            common: self.common,
            made_of,
            any_case: true,
        }
    }

    fn same(&self, a: u8, b: u8) -> bool {
        a == b || self.any_case && a.eq_ignore_ascii_case(&b)
    }

    /// Whether so many of its characters stand, as they are, in front of a place.
    fn begins(&self, before: &[u8], characters: usize) -> bool {
        let from = before.len().checked_sub(characters);
        from.is_some_and(|from| {
            let mut both = before[from..].iter().zip(&self.from);
            // The nearest differs most often.
            both.rfind(|(a, b)| !self.same(**a, **b)).is_none()
        })
    }

    /// Reads on from a character at `mark` that is written in another way, which is that of this number.
    fn walk(
        &self,
        bytes: &[u8],
        mark: usize,
        number: usize,
        unit: Unit,
        walk: &mut Walk,
    ) -> Option<usize> {
        let Walk { steps, open } = walk;
        steps.clear();
        open.clear();
        steps.push(Step {
            at: mark + unit.length(),
            characters: number + 1,
            before: None,
            unit: Some(unit),
        });
        let mut next = 0;
        let mut forked = false;
        while let Some(&Step { at, characters, .. }) = steps.get(next) {
            let Some(&wanted) = self.from.get(characters) else {
                return Some(next);
            };
            let Some(&byte) = bytes.get(at) else {
                open.push(next);
                next += 1;
                continue;
            };
            let mut add = |length: usize, unit: Option<Unit>| {
                let step = Step {
                    at: at + length,
                    characters: characters + 1,
                    before: Some(next),
                    unit,
                };
                let same =
                    |other: &Step| (other.at, other.characters) == (step.at, step.characters);
                if !(forked && steps.iter().any(same)) {
                    steps.push(step);
                }
            };
            let plain = self.same(byte, wanted);
            if plain {
                add(1, None);
            }
            let units = Units::of(&bytes[at..]);
            for unit in units
                .iter()
                .filter(|unit| self.same(unit.character, wanted))
            {
                // Only what has marks itself can be read in two ways.
                add(unit.length(), Some(*unit));
            }
            forked |= steps.len() > next + 2;
            if units.open {
                open.push(next);
            }
            next += 1;
        }
        None
    }

    /// As far as nothing of what a walk came by can become something else, up to one of its steps.
    fn settled(&self, walk: &Walk, mark: usize, step: usize) -> usize {
        let mut step = &walk.steps[step];
        match step.characters {
            characters if characters < self.common => return usize::MAX,
            characters if characters == self.common => return step.at,
            _ => {}
        }
        while step.characters > self.common + 1 {
            match step.before {
                Some(before) => step = &walk.steps[before],
                // In front of the first all are as they are.
                None => return mark - (step.characters - 1 - self.common),
            }
        }
        step.begin()
    }

    /// Writes what stands for it where a walk has found it.
    fn replace(&self, bytes: &mut [u8], walk: &Walk, mark: usize, last: usize) {
        let mut step = Some(last);
        let mut first = self.from.len();
        while let Some(Step {
            at,
            characters,
            before,
            unit,
        }) = step.map(|step| walk.steps[step])
        {
            first = characters - 1;
            let (from, to) = (self.from[first], self.to[first]);
            match unit {
                _ if from == to => {}
                Some(unit) => unit.write(&mut bytes[at - unit.length()..at], to),
                None => bytes[at - 1] = to,
            }
            step = before;
        }
        bytes[mark - first..mark].copy_from_slice(&self.to[..first]);
    }

    /// What the end of `bytes`, from a mark on, could be the beginning of.
    fn open(&self, bytes: &[u8], mark: usize) -> Open {
        let longest = (0..self.from.len()).rev();
        let begun = longest.filter(|characters| self.begins(&bytes[..mark], *characters));
        let mut open = Open::default();
        for characters in begun {
            open.add(Open {
                keep: bytes.len() - (mark - characters),
                hold: match characters >= self.common {
                    true => bytes.len() - (mark - characters + self.common),
                    false => 0,
                },
            });
        }
        open
    }
}

/// Puts what stands for them in the place of the secrets in `bytes`; how many there were, and what
/// there could be if there were more bytes.
pub(super) fn replace(all: &[Spelled], bytes: &mut [u8]) -> (u64, Open) {
    let mut found = 0;
    let mut open = Open::default();
    let mut walk = Walk::default();
    let mut wanted = [false; 256];
    for spelled in all {
        for (wanted, made_of) in wanted.iter_mut().zip(spelled.made_of) {
            *wanted |= made_of;
        }
    }
    let mut from = 0;
    while let Some(mark) = units::mark(&bytes[from..], &wanted).map(|at| from + at) {
        from = mark + 1;
        let units = Units::of(&bytes[mark..]);
        for spelled in all {
            if units.open {
                open.add(spelled.open(bytes, mark));
            }
            for unit in units.iter() {
                if !spelled.made_of[usize::from(unit.character)] {
                    continue;
                }
                for number in 0..spelled.from.len() {
                    if !spelled.same(spelled.from[number], unit.character)
                        || !spelled.begins(&bytes[..mark], number)
                    {
                        continue;
                    }
                    if let Some(last) = spelled.walk(bytes, mark, number, *unit, &mut walk) {
                        spelled.replace(bytes, &walk, mark, last);
                        found += 1;
                        continue;
                    }
                    for step in &walk.open {
                        open.add(Open {
                            keep: bytes.len() - (mark - number),
                            hold: bytes.len()
                                - spelled.settled(&walk, mark, *step).min(bytes.len()),
                        });
                    }
                }
            }
        }
    }
    (found, open)
}

/// Whether one of the secrets stands in `bytes`.
pub(super) fn is_in(all: &[Spelled], bytes: &[u8]) -> bool {
    let all: Vec<Spelled> = all.iter().map(Spelled::in_any_case).collect();
    replace(&all, &mut bytes.to_vec()).0 > 0
}

#[cfg(test)]
#[path = "spelled_tests.rs"]
mod tests;
