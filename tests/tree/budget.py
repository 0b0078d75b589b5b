#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds runtime/ to its budget: how much one class, one folder and one function may be.

    budget.py [ROOT]

The rules are RULES below. Prints what breaks one, and fails if there is any.

Members and methods are those that a class declares itself. Overloads count each; constructors, destructors and operators
do not count. Structs of options are lists, so they may be longer.
"""
import collections
import pathlib
import re
import sys

import style

MEMBERS, METHODS, SOURCES, LINES = 25, 50, 25, 80
OPTIONS = r"(Options|Settings|Arguments)$"
STATEMENTS = 10  # a function with at most that many is a table of data, however long it is
# The owner of a run decides once, in STRATEGY, whether it has ranks or replays. Nothing in these folders asks again.
RUN_FOLDERS = ("monitored", "cluster", "estimator", "api", "cli")
STRATEGY = "runtime/estimator/run/run_strategy.cc"
# `call.ranks` is the group that a hook names for a collective.
NULL_TEST = r"(?<!\bcall\.)\b(ranks|replay)_?(\(\))? *[!=]= *nullptr|nullptr *[!=]= *[\w.>-]*\b(ranks|replay)_?\b"
# Classes with one name in belay and in belay::runtime, each with the reason. The list never becomes longer.
HANDLE = "a program holds a handle, and sees no header of the engine"
TWO_NAMESPACES = {
    "CheckpointReader": HANDLE,
    "Coordinator": "a plugin holds a handle, and calls the host through a table",
    "MonitoredSession": HANDLE,
    "MonitoredTrainingSession": HANDLE,
    "SingularMonitoredSession": HANDLE,
    "Supervisor": HANDLE,
}


def without_words(text):
    """The source with its lines, but with neither comments nor the insides of strings."""
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    return re.sub(r"//[^\n]*|/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), text, flags=re.S)


class Runtime:
    def __init__(self, root):
        paths = [str(path.relative_to(root)) for path in sorted((root / "runtime").rglob("*.*")) if path.suffix in (".cc", ".h")]
        self.paths = [path for path in paths if not path.endswith(("_test.cc", "_test.h"))]
        self.lines = {path: without_words((root / path).read_text(encoding="utf-8")).splitlines() for path in self.paths}
        sdk = [str(path.relative_to(root)) for path in sorted((root / "sdk").rglob("*.h"))]
        self.tags = list(style.tags(root, self.paths + sdk, "cspfm"))

    def classes(self):
        """(name, path, tag) of each class and struct of runtime/."""
        return [(name, path, tag) for name, path, tag in self.tags if tag["kind"] in ("class", "struct") and path in self.lines]

    def full_name(self, name, tag):
        return f"{tag['scope'].split(':', 1)[1]}::{name}" if "scope" in tag else name


def wrong_classes(runtime):
    declared = collections.defaultdict(list)  # (path, class) -> tags of what it declares
    for name, path, tag in runtime.tags:
        kind, _, scope = tag.get("scope", "").partition(":")
        if kind in ("class", "struct") and not name.startswith(("~", "operator")):
            declared[path, scope].append((name, tag))
    for name, path, tag in runtime.classes():
        if re.search(OPTIONS, name):
            continue
        inside = [(other, t["kind"]) for other, t in declared[path, runtime.full_name(name, tag)]
                  if int(tag["line"]) <= int(t["line"]) <= int(tag.get("end", 0)) and other != name]
        members = sum(kind == "member" for _, kind in inside)
        methods = sum(kind in ("function", "prototype") for _, kind in inside)
        if members > MEMBERS or methods > METHODS:
            yield f"{path}:{tag['line']}: {name} has {members} members and {methods} methods; at most {MEMBERS} and {METHODS}"


def wrong_folders(runtime):
    sources = collections.Counter(str(pathlib.PurePath(path).parent) for path in runtime.paths if path.endswith(".cc"))
    for folder, count in sorted(sources.items()):
        if count > SOURCES:
            yield f"{folder}: {count} sources; a folder has at most {SOURCES}"


def wrong_functions(runtime):
    for name, path, tag in runtime.tags:
        first, last = int(tag["line"]), int(tag.get("end", 0))
        if tag["kind"] != "function" or path not in runtime.lines or last - first < LINES:
            continue
        if sum(line.count(";") for line in runtime.lines[path][first - 1:last]) > STATEMENTS:
            yield f"{path}:{first}: {name} has {last - first + 1} lines; a function has at most {LINES}"


def wrong_null_tests(runtime):
    for path in runtime.paths:
        if path.split("/")[1] not in RUN_FOLDERS or path == STRATEGY:
            continue
        for number, line in enumerate(runtime.lines[path], 1):
            if re.search(NULL_TEST, line):
                yield f"{path}:{number}: asks whether there are ranks or a replay; the strategy of the run knows it"


def wrong_names(runtime):
    outer = {name for name, _, tag in runtime.tags if tag["kind"] in ("class", "struct")
             and tag.get("scope") in ("namespace:belay", "namespace:belay::v0")}
    both = {name: f"{path}:{tag['line']}" for name, path, tag in runtime.classes()
            if name in outer and tag.get("scope") == "namespace:belay::runtime"}
    for name, place in sorted(both.items()):
        if name not in TWO_NAMESPACES:
            yield f"{place}: {name} is a class of belay and one of belay::runtime; make them one, or rename one"
    for name in sorted(TWO_NAMESPACES.keys() - both.keys()):
        yield f"TWO_NAMESPACES of budget.py: {name} is no longer in both namespaces; take it out"


RULES = {"classes": wrong_classes, "folders": wrong_folders, "functions": wrong_functions,
         "null tests": wrong_null_tests, "names": wrong_names}


def wrong(root, rules=RULES):
    """{rule: what breaks it}"""
    runtime = Runtime(root)
    return {rule: list(RULES[rule](runtime)) for rule in rules}


def main():
    found = wrong(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    for problems in found.values():
        print(*problems, sep="\n", end="\n" if problems else "")
    return 1 if any(found.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
