//! What a script of a shell runs without spelling it: what a pattern, a variable or a list of files stands for. Of such
//! names only the folder is known.

use super::scripts::{interprets, precedes};
use std::collections::{BTreeMap, BTreeSet};

/// So many values of variables are put into one word.
const VALUES: usize = 16;

/// What a command stands behind, besides words of the shell's.
const BEFORE: [&[u8]; 6] = [b"{", b"!", b"-", b"exec", b"nohup", b"sudo"];

/// What is run of a text.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Listed {
    /// Folders of which all files may be.
    pub(super) folders: BTreeSet<Vec<u8>>,
    /// Files that a variable stands for.
    pub(super) files: BTreeSet<Vec<u8>>,
}

/// A command of a text.
struct Command {
    words: Vec<Vec<u8>>,
    /// Commands that pass their output on have the same.
    pipeline: usize,
}

/// What a script of a shell runs of lists; a file of data has patterns for other things at the place of commands.
pub(super) fn listed(text: &[u8], of_data: bool) -> Listed {
    let commands = Reader::commands(text);
    let values = values(&commands);
    let mut listed = Listed::default();
    // The commands that give variables values which are run, and the pipelines whose output is.
    let (mut giving, mut pipelines) = (BTreeSet::new(), BTreeSet::new());
    let (givers, mut unknown) = (givers(&commands), BTreeSet::new());
    for (at, command) in commands.iter().enumerate() {
        let mut run = Vec::new();
        if runs(&command.words, &mut run) {
            pipelines.insert(command.pipeline);
        }
        if of_data && run.first().is_some_and(|word| !word.contains(&b'$')) {
            run.remove(0);
        }
        for word in run {
            let parts = word.split(|byte| *byte == b'/');
            for name in parts.filter_map(variable) {
                let all = givers.get(name).map_or(&[][..], Vec::as_slice);
                match all.partition_point(|giver| *giver < at) {
                    // A function may stand before its call.
                    0 if unknown.insert(name.to_vec()) => giving.extend(all),
                    0 => {}
                    before => drop(giving.insert(all[before - 1])),
                }
            }
            for value in expanded(word, &values) {
                listed.add(&value, word.contains(&b'$'), false);
            }
        }
    }
    let mut of_output = false;
    for command in giving.into_iter().map(|at| &commands[at]) {
        let Some((_, words)) = looped(command) else {
            of_output = true;
            pipelines.insert(command.pipeline);
            continue;
        };
        of_output |= words.iter().any(|word| word.ends_with(b"$"));
        for word in words.iter().flat_map(|word| expanded(word, &values)) {
            listed.add(&word, true, true);
        }
    }
    for command in &commands {
        let lists = command.words.iter().any(|word| lists(word));
        if pipelines.contains(&command.pipeline) || of_output && lists {
            for word in named(command).flat_map(|word| expanded(word, &values)) {
                if lists && wild(&word).is_none() {
                    listed.folders.insert(word.clone());
                }
                listed.add(&word, lists, true);
            }
        }
    }
    listed
}

/// The commands that give variables values, by number.
fn givers(commands: &[Command]) -> BTreeMap<&[u8], Vec<usize>> {
    let mut found: BTreeMap<&[u8], Vec<usize>> = BTreeMap::new();
    for (at, command) in commands.iter().enumerate() {
        let looped = looped(command).map(|(name, _)| name);
        for name in looped.into_iter().chain(read_by(command)) {
            found.entry(name).or_default().push(at);
        }
    }
    found
}

impl Listed {
    /// Adds what a word stands for that is run: the folder in which a pattern or a variable of it begins, or itself.
    fn add(&mut self, word: &[u8], is_file: bool, is_listed: bool) {
        let Some(wild) = wild(word) else {
            if is_file {
                self.files.insert(word.to_vec());
            }
            return;
        };
        let slash = word[..wild].iter().rposition(|byte| *byte == b'/');
        match slash {
            Some(slash) => drop(self.folders.insert(word[..slash.max(1)].to_vec())),
            // Where the script has gone to.
            None if is_listed && word[wild] != b'$' => drop(self.folders.insert(b".".to_vec())),
            // A variable may stand for the folder in which another begins.
            None if word[wild] == b'$' => {
                let behind = word.iter().position(|byte| *byte == b'/');
                if let Some(behind) = behind {
                    let rest = &word[behind + 1..];
                    if rest.contains(&b'/') && self::wild(rest).is_some() {
                        self.add(rest, false, false);
                    }
                }
            }
            None => {}
        }
    }
}

