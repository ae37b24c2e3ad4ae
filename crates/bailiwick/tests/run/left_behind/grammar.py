"""What a hostile program writes in and around git folders: a random list of acts, by a seed, from what git is
known to obey. Each act is printed. What would run, connect or be written has the word `bwmark` in it.

usage: grammar.py SEED
"""
import hashlib
import os
import random
import shutil
import socket
import struct
import subprocess
import sys

seed = int(sys.argv[1])
dice = random.Random(seed)
RUN = "#!/bin/sh\ntouch bwmark\nexec cat\n"
COMMAND = "touch bwmark"
ID = subprocess.run(["git", "rev-parse", "HEAD"], capture_output=True, text=True).stdout.strip()
HOOKS = ["post-index-change", "pre-commit", "post-checkout", "reference-transaction", "post-commit", "commit-msg",
         "pre-rebase", "post-merge", "pre-auto-gc", "fsmonitor-watchman", "pre-receive", "update", "post-receive"]
OUTSIDE = os.path.dirname(os.getcwd())


def blob(text):
    words = ["git", "hash-object", "-w", "--stdin"]
    return subprocess.run(words, input=text, capture_output=True, text=True).stdout.strip() or "0" * 40


def entry(mode, oid, path):
    raw = bytes(24) + struct.pack(">I", mode) + bytes(12) + bytes.fromhex(oid)
    raw += struct.pack(">H", min(len(path), 0xfff)) + path + b"\0"
    return raw + bytes(-len(raw) % 8)


def index():
    """An index whose entries git would never make."""
    oid = blob(RUN)
    paths = [b".git/hooks/" + dice.choice(HOOKS).encode(), b".git/config", b"../bwmark", f"{OUTSIDE}/bwmark-index".encode(),
             b".vscode/tasks.json", b"sub/.git/hooks/post-checkout", b".GIT/config", b"a/../.git/hooks/post-checkout"]
    mode, path = dice.choice([0o100755, 0o100644, 0o120000, 0o160000]), dice.choice(paths)
    body = b"DIRC" + struct.pack(">II", 2, 1) + entry(mode, oid, path)
    if dice.random() < 0.3:
        body += b"TREE" + struct.pack(">I", 25) + b"\x001 0\n" + bytes(20)
    return body + hashlib.sha1(body).digest()


SETTINGS = [
    f"[core]\n\tfsmonitor = {COMMAND}\n", "[core]\n\thooksPath = evil\n", f"[alias]\n\tst = !{COMMAND}\n",
    "[include]\n\tpath = ../evil/config\n", f"[filter \"x\"]\n\tclean = {COMMAND}\n\tsmudge = {COMMAND}\n",
    f"[diff]\n\texternal = {COMMAND}\n", f"[diff \"x\"]\n\ttextconv = {COMMAND}\n\tcommand = {COMMAND}\n",
    f"[merge \"x\"]\n\tdriver = {COMMAND}\n", f"[core]\n\tpager = {COMMAND}\n", f"[core]\n\teditor = {COMMAND}\n",
    f"[core]\n\tsshCommand = {COMMAND}\n", f"[gpg]\n\tprogram = {COMMAND}\n[log]\n\tshowSignature = true\n[commit]\n\tgpgSign = true\n",
    f"[remote \"evil\"]\n\tpromisor = true\n\turl = ssh://127.0.0.1:9/bwmark\n[extensions]\n\tpartialClone = evil\n",
    "[core]\n\tworktree = ../../foreign\n", "[core]\n\tsharedRepository = 0666\n", "[core]\n\tbare = false\n\tworktree = ..\n",
    "[submodule \"x\"]\n\tupdate = !touch bwmark\n\tpath = x\n\turl = ./x\n", f"[gc]\n\tauto = 1\n[core]\n\tfsmonitor = {COMMAND}\n",
    f"[core] fsmonitor={COMMAND}\n", f"[CORE]\nFsMonitor = \"{COMMAND}\"\n", f"[core]\n\tfsmonitor = \\\n{COMMAND}\n",
    f"[hook \"x\"]\n\tcommand = {COMMAND}\n\tevent = post-index-change\n", f"[credential]\n\thelper = !{COMMAND}\n",
    "[branch \"main\"]\n\tremote = ext::sh -c touch% bwmark\n\tmerge = refs/heads/main\n[protocol \"ext\"]\n\tallow = always\n",
    f"[core]\n\tattributesFile = {os.getcwd()}/evil/attributes\n[filter \"x\"]\n\tclean = {COMMAND}\n",
]


