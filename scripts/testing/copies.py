"""Copies of what is tested that anybody can execute: the checkout may lie where only root can read."""
import os
import shutil
import tempfile

import suite
import surroundings

COPIES = "copies that anybody can execute"
USER = 1000
PATH = "/usr/local/bin:/usr/bin:/bin"


class Copies:
    """A folder with the binaries that are shipped and the build for tests; an ordinary user's home beside them."""

    def __init__(self, suite_):
        self.suite, self.folder = suite_, tempfile.mkdtemp(prefix="bailiwick-suite-")
        # Where the hostile guest is copied to, by the job that makes it.
        self.hostile = os.path.join(self.folder, "hostile")
        # Other folders that end with this one.
        self.more = []
        os.chmod(self.folder, 0o755)
        for name in ("home", "tmp", "cache/bailiwick", "tests"):
            os.makedirs(os.path.join(self.folder, name))

    def remove(self):
        for folder in (self.folder, *self.more):
            shutil.rmtree(folder, ignore_errors=True)

    def add(self, tests):
        """The job that makes them, when all is compiled."""
        release, debug = os.path.dirname(self.suite.release), self.suite.built.binaries["bailiwick"]
        shipped = [os.path.join(release, f"bailiwick{part}") for part in ("", "-guest", "-capos-kernel", "-capos-costs")]
        script = """folder=$1 debug=$2; shift 2
            for file in "$@"; do [ ! -e "$file" ] || install -m 755 "$file" "$folder"; done
            install -m 755 "$debug" "$folder/tests/bailiwick"
            chown 1000:1000 "$folder/home" "$folder/tmp" "$folder/cache" "$folder/cache/bailiwick" || [ "$(id -u)" -ne 0 ]"""
        self.suite.job(COPIES, ["sh", "-ec", script, "sh", self.folder, debug, *shipped, *tests],
                       needs=[suite.SHIPPED], share=0.5)

    def env(self, user, **more):
        """The environment in which the copies are tested."""
        at = {"BAILIWICK_BINARY": f"{self.folder}/bailiwick", "BAILIWICK_HOSTILE_GUEST": self.hostile}
        if not user:
            return self.suite.env | at | more
        own = {"HOME": f"{self.folder}/home", "TMPDIR": f"{self.folder}/tmp", "PATH": PATH, "LANG": "C.UTF-8",
               "XDG_CACHE_HOME": f"{self.folder}/cache", "BAILIWICK_TEST_BUILD": f"{self.folder}/tests/bailiwick"}
        kept = {name: value for name, value in self.suite.env.items() if name in ("CI", "RUST_BACKTRACE")}
        return kept | own | at | more

    def of(self, executable):
        """The copy of an executable of tests."""
        return os.path.join(self.folder, os.path.basename(executable))

    def user(self, words):
        return surroundings.as_user(USER, words)
