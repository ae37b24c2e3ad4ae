//! The workspace is one file system to all programs of a sandbox: what one has written, another sees, and
//! looking at a file takes nothing from it.

use crate::support::{Backend, Sandbox};

on_every_backend! {
    a_file_that_is_looked_at_while_it_is_written_loses_nothing,
    what_was_written_before_a_file_got_its_name_is_under_that_name,
}

/// One writes, one truncates and writes, one extends, while a fourth process asks for the size without end. (With
/// a kernel in which an older size could become the file's, one of thirty lost what was written.)
const LOOKED_AT: &str = r#"
import os, signal, sys

def looked_at(path):
    looking = os.fork()
    while not looking:
        try:
            os.stat(path)
        except FileNotFoundError:
            pass
    return looking

def new(path):
    with open(path, "wb", buffering=0) as file:
        for _ in range(4):
            file.write(b"x" * 111)
    return 444

def again(path):
    with open(path, "wb", buffering=0) as file:
        file.truncate(100)
        file.write(b"y" * 300)
    return 300

def extended(path):
    with open(path, "ab", buffering=0) as file:
        file.write(b"z" * 50)
    return 350

looking = looked_at("file")
lost = []
for round in range(100):
    for write in (new, again, extended):
        wanted = write("file")
        found = len(open("file", "rb").read())
        if found != wanted:
            lost.append((round, write.__name__, found))
    os.unlink("file")
os.kill(looking, signal.SIGKILL)
sys.exit(f"lost: {lost}" if lost else 0)
"#;

fn a_file_that_is_looked_at_while_it_is_written_loses_nothing(on: Backend) {
    let sandbox = Sandbox::on(on).file("looked_at.py", LOOKED_AT);
    let sandbox = match on {
        Backend::Process => sandbox,
        // Two that really run at once.
        Backend::Vm => sandbox.option("--cpus").option("2"),
    };
    sandbox.run("python3 looked_at.py").success();
}

/// No program but the one that writes: one that looks at the file would have it written back.
const NAMED: &str = r#"
import os

for name in (os.link, os.rename):
    with open("draft", "wb", buffering=0) as file:
        file.write(b"text")
        name("draft", "final")
        print(open("final").read())
    os.unlink("final")
    if name is os.link:
        os.unlink("draft")
"#;

fn what_was_written_before_a_file_got_its_name_is_under_that_name(on: Backend) {
    Sandbox::on(on)
        .file("named.py", NAMED)
        .run("python3 named.py")
        .success()
        .stdout_is("text\ntext\n");
}