def configuration():
    """One thing that git obeys, or some that need each other."""
    return "".join(dice.sample(SETTINGS, dice.choice([1, 1, 2, 3])))


def put_aside():
    """What `git stash` makes, with a file that nothing but this brings."""
    env = {**os.environ, "GIT_INDEX_FILE": ".git/index.aside"}

    def git(*words):
        return subprocess.run(["git", *words], env=env, capture_output=True, text=True).stdout.strip()

    git("read-tree", "HEAD")
    index = git("commit-tree", "-p", "HEAD", "-m", "index", git("write-tree"))
    git("update-index", "--add", "--cacheinfo", f"100644,{blob(RUN)},.vscode/bwmark")
    made = git("commit-tree", "-p", "HEAD", "-p", index, "-m", "aside", git("write-tree"))
    if os.path.exists(".git/index.aside"):
        os.remove(".git/index.aside")
    return made


# References, and where a symbolic one leads git when it writes.
REFERENCES = ["HEAD", "ORIG_HEAD", "refs/stash", "refs/heads/main", "refs/heads/x.bak", "refs/remotes/origin/HEAD", "AUTO_MERGE"]
LED = ["refs/../../../foreign/led", "refs/heads/../../../../foreign/led", "refs/../hooks/post-commit", "config", f"{OUTSIDE}/foreign/led"]


def file_of(where):
    """A file below a git folder, and what it says."""
    if dice.random() < 0.4:
        # What most of git's commands obey.
        return dice.choice([(f"{where}/config", configuration()), (f"{where}/config", configuration()), (f"{where}/index", index()),
                            (f"{where}/hooks/{dice.choice(HOOKS)}", RUN)])
    return dice.choice([
        (f"{where}/config.worktree", configuration()), (f"{where}/commondir", "../../evil\n"),
        (f"{where}/gitdir", f"{OUTSIDE}/foreign/.git\n"), (f"{where}/HEAD", "ref: refs/heads/main\n"),
        (f"{where}/info/attributes", "* filter=x diff=x merge=x\n"), (f"{where}/info/grafts", f"{ID}\n"),
        (f"{where}/objects/info/alternates", f"{OUTSIDE}/foreign/.git/objects\n"), (f"{where}/remotes/origin", "URL: git://127.0.0.1:9/bwmark\n"),
        (f"{where}/branches/origin", "git://127.0.0.1:9/bwmark\n"), (f"{where}/rebase-merge/git-rebase-todo", f"exec {COMMAND}\n"),
        (f"{where}/rebase-merge/strategy", "x/bwmark\n"), (f"{where}/rebase-merge/refs-to-delete", "refs/heads/keep\n"),
        (f"{where}/rebase-merge/head-name", "refs/heads/main\n"), (f"{where}/rebase-merge/onto", ID + "\n"),
        (f"{where}/sequencer/opts", "[options]\n\tstrategy = x/bwmark\n"), (f"{where}/sequencer/todo", f"exec {COMMAND}\n"),
        (f"{where}/BISECT_START", "--force\n"), (f"{where}/MERGE_RR", f"{ID}\t../foreign/f\0"),
        (f"{where}/worktrees/x/HEAD", "ref: refs/heads/main\n"), (f"{where}/worktrees/x/commondir", "../../../evil\n"),
        (f"{where}/worktrees/x/hooks/{dice.choice(HOOKS)}", RUN), (f"{where}/modules/x/config", configuration()),
        (f"{where}/modules/x/hooks/{dice.choice(HOOKS)}", RUN), (f"{where}/modules/x/HEAD", "ref: refs/heads/main\n"),
        (f"{where}/{dice.choice(REFERENCES)}", f"ref: {dice.choice(LED)}\n"), (f"{where}/{dice.choice(REFERENCES)}", f"ref: {dice.choice(LED)}\n"),
        (f"{where}/svn/.metadata", configuration()), (f"{where}/unknown", configuration()),
        (f"{where}/{dice.choice(['MERGE_AUTOSTASH', 'MERGE_AUTOSTASH', 'rebase-merge/autostash'])}", put_aside() + "\n"),
    ])


