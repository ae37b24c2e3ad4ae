#!/usr/bin/env python3
"""Every test: compiled once, run side by side, and told in one table.

usage: scripts/test [--check | --only TEXT]

  --check      what your change can reach, without what is shipped and without machines
  --only TEXT  the tests of whose target and name TEXT is a part, and what these need: `bailiwick::vm_disk`

The last lines say what failed, with the end of what it printed. `target/test-report` has the results
(`tests.tsv`), the table of steps (`steps.md`) and what failed in full (`failed/`).
"""
import os
import shutil
import sys

import copies
import kernel
import measurements
import promises
import reach
import sandboxes
import suite
import surroundings
from pool import Pool
from report import Report
from who import Who


def everything(suite_, who, places, only):
    """The jobs of the whole suite, or of the tests that are named."""
    suite_.job(suite.SHIPPED, ["scripts/build"], share=0.75, ended=suite.without_warnings)
    suite_.compile_tests()
    sandboxes.add_builds(suite_, places)
    if only:
        suite_.wanted = lambda label, target, name: only in f"{label} {name}"
        suite_.job(kernel.KERNEL, ["scripts/capos-kernel"], share=0.75)
    else:
        suite_.check_sources()
        kernel.add(suite_)
        measurements.add(suite_, places)
    suite_.when_compiled = [lambda: kernel.programs(suite_), lambda: sandboxes.add(suite_, places, who)]


def reached(suite_, who):
    """The jobs of what a change can reach."""
    reaches = reach.Reach(suite_.env)
    print(f"reached: {reaches}")
    suite_.report.may_be_idle = reaches.is_nothing()
    suite_.wanted = lambda label, target, name: reaches.test(label.partition("::")[0], target, name)
    suite_.check_sources()
    suite_.compile_tests()
    suite_.when_compiled = [lambda: sandboxes.add_processes(suite_, who)]


def main():
    words = sys.argv[1:]
    only = words[1] if words[:1] == ["--only"] and len(words) == 2 else None
    if words and words != ["--check"] and not only:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    surroundings.become_usual()
    folder = os.path.join(os.path.realpath(os.environ.get("CARGO_TARGET_DIR", "target")), "test-report")
    shutil.rmtree(folder, ignore_errors=True)
    report, who = Report(folder), Who()
    pool = Pool(report.say, goes_on=report.goes_on)
    suite_ = suite.Suite(pool, report)
    places = copies.Copies(suite_)
    try:
        if words == ["--check"]:
            reached(suite_, who)
        else:
            everything(suite_, who, places, only)
        pool.run()
        if not words:
            report.found("rows of who.tsv", who.idle())
            report.found("every target is run", suite_.not_run())
            promises.check(report)
    except (KeyboardInterrupt, SystemExit) as error:
        report.found("the suite", [f"it was ended from outside ({error!r})"])
    finally:
        places.remove()
        went_well = report.conclude()
    return 0 if went_well else 1


if __name__ == "__main__":
    sys.exit(main())
