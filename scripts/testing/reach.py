"""What a change can reach: the unit tests of the crates that import what was changed, and the black-box tests
that `crates/bailiwick/tests/reach.tsv` names for it.

Decision: a change is what is not in the upstream yet: commits since the merge base, and the working tree. Where
nothing was changed, or it is not known what a file is good for, everything that needs no machine is reached.
"""
import os
import subprocess

import building
import table

PATH = "crates/bailiwick/tests/reach.tsv"
# The targets of black-box tests that need no machine, whose files are folders.
TARGETS = ("run", "many", "clients", "escapes", "matrix")
# Documents that are made from tables, which tests compare.
DOCUMENTS = {
    "docs/escapes.md": {("escapes", "escapes::the_documentation"), ("escapes", "escapes::enough")},
    "docs/security.md": {("escapes", "escapes::the_documentation")},
    "docs/compatibility.md": {("matrix", "documentation")},
}


def git(*words):
    """What git prints, empty where it fails."""
    out = subprocess.run(["git", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return out.stdout.strip() if out.returncode == 0 else ""


def changed():
    """The files of the change."""
    base = git("merge-base", "HEAD", "@{upstream}") or git("merge-base", "HEAD", "origin/main") or "HEAD"
    files = git("diff", "--name-only", base).splitlines()
    return sorted(set(files + git("ls-files", "--others", "--exclude-standard").splitlines()))


def importers(env):
    """For each folder of a crate the names of the packages that import it, itself among them."""
    packages = {package["name"]: package for package in building.packages(env)}
    imports = {name: {dep["name"] for dep in package["dependencies"]} for name, package in packages.items()}
    found = {}
    for name, package in packages.items():
        reached, more = set(), {name}
        while more:
            reached |= more
            more = {other for other, needs in imports.items() if needs & more} - reached
        found[os.path.relpath(os.path.dirname(package["manifest_path"]))] = reached
    return found


class Reach:
    """What is reached."""

    def __init__(self, env, files=None):
        files = changed() if files is None else files
        known = importers(env)
        self.packages, self.prefixes, self.everything = set(), set(), not files
        self.named = {}
        for number, (crate, target, prefix) in table.rows(PATH):
            if f"crates/{crate}" not in known:
                raise SystemExit(f"{PATH}:{number}: there is no crate {crate}")
            self.named.setdefault(crate, set()).add((target, prefix))
        for file in files:
            self.add(file, known)

    def add(self, file, known):
        """What a changed file reaches."""
        parts = file.split("/")
        folder = "/".join(parts[:2])
        if parts[:3] == ["crates", "bailiwick", "tests"]:
            target = parts[3].partition(".")[0]
            module = parts[4].removesuffix(".rs") if len(parts) > 4 else "main"
            if target == "run" and module != "main":
                # `run/broker.rs`, `run/bad_places/policies.rs`: that module.
                self.prefixes.add((target, f"{module}::"))
            elif target in TARGETS:
                self.prefixes.add((target, ""))
            else:
                self.everything = True
        elif folder in known:
            self.packages |= known[folder]
            self.prefixes |= self.named.get(parts[1], set())
        elif file in DOCUMENTS:
            self.prefixes |= DOCUMENTS[file]
        elif not file.endswith(".md"):
            self.everything = True

    def is_nothing(self):
        """Whether no test is about the change."""
        return not (self.everything or self.packages or self.prefixes)

    def __str__(self):
        prefixes = " ".join(sorted(f"{target} {prefix}*" for target, prefix in self.prefixes))
        packages = " ".join(sorted(self.packages))
        return "everything" if self.everything else f"unit tests of {packages or 'no crate'}; {prefixes or 'nothing else'}"

    def test(self, package, target, name):
        """Whether a test is reached: of a target of black-box tests by its name, else by its package."""
        if self.everything:
            return True
        package = package.removeprefix("bench ")
        if package == "bailiwick" and target != "bailiwick":
            return any(target == one and name.startswith(prefix) for one, prefix in self.prefixes)
        return package in self.packages