# To what these say something may be added.
LISTS = ["config", "config.worktree", ".gitmodules", "attributes", "alternates", "git-rebase-todo", "todo"]


def write(path, text):
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    if path.split("/")[-1] in HOOKS or "hooks/" in path or dice.random() < 0.3:
        os.chmod(path, 0o755)


def said(path):
    """What a file says so far, where no link leads to it."""
    if os.path.realpath(path) != os.path.abspath(path) or not os.path.isfile(path):
        return b""
    with open(path, "rb") as file:
        return file.read()


WAYS = ["in place", "renamed", "lock", "linked", "linked later", "folder", "exchanged", "handle", "other name", "link", "appended",
        "socket", "copied", "reopened", "away"]
# These need nothing but the name.
PLAIN_WAYS = ["in place", "renamed", "lock", "linked", "handle", "copied", "reopened", "away"]


def place(path, text, ways=WAYS):
    """Brings a file to its name in one of the ways that there are."""
    top, name = os.path.dirname(path), os.path.basename(path)
    way = dice.choice(ways)
    print(way, path)
    # What is there already would be missed: a careful program adds to it.
    kept = said(path) if name in LISTS and way != "appended" and dice.random() < 0.7 else b""
    text = kept + (text if isinstance(text, bytes) else text.encode())
    if way != "folder":
        os.makedirs(top or ".", exist_ok=True)
    if way == "in place":
        write(path, text)
    elif way == "renamed":
        write("draft", text)
        os.rename("draft", path)
    elif way == "lock":
        write(path + ".lock", text)
        os.rename(path + ".lock", path)
    elif way == "linked":
        write("draft", text)
        os.link("draft", path)
    elif way == "linked later":
        write("draft", b"")
        os.link("draft", path)
        write("draft", text)
    elif way == "folder":
        os.makedirs("made", exist_ok=True)
        write(f"made/{name}", text)
        os.rename("made", top)
    elif way == "exchanged":
        os.makedirs("made", exist_ok=True)
        write(f"made/{name}", text)
        shutil.move(top, "away")
        os.rename("made", top)
    elif way == "handle":
        # What is looked at when it gets its name is harmless.
        with open("draft", "wb") as file:
            file.write(said(path))
            file.flush()
            os.rename("draft", path)
            file.seek(0)
            file.truncate()
            file.write(text)
    elif way == "other name":
        write("draft", said(path))
        os.link("draft", "second")
        os.rename("draft", path)
        write("second", text)
    elif way == "link":
        write("draft-of-link", text)
        os.symlink(os.path.abspath("draft-of-link"), path)
    elif way == "appended":
        with open(path, "ab") as file:
            file.write(text)
    elif way == "reopened":
        # What is opened to be read is opened once more, by the descriptor.
        if not os.path.exists(path):
            write(path, said(path))
        with open(path, "rb") as file, open(f"/proc/self/fd/{file.fileno()}", "r+b") as again:
            again.write(text)
            again.truncate()
    elif way == "away":
        # The same file is written under a name that means nothing.
        if not os.path.exists(path):
            write(path, said(path))
        for away in (path + ".lock", os.path.join(top, "COMMIT_EDITMSG"), "draft"):
            try:
                os.rename(path, away)
                write(away, text)
                os.rename(away, path)
                break
            except OSError:
                continue
    elif way == "socket":
        socket.socket(socket.AF_UNIX).bind(path)
    else:
        write("draft", text)
        shutil.copy("draft", path)


def lead(path, target):
    """Brings a link to a name, which the host then writes through, in one of the ways that there are."""
    print("lead", path, target)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        os.remove(path)
    if dice.random() < 0.5:
        os.symlink(target, path)
    else:
        os.symlink(target, "draft-of-lead")
        os.rename("draft-of-lead", path)