/// Where what a shell replaces begins in a word.
fn wild(word: &[u8]) -> Option<usize> {
    let braces = word.contains(&b',');
    word.iter()
        .position(|byte| b"*?[$".contains(byte) || *byte == b'{' && braces)
}

/// A command that is read.
#[derive(Clone, Default)]
struct Part {
    text: Vec<u8>,
    pipeline: usize,
    /// What ends it, where it stands in another.
    end: Option<u8>,
    /// Whether it is none: the values of an array, what `case` compares with.
    is_data: bool,
}

/// Finds the commands of a text, as far as they can be told without knowing the shell.
#[derive(Default)]
struct Reader {
    found: Vec<Command>,
    part: Part,
    /// Those in which it stands.
    around: Vec<Part>,
    pipelines: usize,
}

impl Reader {
    fn commands(text: &[u8]) -> Vec<Command> {
        let mut reader = Self::default();
        let comment = |line: &&[u8]| line.trim_ascii_start().starts_with(b"#");
        let lines = text.split_inclusive(|byte| *byte == b'\n');
        for byte in lines.filter(|line| !comment(line)).flatten() {
            reader.byte(*byte);
        }
        while !reader.around.is_empty() {
            reader.leave();
        }
        reader.end();
        reader.found
    }

    fn byte(&mut self, byte: u8) {
        let text = &mut self.part.text;
        match byte {
            b'\n' if text.ends_with(b"\\") => {
                text.pop();
                text.push(b' ');
            }
            b'&' if text.ends_with(b">") => text.push(byte),
            b'\n' | b';' | b'&' => {
                // A line may end in the middle of a pipeline.
                let goes_on = byte == b'\n' && text.trim_ascii().is_empty();
                self.end();
                if !goes_on {
                    self.pipelines += 1;
                    self.part.pipeline = self.pipelines;
                }
            }
            b'|' => self.end(),
            b')' | b'`' if self.part.end == Some(byte) => self.leave(),
            b'(' | b'`' => {
                if byte == b'`' {
                    text.push(b'$');
                }
                let inner = Part {
                    pipeline: self.part.pipeline,
                    is_data: self.part.text.ends_with(b"="),
                    end: Some(if byte == b'(' { b')' } else { byte }),
                    ..Part::default()
                };
                self.around.push(std::mem::replace(&mut self.part, inner));
            }
            b')' => {
                self.part.is_data = true;
                self.end();
            }
            _ => text.push(byte),
        }
    }

    /// A command is over.
    fn end(&mut self) {
        let words = plain(&std::mem::take(&mut self.part.text));
        let pipeline = self.part.pipeline;
        if !std::mem::take(&mut self.part.is_data) && !words.is_empty() {
            self.found.push(Command { words, pipeline });
        }
    }

    /// So is one that stands in another, which goes on.
    fn leave(&mut self) {
        self.end();
        self.part = self.around.pop().unwrap_or_default();
        // What is put in the place of a word is part of it.
        if !self.part.text.ends_with(b"$") {
            self.end();
        }
    }
}

/// The words of a command without quotes.
fn plain(command: &[u8]) -> Vec<Vec<u8>> {
    let words = command
        .split(u8::is_ascii_whitespace)
        .map(|word| word.iter().copied().filter(|byte| !b"'\"\\".contains(byte)));
    let words = words.map(Iterator::collect);
    words.filter(|word: &Vec<u8>| !word.is_empty()).collect()
}

/// The literal values of variables.
fn values(commands: &[Command]) -> BTreeMap<Vec<u8>, Vec<Vec<u8>>> {
    let mut values: BTreeMap<Vec<u8>, Vec<Vec<u8>>> = BTreeMap::new();
    for word in commands.iter().flat_map(|command| &command.words) {
        if let Some((name, value)) = assigned(word).filter(|(_, value)| !value.contains(&b'$')) {
            let all = values.entry(name.to_vec()).or_default();
            if !value.is_empty() && all.len() < VALUES {
                all.push(value.to_vec());
            }
        }
    }
    values
}

/// The name and the value where a word gives a variable one.
fn assigned(word: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = word.iter().position(|byte| *byte == b'=')?;
    is_name(&word[..at]).then(|| (&word[..at], &word[at + 1..]))
}

fn is_name(name: &[u8]) -> bool {
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    !name.is_empty() && !name[0].is_ascii_digit() && name.iter().all(part)
}

/// The variable that a word begins with.
fn variable(word: &[u8]) -> Option<&[u8]> {
    let rest = word.strip_prefix(b"$")?;
    let rest = rest.strip_prefix(b"{").unwrap_or(rest);
    let part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let end = rest.iter().position(|byte| !part(byte));
    Some(&rest[..end.unwrap_or(rest.len())]).filter(|name| !name.is_empty())
}

