#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows who calls whom in runtime/: a picture of the folders, and two lines in the README.md of each.

    folders.py [ROOT] [--write]

The picture is docs/design/overview.svg. Its arrows are includes, and calls of the tables of plugins. The README.md of a
folder begins with "# NAME: PHRASE", the words of the picture, and has 5 to 15 lines. Two of them list the folders that
this one includes, and the folders that include it. Each shelf of a folder (includes.py), sdk/, plugins/, tests/ and bench/
have a README.md too.

Without --write, prints the pages that differ from the tree. --write writes the picture and these lines again.
"""
import html
import pathlib
import re
import sys

from includes import Tree, includes

PICTURE = "docs/design/overview.svg"
TOP_FOLDERS = ("sdk", "plugins", "tests", "bench")
EVERYWHERE = ("sdk", "include", "platform")  # the picture leaves out the arrows to these
GENERATED = ("runtime/events/proto",)  # a part of events that folders before events include
EVERY_KIND = ("loader", "testing", "validate")  # they check or drive the tables of all kinds
LINES = range(5, 16)


class Folders:
    def __init__(self, root):
        tree = Tree(root)
        self.names = [name_of(folder) for folder in tree.order if folder not in GENERATED]
        self.shelves = tree.shelves
        self.includes = {name: set() for name in self.names}
        self.calls = {kind.name.removesuffix("s"): set() for kind in sorted((root / "plugins").iterdir()) if kind.is_dir()}
        for path, text in tree.files.items():
            name = name_of(tree.folder_of(path))
            if name is None or path.endswith(("_test.cc", "_test.h")):
                continue
            files = [tree.included(path, header) for _, header in includes(text)]
            self.includes[name] |= {name_of(tree.folder_of(file)) for file in files if file} - {name, None}
            for kind, callers in self.calls.items():
                if path.endswith(".cc") and name not in EVERY_KIND and f"belay_{kind}_api" in text:
                    callers.add(name)

    def in_order(self, names):
        return sorted(names, key=self.names.index)

    def users(self, name):
        return {other for other in self.names if name in self.includes[other]}

    def below(self, name):
        """The folders that a folder reaches by one include or several."""
        return set().union(*({other} | self.below(other) for other in self.includes[name]))

    def arrows(self):
        """[(from, to)] without those that follow from others."""
        return [(name, other) for name in self.names for other in self.in_order(self.includes[name])
                if not EVERYWHERE.count(other) and not any(other in self.below(via) for via in self.includes[name])]


def name_of(folder):
    return None if folder is None or folder in GENERATED else folder.removeprefix("runtime/")


def page_of(name):
    return f"{'' if name == 'sdk' else 'runtime/'}{name}/README.md"


def lists_of(folders, name):
    """The two lines of a folder's page."""
    def listed(names):
        return ", ".join(f"`{other}`" for other in folders.in_order(names)) or "no other folder"
    return [f"* Includes: {listed(folders.includes[name])}", f"* Used by: {listed(folders.users(name))}"]


def with_lists(page, lists):
    for line in lists:
        page = re.sub(rf"^{re.escape(line.split(':')[0])}: .*$", line, page, flags=re.M)
    return page


