#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the tracked sources that do not begin with the line that names their licence.

    licences.py [ROOT]

The line is the first one, or the second one under #!. Left out is what becomes somebody else's: sdk/template/, which
`belay new` copies. Status 77 where ROOT is no git tree, as in a release's archive.
"""
import pathlib
import subprocess
import sys

LINE = "SPDX-License-Identifier: Apache-2.0"
COMMENT = {".cc": "//", ".h": "//", ".c": "//", ".rs": "//", ".go": "//", ".proto": "//", ".js": "//", ".py": "#",
           ".sh": "#", ".cmake": "#"}
SCRIPTS = ("dev", ".ci/run")
TEMPLATE = "sdk/template/"
C89 = "sdk/include/belay/abi"  # abi.h and its parts, which have no comments of C++


def comment_of(path):
    """How a comment begins in this file; None: it needs no line."""
    if path.startswith(TEMPLATE):
        return None
    file = pathlib.PurePath(path)
    if path in SCRIPTS or file.name == "CMakeLists.txt" or file.name.endswith(".cmake.in"):
        return "#"
    return COMMENT.get(file.suffix)


def missing(root, paths):
    found = []
    for path in paths:
        comment = comment_of(path)
        if comment is None:
            continue
        with open(root / path, encoding="utf-8") as file:
            first = file.readline()
            if first.startswith("#!"):
                first = file.readline()
        wanted = f"/* {LINE} */" if path.startswith(C89) else f"{comment} {LINE}"
        if first.rstrip("\n") != wanted:
            found.append(path)
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if listed.returncode != 0:
        print(f"SKIPPED: {listed.stderr.strip()}")
        return 77
    found = missing(root, [path for path in listed.stdout.split("\0") if path and (root / path).exists()])
    for path in found:
        print(f"{path}: the first line is not {'/* */' if path.startswith(C89) else comment_of(path)} with '{LINE}'")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
