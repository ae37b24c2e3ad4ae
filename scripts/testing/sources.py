"""Where the proofs of SPECIFICATION.md lie in the sources: names of tests, files, and commands.

Decision: what this finds without a compiler is that a name stands where a test of that name would stand. A
function that is no test is taken for one; that a test ran is told by what ran, and by nothing else.
"""
import os
import re
import shlex
from pathlib import Path

BLACK_BOX = "crates/bailiwick/tests"
# Steps that are scripts whose words are the names: how the targets of their results begin.
STEPS = {"scripts/capos-smokes": "smokes*"}
# Targets that take files of others.
OTHERS = {"vm": ("run", "clients")}


def package(folder):
    """The name of a package by its folder."""
    return re.search(r'^name = "([^"]+)"', Path(folder, "Cargo.toml").read_text(encoding="utf-8"), re.M)[1]


def module(path, top):
    """The module that a file or folder is, seen from the folder at which modules begin; with `::` at its end."""
    within = path.relative_to(top)
    names = [*within.parts[:-1], within.stem]
    for near in sorted(path.parent.glob("*.rs")) if path.is_file() else ():
        text = near.read_text(encoding="utf-8")
        found = re.search(rf'path = "{path.name}"\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\S* )?mod (\w+);', text)
        if found and near != path:
            return f"{module(near, top)}{found[1]}::"
    names = names[:-1] if names[-1] in ("main", "lib", "mod", "") else names
    return "".join(f"{name}::" for name in names)


def of_path(path):
    """For a file or folder of tests: the targets that may have them, and how their names begin."""
    path = Path(path if Path(path).exists() else Path("crates/bailiwick", path))
    folder, rest = Path(*path.parts[:2]), path.parts[2:]
    name = package(folder)
    # Both workspaces name their packages after the product.
    names = [name, name.removeprefix("bailiwick-")] if folder.parts[0] == "capos" else [name]
    if rest[:1] in (("tests",), ("benches",)) and len(rest) > 1:
        kind = "bench " if rest[0] == "benches" else ""
        top = folder / rest[0] / Path(rest[1]).stem
        prefix = "" if len(rest) == 2 else module(path, top)
        of_all = names if folder.parts[0] == "capos" else []
        return [f"{kind}{one}::{top.name}" for one in names] + of_all, prefix
    prefix = module(path, folder / "src") if rest[:1] == ("src",) and len(rest) > 1 else ""
    return [*names, *(f"{one}::{one}" for one in names)], prefix


def place(where, pattern):
    """The targets that a proof is about, how names begin there, and the pattern that they have to meet, if any."""
    if where in STEPS:
        return [STEPS[where]], "", None
    if "/" in where:
        return *of_path(where), pattern
    if "/" in pattern:
        return *of_path(pattern), None
    return [f"bailiwick::{where}"], "", pattern


def files(where):
    """The sources of a target or a package, each with the folder at which its modules begin."""
    if "/" in where:
        path = Path(where)
        tops = [path, path / "src"] if len(path.parts) == 2 else [path]
    else:
        tops = [Path(BLACK_BOX, name) for name in (where, *OTHERS.get(where, ()))]
    for top in tops:
        for file in [top.with_suffix(".rs"), *sorted(top.rglob("*.rs"))]:
            if file.is_file():
                yield file, top if top in file.parents else file


def names(where):
    """Everything in the sources of a target that may be the name of a test: functions, and rows of tables."""
    for file, top in files(where):
        text = file.read_text(encoding="utf-8")
        prefix = "" if file == top else module(file, top)
        tests = "tests::" if "\nmod tests {" in text else ""
        on_process = "::on_process" if "\non_every_backend!" in text and where == "run" else ""
        for name in re.findall(r"\bfn (\w+)", text):
            yield from (f"{prefix}{name}{on_process}", f"{prefix}{tests}{name}")
        yield from re.findall(r'"([\w.,+ -]+)"', text)


def has(where, pattern, is_meant):
    """Whether the sources have what a proof names."""
    if where in STEPS:
        text = Path(where).read_text(encoding="utf-8")
        return re.search(rf"(?<![\w-]){re.escape(pattern)}(?![\w-])", text) is not None
    if "/" in pattern:
        return any(Path(top, pattern).exists() for top in (".", "crates/bailiwick"))
    return any(is_meant(name, pattern) for name in names(where))


def packages_below(top):
    """The folders with a manifest; what is built or measured meanwhile comes and goes."""
    for folder, below, files in os.walk(top):
        below[:] = [name for name in below if name not in ("target", ".git")]
        if "Cargo.toml" in files:
            yield Path(folder)


def missing(command):
    """What a command by hand needs and the tree has not."""
    words = shlex.split(command)
    while re.match(r"\w+=", words[0]):
        words.pop(0)
    told = f"by hand: `{command}`"
    given = {words[at]: words[at + 1] for at in range(1, len(words) - 1) if words[at].startswith("-")}
    if words[0] == "cargo":
        manifest = given.get("--manifest-path", "Cargo.toml")
        name = given.get("-p") or given.get("--package")
        folders = list(packages_below(Path(manifest).parent))
        found = [one for one in folders if "[package]" in (one / "Cargo.toml").read_text() and package(one) == name]
        needed = [f"{kind}{end}" for flag, kind in (("--test", "tests/"), ("--bench", "benches/"))
                  for end in [given.get(flag)] if end]
        if not Path(manifest).is_file() or not found:
            yield f"{told}: there is no package {name} in {manifest}"
        elif not all((found[0] / f"{one}.rs").exists() or (found[0] / one).exists() for one in needed):
            yield f"{told}: {found[0]} has no {' '.join(needed)}"
    elif words[0] == "bailiwick":
        called = " ".join(re.match(r"[a-z]+( [a-z]+)*", " ".join(words))[0].split())
        if f"\n## `{called}`" not in Path("docs/cli.md").read_text(encoding="utf-8"):
            yield f"{told}: docs/cli.md has no `{called}`"
    elif not os.access(words[0], os.X_OK):
        yield f"{told}: there is no {words[0]}"
    elif words[0].endswith("fuzz/run") and not Path(words[0]).with_name("targets").joinpath(f"{words[1]}.rs").is_file():
        yield f"{told}: there is no target {words[1]}"
