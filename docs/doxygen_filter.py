#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the public headers as Doxygen reads them: plain comments become documentation, line for line.

    doxygen_filter.py TO FOLDER...

The headers of each folder are written to the folder of the same name in TO. Doxygen could call this program for each
header as its INPUT_FILTER, but took a hundred times longer then.

Headers have no mark-up. A comment in front of a declaration, or behind it on its line, is the declaration's; the one at
the top is the file's; what is indented below an empty line is an example. `Class::member` in a comment becomes a
reference, which Doxygen refuses where there is no such member. belay/abi.h is C and has /* */ for the same.
"""
import pathlib
import re
import shutil
import sys

LICENCE = re.compile(r"// SPDX-License-Identifier: .*")
OWN_LINE = re.compile(r"( *)//( .*)?")
BEHIND = re.compile(r"(.*(?:[;,]|\w|\)|\]) )( *)// (.*)")
C_BEGIN = re.compile(r"( *)/\*( .*)")
C_BEHIND = re.compile(r"(.*[;,\w]) /\*( .*)")
C_MORE = re.compile(r"( *)(?:\*(?!/))?(.*)")
ITEM = re.compile(r" *(\*|-|\d+\.) ")
MEMBER = re.compile(r"(?<![\w:/])(?!Eigen)[A-Z]\w*::\w+(?:\(\))?(?![\w:])")


def escaped(text, scope=""):
    """Nothing in a comment is a command or a tag. Code between ` stays as it is."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else
                   MEMBER.sub(lambda name: f'\\ref {scope}{name[0]} "{name[0]}"', re.sub(r"[\\@<>#&%]", r"\\\g<0>", part))
                   for part in parts)


class Comment:
    """The lines of one comment in their order: which of them are examples depends on those before."""

    def __init__(self, scope=""):
        self.scope = scope  # where the names in it are looked up, if it is in none
        self.blank = self.example = self.item = False

    def line(self, text):
        """text: what is behind the //, with its spaces."""
        if not text.strip():
            self.blank = True
            return ""
        indented = text.startswith("   ")
        self.item = bool(ITEM.match(text)) or self.item and indented
        self.example = indented and not self.item and (self.blank or self.example)
        self.blank = False
        return "   " + text if self.example else escaped(text, self.scope)


class Filter:
    def __init__(self):
        self.comment = None  # that of the line before
        self.column = None   # where it began, if it is behind a declaration
        self.in_c = False

    def c_line(self, text):
        """What is behind a /* or in the lines below it, up to */."""
        text, end, rest = text.partition("*/")
        line = self.comment.line(text.rstrip() if end else text) + (" */" + rest if end else "")
        self.in_c = not end
        if end:
            self.comment = None
        return line

    def line(self, line):
        if self.in_c:
            more = C_MORE.fullmatch(line)
            return f"{more[1]}*{self.c_line(more[2])}"
        if LICENCE.fullmatch(line):
            self.comment = Comment("belay::")
            return "/// \\file"
        own, behind = OWN_LINE.fullmatch(line), BEHIND.fullmatch(line)
        if own and self.column == len(own[1]):
            return f"{own[1]}///<{escaped(own[2] or '')}"
        self.column = None
        if own:
            self.comment = self.comment or Comment()
            return f"{own[1]}///{self.comment.line(own[2] or '')}"
        if begin := C_BEGIN.fullmatch(line):
            self.comment = Comment()
            return f"{begin[1]}/**{self.c_line(begin[2])}"
        self.comment = None
        if behind and behind[1].count('"') % 2 == 0:
            self.column = len(behind[1] + behind[2])
            return f"{behind[1]}{behind[2]}///< {escaped(behind[3])}"
        if behind := C_BEHIND.fullmatch(line):
            self.comment = Comment()
            return f"{behind[1]} /**<{self.c_line(behind[2])}"
        return line


def filtered(text):
    # The namespace of the ABI's version is in no name that an author writes.
    text = re.sub(r"^inline namespace v0 \{", 'extern "C++" {', text, flags=re.MULTILINE)
    lines, result = Filter(), []
    # In C the file's comment is the one below the licence.
    if text.startswith("// SPDX") and text.partition("\n")[2].startswith("/* "):
        lines.in_c, lines.comment = True, Comment()
        text = text.partition("\n")[2].replace("/*", " *", 1)
        result = ["/** \\file"]
    return "\n".join(result + [lines.line(line) for line in text.split("\n")])


def main():
    to = pathlib.Path(sys.argv[1])
    shutil.rmtree(to, ignore_errors=True)
    for folder in sys.argv[2:]:
        for header in pathlib.Path(folder).rglob("*.h"):
            (to / header).parent.mkdir(parents=True, exist_ok=True)
            (to / header).write_text(filtered(header.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
