"""The jobs about the capability kernel: its logic, its lints, its smokes, and programs on it."""
import os

import building
import libtest
import suite

KERNEL = "compiling the kernel"
# So often a smoke boots on two processors, where races are; `make soak` boots it many times.
BOOTS = 2


def add(suite_):
    """Adds them; programs on the kernel come with the tests."""
    capos = os.path.join(suite_.root, "capos")
    target = os.path.join(suite_.target, "capos")
    suite_.job(KERNEL, ["scripts/capos-kernel"], share=0.75)
    # In its own folder, whose configuration the kernel needs.
    packages = [word for name in ("kernel", "rt", "programs") for word in ("--package", f"bailiwick-capos-{name}")]
    suite_.job("lints of the kernel", ["cargo", "clippy", "--release", "--locked", *packages, "--target",
                                       "x86_64-unknown-none", "--", "--deny", "warnings"],
               cwd=capos, env=suite_.env | {"CARGO_TARGET_DIR": target}, needs=[KERNEL])

    def compiled(job):
        for (package, kind, name), executable in sorted(building.built(job.lines).tests.items()):
            names = libtest.listed(executable, suite_.env, capos)
            if names:
                suite_.tests("the kernel's logic", name, executable, names, label=package, env=suite_.env, cwd=capos)
        return True
    # Not in its folder: what is not for the kernel itself is compiled for this machine.
    words = ["cargo", "test", "--manifest-path", "capos/Cargo.toml", "--locked", "--no-run", "--message-format",
             "json-render-diagnostics"]
    suite_.job("compiling and linting the kernel's logic", words, ended=compiled, needs=[suite.TESTS],
               env=building.linting(suite_.env | {"CARGO_TARGET_DIR": os.path.join(suite_.target, "capos-tests")}))
    # Those on one processor and on four share a folder.
    for processors, boots in (("2", BOOTS), ("1 4", 1)):
        suite_.job("smokes on the kernel", ["scripts/capos-smokes", str(boots)], name=f"smokes on {processors}",
                   env=suite_.env | {"CAPOS_SMOKES_PROCESSORS": processors}, needs=[KERNEL, suite.SHIPPED], share=2)


def programs(suite_):
    """The tests of programs on the kernel, once all are compiled."""
    executable = suite_.built.tests["bailiwick", "test", "capos"]
    cwd = suite_.built.folders["bailiwick"]
    suite_.tests("programs on the kernel", "capos", executable, libtest.listed(executable, suite_.env, cwd),
                 label="bailiwick::capos", env=suite_.env, cwd=cwd, needs=(KERNEL,))
