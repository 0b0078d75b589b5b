#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The diffs of docs/design/recipes.md consist of lines of today's tree.

"+++ FILE" begins the lines of a file, and "@@" or "+..." leaves lines out. Elsewhere "..." is any text within a line.
"""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/design/recipes.md"


def files_of(page):
    """[(file, [lines that follow each other])], in the order of the page."""
    found = []
    for diff in re.findall(r"^```diff\n(.*?)^```", page, re.M | re.S):
        for line in diff.splitlines():
            if line.startswith("+++ "):
                found.append((line[4:], [[]]))
            elif line in ("@@", "+..."):
                found[-1][1].append([])
            else:
                found[-1][1][-1].append(line[1:])
    return found


def missing(text, hunks):
    """The first line of each hunk that `text` does not have after the hunks before it."""
    at, absent = 0, []
    for hunk in hunks:
        pattern = "\n".join(".*".join(map(re.escape, line.split("..."))) for line in hunk)
        match = re.compile(rf"^{pattern}$", re.M).search(text, at)
        if match:
            at = match.end()
        else:
            absent.append(hunk[0])
    return absent


class RecipesTest(unittest.TestCase):
    def test_each_line_of_a_diff_is_in_its_file(self):
        files = files_of(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(files), 20)
        for path, hunks in files:
            with self.subTest(path):
                self.assertEqual(missing((ROOT / path).read_text(encoding="utf-8"), [hunk for hunk in hunks if hunk]), [])

    def test_a_changed_line_or_another_order_is_found(self):
        text = "int a;\nint b;  // metres\nint c;\n"
        self.assertEqual(missing(text, [["int a;", "int b;..."], ["int c;"]]), [])
        self.assertEqual(missing(text, [["int a;", "int c;"]]), ["int a;"])
        self.assertEqual(missing(text, [["int c;"], ["int a;"]]), ["int a;"])


if __name__ == "__main__":
    unittest.main()