/// A word with the values of its variables, as far as they are known.
fn expanded(word: &[u8], values: &BTreeMap<Vec<u8>, Vec<Vec<u8>>>) -> Vec<Vec<u8>> {
    let mut found = vec![Vec::new()];
    let mut rest = word;
    while let Some((&byte, behind)) = rest.split_first() {
        let known = variable(rest).and_then(|name| Some((name, values.get(name)?)));
        match known.filter(|(_, values)| !values.is_empty()) {
            Some((name, values)) => {
                let closed = rest[1] == b'{';
                rest = &rest[1 + usize::from(closed) + name.len()..];
                let end = rest.iter().position(|byte| closed && *byte == b'}');
                rest = end.map_or(rest, |end| &rest[end + 1..]);
                let with = |head: &Vec<u8>| {
                    let head = head.clone();
                    values
                        .iter()
                        .map(move |value| [head.as_slice(), value].concat())
                };
                found = found.iter().flat_map(with).take(VALUES).collect();
            }
            None => {
                found.iter_mut().for_each(|word| word.push(byte));
                rest = behind;
            }
        }
    }
    found
}

/// Adds the words that a command runs. Whether it runs what it is given as a list.
fn runs<'a>(words: &'a [Vec<u8>], run: &mut Vec<&'a [u8]>) -> bool {
    let goes_before = |word: &Vec<u8>| {
        precedes(word) || assigned(word).is_some() || BEFORE.contains(&word.as_slice())
    };
    let first = words.iter().position(|word| !goes_before(word));
    let Some((command, rest)) = first.and_then(|first| words[first..].split_first()) else {
        return false;
    };
    run.push(command);
    let name = command.rsplit(|byte| *byte == b'/').next();
    match name.unwrap_or(command) {
        b"xargs" => by_xargs(rest, run),
        b"find" => {
            let acts: [&[u8]; 4] = [b"-exec", b"-execdir", b"-ok", b"-okdir"];
            let act = rest.iter().position(|word| acts.contains(&word.as_slice()));
            act.is_some_and(|at| takes(&rest[at + 1..], b"{}"))
        }
        _ if interprets(command) => {
            interpreted(rest, run);
            false
        }
        _ => false,
    }
}

/// The same of what an interpreter is given.
fn interpreted<'a>(words: &'a [Vec<u8>], run: &mut Vec<&'a [u8]>) {
    let mut behind_option = false;
    for (at, word) in words.iter().enumerate() {
        match word.as_slice() {
            b"-m" => return,
            option if option.starts_with(b"-") && option.ends_with(b"c") => {
                runs(&words[at + 1..], run);
                return;
            }
            option if option.starts_with(b"-") => behind_option = true,
            word => {
                run.push(word);
                // What follows an option may be its value.
                if !behind_option || word.iter().any(|byte| b"/.$".contains(byte)) {
                    return;
                }
                behind_option = false;
            }
        }
    }
}

fn by_xargs<'a>(words: &'a [Vec<u8>], run: &mut Vec<&'a [u8]>) -> bool {
    let mut place: &[u8] = b"{}";
    let mut at = 0;
    while let Some(option) = words.get(at).filter(|word| word.starts_with(b"-")) {
        at += 1;
        if let Some(name) = option.strip_prefix(b"-I").filter(|name| !name.is_empty()) {
            place = name;
        }
        if option.len() == 2 && b"IJLPnsdEa".contains(&option[1]) {
            place = match (option[1], words.get(at)) {
                (b'I', Some(name)) => name,
                _ => place,
            };
            at += 1;
        }
    }
    let command = words.get(at..).unwrap_or_default();
    runs(command, run);
    // What an interpreter is not given is put behind it.
    let only_options = command.iter().skip(1).all(|word| word.starts_with(b"-"));
    let module = command.iter().any(|word| word == b"-m");
    let given = command.first().is_some_and(|first| interprets(first));
    given && only_options && !module || takes(command, place)
}

/// Whether a command runs what stands for one of a list.
fn takes(words: &[Vec<u8>], place: &[u8]) -> bool {
    let mut run = Vec::new();
    runs(words, &mut run);
    let args: [&[u8]; 4] = [b"$0", b"$1", b"$@", b"$*"];
    run.iter().any(|word| *word == place || args.contains(word))
}

/// The variables that a command reads of what another puts out.
fn read_by(command: &Command) -> impl Iterator<Item = &[u8]> {
    let reads: [&[u8]; 3] = [b"read", b"mapfile", b"readarray"];
    let at = command
        .words
        .iter()
        .position(|word| reads.contains(&word.as_slice()));
    let words = at.map_or(&[][..], |at| &command.words[at + 1..]);
    words.iter().map(Vec::as_slice)
}

