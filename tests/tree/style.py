#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts what can be counted of the style of the tracked sources; nothing is enforced.

    style.py [ROOT]

Printed are, for the library and for its tests, the number and the length of files and functions (code lines, without
blank ones and comments); the share of comment lines in public headers and elsewhere; the words that plain prose avoids;
and the largest files. Functions are those of three lines or more that Universal Ctags finds.
"""
import collections
import pathlib
import re
import statistics
import subprocess
import sys

LIBRARY = ("runtime/", "sdk/", "plugins/")
PUBLIC = (r"sdk/include/belay/(?!detail/|testing/)", r"runtime/include/belay/")
LIMIT = 450  # code lines of a file, but of those that are generated
# Whole words; a code review would ask for others in comments, messages and docs.
WORDS = ("gives", "tells", "stands", "text", "texts", "truth", "whoever", "nobody", "of one's own", "dear", "laggard",
         "laggards")


def tracked(root, *patterns):
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z", *patterns], stdout=subprocess.PIPE, check=True, text=True)
    return [path for path in listed.stdout.split("\0") if path and (root / path).exists()]


def count_lines(text):
    """(code, comment) lines; the line of the licence and lines that only separate are neither."""
    code = comment = 0
    inside = False
    for line in text.splitlines():
        line = line.strip()
        if not line or "SPDX-License-Identifier" in line:
            continue
        if inside or line.startswith(("//", "/*")):
            words = line.strip("/* \t")
            comment += 1 if re.search(r"\w", words) and not re.fullmatch(r"-*[\w ,]*-{4,}", words) else 0
            inside = (inside or line.startswith("/*")) and "*/" not in line
            continue
        code += 1
        comment += 1 if re.search(r"/[/*<]", line) else 0  # one that says something beside the code
    return code, comment


def tags(root, paths, kinds="f"):
    """(name, path, {line, end, kind, scope and what else Universal Ctags knows}) of each function, or of other kinds."""
    # The kinds of C++ come last, since those of C change what the two languages share.
    output = subprocess.run(["ctags", "-f", "-", "-L", "-", "--languages=C++,C", "--langmap=C++:+.h", "--kinds-C=f",
                             f"--kinds-C++={kinds}", "--fields=+neKZ", "--excmd=number"], input="\n".join(paths), cwd=root,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, text=True).stdout
    for line in output.splitlines():
        name, path, _, kind, *fields = line.split("\t")
        yield name, path, {"kind": kind, **dict(field.split(":", 1) for field in fields if ":" in field)}


def function_lengths(root, paths):
    """(lines, place) of each function, longest first."""
    found = []
    for name, path, tag in tags(root, paths):
        lines = int(tag.get("end", 0)) - int(tag["line"]) + 1
        if lines >= 3:
            found.append((lines, f"{path}:{tag['line']} {name}"))
    return sorted(found, reverse=True)


def spread(numbers):
    numbers = sorted(numbers)
    return f"median {statistics.median(numbers):.0f}, 90th percentile {numbers[int(len(numbers) * 0.9)]}" if numbers else "none"


def words_in(text):
    return collections.Counter(word.lower() for word in re.findall(rf"\b(?:{'|'.join(WORDS)})\b", text, re.I))


def prose(page):
    """A page without `code` and the languages of its blocks."""
    return re.sub(r"^```.*$|`[^`\n]*`", "", page, flags=re.M)


def comments_and_strings(text):
    """What of a source people read."""
    text = re.sub(r"^#include .*$", "", text, flags=re.M)
    return "\n".join(re.findall(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', text, re.S))


def print_group(root, name, paths, lines):
    print(f"{name}: {len(paths)} files, {sum(lines[p][0] for p in paths)} code lines")
    print(f"  files      {spread([lines[p][0] for p in paths])}")
    print(f"  functions  {spread([length for length, _ in function_lengths(root, paths)])}")


def share(paths, lines):
    code, comment = (sum(lines[p][i] for p in paths) for i in (0, 1))
    return f"{100 * comment / max(code + comment, 1):.0f} % of {code + comment} lines"


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    paths = tracked(root, "*.cc", "*.h", "*.c")
    texts = {path: (root / path).read_text(encoding="utf-8") for path in paths}
    lines = {path: count_lines(text) for path, text in texts.items()}
    library = [path for path in paths if path.startswith(LIBRARY) and not path.endswith(("_test.cc", "_test.h"))]
    tests = [path for path in paths if path not in library and not path.startswith("examples/")]
    public = [path for path in library if path.endswith(".h") and any(re.match(p, path) for p in PUBLIC)]
    print_group(root, "library", library, lines)
    print_group(root, "tests and benchmarks", tests, lines)
    print(f"comments: public headers {share(public, lines)}; rest of the library "
          f"{share([path for path in library if path not in public], lines)}")
    found = collections.Counter()
    for path in paths:
        found += words_in(comments_and_strings(texts[path]))
    for path in tracked(root, "*.md"):
        found += words_in(prose((root / path).read_text(encoding="utf-8")))
    print(f"words to avoid: {sum(found.values())}: " + ", ".join(f"{word} {n}" for word, n in found.most_common()))
    largest = sorted(((lines[path][0], path) for path in paths), reverse=True)
    print(f"largest files ({sum(n > LIMIT for n, _ in largest)} over {LIMIT} code lines):")
    for n, path in largest[:10]:
        print(f"  {n:5} {path}")
    print("longest functions of the library:")
    for n, place in function_lengths(root, library)[:10]:
        print(f"  {n:5} {place}")


if __name__ == "__main__":
    main()
