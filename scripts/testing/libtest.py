"""The executables of tests: which tests they hold, the jobs that run them, and what came of each test.

Decision: a job runs its tests one after the other in one process, and the pool runs jobs side by side. A test
that has a process of its own shares no files, working folder or descriptors with another one's threads.
"""
import re
import subprocess
from dataclasses import dataclass

# The names of those that failed, at the end.
LIST = re.compile(r"^    (?P<name>\S+)$")
# As libtest and libtest-mimic say it: the name when a test begins, and what came of it when it has ended. What
# the test's own programs print may stand between.
BEGUN = re.compile(r"^test (?:\[[^\]]*\] )?(?P<name>.+?)(?: - should panic(?: with .*)?)? +\.\.\. ?(?P<rest>.*)$")
ENDED = re.compile(r"(?P<outcome>ok|FAILED|ignored(?:, .*)?)")
SUMMARY = re.compile(r"^test result: \w+\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<ignored>\d+) ignored")


@dataclass
class Result:
    """What came of a test."""
    step: str
    target: str
    name: str
    who: str
    outcome: str
    seconds: float


def listed(executable, env, cwd):
    """The names of its tests."""
    out = subprocess.run([executable, "--list", "--format", "terse"], env=env, cwd=cwd, check=True,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    # A harness of its own may say what kind a test is: `[kind] name: test`.
    names = [line.rpartition(": ")[0] for line in out.splitlines() if line.endswith(": test")]
    return [re.sub(r"^\[[^\]]*\] ", "", name) for name in names]


def said(job, names):
    """What a job's output says: for each test its outcome and its seconds, and the counts of the summary."""
    found, before, name, counts, failures = {}, job.began, None, None, False
    for instant, line in job.lines:
        failures = line == "failures:" or (failures and not SUMMARY.match(line))
        listed_ = LIST.match(line) if failures else None
        if listed_ and listed_["name"] in found:
            # A program of the test's has written what looks like a better end.
            found[listed_["name"]] = ("failed", found[listed_["name"]][1])
        begun, summary = BEGUN.match(line), SUMMARY.match(line)
        if begun and (names is None or begun["name"] in names):
            name, line = begun["name"], begun["rest"]
        ended = ENDED.fullmatch(line) if name else None
        if ended:
            outcome = {"o": "ok", "F": "failed", "i": "ignored"}[ended["outcome"][0]]
            found[name], name, before = (outcome, instant - before), None, instant
        if summary:
            counts = {"ok": int(summary["passed"]), "failed": int(summary["failed"]), "ignored": int(summary["ignored"])}
    return found, before, counts


def results(job, target, names, who):
    """The results of a job's tests: of one whose end was not told, that it failed."""
    found, before, counts = said(job, names)
    if names is not None and len(names) == 1 and counts and sum(counts.values()) == 1:
        # The harness's count is surer than a line that others may have written into.
        found = {names[0]: (next(outcome for outcome, count in counts.items() if count), job.wall)}
    missing = [name for name in names or [] if name not in found]
    if counts and not counts["failed"] and sum(counts.values()) == len(names or []):
        # Somebody wrote into the line that told its end; it is one of those that are counted.
        found |= {name: ("ok", 0) for name in missing}
        missing = []
    if missing and job.code == 0 and not job.why:
        job.why = f"it ended well without a word about {missing[:5]}"
    if names is None and not found:
        job.why = job.why or "it said nothing of any test"
    for name in missing:
        found[name] = ("failed", job.began + job.wall - before)
    return [Result(job.step, target, name, who, *of) for name, of in found.items()]
