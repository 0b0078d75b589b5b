#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the tests that docs/reference/contract.md names with the sources, both ways.

    contract_test.py ROOT [--write]

--write puts the column right: after tests were added or moved.
"""
import collections
import pathlib
import re
import sys

import report

ROOT = pathlib.Path(sys.argv[1])
PAGE = ROOT / "docs" / "reference" / "contract.md"
# What begins a test in a source or in a CMakeLists.txt; its name follows in the same line or in the next one.
NAMED = re.compile(r"(?:\bTEST(?:_[FP])?\s*\(\s*\w+\s*,|\bNAME)\s*([A-Z]+)_([0-9]+[A-Za-z]?)_[A-Z]\w+")


def tests_of_the_tree():
    """{row: the files, from the root, that have a test of it}."""
    found = collections.defaultdict(set)
    for folder in ("tests", "plugins", "bench"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix != ".cc" and path.name != "CMakeLists.txt":
                continue
            for family, number in NAMED.findall(path.read_text(encoding="utf-8")):
                found[f"{family}-{number}"].add(path.relative_to(ROOT).as_posix())
    return found


def column(files):
    """The cell, as the page has it."""
    return ", ".join(f"[{pathlib.Path(file).stem if file.endswith('.cc') else file}](../../{file})" for file in sorted(files))


def main():
    rows, tests = report.read_rows(PAGE), tests_of_the_tree()
    wrong = [(name, column(tests[name])) for name, row in rows.items() if row.tests != column(tests[name])]
    if "--write" in sys.argv:
        page = PAGE.read_text(encoding="utf-8")
        for name, cell in wrong:
            page = re.sub(rf"(?m)^(\| {name} \|.*\|)[^|]*\|$", lambda line: f"{line[1]} {cell} |", page)
        PAGE.write_text(page, encoding="utf-8")
        return 0
    for name, cell in wrong:
        print(f"{PAGE}: {name} names {rows[name].tests or 'no test'}; the tree has {cell or 'none'}")
    if wrong:
        print(f"{pathlib.Path(__file__).name} {ROOT} --write puts this right")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
