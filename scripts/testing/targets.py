"""How the tests of each target are run: in which processes, beside what, and how long at the most.

Decision: tests that start sandboxes have a process each. Unit tests, and what shares something that is dear to
make, have one for all of them or for a group.
"""
import os

# Targets of which each test has a process of its own.
EACH = {"run", "many", "clients", "capos", "vm", "vm_disk", "vm_hostile", "doctor_vm"}
# How many parts of a name tell the group of those that share a process.
GROUPS = {"escapes": 3, "matrix": 1}
# Harnesses that list nothing: all that they say is theirs.
UNLISTED = {"monitor"}
# Those that run on virtual machines, what takes longest first.
MACHINES = ("vm_hostile", "vm_disk", "vm", "doctor_vm")
# Targets whose jobs need more than what is compiled for tests.
LATER = {*MACHINES, "run", "many", "capos"}

# Those whose jobs take longest.
LONG = {"bailiwick_bench", "escapes", "monitor", "hostile"}

# More processors than there are: of whatever counts what the whole machine has.
ALL = 10_000
# The share of a processor that a test needs where it is not one: those wait most of their time.
SHARES = {"run": 0.5, "clients": 0.5, "escapes": 0.5, "matrix": 0.75, "bailiwick_bench": 0.5, "vm": 1.5, "vm_disk": 1.5,
          "vm_hostile": 0.5, "many": ALL}
# Seconds without a word after which a test hangs: more than any test waits for itself, so that a test that fails
# can say why. `SUITE_PATIENCE` is for tests that are told to take longer (scripts/soak).
PATIENCE = 660
DEADLINES = {"monitor": 1000}


def common(target):
    """What the jobs of a target have in common."""
    return {"share": SHARES.get(target, 1), "deadline": float(os.environ.get("SUITE_PATIENCE") or DEADLINES.get(target, PATIENCE))}


def groups(target, names):
    """For each process the names of the tests that share it, and the words that name them to the harness."""
    if target in EACH:
        return [([name], ["--exact", name]) for name in names]
    depth = GROUPS.get(target)
    if not depth:
        return [(names, [])]
    found = {}
    for name in names:
        parts = name.split("::")
        group = "::".join(parts[:depth]) + ("::" if len(parts) > depth else "")
        found.setdefault(group, []).append(name)
    return [(part, [group] if group.endswith("::") else ["--exact", group]) for group, part in found.items()]
