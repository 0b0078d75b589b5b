#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts by folder how plain the language is. Nothing is enforced.

    language.py [ROOT]

The first table counts the patterns in comments, messages and pages. The second one has two rates of comments and pages:
relative words in 100 words, and commas in a sentence. A star marks a rate above its limit. A message is a string literal
with a space in it. The patterns of a page are counted in its tables too. The rates are those of its paragraphs alone.
"""
import collections
import pathlib
import re
import sys

from links import without_code
from style import tracked

PATTERNS = {
    "behind": r"\bbehind\b",
    "goes on": r"\b(?:go|goes|going|gone|went) on\b",
    "says": r"\b(?:say|says|said)\b",
    "of its own": r"\bof (?:its|one's|their|his) own\b",
    "where the": r"(?:\A|[,;:(.] )where (?:an?|the|it|they|there|one|no|none|its|this|that|both|all|another)\b",
    "Of ...": r"\AOf [a-z]",
    "What ...": r"\AWhat [a-z]",
}
RELATIVE = r"\b(?:which|that|what|whatever|who|whose|where)\b"
LIMITS = {"relative": 2.2, "commas": 0.9}
SHORT = 4  # fewer words than these are no sentence
KINDS = ("comments", "messages", "pages")


def folder_of(path):
    """The row of a file: sdk, runtime/ops, docs/guide; a page at the top has a row of its name."""
    parts = path.split("/")
    return "/".join(parts[:2] if parts[0] in ("runtime", "plugins", "docs") and len(parts) > 2 else parts[:1])


def as_lines(comment):
    """A block as lines of //; a literal, which may have // in it, as nothing."""
    if comment[0].startswith("/*"):
        return "\n".join("// " + line.strip(" *") for line in comment[0][2:-2].split("\n"))
    return comment[0] if comment[0].startswith("//") else '""'


def paragraphs_of_comments(source):
    """Comments without code belong together up to an empty line; one beside code is a paragraph. The licence is none."""
    source = re.sub(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', as_lines, source, flags=re.S)
    found = [""]
    for line in source.splitlines():
        code, _, text = line.partition("//")
        text = "" if "SPDX-License-Identifier" in text else text.strip(" /<!")
        if code.strip() or not text:
            found.append("")
        found[-1] += " " + text
        if code.strip():
            found.append("")
    return [text.strip() for text in found if text.strip()]


def messages_of(source):
    """The string literals with a space in them."""
    code = re.sub(r"^[ \t]*#.*$", "", re.sub(r'//[^\n]*|/\*.*?\*/|("(?:[^"\\\n]|\\.)*")', lambda m: m[1] or " ", source,
                                             flags=re.S), flags=re.M)
    return [text for text in re.findall(r'"((?:[^"\\\n]|\\.)*)"', code) if " " in text.strip()]


def paragraphs_of_page(page, tables):
    """The paragraphs of a page without code, headings and targets of links; with the rows of its tables, if wanted."""
    text = re.sub(r"\]\([^)]*\)", "]", without_code(page))
    text = re.sub(r"^#.*$|^\|[-| ]*\|$", "", text, flags=re.M)
    text = re.sub(r"^\|.*$", lambda row: "\n\n".join(row[0].split("|")) if tables else "", text, flags=re.M)
    text = re.sub(r"^\s*(?:[*-]|\d+\.) ", "\n\n", text, flags=re.M)
    text = re.sub(r"`[^`]*`", "code", text)
    return [" ".join(part.split()) for part in re.split(r"\n\s*\n", text) if part.strip()]


def sentences(paragraphs):
    return [sentence for paragraph in paragraphs for sentence in re.split(r"(?<=[.!?:]) +", " ".join(paragraph.split()))
            if sentence]


def patterns_in(paragraphs):
    """{pattern: how often}"""
    found = collections.Counter()
    for sentence in sentences(paragraphs):
        for name, pattern in PATTERNS.items():
            found[name] += len(re.findall(pattern, sentence, re.I if name == "where the" else 0))
    return found


class Rates:
    def __init__(self):
        self.words = self.relative = self.commas = self.sentences = 0

    def add(self, paragraphs):
        whole = [sentence for sentence in sentences(paragraphs) if len(sentence.split()) >= SHORT]
        self.sentences += len(whole)
        for text in paragraphs:
            self.words += len(text.split())
            self.relative += len(re.findall(RELATIVE, text, re.I))
            self.commas += text.count(",")

    def values(self):
        return {"relative": 100 * self.relative / max(self.words, 1), "commas": self.commas / max(self.sentences, 1)}


def count(files):
    """files: {path: text}. ({folder: {kind: patterns}}, {folder: rates of its comments or pages})"""
    patterns = collections.defaultdict(lambda: {kind: collections.Counter() for kind in KINDS})
    rates = collections.defaultdict(Rates)
    for path, text in files.items():
        folder = folder_of(path)
        if path.endswith(".md"):
            patterns[folder]["pages"] += patterns_in(paragraphs_of_page(text, tables=True))
            rates[folder + " (pages)"].add(paragraphs_of_page(text, tables=False))
        else:
            comments = paragraphs_of_comments(text)
            patterns[folder]["comments"] += patterns_in(comments)
            patterns[folder]["messages"] += patterns_in(messages_of(text))
            rates[folder].add(comments)
    return patterns, rates


def print_tables(files):
    patterns, rates = count(files)
    print("patterns in" + " " * 20 + "".join(f"{kind:>10}" for kind in KINDS) + "   of these")
    total = collections.Counter()
    for folder, kinds in sorted(patterns.items()):
        found = sum(kinds.values(), collections.Counter())
        total += found
        print(f"  {folder:28} " + "".join(f"{kinds[kind].total():10}" for kind in KINDS) + "   " +
              ", ".join(f"{name} {n}" for name, n in found.most_common(3) if n))
    print(f"  all: {total.total()}: " + ", ".join(f"{name} {n}" for name, n in total.most_common()))
    print("rates of" + " " * 27 + "words   relative words in 100   commas in a sentence")
    for folder, of_folder in sorted(rates.items()):
        shown = {name: f"{value:.1f}{'*' if round(value, 1) > LIMITS[name] else ' '}"
                 for name, value in of_folder.values().items()}
        print(f"  {folder:28} {of_folder.words:9} {shown['relative']:>22} {shown['commas']:>22}")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    print_tables({path: (root / path).read_text(encoding="utf-8") for path in tracked(root, "*.cc", "*.h", "*.c", "*.md")})


if __name__ == "__main__":
    main()
