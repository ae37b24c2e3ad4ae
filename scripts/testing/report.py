"""What a run of the suite says and keeps: failures as they happen, results, and what each step cost.

Decision: figures are of one run on one machine and are compared with nothing; `docs/testing.md` has them.
"""
import os
import time

from pool import Job

# Lines of what failed, at the end of the run and when it happens.
TAIL = 100
SHORT = 20


class Report:
    """What came of the tests and the jobs."""

    def __init__(self, folder):
        self.folder, self.results, self.failed, self.jobs = folder, [], [], []
        self.began = time.monotonic()
        # Whether it is right that no test ran.
        self.may_be_idle = False
        os.makedirs(folder, exist_ok=True)

    def keep(self, results):
        self.results.extend(results)

    def found(self, name, problems):
        """What is wrong with the suite itself, as the failure of a job of that name."""
        now = time.monotonic()
        self.say(Job("the suite itself", name, [], {}, ".", state="failed" if problems else "passed", began=now,
                     why="\n".join(problems)))

    def say(self, job):
        """A job has ended, or will not be run."""
        self.jobs.append(job)
        if job.state == "passed":
            return
        self.failed.append(job)
        print(f"\ntest {job.name} ... FAILED ({job.state})", flush=True)
        self.tell(job, SHORT)

    def goes_on(self, running, waiting):
        """What is going on, for whoever watches, and for whoever reads where a run was ended from outside."""
        passed = sum(1 for one in self.results if one.outcome == "ok")
        seconds = time.monotonic() - self.began
        names = ", ".join(f"{job.name} ({time.monotonic() - job.began:.0f} s)" for job in running)
        print(f"{seconds:4.0f} s: {passed} passed, {len(self.failed)} failed; {waiting} jobs wait; now: {names}", flush=True)

    def tell(self, job, most):
        """What is known of a failure: why, and the last lines that it printed."""
        lines = [line for line in job.text().splitlines() if not line.startswith('{"reason":')]
        if len(lines) > most:
            print(f"[{len(lines) - most} lines before these are in {self.folder}/failed]")
        print("\n".join(lines[-most:]))
        if job.why:
            print(job.why)
        ended = "" if job.code is None else f"; it ended with {job.code} after {job.wall:.1f} s"
        print(f"error: {job.name} failed{ended}", flush=True)
        path = os.path.join(self.folder, "failed")
        os.makedirs(path, exist_ok=True)
        name = "".join(c if c.isalnum() or c in "-_." else "-" for c in job.name)
        with open(os.path.join(path, name), "w", encoding="utf-8") as file:
            file.write(f"{job.text()}\n{job.why}\n")

    def ran(self):
        """The jobs that were run, in the order of their begin, and the instant of the first."""
        ran = sorted((job for job in self.jobs if job.state != "not run"), key=lambda job: job.began)
        return ran, ran[0].began if ran else 0

    def table(self):
        """The table of steps, as Markdown."""
        rows = ["| step | tests | wall | processor time | largest process | compiled: own, others |",
                "|---|--:|--:|--:|--:|--:|"]
        ran, began = self.ran()
        steps, total = {}, 0
        for job in ran:
            steps.setdefault(job.step, []).append(job)
        for step, jobs in steps.items():
            wall = max(job.began + job.wall for job in jobs) - min(job.began for job in jobs)
            tests = sum(1 for result in self.results if result.step == step and result.outcome == "ok")
            compiled = [sum(pair) for pair in zip(*(job.compiled for job in jobs if job.compiled))]
            largest = max(job.memory for job in jobs)
            cpu = sum(job.cpu for job in jobs)
            total += cpu
            rows.append(f"| {step} | {tests or ''} | {wall:.0f} s | {cpu:.0f} s | {largest} MiB | "
                        f"{', '.join(map(str, compiled))} |")
        ended = max((job.began + job.wall for job in ran), default=0)
        tests = sum(1 for result in self.results if result.outcome == "ok")
        rows.append(f"| all | {tests} | {ended - began:.0f} s | {total:.0f} s | | |")
        return "\n".join(rows)

    def write(self):
        """Keeps results and table in files."""
        with open(os.path.join(self.folder, "tests.tsv"), "w", encoding="utf-8") as file:
            for one in sorted(self.results, key=lambda one: (one.target, one.name, one.who)):
                file.write(f"{one.target}\t{one.name}\t{one.who}\t{one.outcome}\t{one.seconds:.2f}\n")
        ran, begin = self.ran()
        with open(os.path.join(self.folder, "jobs.tsv"), "w", encoding="utf-8") as file:
            for job in ran:
                file.write(f"{job.began - begin:.1f}\t{job.wall:.1f}\t{job.cpu:.1f}\t{job.memory}\t{job.name}\n")
        with open(os.path.join(self.folder, "steps.md"), "w", encoding="utf-8") as file:
            file.write(self.table() + "\n")

    def conclude(self):
        """Prints the table and, last of all, every failure; whether there is none."""
        if not self.may_be_idle and all(one.target.startswith("step::") for one in self.results):
            self.found("tests", ["no test ran"])
        print(f"\n{self.table()}\n")
        counts = {}
        for one in self.results:
            counts[one.outcome] = counts.get(one.outcome, 0) + 1
        said = ", ".join(f"{counts.get(word, 0)} {told}" for word, told in
                         (("ok", "passed"), ("failed", "failed"), ("ignored", "ignored")))
        for job in [job for job in self.failed if job.state == "failed"]:
            print(f"\n== failed: {job.name}")
            self.tell(job, TAIL)
        for job in self.failed:
            print(f"error: {job.name}: {job.state}")
        self.write()
        print(f"suite result: {'FAILED' if self.failed else 'ok'}. {said}; {len(self.failed)} jobs failed", flush=True)
        return not self.failed
