"""Compiles with cargo, and counts what was compiled.

Decision: the tests are compiled by clippy, which compiles as the compiler does and lints on the way: the
lints cost no second reading of the sources and of what they depend on. A warning is an error.
"""
import json
import os
import re
import subprocess
from dataclasses import dataclass, field

BEGUN = re.compile(r"^ *(Compiling|Checking) \S+ v\S+( \(proc-macro\))?(?P<own> \(/.*\))?")


@dataclass
class Built:
    """What one call of cargo gave."""
    # (package, kind, name) → the executable of its tests; name → that of a binary.
    tests: dict = field(default_factory=dict)
    binaries: dict = field(default_factory=dict)
    # The folder of each package.
    folders: dict = field(default_factory=dict)


def linting(env):
    """The variables with which what cargo compiles is linted."""
    denied = "__CLIPPY_HACKERY__".join(["--deny", "warnings", ""])
    return env | {"RUSTC_WORKSPACE_WRAPPER": "clippy-driver", "CLIPPY_ARGS": denied}


def compiled(lines):
    """How many packages of the project's own, and how many others, were compiled."""
    begun = [found for _, line in lines if (found := BEGUN.match(line))]
    own = sum(1 for found in begun if found["own"])
    return (own, len(begun) - own)


def packages(env):
    """What cargo knows of the packages of this workspace."""
    text = subprocess.run(["cargo", "metadata", "--locked", "--no-deps", "--format-version", "1"], env=env, check=True,
                          stdout=subprocess.PIPE).stdout
    return json.loads(text)["packages"]


def test_targets(env):
    """The names of all integration tests of the workspace, those that `cargo test` leaves out too."""
    return sorted({target["name"] for package in packages(env) for target in package["targets"]
                   if target["kind"] == ["test"]})


def built(lines):
    """What cargo's messages say of executables."""
    found = Built()
    for _, line in lines:
        if not line.startswith('{"reason":"compiler-artifact"'):
            continue
        message = json.loads(line)
        if not message["executable"]:
            continue
        target, folder = message["target"], os.path.dirname(message["manifest_path"])
        package = re.search(r'name = "([^"]+)"', open(message["manifest_path"], encoding="utf-8").read())[1]
        found.folders[package] = folder
        if message["profile"]["test"] or target["kind"] == ["bench"]:
            found.tests[package, target["kind"][0], target["name"]] = message["executable"]
        else:
            found.binaries[target["name"]] = message["executable"]
    return found
