#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the codes of errors in the sources with docs/reference/codes.md.

    codes.py [ROOT]

Each code in a string of the sources has one section, and each section is of a code in the sources, or has a line
that begins with "Retired". A section has an example with its code and a line that begins with "Fix: ". Sections are in
the order of their codes.
"""
import pathlib
import re
import sys

FOLDERS = ("runtime", "plugins", "sdk/include")
PAGE = "docs/reference/codes.md"
CODE = re.compile(r"(?<![A-Za-z0-9])B\d{4}(?![A-Za-z0-9])")
STRING_OR_COMMENT = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*')
SECTION = re.compile(r"^### (B\d{4}): (.+)$", re.MULTILINE)


def codes_in(text):
    """The codes in the strings of a source."""
    return {code for token in STRING_OR_COMMENT.findall(text) if token.startswith('"')
            for code in CODE.findall(token)}


def used_codes(root):
    used = {}
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            if path.suffix in (".cc", ".h") and not path.name.endswith("_test.cc"):
                for code in codes_in(path.read_text(encoding="utf-8")):
                    used.setdefault(code, path.relative_to(root))
    return used


def problems(used, page):
    """Returns a sentence for each difference between the used codes and the page."""
    parts = SECTION.split(page)[1:]
    sections = list(zip(parts[::3], parts[2::3]))
    codes = [code for code, _ in sections]
    found = [f"{PAGE}: {code} has two sections" for code in sorted({c for c in codes if codes.count(c) > 1})]
    if codes != sorted(codes):
        found.append(f"{PAGE}: the sections are not in the order of their codes")
    found += [f"{used[code]}: {code} has no section in {PAGE}" for code in sorted(used) if code not in codes]
    for code, text in sections:
        if "\nRetired" in text:
            continue
        if code not in used:
            found.append(f"{PAGE}: no source uses {code}; add a line that begins with \"Retired\"")
        if not re.search(rf"^    .*\b{code}\b", text, re.MULTILINE):
            found.append(f"{PAGE}: {code} has no example with its code")
        if "\nFix: " not in text:
            found.append(f"{PAGE}: {code} has no line that begins with \"Fix: \"")
    return found


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    found = problems(used_codes(root), (root / PAGE).read_text(encoding="utf-8"))
    for problem in found:
        print(problem)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
