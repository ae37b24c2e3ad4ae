"""The jobs of tests that start sandboxes, on processes and on machines, by whoever starts the suite and then as
an ordinary user.

Decision: what is shipped is what is tested. Of a test that runs twice, root's run has the build for tests, whose
own checks are on, and the ordinary user's has what is shipped; a test that runs once has what is shipped, unless
the table says that it needs the build for tests.
"""
import os

import copies
import libtest
import suite
import targets

IMAGE = "the machines' image"
GUESTS = "compiling hostile guests"
SHARED = "images for an ordinary user"
PROCESSES = ("run", "many")


# The job that makes the hostile guest also copies it: a copy without the guest would make its tests fail.
GUEST = """cargo build --release --locked --package bailiwick-guest --examples --target "$1"
    install -m 755 "$2" "$3\""""


def add_builds(suite_, places):
    """What machines are made of."""
    suite_.job(IMAGE, ["scripts/image"], needs=[suite.SHIPPED], deadline=5400)
    musl = suite_.asked("scripts/static-target", "--name")
    built = os.path.join(suite_.target, musl, "release/examples/hostile")
    suite_.job(GUESTS, ["sh", "-ec", GUEST, "sh", musl, built, places.hostile], needs=[suite.SHIPPED])


def add(suite_, places, who):
    """The tests themselves, once they are compiled."""
    tests = {name: suite_.built.tests["bailiwick", "test", name] for name in (*PROCESSES, *targets.MACHINES)}
    places.add(list(tests.values()))
    cwd = suite_.built.folders["bailiwick"]
    names = {name: libtest.listed(path, suite_.env, cwd) for name, path in tests.items()}
    rows = {name: who.rows(name, all_of) for name, all_of in names.items()}
    manifest = {"CARGO_MANIFEST_DIR": cwd}
    for name in PROCESSES:
        step = f"bailiwick::{name}"
        early = [test for test in names[name] if rows[name][test] in ("both", "unshipped")]
        late = [test for test in names[name] if rows[name][test] in ("once", "shipped")]
        suite_.tests(step, name, tests[name], early, label=step, env=suite_.env | manifest, cwd=cwd)
        suite_.tests(step, name, tests[name], late, label=step, cwd=cwd, needs=(copies.COPIES,),
                     env=places.env(user=False, BAILIWICK_TEST_BUILD=suite_.built.binaries["bailiwick"], **manifest))
    for name in targets.MACHINES:
        tried = [test for test in names[name] if rows[name].get(test) != "elsewhere"]
        suite_.tests("tests on machines", name, places.of(tests[name]), tried, label=f"bailiwick::{name}",
                     env=places.env(user=False, **manifest), cwd=cwd, needs=(IMAGE, GUESTS, copies.COPIES))
    if suite_.is_root:
        share_images(suite_, places)
        for name in (*targets.MACHINES, *PROCESSES):
            repeat(suite_, places, name, tests[name], [test for test in names[name] if rows[name].get(test) == "both"])


def add_processes(suite_, who):
    """The tests on processes alone, on the build for tests: what a change can reach of them."""
    cwd = suite_.built.folders["bailiwick"]
    for name in PROCESSES:
        executable = suite_.built.tests["bailiwick", "test", name]
        names = libtest.listed(executable, suite_.env, cwd)
        names = [test for test in names if who.row(name, test) != "shipped"]
        suite_.tests(f"bailiwick::{name}", name, executable, names, cwd=cwd,
                     label=f"bailiwick::{name}", env=suite_.env | {"CARGO_MANIFEST_DIR": cwd})


def share_images(suite_, places):
    """The images that root has built, which an ordinary user may read; templates and what else he makes are his."""
    script = """for folder in images parts; do
            cp -al "$1/$folder" "$2" 2>/dev/null || cp -a "$1/$folder" "$2"
        done
        chown 1000:1000 "$2/images" "$2/parts\""""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    suite_.job(SHARED, ["sh", "-ec", script, "sh", f"{cache}/bailiwick", f"{places.folder}/cache/bailiwick"],
               needs=[IMAGE, copies.COPIES], share=0.5)


def repeat(suite_, places, name, executable, names):
    """A target's tests as an ordinary user, on what is shipped."""
    machine = name in targets.MACHINES
    step = "tests on machines as an ordinary user" if machine else "black-box tests as an ordinary user"
    more = {"BAILIWICK_RACE_ROUNDS": os.environ.get("BAILIWICK_RACE_ROUNDS", "15")} if name == "vm_hostile" else {}
    suite_.tests(step, name, places.of(executable), names, who="user", label=f"bailiwick::{name}", wrap=places.user,
                 env=places.env(user=True, **more), cwd=places.folder,
                 needs=(SHARED, GUESTS) if machine else (copies.COPIES,))
