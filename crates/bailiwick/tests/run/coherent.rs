//! The workspace is one file system to all programs of a sandbox: what one has written, another sees, and
//! no program takes from a file what another wrote, by looking, naming, appending, truncating or dying. What one program
//! writes is there however it writes it.
//!
//! Each of these lost something where the workspace was 9P (`cache=mmap`).

use crate::support::{Backend, Sandbox};

on_every_backend! {
    a_file_says_what_was_written_to_it_in_whatever_way,
    a_file_that_is_looked_at_while_it_is_written_loses_nothing,
    what_was_written_under_one_name_is_there_under_the_other,
    nothing_is_lost_of_what_several_append,
    a_file_that_is_truncated_while_it_is_mapped_stays_so,
    whoever_looks_and_is_killed_is_no_error_of_whoever_writes,
}

/// Runs it where two processes really run at once; it says last that nothing is lost.
fn at_once(on: Backend, program: &str) {
    let sandbox = Sandbox::on(on).file("program.py", program);
    let sandbox = match on {
        Backend::Process => sandbox,
        Backend::Vm => sandbox.option("--cpus").option("2"),
    };
    sandbox
        .run("python3 program.py")
        .success()
        .stdout_is("nothing is lost\n");
}

/// One program writes in every way that there is, in random order, and knows what the file must say. More of them by
/// hand: `python3 written.py 0 3000 show` in a sandbox.
fn a_file_says_what_was_written_to_it_in_whatever_way(on: Backend) {
    Sandbox::on(on)
        .file("written.py", include_str!("coherent/written.py"))
        .run("python3 written.py 0 60")
        .success()
        .stdout_is("nothing is lost\n");
}

fn a_file_that_is_looked_at_while_it_is_written_loses_nothing(on: Backend) {
    at_once(
        on,
        r#"
import mmap, os, signal

looks = mmap.mmap(-1, 8)
looking = os.fork()
while not looking:
    try:
        os.stat("file")
    except FileNotFoundError:
        pass
    looks[0:8] = (int.from_bytes(looks[0:8], "little") + 1).to_bytes(8, "little")

def new():
    with open("file", "wb", buffering=0) as file:
        for _ in range(4):
            file.write(b"x" * 111)
    return 444

def again():
    with open("file", "wb", buffering=0) as file:
        file.truncate(100)
        file.write(b"y" * 300)
    return 300

def extended():
    with open("file", "ab", buffering=0) as file:
        file.write(b"z" * 50)
    return 350

for turn in range(100):
    for write in (new, again, extended):
        wanted = write()
        found = len(open("file", "rb").read())
        assert found == wanted, f"{turn}: {write.__name__}: {found} for {wanted}"
    os.unlink("file")
os.kill(looking, signal.SIGKILL)
assert os.waitpid(looking, 0)[1] == signal.SIGKILL, "nobody looked"
assert int.from_bytes(looks[0:8], "little") > 100, "nobody looked"
print("nothing is lost")
"#,
    );
}

fn what_was_written_under_one_name_is_there_under_the_other(on: Backend) {
    at_once(
        on,
        r#"
import os

def read(name):
    return open(name, "rb").read()

for name in (os.rename, os.link):
    with open("draft", "wb", buffering=0) as file:
        file.write(b"text")
        name("draft", "final")
        assert read("final") == b"text", name
    os.unlink("final")

with open("one", "wb") as file:
    file.write(b"1234")
os.link("one", "two")
held = open("one", "rb", buffering=0)
assert held.read() == b"1234"
with open("two", "ab") as file:
    file.write(b"5678")
assert os.stat("one").st_size == 8
assert os.pread(held.fileno(), 9, 0) == b"12345678"
with open("one", "r+b") as file:
    file.write(b"!")
held.close()
assert read("one") == read("two") == b"!2345678", read("one")
print("nothing is lost")
"#,
    );
}

fn nothing_is_lost_of_what_several_append(on: Backend) {
    at_once(
        on,
        r#"
import os

for kind in (0, os.O_DSYNC, os.O_SYNC):
    before = [b"- %05d" % number for number in range(100)]
    with open("file", "wb") as file:
        file.write(b"".join(line + b"\n" for line in before))
    writers = []
    for who in b"ab":
        writers.append(os.fork())
        if not writers[-1]:
            file = os.open("file", os.O_WRONLY | os.O_APPEND | kind)
            for number in range(100):
                os.write(file, b"%c %05d\n" % (who, number))
            os._exit(0)
    for writer in writers:
        assert os.waitpid(writer, 0)[1] == 0
    lines = open("file", "rb").read().splitlines()
    wanted = before + [b"%c %05d" % (who, number) for who in b"ab" for number in range(100)]
    assert sorted(lines) == wanted, f"{kind}: {len(lines)} of {len(wanted)}"
print("nothing is lost")
"#,
    );
}

fn a_file_that_is_truncated_while_it_is_mapped_stays_so(on: Backend) {
    at_once(
        on,
        r#"
import mmap, os, signal

PAGE, PAGES = 4096, 16
file = os.open("file", os.O_CREAT | os.O_RDWR)
os.ftruncate(file, PAGES * PAGE)

def writes():
    mapped = mmap.mmap(file, PAGES * PAGE)
    while True:
        for page in range(PAGES):
            mapped[page * PAGE] = 1
        mapped.flush()

for turn in range(40):
    writer = os.fork()
    if not writer:
        writes()
    while not any(os.pread(file, PAGES * PAGE, 0)):
        pass
    os.ftruncate(file, PAGE)
    sizes = os.fstat(file).st_size, os.stat("file").st_size
    # A write behind the end has ended it already.
    os.kill(writer, signal.SIGKILL)
    os.waitpid(writer, 0)
    assert sizes == (PAGE, PAGE), f"{turn}: {sizes}"
    assert os.stat("file").st_size == PAGE, f"{turn}"
    os.ftruncate(file, 0)
    os.ftruncate(file, PAGES * PAGE)
print("nothing is lost")
"#,
    );
}

fn whoever_looks_and_is_killed_is_no_error_of_whoever_writes(on: Backend) {
    at_once(
        on,
        r#"
import os, random, signal, time

block = os.urandom(1 << 16)
random.seed(1)
for turn in range(25):
    with open("file", "w+b", buffering=0) as file:
        for _ in range(32):
            file.write(block)
        looking = os.fork()
        if not looking:
            while True:
                os.stat("file")
        time.sleep(random.random() * 0.01)
        os.kill(looking, signal.SIGTERM)
        assert os.waitpid(looking, 0)[1] == signal.SIGTERM
        os.fsync(file.fileno())
    assert open("file", "rb").read() == block * 32, f"{turn}"
    os.unlink("file")
print("nothing is lost")
"#,
    );
}