def turn(path, target):
    """Brings a link to a name that leads through a folder, which then is another link."""
    print("turn", path, target)
    os.makedirs("turned", exist_ok=True)
    lead(path, f"turned/../{target}")
    os.rmdir("turned")
    os.symlink(dice.choice(["../foreign", "src", "evil"]), "turned")


def repository(where):
    """A folder that is a repository once all of it is there, whichever part comes last. To git, a part that is a
    folder may as well be a file that can be executed."""
    def part(name):
        print("part", f"{where}/{name}")
        os.makedirs(where, exist_ok=True)
        if dice.random() < 0.5:
            write(f"{where}/{name}", "")
            os.chmod(f"{where}/{name}", 0o755)
        else:
            os.makedirs(f"{where}/{name}", exist_ok=True)

    head = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n" + dice.choice(["", "", "\tworktree = ..\n"])
    tree = dice.choice(["sub", "src", "new"])
    files = [(f"{where}/HEAD", "ref: refs/heads/main\n"), (f"{where}/config", head + configuration()),
             (f"{where}/hooks/{dice.choice(HOOKS)}", RUN)]
    if dice.random() < 0.7:
        files.append((f"{tree}/.git", f"gitdir: ../{where}\n"))
    steps = [lambda: part("objects"), lambda: part("refs")] + [lambda file=file: place(*file, PLAIN_WAYS) for file in files]
    dice.shuffle(steps)
    for step in steps:
        attempt(step)


def attempt(step):
    try:
        step()
    except (OSError, shutil.Error) as error:
        print("  refused:", error)


AS_GIT = """
import os, sys
lock, ends, *steps = sys.argv[1:]
if os.path.exists('.git') or lock == 'index.lock':
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
for step in steps:
    kind, name = step.split(' ')
    try:
        if kind == 'folder': os.mkdir(name)
        elif kind == 'link': os.symlink(os.path.abspath('evil'), name)
        elif kind == 'file': os.write(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o755), b'#!/bin/sh\\ntouch bwmark\\n')
        elif kind == 'move': os.rename('evil', name)
        else: os.unlink(name)
    except OSError as error: print('  refused:', error)
if ends == 'published': os.rename(lock, lock[:-5])
elif ends == 'removed': os.unlink(lock)
"""


def as_git():
    """A program that is called git and holds the lock of an index, which is told that it has made what it may not."""
    os.makedirs("/tmp/as-git", exist_ok=True)
    if not os.path.exists("/tmp/as-git/git"):
        shutil.copy(os.path.realpath(sys.executable), "/tmp/as-git/git")
    names = ["refs", "objects", "HEAD", "hooks", "hooks/pre-commit", "hooks/post-checkout", ".vscode", ".vscode/tasks.json",
             ".vscode/refs", "refs/heads", "refs/x", "config", "x/.git", "x", "x/HEAD", ".envrc", ".gitmodules", ".git"]
    steps = [dice.choice(["folder", "folder", "link", "file", "move", "remove"]) + " " + dice.choice(names) for _ in range(dice.randint(1, 8))]
    folder = dice.choice([".", "sub", "bare.git", "evil", "tree"])
    words = [dice.choice([".git/index.lock", "index.lock"]), dice.choice(["published", "removed", "left"]), *steps]
    print("as git", folder, *words)
    out = subprocess.run(["/tmp/as-git/git", "-c", AS_GIT, *words], cwd=folder, env={**os.environ, "PYTHONHOME": sys.prefix},
                         capture_output=True, text=True)
    print(out.stdout, out.stderr)


