"""Reads the tables of the tests: tab-separated lines, `#` before a comment."""


def rows(path):
    """The fields of each line, with its number."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                yield number, line.rstrip("\n").split("\t")
