"""Makes one tiny package of a kind, as its registry serves it, below SITES/<host>/.

packages.py pip|npm|cargo|git|apt SITES
"""

import base64
import hashlib
import io
import json
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile


def put(path, content):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def tgz(files):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            entry.mode = 0o644
            tar.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


def pip(sites):
    wheel = io.BytesIO()
    info = "hello_wheel-1.0.dist-info"
    files = {
        "hello_wheel.py": "GREETING = 'hello from the wheel'\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: hello-wheel\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(
        "{},sha256={},{}\n".format(
            name,
            base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("="),
            len(text),
        )
        for name, text in files.items()
    )
    with zipfile.ZipFile(wheel, "w") as archive:
        for name, text in {**files, f"{info}/RECORD": record + f"{info}/RECORD,,\n"}.items():
            archive.writestr(name, text)
    content = wheel.getvalue()
    name = "hello_wheel-1.0-py3-none-any.whl"
    put(sites / "files.pypi.test" / name, content)
    digest = hashlib.sha256(content).hexdigest()
    link = f'<a href="https://files.pypi.test/{name}#sha256={digest}">{name}</a>'
    page = f"<!DOCTYPE html><html><body>{link}</body></html>\n"
    put(sites / "pypi.test/simple/hello-wheel/index.html", page)


def npm(sites):
    package = {"name": "hello-npm", "version": "1.0.0", "main": "index.js"}
    content = tgz(
        {
            "package/package.json": json.dumps(package),
            "package/index.js": "module.exports = 'hello from the package'\n",
        }
    )
    put(sites / "files.npm.test/hello-npm-1.0.0.tgz", content)
    digest = base64.b64encode(hashlib.sha512(content).digest()).decode()
    dist = {
        "tarball": "https://files.npm.test/hello-npm-1.0.0.tgz",
        "integrity": f"sha512-{digest}",
    }
    versions = {"1.0.0": {**package, "dist": dist}}
    packument = {"name": "hello-npm", "dist-tags": {"latest": "1.0.0"}, "versions": versions}
    put(sites / "npm.test/hello-npm", json.dumps(packument))


def cargo(sites):
    content = tgz(
        {
            "hello-crate-1.0.0/Cargo.toml": (
                '[package]\nname = "hello-crate"\nversion = "1.0.0"\nedition = "2021"\n'
            ),
            "hello-crate-1.0.0/src/lib.rs": "//! Hello from the crate.\n",
        }
    )
    put(sites / "files.crates.test/hello-crate-1.0.0.crate", content)
    config = {"dl": "https://files.crates.test/{crate}-{version}.crate"}
    put(sites / "crates.test/index/config.json", json.dumps(config))
    line = {
        "name": "hello-crate",
        "vers": "1.0.0",
        "deps": [],
        "cksum": hashlib.sha256(content).hexdigest(),
        "features": {},
        "yanked": False,
    }
    put(sites / "crates.test/index/he/ll/hello-crate", json.dumps(line) + "\n")


def git(sites):
    tree = sites / "tree"
    who = {
        f"GIT_{role}_{key}": value
        for role in ("AUTHOR", "COMMITTER")
        for key, value in (
            ("NAME", "Test"),
            ("EMAIL", "test@example.com"),
            ("DATE", "2026-01-01T00:00:00Z"),
        )
    }
    alone = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}

    def run(*words):
        environment = {"PATH": os.environ["PATH"], **who, **alone}
        subprocess.run(["git", *words], env=environment, check=True, stdout=subprocess.DEVNULL)

    put(tree / "README", "hello from the repository\n")
    run("init", "--quiet", "--initial-branch=main", str(tree))
    run("-C", str(tree), "add", "README")
    run("-C", str(tree), "commit", "--quiet", "--message", "First")
    run("clone", "--quiet", "--bare", str(tree), str(sites / "git.test/hello.git"))
    run("-C", str(sites / "git.test/hello.git"), "config", "http.receivepack", "true")


def apt(sites):
    tree = sites / "tree"
    control = (
        "Package: hello-apt\nVersion: 1.0\nArchitecture: all\n"
        "Maintainer: Test <test@example.com>\nDescription: hello from the package\n"
    )
    put(tree / "DEBIAN/control", control)
    put(tree / "usr/share/hello-apt/hello", "hello\n")
    root = sites / "apt.test/debian"
    root.mkdir(parents=True)
    build = ["dpkg-deb", "--root-owner-group", "--build", str(tree)]
    deb = [str(root / "hello-apt_1.0_all.deb")]
    subprocess.run(build + deb, check=True, stdout=subprocess.DEVNULL)
    for target, word in (("Packages", "packages"), ("Release", "release")):
        text = subprocess.run(
            ["apt-ftparchive", word, "."], cwd=root, check=True, stdout=subprocess.PIPE
        ).stdout
        put(root / target, text)


MAKERS = {"pip": pip, "npm": npm, "cargo": cargo, "git": git, "apt": apt}
MAKERS[sys.argv[1]](pathlib.Path(sys.argv[2]))
