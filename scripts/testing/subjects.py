"""Checks the subjects of new commits: not empty, at most 72 characters, no full stop at the end.

Decision: a commit is new that came after the last one to which the rule did not apply, whether it is published
or not: what nobody looked at is no better for it. A clone that is too shallow to hold that one goes by dates,
and what is not there is not judged. Merge commits are git's own words.

usage: subjects.py
"""
import os
import subprocess
import sys

# The last commit to which the rule did not apply, and its date.
LAST = "04b57c2a4b456501f1dd0ba539d2f4baa2097e43"
LAST_DATE = 1795652435
LONGEST = 72


def git(*words):
    """What git says; None where it says that it cannot."""
    done = subprocess.run(["git", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else None


def new():
    """Hash and subject of each new commit, the oldest first."""
    is_known = git("cat-file", "-e", f"{LAST}^{{commit}}") is not None
    said = git("log", "--no-merges", "--reverse", "--format=%H %ct %s", "HEAD", *([f"^{LAST}"] if is_known else []))
    if said is None and os.path.exists(".git"):
        raise SystemExit("git does not tell the commits; `git log` says why")
    for line in filter(None, (said or "").split("\n")):
        commit, seconds, subject = line.split(" ", 2)
        if is_known or int(seconds) > LAST_DATE:
            yield commit, subject


def fault(subject):
    """What is wrong with a subject, or None."""
    if not subject.strip():
        return "it is empty"
    if len(subject) > LONGEST:
        return f"it has {len(subject)} characters, and {LONGEST} are the most"
    return "it ends with a full stop" if subject.rstrip().endswith(".") else None


def main():
    wrong = [(commit, subject, why) for commit, subject in new() if (why := fault(subject))]
    for commit, subject, why in wrong:
        print(f"the subject of {commit[:12]}, {subject!r}: {why}; mend it with `git rebase --interactive`")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
