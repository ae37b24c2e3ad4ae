"""The jobs of the suite: what is compiled, and what is run as soon as that is there."""
import os
import re
import subprocess

import building
import libtest
import surroundings
import targets
from pool import Job

SHIPPED = "compiling what is shipped"
TESTS = "compiling and linting tests"
EXAMPLES = "compiling examples"


def without_warnings(job):
    """Whether a build had nothing to warn of; those of other runs are told again."""
    warned = [line for _, line in job.lines if re.match(r"warning: .* generated \d+ warning", line)]
    job.why = "\n".join(warned)
    return not warned


def label_of(package, kind, name):
    """What the tests of a target are called in the results."""
    return f"{package}::{name}" if kind in ("test", "bin") else package


class Suite:
    """What is known of the checkout, and the jobs."""

    def __init__(self, pool, report):
        self.pool, self.report = pool, report
        self.root = os.getcwd()
        self.target = os.path.realpath(os.environ.get("CARGO_TARGET_DIR", "target"))
        self.env = surroundings.variables(CARGO_TARGET_DIR=self.target)
        self.is_root = os.getuid() == 0
        self.myself = "root" if self.is_root else "user"
        self.release = os.path.join(self.target, "release", "bailiwick")
        # What adds jobs once the tests are compiled, and what cargo said of them.
        self.when_compiled, self.built = [], None
        # The names of all targets of tests, and the labels of those that were compiled.
        self.targets, self.labels = building.test_targets(self.env), set()
        # Whether a test is to be run, by the label of its target, the target and its name.
        self.wanted = lambda label, target, name: True

    def asked(self, *words):
        """What a command prints."""
        return subprocess.run(words, check=True, env=self.env, stdout=subprocess.PIPE, text=True).stdout.strip()

    def job(self, step, words, *, name=None, needs=(), env=None, cwd=None, ended=None, **more):
        """A job that is one command, which passes where that ends with 0, or as `ended` says."""
        def take(job):
            job.compiled = building.compiled(job.lines)
            went_well = job.code == 0 and (ended is None or ended(job))
            outcome = "ok" if went_well and not job.why else "failed"
            self.report.keep([libtest.Result(step, f"step::{job.name}", job.name, self.myself, outcome, job.wall)])
            return went_well
        return self.pool.add(Job(step, name or step, list(words), env or self.env, cwd or self.root,
                                 needs=tuple(needs), ended=take, **{"deadline": 3000, **more}))

    def tests(self, step, target, executable, names, *, who=None, wrap=list, label=None, **common):
        """The jobs that run these tests of an executable; `wrap` makes the words of another user's process."""
        who, label = who or self.myself, label or target

        def take(part):
            def ended(job):
                said = libtest.results(job, label, part, who)
                self.report.keep(said)
                return job.code == 0 and all(result.outcome != "failed" for result in said)
            return ended

        if target not in targets.UNLISTED:
            names = [name for name in names if self.wanted(label, target, name)]
            if not names:
                return
        elif not self.wanted(label, target, ""):
            return
        parts = [(None, None)] if target in targets.UNLISTED else targets.groups(target, names)
        for part, chosen in parts:
            words = [executable] if part is None else [executable, "--test-threads", "1", *chosen]
            name = f"{label} {chosen[-1]}" if chosen else label
            common_here = {**targets.common(target), **common}
            self.pool.add(Job(step, f"{name}, {who}", wrap(words), ended=take(part), **common_here))

    def not_run(self):
        """The targets that have tests of which none was run."""
        had = {result.target for result in self.report.results}
        return [f"no test of {label} was run" for label in sorted(self.labels - had)]

    def check_sources(self):
        """What needs nothing but the sources."""
        for folder, all_of_it in (("", ["--all"]), ("fuzz", []), ("capos", ["--all"]), ("capos/fuzz", [])):
            manifest = os.path.join(folder, "Cargo.toml")
            self.job("formatting", ["cargo", "fmt", "--manifest-path", manifest, *all_of_it, "--check"],
                     name=f"formatting {manifest}", share=0.25)
        self.job("subjects of commits", ["python3", "-B", "scripts/testing/subjects.py"], share=0.25)
        self.job("promises name proofs", ["python3", "-B", "scripts/testing/promises.py", "--static"], share=0.25)
        self.job("modules of who.tsv", ["python3", "-B", "scripts/testing/who.py"], share=0.25)
        self.job("the runner's own tests", ["python3", "-B", "-m", "unittest", "discover", "--start-directory",
                                            "scripts/testing", "--pattern", "*_test.py"], share=0.25)

    def compile_tests(self):
        """Everything that tests are, linted; what comes of it adds the jobs that run them.

        The examples have a call of their own: tests execute them, and `cargo test --examples` would make tests of them.
        """
        env = building.linting(self.env)
        self.job(EXAMPLES, ["cargo", "build", "--workspace", "--locked", "--examples"], env=env)
        names = [word for name in self.targets for word in ("--test", name)]
        words = ["cargo", "test", "--workspace", "--locked", "--no-run", "--lib", "--bins", "--benches", *names,
                 "--message-format", "json-render-diagnostics"]
        self.job(TESTS, words, needs=[EXAMPLES], env=env, ended=self.compiled)

    def compiled(self, job):
        """From here on it is known which tests there are."""
        built = self.built = building.built(job.lines)
        missing = set(self.targets) - {name for _, kind, name in built.tests if kind == "test"}
        self.labels = {label_of(*key) for key in built.tests if key[1] == "test"}
        if missing:
            raise ValueError(f"these targets were not compiled: {sorted(missing)}")
        # What takes longest begins first.
        order = sorted(built.tests.items(), key=lambda item: (item[0][2] not in targets.LONG, item[0]))
        for (package, kind, name), executable in order:
            cwd = built.folders[package]
            env = self.env | {"CARGO_MANIFEST_DIR": cwd}
            if kind == "bench":
                label = f"bench {package}::{name}"
                if self.wanted(label, name, ""):
                    self.job("benches, each once", [executable, "--bench", "--test"], name=label, env=env, cwd=cwd)
            elif kind == "test" and name in targets.LATER:
                continue
            else:
                label = label_of(package, kind, name)
                step = label if kind == "test" and package == "bailiwick" else "unit tests"
                names = [] if name in targets.UNLISTED else libtest.listed(executable, env, cwd)
                if names or name in targets.UNLISTED:
                    self.tests(step, name, executable, names, label=label, env=env, cwd=cwd)
        for add in self.when_compiled:
            add()
        return True
