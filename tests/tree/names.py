#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Finds names that two sources of a target define for themselves, where these are compiled as one file.

    names.py BUILD_DIRECTORY

The presets that compile several sources of a target as one file (CMAKE_UNITY_BUILD) put them together in the order of the
source list. Two of them that define the same name in an unnamed namespace or as static build as long as the list happens
to keep them apart, and break when a source is added elsewhere. What ctags sees counts: types, variables, functions with
the same parameters, and macros. An alias that is written the same in both is no clash.
"""
import collections
import itertools
import json
import os
import re
import subprocess
import sys

UNITY = re.compile(r"/Unity/unity_\d+_(?:c|cxx)\.(?:c|cxx)$")
PARTS_OF_A_SCOPE = re.compile(r"(::)?__anon\w+")
MACRO_CALL = re.compile(r"[A-Z][A-Z0-9_]+")  # TEST_F(...) {...} looks like a function to ctags


def sources_by_target(build):
    """{target: its sources}, of the targets that are compiled several sources at once."""
    targets = collections.defaultdict(list)
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        commands = json.load(file)
    for command in commands:
        target = re.search(r"-o (\S+)\.dir/", command["command"])
        if target and UNITY.search(command["file"]):
            with open(command["file"], encoding="utf-8") as together:
                targets[target[1]] += re.findall(r'^#include "(.+)"$', together.read(), re.MULTILINE)
    return targets


def parameter_types(signature):
    """The types of "(const A& a, int n = 3)": ["const A&", "int"]."""
    types, depth, start = [], 0, 1
    for at, c in enumerate(signature):
        depth += (c in "(<[{") - (c in ")>]}")
        if (c == "," and depth == 1) or (c == ")" and depth == 0):
            types.append(signature[start:at].split("=")[0].strip())
            start = at + 1
    return [re.sub(r"(?<=[\s&*])[A-Za-z_]\w*$", "", one).strip() for one in types if one]


def what_is_defined(tag):
    """What another source must not define as well; None: others may."""
    kind, in_source_only = tag["kind"], "__anon" in tag.get("scope", "") or "file" in tag
    if tag.get("scopeKind", "namespace") != "namespace" or kind == "namespace" or tag["name"].startswith("__anon"):
        return None
    where = (PARTS_OF_A_SCOPE.sub("", tag.get("scope", "")), tag["name"])
    if kind == "function":
        if not in_source_only or MACRO_CALL.fullmatch(tag["name"]):
            return None
        return (*where, str(parameter_types(tag.get("signature", "()"))))
    if kind == "variable" and not in_source_only:
        return None  # the linker finds it
    return where


def definitions(sources):
    """{source: {what it defines: (line, how it is written)}}."""
    process = subprocess.run(["ctags", "--output-format=json", "--language-force=C++", "--kinds-C++=cdefgstuv", "--fields=*",
                              "-f", "-", "-L", "-"], input="\n".join(sources), stdout=subprocess.PIPE, text=True, check=True)
    defined = collections.defaultdict(dict)
    for tag in map(json.loads, process.stdout.splitlines()):
        what = what_is_defined(tag)
        if what:
            defined[tag["path"]].setdefault(what, (tag["line"], tag["kind"], tag["pattern"]))
    return defined


def clashes(targets):
    """A line for each name that two sources of a target define."""
    defined = definitions(sorted({source for sources in targets.values() for source in sources}))
    lines = []
    for target, sources in sorted(targets.items()):
        for a, b in itertools.combinations(sources, 2):
            for what in sorted(defined[a].keys() & defined[b].keys()):
                (line_a, kind_a, written_a), (line_b, kind_b, written_b) = defined[a][what], defined[b][what]
                if kind_a == kind_b == "typedef" and written_a == written_b:
                    continue
                lines.append(f"{a}:{line_a} and {b}:{line_b} of {os.path.basename(target)} both define "
                             f"{'::'.join(filter(None, what[:2]))}")
    return lines


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    lines = clashes(sources_by_target(sys.argv[1]))
    for line in lines:
        print(line)
    if lines:
        print("rename one of each pair: the sources of a target are compiled together, up to eight as one file")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