def act():
    where = dice.choice([".git", ".git", "sub/.git", "bare.git", "evil", ".git/worktrees/tree", ".git/modules/lib", "new/.git", "src"])
    kind = dice.random()
    if kind < 0.38:
        place(*file_of(where))
    elif kind < 0.49:
        repository(dice.choice(["evil", "src", "new/.git", "late", ".git/worktrees/x", ".git/modules/x", ".git/modules/lib/x",
                                ".git/refs", ".git/logs", ".git/logs/refs"]))
    elif kind < 0.55:
        # What git writes to, and where it would then write.
        name = dice.choice(["COMMIT_EDITMSG", "MERGE_MSG", "FETCH_HEAD", "ORIG_HEAD", "packed-refs", "info/exclude", "logs/HEAD", "index",
                            "logs/refs/heads/main", "refs/heads/main", "config", "HEAD", "description"])
        folder = dice.choice(["hooks", "logs", "refs", "info", "objects/info", "objects/pack", "rr-cache"])
        if dice.random() < 0.2:
            return turn(dice.choice(["lnk", "lnk.git", "src/lnk"]), dice.choice(["foreign", "linked", "evil"]))
        lead(*dice.choice([("lnk", "../foreign"), ("lnk.git", "../foreign"), (f"{where}/{name}", f"{OUTSIDE}/foreign/f"), (f"{where}/{folder}", f"{OUTSIDE}/foreign"),
                           (f"{where}/{folder}", f"{os.getcwd()}/evil")]))
    elif kind < 0.63:
        place(dice.choice(["sub/.git", "tree/.git", "new/.git", "src/.git"]), dice.choice(["gitdir: ../evil\n", "gitdir: ../.git/worktrees/x\n",
              "gitdir: ../.git/modules/x\n", "gitdir: ../bare.git\n", "gitdir: ../lnk/.git/worktrees/linked\n", "gitdir: ../bare.git/worktrees/x\n", f"gitdir: {OUTSIDE}/foreign/.git\n",
              f"gitdir: {OUTSIDE}/foreign/.git/worktrees/linked\n"]))
    elif kind < 0.70:
        place(dice.choice([".gitattributes", "src/.gitattributes"]), "* filter=x diff=x merge=x\n")
        place(".gitmodules", configuration())
    elif kind < 0.76:
        subprocess.run(["git", "update-index", "--add", "--cacheinfo", f"160000,{ID},{dice.choice(['sub', 'src', 'evil', 'new', 'tree'])}"],
                       capture_output=True)
    elif kind < 0.82:
        one, other = dice.sample(["sub/.git", "evil", "src", "bare.git", ".git/hooks", ".git/worktrees/tree", "new/.git", ".git/objects", "sub"], 2)
        print("move", one, other)
        os.rename(one, other)
    elif kind < 0.87:
        gone = dice.choice([".git/config", ".git/HEAD", ".git/index", "sub/.git/config", ".git/objects/" + ID[:2], ".git/worktrees/tree/commondir"])
        print("remove", gone)
        shutil.rmtree(gone) if os.path.isdir(gone) else os.remove(gone)
    elif kind < 0.92:
        as_git()
    elif kind < 0.95:
        for name in ("objects", "refs"):
            os.makedirs(f"{where}/{name}", exist_ok=True)
        place(f"{where}/HEAD", "ref: refs/heads/main\n")
    else:
        words = dice.choice([["config", "core.fsmonitor", COMMAND], ["config", "alias.status", "!" + COMMAND],
                             ["-C", "sub", "config", "core.hooksPath", "../evil"], ["init", "-q", "new"], ["worktree", "add", "-q", "more"],
                             ["config", "remote.up.url", "ext::sh -c touch% bwmark"],
                             ["config", "remote.up.url", dice.choice([f"file://localhost{OUTSIDE}/foreign", f"file://{OUTSIDE}/%66oreign",
                                                                      f"{os.getcwd()}/lnk", f"{os.getcwd()}/src/lnk"])], ["-C", "bare.git", "config", "core.fsmonitor", COMMAND]])
        print("git", *words)
        subprocess.run(["git", *words], capture_output=True)


for name in HOOKS[:3]:
    os.makedirs("evil", exist_ok=True)
    write(f"evil/{name}", RUN)
write("evil/attributes", "* filter=x\n")
for _ in range(dice.randint(1, 12)):
    attempt(act)
if dice.random() < 0.5:
    subprocess.run("find . -path ./.git/objects -prune -o -type f -print0 | xargs -0 touch -d '2 hours ago'", shell=True, capture_output=True)
