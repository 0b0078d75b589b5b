#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the relative links of the pages that lead nowhere, and the pages that no link leads to.

    links.py [ROOT]

Checked is every tracked .md: the file or folder that a link names is tracked, and a heading makes the anchor behind its #.
Links inside code are none. From README.md a reader gets to every page but those of sdk/template/, which `belay new`
copies. Status 77 where ROOT is no git tree, as in a release's archive.
"""
import collections
import pathlib
import posixpath
import re
import subprocess
import sys

START = "README.md"
TEMPLATE = "sdk/template/"
LINK = re.compile(r"\[[^\[\]]*\]\(([^()\s]+)\)")
ELSEWHERE = re.compile(r"[a-z]+:")  # https:, mailto:


def without_code(text):
    """Blocks of code, fenced or indented, become empty lines; the rest stays where it is."""
    lines, fenced = [], False
    for line in text.split("\n"):
        fence = line.startswith("```")
        fenced ^= fence
        lines.append("" if fence or fenced or line.startswith("    ") else line)
    return "\n".join(lines)


def links(text):
    """[(line, target)]"""
    text = re.sub(r"`[^`]*`", lambda code: re.sub(r"[^\n]", "_", code[0]), without_code(text))
    return [(text.count("\n", 0, match.start()) + 1, match[1]) for match in LINK.finditer(text)
            if not ELSEWHERE.match(match[1])]


def anchors(text):
    """What a link to this page may have behind its #, as GitHub makes them from the headings."""
    found, seen = set(), collections.Counter()
    for heading in re.findall(r"^#+ +(.*?)[ #]*$", without_code(text), re.MULTILINE):
        heading = re.sub(r"\[([^\[\]]*)\]\([^()]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found.add(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def wrong(pages, paths):
    """pages: {path: text}; paths: all files."""
    lines, reached, to_read = [], {START}, [START]
    targets = set(paths) | {parent.as_posix() for path in paths for parent in pathlib.PurePosixPath(path).parents}
    leads_to = collections.defaultdict(list)
    for page, text in pages.items():
        for line, link in links(text):
            path, _, anchor = link.partition("#")
            target = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
            if target not in targets:
                lines.append(f"{page}:{line}: {link}: there is no {target}")
            elif anchor and anchor not in anchors(pages.get(target, "")):
                lines.append(f"{page}:{line}: {link}: {target} has no heading for #{anchor}")
            leads_to[page].append(target)
    while to_read:
        for target in leads_to[to_read.pop()]:
            if target in pages and target not in reached:
                reached.add(target)
                to_read.append(target)
    return lines + [f"{page}: no link from {START} leads here, nor one from a page that it leads to"
                    for page in sorted(pages) if page not in reached and not page.startswith(TEMPLATE)]


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    listed = subprocess.run(["git", "-C", root, "ls-files", "-z"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if listed.returncode != 0:
        print(f"SKIPPED: {listed.stderr.strip()}")
        return 77
    paths = [path for path in listed.stdout.split("\0") if path and (root / path).exists()]
    found = wrong({path: (root / path).read_text(encoding="utf-8") for path in paths if path.endswith(".md")}, paths)
    for line in found:
        print(line)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
