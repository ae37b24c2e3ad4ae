"""Writes a file in every way that a program has, in random order, and compares it with what it must say.

written.py FROM TO [show]    the seeds FROM..TO; with `show` the steps of those that fail
"""

import mmap
import os
import random
import sys

PAGE = 4096
STEPS = 25


class File:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.name, self.says, self.held, self.steps = f"file-{seed}", bytearray(), [], []
        open(self.name, "wb").close()

    def step(self):
        ways = (self.opened, self.closed, *[self.written] * 3, self.truncated, self.mapped, self.renamed,
                self.synced, self.looked, *[self.read] * 2)
        self.random.choice(ways)()

    def note(self, *words):
        self.steps.append(" ".join(map(str, words)))

    def opened(self):
        flags = self.random.choice((os.O_WRONLY, os.O_RDWR, os.O_RDWR))
        flags |= self.random.choice((0, 0, os.O_DSYNC, os.O_SYNC, os.O_DIRECT))
        flags |= self.random.choice((0, os.O_APPEND)) | self.random.choice((0, 0, 0, os.O_TRUNC))
        self.note(f"open {flags:#o}")
        if flags & os.O_TRUNC:
            self.says.clear()
        self.held.append((os.open(self.name, flags), flags))

    def closed(self):
        if self.held:
            file, flags = self.held.pop(self.random.randrange(len(self.held)))
            self.note(f"close {flags:#o}")
            os.close(file)

    def written(self):
        if not self.held:
            return self.opened()
        file, flags = self.random.choice(self.held)
        size = self.random.choice((1, 100, self.random.randrange(1, PAGE), PAGE, PAGE + 5))
        at = self.random.randrange(len(self.says) + self.random.choice((1, 1, PAGE)))
        plain = self.random.random() < 0.3
        how = 0 if plain else self.random.choice((0, os.RWF_DSYNC, os.RWF_APPEND, os.RWF_APPEND | os.RWF_DSYNC))
        appends = flags & os.O_APPEND or how & os.RWF_APPEND
        if flags & os.O_DIRECT:
            size, at = PAGE, at // PAGE * PAGE
            if appends and len(self.says) % PAGE:
                return
        text = mmap.mmap(-1, size)
        text[:] = bytes([self.random.choice(b"abcdefghijklmnopqrstuvwxyz")]) * size
        end = len(self.says) if appends else at
        self.note(f"write {flags:#o}, {how:#x}: {size} at {end} of {len(self.says)}")
        if plain:
            os.lseek(file, at, os.SEEK_SET)
            assert os.write(file, text) == size
        else:
            assert os.pwritev(file, [text], at, how) == size
        self.grow(end)
        self.says[end:end + size] = text

    def grow(self, size):
        self.says += bytes(max(0, size - len(self.says)))

    def truncated(self):
        size = self.random.choice((0, self.random.randrange(len(self.says) + 1), self.random.randrange(3 * PAGE)))
        file = self.random.choice([file for file, _ in self.held] + [self.name])
        self.note("truncate", file, size, "of", len(self.says))
        os.truncate(file, size)
        self.grow(size)
        del self.says[size:]

    def mapped(self):
        if not self.says:
            return
        with open(self.name, "r+b") as file:
            at = self.random.randrange(len(self.says))
            self.note("map", at, "of", len(self.says))
            with mmap.mmap(file.fileno(), len(self.says)) as there:
                there[at] = self.says[at] = ord("!")

    def renamed(self):
        self.note("rename")
        new = self.name + "-"
        os.rename(self.name, new)
        self.name = new

    def synced(self):
        for file, _ in self.held:
            os.fsync(file)
        self.note("sync")

    def looked(self):
        self.note("stat")
        size = os.stat(self.name).st_size
        assert size == len(self.says), f"it has {size} bytes for {len(self.says)}"

    def read(self):
        held = [file for file, flags in self.held if flags & os.O_RDWR and not flags & os.O_DIRECT]
        file = self.random.choice([*held, None])
        self.note("read", file)
        if file is None:
            with open(self.name, "rb") as anew:
                found = anew.read()
        else:
            found = os.pread(file, len(self.says) + 1, 0)
        pairs = enumerate(zip(found, self.says))
        at = next((at for at, (is_, should) in pairs if is_ != should), min(len(found), len(self.says)))
        assert found == self.says, f"at {at} of {len(self.says)}: {found[at:at + 9]} for {bytes(self.says[at:at + 9])}"


def fails(seed):
    file = File(seed)
    try:
        for _ in range(STEPS):
            file.step()
        file.read()
    except (AssertionError, OSError, ValueError) as error:
        print(f"seed {seed}: {error}")
        if "show" in sys.argv:
            print(*file.steps, sep="\n")
        return True
    finally:
        for held, _ in file.held:
            os.close(held)
        os.unlink(file.name)


failed = [seed for seed in range(int(sys.argv[1]), int(sys.argv[2])) if fails(seed)]
print("something is lost" if failed else "nothing is lost")
