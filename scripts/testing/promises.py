"""Checks that each promise of SPECIFICATION.md names a proof that exists, and that ran.

Decision: a proof is read by a grammar and not by a guess; the head of SPECIFICATION.md has it. What cannot be
read is wrong, a name stands for itself and has to meet a test by itself, and of what it meets one test at least
was good and none failed. Without results the names are looked for in the sources (`sources.py`).

usage: promises.py [--list] TESTS.TSV | --static
"""
import re
import sys
from fnmatch import fnmatchcase

import sources
import table

PATH = "SPECIFICATION.md"
SPAN = r"`[^`]+`"
GROUP = re.compile(rf"(?:(?P<where>{SPAN}|by hand): )?(?P<proofs>{SPAN}(?:, {SPAN})*)$")


class Promise:
    """A row of a table of promises: its line, its words, and its proofs."""

    def __init__(self, number, text, cell):
        self.number, self.text, self.proofs, self.unread = number, text, [], []
        # What stands in parentheses explains and is no proof, but for these words.
        cell = cell.replace("` (where it can be had)", "?`")
        cell = re.sub(rf"({SPAN})| \((?:[^()`]|{SPAN})*\)", lambda found: found[1] or "", cell)
        for group in re.sub(rf"({SPAN})|; ", lambda found: found[1] or "\n", cell).split("\n"):
            found = GROUP.match(group)
            if not found:
                self.unread.append(group)
                continue
            where = (found["where"] or "`run`").strip("`")
            self.proofs += [(where, span.strip("`")) for span in re.findall(SPAN, found["proofs"])]


def promises(text):
    """Those of all tables with the columns `promise` and `proof`."""
    within = False
    for number, line in enumerate(text.splitlines(), 1):
        if re.match(r"\| *promise *\| *proof *\|$", line):
            within = True
        elif not line.startswith("|"):
            within = False
        elif within and not re.match(r"\|[-: |]+\|$", line):
            words, _, cell = line.strip().removeprefix("| ").removesuffix("|").partition(" | ")
            yield Promise(number, words, cell.strip())


def is_meant(name, pattern):
    """Whether a proof is about a test: by the end of its name, from `::` on."""
    names = (name, name.removesuffix("::on_process"))
    return any(fnmatchcase(one, end) for one in names for end in (pattern, f"*::{pattern}"))


class Ran:
    """The tests that ran, by target."""

    def __init__(self, rows):
        self.targets = {}
        for target, name, outcome in rows:
            self.targets.setdefault(target.removeprefix("step::"), []).append((name, outcome))

    @classmethod
    def kept(cls, path):
        """What a file has of them: target, name, who, outcome and seconds."""
        return cls((target, name, outcome) for _, (target, name, _, outcome, _) in table.rows(path))

    def of(self, where, pattern):
        """What a proof is about, with the target."""
        names, prefix, pattern = sources.place(where, pattern)
        return [(target, *test) for target, tests in self.targets.items() if any(fnmatchcase(target, n) for n in names)
                for test in tests if test[0].startswith(prefix) and (pattern is None or is_meant(test[0], pattern))]


def wrong(promise, ran):
    """What is wrong with the proofs of a promise."""
    for group in promise.unread:
        yield f"{group!r} cannot be read as a proof"
    if not promise.proofs and not promise.unread:
        yield "there is no proof"
    for where, pattern in promise.proofs:
        if where == "by hand":
            yield from sources.missing(pattern)
            continue
        optional, pattern = pattern.endswith("?"), pattern.removesuffix("?")
        said = f"`{pattern}`" if where == "run" else f"`{where}`: `{pattern}`"
        if not sources.has(where, pattern, is_meant):
            yield f"{said} is nowhere in the sources"
        elif ran:
            outcomes = {outcome for _, _, outcome in ran.of(where, pattern)}
            if not outcomes:
                yield f"{said} is no test that ran"
            elif "failed" in outcomes or "ok" not in outcomes and not optional:
                yield f"{said}: {', '.join(sorted(outcomes))}"


def listed(promise, ran):
    """A row of the list: a promise, and what proves it."""
    found = []
    for where, pattern in promise.proofs:
        pattern = pattern.removesuffix("?")
        tests = sorted({f"`{target}` {name}" for target, name, _ in ran.of(where, pattern)}) if ran else []
        found += tests or [f"{where}: `{pattern}`"]
    return f"| {promise.text} | {'<br>'.join(found)} |"


def problems(text, ran=None):
    """What is wrong, a line for each."""
    found = [f"{PATH}:{one.number}: {why}" for one in promises(text) for why in wrong(one, ran)]
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("|"):
            commands = re.findall(rf"by hand: ({SPAN})", line)
            found += [f"{PATH}:{number}: {why}" for words in commands for why in sources.missing(words.strip("`"))]
    return found if any(promises(text)) else [f"{PATH}: there are no promises"]


def read():
    """The specification."""
    with open(PATH, encoding="utf-8") as file:
        return file.read()


def check(report):
    """Tells the report of a run of the suite whether what ran proves what is promised."""
    report.found(PATH, problems(read(), Ran((one.target, one.name, one.outcome) for one in report.results)))


def main():
    words = [word for word in sys.argv[1:] if word != "--list"]
    if len(words) != 1:
        print(__doc__.strip().splitlines()[-1], file=sys.stderr)
        return 2
    text, ran = read(), None if words == ["--static"] else Ran.kept(words[0])
    if "--list" in sys.argv:
        print("\n".join(["| promise | tests |", "|---|---|", *(listed(one, ran) for one in promises(text))]))
    found = problems(text, ran)
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
