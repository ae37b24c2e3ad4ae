"""The jobs that run what is shipped as a whole: the demonstration, and the benchmark's smallest form.

Decision: on a machine that runs tests beside it the benchmark's figures are inconclusive (status 3) or over a
limit (1). What is tested is that every system really ran, verified and in force, for which one sample is as
good as ten.
"""
import os
import tempfile

import copies
import suite

PEERS = ("bwrap", "firejail", "runc")

# bench OUT STATUSES PEERS WORD…: the words measure; the evidence then holds what bench-check asks for.
BENCH = """out=$1 accepted=$2 peers=$3; shift 3
    rm -rf "$out"
    "$@" --out "$out" || case " $accepted " in *" $? "*) ;; *) exit 1 ;; esac
    exec python3 "$SCRIPTS/bench-check" "$out"/*.json $peers"""


def add(suite_, places):
    """Adds them."""
    env = suite_.env | {"BAILIWICK": suite_.release}
    scripts = os.path.join(suite_.root, "scripts")
    suite_.job("demonstration", ["examples/agent-day/run.sh"], env=env, needs=[suite.SHIPPED])
    out = os.path.join(suite_.target, "bench-smoke")
    for name, accepted, words in (
        ("benchmark, one sample", "1 3", ["--quick", "--network", "--runs", "1"]),
        ("benchmark, counted", "", ["--quick", "--runs", "0", "--counters", "--row", "true", "--row", "create"]),
    ):
        at = f"{out}/{name.split()[-1]}"
        suite_.job("benchmark, the smallest form", ["sh", "-ec", BENCH, "sh", at, accepted, " ".join(PEERS),
                                                    suite_.release, "bench", "overhead", *words],
                   name=name, needs=[suite.SHIPPED], share=0.5, env=suite_.env | {"SCRIPTS": scripts})
    if suite_.is_root:
        add_as_user(suite_, places, scripts)


def add_as_user(suite_, places, scripts):
    """What a run does, counted as an ordinary user: on a disk, because the bench takes no workspace below
    /tmp, where the home directory of the tests is."""
    folder = tempfile.mkdtemp(prefix="bailiwick-test-", dir="/var/lib")
    os.chown(folder, copies.USER, copies.USER)
    places.more.append(folder)
    words = places.user([places.of("bailiwick"), "bench", "overhead", "--quick", "--runs", "0", "--counters",
                         "--row", "true", "--peer", "bwrap"])
    suite_.job("benchmark, the smallest form", ["sh", "-ec", BENCH, "sh", f"{folder}/out", "", "bwrap", *words],
               name="benchmark, counted as an ordinary user", needs=[copies.COPIES], share=0.5,
               env=places.env(user=True, HOME=folder, SCRIPTS=scripts), cwd=folder)
