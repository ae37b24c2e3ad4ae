"""What programs count on in a folder of files. One line a case: its name, and `ok` or what went wrong."""

import ctypes
import errno
import fcntl
import mmap
import os
import socket
import stat
import subprocess
import sys

libc = ctypes.CDLL(None, use_errno=True)
AT_FDCWD = -100
CASES = []


class NotTried(Exception):
    pass


def case(function):
    CASES.append(function)
    return function


def fresh(name, text=b"text"):
    with open(name, "wb") as file:
        file.write(text)
    return name


@case
def times_to_the_nanosecond():
    path = fresh("times")
    os.utime(path, ns=(1_500_000_000_123_456_789, 1_400_000_000_987_654_321))
    found = os.stat(path)
    assert (found.st_atime_ns, found.st_mtime_ns) == (
        1_500_000_000_123_456_789,
        1_400_000_000_987_654_321,
    ), found
    os.symlink("nowhere", "times-link")
    os.utime("times-link", ns=(1, 1_400_000_000_000_000_007), follow_symlinks=False)
    assert os.lstat("times-link").st_mtime_ns == 1_400_000_000_000_000_007


@case
def a_file_that_was_removed_while_it_is_open():
    fresh("removed")
    file = os.open("removed", os.O_RDWR)
    os.unlink("removed")
    os.pwrite(file, b"more text", 0)
    os.ftruncate(file, 4)
    os.fchmod(file, 0o640)
    os.utime(file, ns=(5, 1_400_000_000_000_000_009))
    found = os.fstat(file)
    assert (found.st_size, stat.S_IMODE(found.st_mode)) == (4, 0o640), found
    assert found.st_mtime_ns == 1_400_000_000_000_000_009
    assert os.pread(file, 99, 0) == b"more"


@case
def pipes_with_names():
    os.mkfifo("pipe")
    if os.fork() == 0:
        with open("pipe", "wb") as pipe:
            pipe.write(b"through")
        os._exit(0)
    with open("pipe", "rb") as pipe:
        assert pipe.read() == b"through"
    os.wait()
    os.unlink("pipe")


@case
def sockets_with_names():
    server = socket.socket(socket.AF_UNIX)
    server.bind("socket")
    server.listen()
    client = socket.socket(socket.AF_UNIX)
    client.connect("socket")
    client.send(b"hello")
    assert server.accept()[0].recv(9) == b"hello"
    assert stat.S_ISSOCK(os.lstat("socket").st_mode)
    os.unlink("socket")


@case
def files_without_a_name():
    file = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(file, b"late")
    path = f"/proc/self/fd/{file}".encode()
    if libc.linkat(AT_FDCWD, path, AT_FDCWD, b"named", 0x400) != 0:
        raise OSError(ctypes.get_errno(), "linkat")
    assert open("named", "rb").read() == b"late"


def rename(old, new, flags):
    if libc.renameat2(AT_FDCWD, old.encode(), AT_FDCWD, new.encode(), flags) != 0:
        raise OSError(ctypes.get_errno(), "renameat2")


@case
def names_that_change_places():
    fresh("left", b"left")
    os.mkdir("right")
    fresh("right/inner")
    rename("left", "right", 2)
    assert open("right", "rb").read() == b"left"
    assert os.listdir("left") == ["inner"]


@case
def a_name_that_is_not_replaced():
    fresh("first", b"first")
    fresh("second", b"second")
    try:
        rename("first", "second", 1)
    except OSError as error:
        assert error.errno == errno.EEXIST, error
    else:
        raise AssertionError("it was replaced")
    assert open("second", "rb").read() == b"second"


@case
def a_file_with_two_names():
    fresh("one")
    os.link("one", "two")
    assert os.stat("one").st_ino == os.stat("two").st_ino
    assert os.stat("one").st_nlink == 2
    with open("two", "ab") as file:
        file.write(b" more")
    assert open("one", "rb").read() == b"text more"
    os.unlink("one")
    assert os.stat("two").st_nlink == 1
    os.chmod("two", 0o600)
    with open("two", "ab") as file:
        file.write(b" and more")
    os.link("two", "three")
    os.unlink("three")
    os.truncate("two", 4)
    assert open("two", "rb").read() == b"text"


