"""Runs jobs side by side, so that no processor is idle while something is left to do.

Decision: a job starts when what it needs is done and its share of the processors is free, the first of the
list first. It has a deadline, is never repeated, and its failure keeps nobody else from running: one run
tells all that is broken. A job whose need failed is told as not run, which is a failure too.
"""
import os
import subprocess
import tempfile
import time
import traceback
from dataclasses import dataclass, field

import processes

# Seconds between two looks at the processes, and between two words about what is going on.
PAUSE = 0.02
WORDS = 30


@dataclass
class Job:
    """A command and what it is part of."""
    step: str
    name: str
    words: list
    env: dict
    cwd: str
    # Seconds without a new line of output (of a test that ended, say) after which it hangs.
    deadline: float = 120
    # How many processors it keeps busy.
    share: float = 1
    # Names of jobs that have to end well first.
    needs: tuple = ()
    # Called with the job when it ended, in the order of their ends; returns whether it went well.
    ended: object = None
    # Filled in by the pool.
    state: str = "waits"
    code: int = None
    wall: float = 0
    cpu: float = 0
    # MiB of memory of the largest of its processes, and the units that it compiled: own, others.
    memory: int = 0
    compiled: tuple = ()
    began: float = 0
    lines: list = field(default_factory=list)
    # The file that the job prints to, and the beginning of a line that has not ended yet.
    output: object = None
    rest: bytes = b""
    process: object = None
    heard: float = 0
    why: str = ""

    def read(self, now):
        """Takes in what was printed since the last look, each line with the instant of the look."""
        *whole, self.rest = (self.rest + self.output.read()).split(b"\n")
        if whole:
            self.heard = now
        self.lines.extend((now, line.decode("utf-8", "replace")) for line in whole)

    def text(self):
        """What it has printed."""
        return "\n".join([line for _, line in self.lines] + [self.rest.decode("utf-8", "replace")])


def room():
    """How many processors jobs may ask for together: more than there are, because most tests wait now and then,
    but no more than there is memory for. `SUITE_SHARES` says it otherwise."""
    if os.environ.get("SUITE_SHARES"):
        return float(os.environ["SUITE_SHARES"])
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2 ** 30
    return max(1.5, min(1.5 * len(os.sched_getaffinity(0)), memory / 1.5))


class Pool:
    """The jobs of a run."""

    def __init__(self, say, shares=None, goes_on=lambda running, waiting: None):
        self.shares = shares or room()
        self.jobs, self.say = [], say
        # Called now and then with what runs and how many wait.
        self.goes_on, self.spoken = goes_on, time.monotonic()

    def add(self, job):
        self.jobs.append(job)
        return job

    def run(self):
        """Runs all jobs, also those that are added meanwhile; ends all of them where it is ended itself."""
        try:
            while self.turn():
                time.sleep(PAUSE)
        finally:
            for job in self.jobs:
                if job.state == "runs":
                    processes.kill(job.process.pid)

    def turn(self):
        """Looks at what runs, and starts what may start; whether anything is left to do."""
        for job in [job for job in self.jobs if job.state == "runs"]:
            self.look(job)
        running = [job for job in self.jobs if job.state == "runs"]
        waiting = [job for job in self.jobs if job.state == "waits"]
        states = {job.name: job.state for job in self.jobs}
        for job in waiting:
            lacks = [need for need in job.needs if states.get(need) in ("failed", "not run")]
            if lacks:
                job.state, job.why = "not run", f"it needs {', '.join(lacks)}"
                self.say(job)
        waiting = [job for job in waiting if job.state == "waits"]
        ready = [job for job in waiting if all(states.get(need) == "passed" for need in job.needs)]
        for job in ready:
            if not running or sum(other.share for other in running) + job.share <= self.shares + 0.001:
                self.start(job)
                running.append(job)
        if waiting and not running:
            for job in waiting:
                job.state, job.why = "not run", f"it needs {', '.join(job.needs)}, and that never came"
                self.say(job)
        if time.monotonic() - self.spoken >= WORDS:
            self.spoken = time.monotonic()
            self.goes_on(running, len(waiting))
        return bool(running or waiting)

    def start(self, job):
        # A file and no pipe: a process that outlives the job, and holds a pipe, would be waited for.
        with tempfile.NamedTemporaryFile("wb", prefix="bailiwick-job-") as file:
            job.output = open(file.name, "rb")
            job.process = subprocess.Popen(job.words, stdin=subprocess.DEVNULL, stdout=file, stderr=file,
                                           env=job.env, cwd=job.cwd, start_new_session=True)
        job.began = job.heard = time.monotonic()
        job.state = "runs"

    def look(self, job):
        now = time.monotonic()
        job.read(now)
        pid, status, usage = os.wait4(job.process.pid, os.WNOHANG)
        if not pid:
            if now - job.heard > job.deadline:
                job.why = (f"nothing was heard of it for {job.deadline:.0f} s; what it was doing:\n"
                           f"{processes.shown(job.process.pid)}")
                processes.kill(job.process.pid)
                job.heard = now + 60
            return
        job.code = job.process.returncode = os.waitstatus_to_exitcode(status)
        job.wall, job.cpu = now - job.began, usage.ru_utime + usage.ru_stime
        job.memory = usage.ru_maxrss // 1024
        job.read(now)
        job.output.close()
        went_well = job.code == 0 and not job.why
        try:
            if job.ended:
                went_well = job.ended(job) and not job.why
        except Exception as error:  # Whatever it is, it is this job's failure, and the others go on.
            went_well, job.why = False, "".join(traceback.format_exception(error))
        job.state = "passed" if went_well else "failed"
        self.say(job)
