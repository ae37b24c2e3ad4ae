"""What a static binary needs, asked with a toolchain of the test's own."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class StaticTarget(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name, text in {"cargo": "cargo 99.0.0", "rustc": self.folder, "musl-gcc": ""}.items():
            (self.folder / name).write_text(f"#!/bin/sh\necho {text}\n")
            (self.folder / name).chmod(0o755)

    def asked(self, *arguments):
        return subprocess.run([ROOT / "scripts/static-target", *arguments], text=True, stdout=subprocess.PIPE,
                              env={"PATH": f"{self.folder}:/usr/bin:/bin", "HOME": str(self.folder)}, check=False)

    def test_there_is_none_where_the_toolchain_has_not_its_library(self):
        outcome = self.asked()
        self.assertEqual((outcome.returncode, outcome.stdout), (1, ""))

    def test_it_is_named_where_library_and_compiler_are_there(self):
        name = f"{os.uname().machine}-unknown-linux-musl"
        (self.folder / "lib/rustlib" / name).mkdir(parents=True)
        self.assertEqual(self.asked().stdout, f"{name}\n")

    def test_its_name_is_known_without_it(self):
        self.assertEqual(self.asked("--name").returncode, 0)


if __name__ == "__main__":
    unittest.main()