/// The variable of a loop, and the words for which it stands.
fn looped(command: &Command) -> Option<(&[u8], &[Vec<u8>])> {
    let at = command.words.iter().position(|word| word == b"for")?;
    let name = command.words.get(at + 1)?;
    let within = command.words.get(at + 2).is_some_and(|word| word == b"in");
    within.then(|| (name.as_slice(), &command.words[at + 3..]))
}

/// Whether a command lists files.
fn lists(word: &[u8]) -> bool {
    matches!(word, b"ls" | b"find" | b"fd" | b"ls-files")
}

/// What a command that lists files is given: what follows an option of `find` is none.
fn named(command: &Command) -> impl Iterator<Item = &[u8]> {
    let at = command.words.iter().position(|word| lists(word));
    let finds = at.is_some_and(|at| command.words[at] == b"find");
    let words = command.words.iter().skip(at.unwrap_or_default() + 1);
    let options = move |word: &&Vec<u8>| !(finds && (word.starts_with(b"-") || word == &b"!"));
    let words = words.take_while(options);
    words
        .filter(|word| !word.starts_with(b"-"))
        .map(Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folders(text: &str) -> Vec<String> {
        let found = listed(text.as_bytes(), false).folders;
        let text = |folder: Vec<u8>| String::from_utf8(folder).unwrap();
        found.into_iter().map(text).collect()
    }

    #[test]
    fn a_folder_counts_where_what_is_in_it_is_run() {
        for text in [
            "for s in s/*; do $s; done",
            "for s in x y; do s/$s.sh; done",
            "for f in s/*\ndo\n  if true; then . \"$f\"; fi\ndone",
            "ls s/* | xargs -n1 sh",
            "find s -type f | xargs -I{} {}",
            "find s -type f -exec {} +",
            "find s -name '*.sh' -exec bash -e {} \\;",
            "find s -name '*.sh' | while read -r f; do . $f; done",
            "find s |\n while read f; do bash -c \"$f\"; done",
            "find s | while read f; do \"$PWD/$f\"; done",
            "while read f; do ${f}; done < <(ls s)",
            "for f in $(find s); do sh \"$f\"; done",
            "source s/$n.sh",
            "exec bash s/$n.sh",
            "source s/$(echo x).sh",
            "source s/`echo x`.sh",
            ". \"$(dirname \"$0\")/s/$n.sh\"",
            "D=s; for f in \"$D\"/*; do source $f; done",
            "D=s; \"$D/$n\"",
            "L='s/*'; for f in $L; do $f; done",
            "for f in s/*; do . $f; done; for f in src/*; do lint $f; done; find src | xargs lint",
            "run() { . $f; }; for f in s/*; do run; done",
            ". \"$ROOT/s/$n.sh\"",
            "python3 -u s/$x.py",
            "printf '%s\\n' s/* | xargs sh -c '. \"$1\"' x",
        ] {
            assert_eq!(folders(text), ["s"], "{text}");
        }
        assert_eq!(folders("cd s; for f in *.sh; do sh $f; done"), ["."]);
        assert_eq!(folders("ls s | while read f; do ./$f; done"), [".", "s"]);
        let found = listed(
            b"D=tools/de; source \"${D}ep/z.sh\"; for f in a/x; do . $f; done",
            false,
        );
        let files = [b"a/x".to_vec(), b"tools/deep/z.sh".to_vec()];
        assert_eq!(found.files, BTreeSet::from(files));
    }

    #[test]
    fn a_folder_that_is_only_looked_at_does_not_count() {
        assert!(listed(b"src/*\n", true).folders.is_empty());
        for text in [
            "black src/*",
            "# src/*; for f in src/*; do $f; done",
            "for f in src/*; do clang-format -i $f; done",
            "find src -name '*.py' | xargs black",
            "find src -exec black {} +",
            "ls src | xargs -I{} sh -c 'eslint {}'",
            "ls src/* | xargs python -m black",
            "git ls-files src | while read f; do wc $f; done",
            "case $f in src/*) lint;; esac",
            "files=(src/*); lint \"${files[@]}\"",
            "[ -f src/$x ] && cat src/$x > out/$x",
            "$CC -c src/$x.c",
            "rm $(dirname $0)/src/*",
            "git diff --name-only -- src/* 2>&1 | tee out; sh x.sh",
            "node scripts/build.js src/$x",
        ] {
            assert_eq!(folders(text), [""; 0], "{text}");
        }
    }
}