def picture(folders, phrases):
    """The folders from the last to the first, arrows on the left, plugins on the right."""
    rows = list(reversed(folders.names))
    height, left, width, boundary, right = 34, 110, 370, 530, 590
    top = {name: 44 + height * i for i, name in enumerate(rows)}
    middle = {name: y + 13 for name, y in top.items()}
    end = 44 + height * len(rows)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="750" height="{end + 26}" font-family="sans-serif" font-size="13">',
           '<title>The folders of runtime/: who calls whom</title>',
           '<style>text { fill: #222 } path, line { stroke: #567; fill: none } rect { fill: #eef3f8; stroke: #9ab } '
           '.plugin { fill: #f6efe2; stroke: #ca9 } .small { font-size: 11px; fill: #567 }</style>',
           '<defs><marker id="head" markerWidth="8" markerHeight="8" refX="7" refY="4" orient="auto">'
           '<path d="M0,0 L8,4 L0,8 z" style="fill: #567"/></marker></defs>',
           '<rect width="100%" height="100%" style="fill: #fff; stroke: none"/>',
           f'<text x="{left}" y="28" class="small">folders of runtime/, and sdk; each calls those that its arrows reach</text>',
           f'<line x1="{boundary}" y1="36" x2="{boundary}" y2="{end}" stroke-dasharray="5,4"/>',
           f'<text x="{boundary}" y="28" text-anchor="middle" class="small">belay/abi.h</text>',
           f'<text x="{right}" y="28" class="small">plugins, by kind</text>']
    for name in rows:
        out.append(f'<rect x="{left}" y="{top[name]}" width="{width}" height="26" rx="4"/>')
        out.append(f'<text x="{left + 10}" y="{middle[name] + 4}"><tspan font-weight="bold">{name}</tspan>'
                   f'<tspan dx="8">{html.escape(phrases[name])}</tspan></text>')
    for name, other in folders.arrows():
        bend = left - min(14 + 11 * abs(rows.index(other) - rows.index(name)), 90)
        out.append(f'<path d="M{left},{middle[name] + 4} C{bend},{middle[name] + 4} {bend},{middle[other] - 4} '
                   f'{left - 1},{middle[other] - 4}" marker-end="url(#head)"/>')
    for name in rows:
        kinds = [kind for kind, callers in folders.calls.items() if name in callers]
        if kinds:
            out.append(f'<rect x="{right}" y="{top[name]}" width="150" height="26" rx="4" class="plugin"/>')
            out.append(f'<text x="{right + 10}" y="{middle[name] + 4}">{", ".join(kinds)}</text>')
            out.append(f'<line x1="{left + width}" y1="{middle[name]}" x2="{right - 1}" y2="{middle[name]}" '
                       'marker-end="url(#head)"/>')
    out.append(f'<text x="{left}" y="{end + 12}" class="small">Nearly all folders include {", ".join(EVERYWHERE)}: '
               'these arrows are left out, and those that follow from others.</text>')
    return "\n".join(out + ["</svg>", ""])


def wanted(root, folders):
    """({path: the text that it should have}, [what no program can write])"""
    files, problems, phrases = {}, [], {}
    others = [f"{folder}/README.md" for folder in (*folders.shelves, *TOP_FOLDERS)]
    for page in [page_of(name) for name in folders.names] + others:
        if not (root / page).is_file():
            problems.append(f"{page}: there is none")
        elif len((root / page).read_text(encoding="utf-8").splitlines()) not in LINES:
            problems.append(f"{page}: it has fewer than {LINES[0]} or more than {LINES[-1]} lines")
    for name in folders.names:
        page = page_of(name)
        text = (root / page).read_text(encoding="utf-8") if (root / page).is_file() else ""
        head = re.match(rf"# {re.escape(name)}: (.+)\n", text)
        phrases[name] = head[1] if head else ""
        if not head:
            problems.append(f"{page}: it does not begin with # {name}: PHRASE")
        files[page] = with_lists(text, lists_of(folders, name))
        problems += [f"{page}: no line begins with {line.split(':')[0]}:" for line in lists_of(folders, name)
                     if line not in files[page].splitlines()]
    files[PICTURE] = picture(folders, phrases)
    return files, problems


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    root = pathlib.Path(arguments[0] if arguments else ".")
    files, problems = wanted(root, Folders(root))
    for path, text in files.items():
        now = (root / path).read_text(encoding="utf-8") if (root / path).is_file() else ""
        if text == now:
            continue
        if "--write" in sys.argv:
            (root / path).write_text(text, encoding="utf-8")
        else:
            problems.append(f"{path}: it is not as the tree is now: ./dev picture writes it again")
    for problem in problems:
        print(problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
