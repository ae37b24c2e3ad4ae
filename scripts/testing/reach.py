"""What a change can reach: the unit tests of the crates that import what was changed, and the black-box tests
that `crates/bailiwick/tests/reach.tsv` names for it.

Decision: a change is what is not in the upstream yet: commits since the merge base, and the working tree. Where
nothing was changed, or it is not known what a file is good for, everything that needs no machine is reached.
"""
import json
import os
import subprocess

import table

PATH = "crates/bailiwick/tests/reach.tsv"


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
    text = subprocess.run(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], env=env, check=True,
                          stdout=subprocess.PIPE).stdout
    packages = {package["name"]: package for package in json.loads(text)["packages"]}
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
        named = {}
        for number, (crate, target, prefix) in table.rows(PATH):
            named.setdefault(crate, set()).add((target, prefix))
        for file in files:
            parts = file.split("/")
            folder = "/".join(parts[:2])
            if parts[:3] == ["crates", "bailiwick", "tests"] and len(parts) > 4:
                # `run/broker.rs`, `run/bad_places/policies.rs`: the module of that target.
                self.prefixes.add((parts[3], f"{parts[4].removesuffix('.rs')}::"))
            elif folder in known:
                self.packages |= known[folder]
                self.prefixes |= named.get(parts[1], set())
            elif not file.endswith(".md"):
                self.everything = True

    def test(self, package, target, name):
        """Whether a test is reached: of a target of black-box tests by its name, else by its package."""
        if self.everything:
            return True
        if package == "bailiwick" and target != "bailiwick":
            return any(target == one and name.startswith(prefix) for one, prefix in self.prefixes)
        return package in self.packages
