"""A pool runs what can be run, once, and tells what cannot, what fails and what hangs."""
import os
import sys
import time
import unittest

import processes
from pool import Job, Pool


class Pools(unittest.TestCase):
    def setUp(self):
        self.said = []
        self.pool = Pool(self.said.append, shares=2)

    def job(self, name, script, **more):
        return self.pool.add(Job("step", name, [sys.executable, "-c", script], dict(os.environ), "/", **more))

    def run_all(self):
        self.pool.run()
        return {job.name: job.state for job in self.said}

    def test_a_failure_keeps_only_from_running_what_needs_it(self):
        self.job("later", "", needs=("bad",))
        self.job("latest", "", needs=("later",))
        self.job("bad", "raise SystemExit(3)")
        self.job("good", "print('said')")
        self.assertEqual(self.run_all(), {"later": "not run", "latest": "not run", "bad": "failed", "good": "passed"})

    def test_what_needs_something_that_is_added_meanwhile_waits_for_it(self):
        self.job("second", "", needs=("first",))
        self.job("adds", "", ended=lambda _: bool(self.job("first", "")))
        self.assertEqual(set(self.run_all().values()), {"passed"})

    def test_what_waits_for_nothing_that_ever_comes_is_not_run(self):
        self.job("one", "", needs=("other",))
        self.job("other", "", needs=("one",))
        self.assertEqual(set(self.run_all().values()), {"not run"})

    def test_what_hangs_is_shown_and_ended_with_all_that_it_started(self):
        sleeper = "import subprocess, sys; print('test it ... ', flush=True); subprocess.run(['sleep', '1000'])"
        job = self.job("hangs", sleeper, deadline=0.5)
        self.assertEqual(self.run_all(), {"hangs": "failed"})
        self.assertIn("sleep 1000", job.why)
        self.assertIn("waits in", job.why)
        child = int(next(line for line in job.why.splitlines() if "sleep 1000" in line).split(":")[0])
        # Killed: it goes as soon as it is let run, and whoever it is left to takes note of it.
        while processes.read(child, "stat").rpartition(")")[2].split()[:1] not in ([], ["Z"], ["X"]):
            time.sleep(0.01)

    def test_each_line_begins_the_deadline_anew(self):
        job = self.job("talks", "import time; time.sleep(0.1); print('said')")
        self.run_all()
        self.assertGreaterEqual(job.heard - job.began, 0.1)
        self.assertEqual([line for _, line in job.lines], ["said"])

    def test_no_more_runs_at_a_time_than_there_are_processors(self):
        most = []
        for number in range(4):
            job = self.job(f"job {number}", "import time; time.sleep(0.1)", share=1)
            job.ended = lambda job: most.append(sum(one.state == "runs" for one in self.pool.jobs)) or True
        self.run_all()
        self.assertLessEqual(max(most), 2)


if __name__ == "__main__":
    unittest.main()
