"""What a job's processes are doing, for whoever asks why it hangs; and their end.

Decision: a job that is over its deadline is shown as the kernel sees it, and then killed with everything
that descends from it. It is not started again.
"""
import os
import signal


def read(pid, name):
    """A file of /proc/PID, empty where it cannot be read."""
    try:
        with open(f"/proc/{pid}/{name}", "rb") as file:
            return file.read().replace(b"\0", b" ").decode("utf-8", "replace").strip()
    except OSError:
        return ""


def children():
    """Every process by its parent."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        stat = read(pid, "stat")
        if stat:
            parent = int(stat.rpartition(")")[2].split()[1])
            found.setdefault(parent, []).append(int(pid))
    return found


def descendants(pid):
    """The process and all that descend from it, parents first, each with its depth."""
    by_parent = children()
    todo, found = [(pid, 0)], []
    while todo:
        at, depth = todo.pop()
        found.append((at, depth))
        todo.extend((child, depth + 1) for child in by_parent.get(at, []))
    return found


def shown(pid):
    """What each process of a job does: its words, its state, where each thread waits."""
    lines = []
    for at, depth in descendants(pid):
        words = read(at, "cmdline")[:160] or read(at, "comm")
        lines.append(f"{'  ' * depth}{at}: {words}")
        try:
            threads = sorted(os.listdir(f"/proc/{at}/task"), key=int)
        except OSError:
            continue
        for thread in threads[:16]:
            task = f"{at}/task/{thread}"
            state = read(task, "stat").rpartition(")")[2].split()[:1]
            call = read(task, "syscall").split()[:2]
            lines.append(f"{'  ' * depth}  thread {read(task, 'comm')}: {''.join(state)}, waits in "
                         f"{read(task, 'wchan') or '?'}, system call {' '.join(call) or '?'}")
    return "\n".join(lines)


def kill(pid):
    """Ends a job with everything that descends from it: stopped first, so that none escapes by forking."""
    for number in (signal.SIGSTOP, signal.SIGKILL):
        for at, _ in descendants(pid):
            try:
                os.kill(at, number)
            except OSError:
                pass