@case
def holes():
    file = os.open("sparse", os.O_CREAT | os.O_RDWR)
    os.pwrite(file, b"x", 1 << 20)
    assert os.lseek(file, 0, os.SEEK_DATA) > 0
    assert os.lseek(file, 1 << 20, os.SEEK_HOLE) == (1 << 20) + 1
    before = os.fstat(file).st_blocks
    os.posix_fallocate(file, 0, 65536)
    assert os.fstat(file).st_blocks > before, "fallocate"


@case
def locks():
    for lock in (fcntl.flock, fcntl.lockf):
        with open("locked", "wb") as mine:
            lock(mine, fcntl.LOCK_EX)
            if os.fork() == 0:
                other = open("locked", "wb")
                try:
                    lock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    os._exit(error.errno not in (errno.EAGAIN, errno.EACCES))
                os._exit(1)
            assert os.wait()[1] == 0, lock


@case
def memory_that_is_shared():
    fresh("mapped", bytes(8192))
    with open("mapped", "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 8192)
        mapped[5000:5004] = b"page"
        assert os.pread(file.fileno(), 4, 5000) == b"page"
        os.pwrite(file.fileno(), b"file", 100)
        assert mapped[100:104] == b"file"
        mapped.flush()
    assert open("mapped", "rb").read()[5000:5004] == b"page"


@case
def attributes_of_users():
    path = fresh("attributes")
    os.setxattr(path, "user.color", b"blue")
    assert os.listxattr(path) == ["user.color"]
    assert os.getxattr(path, "user.color") == b"blue"
    os.removexattr(path, "user.color")
    assert os.listxattr(path) == []


@case
def a_folder_that_is_removed_while_it_is_open():
    os.mkdir("folder")
    folder = os.open("folder", os.O_RDONLY | os.O_DIRECTORY)
    fresh("folder/file")
    assert os.listdir(folder) == ["file"]
    os.unlink("folder/file")
    os.rmdir("folder")
    assert os.listdir(folder) == []


@case
def what_is_appended_by_several():
    for who in (b"a", b"b"):
        if os.fork() == 0:
            file = os.open("appended", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            for number in range(50):
                os.write(file, b"%s %d\n" % (who, number))
            os._exit(0)
    assert os.wait()[1] == 0 and os.wait()[1] == 0
    lines = open("appended", "rb").read().splitlines()
    assert sorted(lines) == sorted(b"%s %d" % (who, n) for who in (b"a", b"b") for n in range(50))


@case
def a_range_that_is_copied():
    fresh("source", bytes(range(256)) * 64)
    source = os.open("source", os.O_RDONLY)
    target = os.open("target", os.O_CREAT | os.O_RDWR)
    copied = os.copy_file_range(source, target, 10_000, 100)
    assert os.pread(target, copied, 0) == os.pread(source, copied, 100) and copied > 0


@case
def owners_that_root_gives():
    path = fresh("owned")
    if os.getuid() != 0:
        raise NotTried("for root alone")
    os.chown(path, 12, 34)
    found = os.stat(path)
    assert (found.st_uid, found.st_gid) == (12, 34), found
    os.lchown(path, 0, 0)


@case
def a_long_name():
    fresh("n" * 255)
    assert "n" * 255 in os.listdir(".")
    try:
        fresh("n" * 256)
    except OSError as error:
        assert error.errno == errno.ENAMETOOLONG, error
    else:
        raise AssertionError("a name of 256 bytes")


@case
def a_program_that_is_executed_cannot_be_written():
    fresh("program", open("/bin/cat", "rb").read())
    os.chmod("program", 0o755)
    running = subprocess.Popen(["./program"], stdin=subprocess.PIPE)
    try:
        open("program", "ab")
    except OSError as error:
        assert error.errno == errno.ETXTBSY, error
    else:
        raise AssertionError("it was opened")
    finally:
        running.stdin.close()
    assert running.wait() == 0


os.mkdir("cases")
os.chdir("cases")
wanted = sys.argv[1:]
for function in CASES:
    try:
        if not wanted or function.__name__ in wanted:
            function()
            print(function.__name__, "ok")
    except NotTried as why:
        print(function.__name__, "not tried:", why)
    except (OSError, AssertionError) as error:
        print(function.__name__, type(error).__name__, error)
print(len(CASES), "cases")
