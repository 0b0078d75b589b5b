# SPDX-License-Identifier: Apache-2.0
"""Lists each message of an error in the sources: its place and its statement in one line.

  messages.py ROOT [FOLDER...]            all of them
  messages.py ROOT --without-code [FOLDER...]   those that have no stable code

A message is an argument of one of the calls below. The list is for reading, and for a comparison before and after a
change of texts.
"""

import re
import sys
from pathlib import Path

CALL = re.compile(r"(?:\bproblems?_?(?:\.|->)add|\brefuse(?:_type)?|\b(?:\w+\.)?check|\bfail(?:_at)?|\bLoadError|"
                  r"\bthrow (?:Error|NoteError|UnknownHere|UsageError|RestoreError|RunInUse)|\bDiagnostic)\s*[({]")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"')
CODE = re.compile(r"\[B\d{4}\] ")


def calls(text):
    """Yields the offset and the text of each call, with its balanced brackets."""
    for found in CALL.finditer(text):
        depth, at, quoted = 0, found.end() - 1, False
        while at < len(text):
            c = text[at]
            if quoted:
                at += c == "\\"
                quoted = c != '"'
            elif c == '"':
                quoted = True
            elif c in "({[":
                depth += 1
            elif c in ")}]":
                depth -= 1
                if depth == 0:
                    break
            at += 1
        yield found.start(), text[found.start():at + 1]


def messages(root, folders):
    for folder in folders:
        for file in sorted((root / folder).rglob("*")):
            if file.suffix not in (".cc", ".h") or file.name.endswith("_test.cc"):
                continue
            text = file.read_text()
            for at, call in calls(text):
                if STRING.search(call):
                    yield file.relative_to(root), text.count("\n", 0, at) + 1, " ".join(call.split())


def main():
    root, rest = Path(sys.argv[1]), sys.argv[2:]
    without_code = "--without-code" in rest
    folders = [f for f in rest if f != "--without-code"] or ["runtime", "plugins"]
    for file, line, call in messages(root, folders):
        if not (without_code and CODE.search(call)):
            print(f"{file}:{line}: {call}")


if __name__ == "__main__":
    main()
