"""Which tests are repeated as an ordinary user: what `crates/bailiwick/tests/who.tsv` says of them.

Decision: whoever starts the suite runs every test. Root then runs those again as an ordinary user that depend
on who runs them; the table has the reason for each, the longest prefix holds, and a test of a target of the
table that no row is about is an error.
"""
import sys
from pathlib import Path

import table

# The words of the table's third column; its head says what they mean.
SAID = ("both", "once", "unshipped", "shipped", "elsewhere")
PATH = "crates/bailiwick/tests/who.tsv"
# Sources of a target that are no module of tests.
NO_MODULES = ("main", "mod", "support")


class Who:
    """The table."""

    def __init__(self, path=PATH):
        self.path, self.known, self.used = path, {}, set()
        for number, fields in table.rows(path):
            if len(fields) != 4 or fields[2] not in SAID:
                raise SystemExit(f"{path}:{number}: a row is TARGET, PREFIX, {', '.join(SAID)}, WHY, with tabs between them")
            self.known.setdefault(fields[0], {})[fields[1]] = (fields[2], number)

    def row(self, target, name):
        """What the table says of a test; none of a target of which it says nothing."""
        if target not in self.known:
            return None
        prefixes = [prefix for prefix in self.known[target] if name.startswith(prefix)]
        if not prefixes:
            raise ValueError(f"{self.path}: no row is about {name} of {target}")
        prefix = max(prefixes, key=len)
        self.used.add((target, prefix))
        return self.known[target][prefix][0]

    def rows(self, target, names):
        """What the table says of each of a target's tests."""
        return {name: said for name in names if (said := self.row(target, name))}

    def idle(self):
        """The rows that are about no test."""
        return [f"{self.path}:{number}: no test of {target} begins with {prefix}"
                for target, prefixes in self.known.items() for prefix, (_, number) in prefixes.items()
                if (target, prefix) not in self.used]

    def unnamed(self):
        """The modules of targets of the table that no row is about, by the names of their files: told before
        anything is compiled."""
        folder = Path(self.path).parent
        for target, prefixes in self.known.items():
            files = [path for path in folder.glob(f"{target}/**/*.rs") if "#[test]" in path.read_text(encoding="utf-8")]
            modules = {path.relative_to(folder / target).parts[0].removesuffix(".rs") for path in files}
            for module in sorted(modules - set(NO_MODULES)):
                name = f"{module}::"
                if not any(prefix.startswith(name) or name.startswith(prefix) for prefix in prefixes):
                    yield f"{self.path}: no row is about {name} of {target}"


if __name__ == "__main__":
    found = list(Who().unnamed())
    print("\n".join(found), end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)
