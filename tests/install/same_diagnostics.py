#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the errors of two builds of Belay on wrong manifests: an older build, and one after a change of messages.

    python3 -B tests/install/same_diagnostics.py OLD_BUILD NEW_BUILD [--list FILE] [--only PATTERN]

Each build has bin/belay and plugins/. The manifests of same_outputs_cases.py (all examples among them), the manifest
of the design, and one with most keys are changed by rules: a misspelt key, another type, a missing file and so on. Each
change of a key is made once. Both builds check each wrong manifest with --diagnostics=json. Each error of the old build
must have its place in the new one: file, line, column and underlined characters. It must also have its help. Words and
codes are free to change.

KEPT lists the intended differences, with reasons. The status is 1 if another place or help is lost. --list writes all
messages of both builds to a file. --only takes the manifests whose names match a regular expression. A manifest without
its data in BELAY_DATA_DIR or BELAY_SAMPLES_DIR is skipped.
"""
import argparse
import collections
import dataclasses
import json
import pathlib
import re
import sys
import tempfile

from same_outputs import Build
from wrong_manifests import wrong_manifests


@dataclasses.dataclass(frozen=True)
class Kept:
    """An intended difference: an old error of such manifests with such a message."""
    name: str  # a regular expression that is found in its name
    message: str  # a regular expression that is found in it
    reason: str


KEPT = (
    Kept(r"columns other type$", r'"columns" must be a list of strings',
         "a single name is accepted; here the file has more columns, which is the error"),
    Kept(r"\[input\.train\] of tfrecord misspelt$", r'needs the option "features"',
         "a misspelt table is one error; the options of its input are not checked beside it"),
    Kept(r"skip_lines missing$", r"",
         "bad data of a training have the status 2"),
)


def errors_of(build, folder, arguments):
    """(errors as objects, those without a place too; the status)"""
    process = build.start(folder, "check", *arguments, "--diagnostics=json")
    _, text = process.communicate(timeout=300)
    found = []
    for line in text.replace(str(folder), "DIR").replace(str(build.path), "BUILD").splitlines():
        if line.startswith("{"):
            found.append(json.loads(line))
        elif logged := re.search(r"\berror(?:\[(B\d{4})\])?:? (.*)", line):
            found.append({"code": logged[1], "message": logged[2]})
    return found, process.returncode


def place(error):
    return tuple(error.get(key) or 0 for key in ("file", "line", "column", "length"))


def shown(error):
    if error is None:
        return "-"
    file, line, column, length = place(error)
    code = f"[{error['code']}] " if error.get("code") else ""
    return f"{file}:{line}:{column}+{length}: {code}{error['message']} | help: {error.get('help') or '-'}"


def paired(old, new):
    """[(old error or None, new error or None)]: by place, those with help first; the rest without places in order."""
    rest, pairs, alone = list(new), [], []
    for error in sorted(old, key=lambda error: not error.get("help")):
        same = [other for other in rest if place(other) == place(error)]
        same.sort(key=lambda other: not other.get("help"))
        if same:
            rest.remove(same[0])
        pairs.append((error, same[0])) if same else alone.append(error)
    for error in alone:  # an error without a place may have got one
        free = rest if place(error)[1] == 0 else []
        pairs.append((error, free.pop(0) if free else None))
    return pairs + [(None, error) for error in rest]


def judgement(old, new):
    if old is None:
        return "gained"
    if new is None:
        return "lost place"
    if old.get("help") and not new.get("help"):
        return "lost help"
    return "equal place" if place(old) == place(new) else "got a place"


def compare(builds, folder, options, listed):
    """The numbers of each judgement, after a line for each loss."""
    counts, reasons = collections.Counter(), collections.Counter()
    for name, data, arguments, prepare in wrong_manifests():
        if options.only and not re.search(options.only, name):
            continue
        manifest = folder / "wrong.toml"
        manifest.write_bytes(data) if data is not None else manifest.unlink(missing_ok=True)
        if prepare:
            prepare(folder)
        (old, old_status), (new, new_status) = (errors_of(build, folder, ["wrong.toml", *arguments]) for build in builds)
        counts["manifests"] += 1
        counts["of these accepted by both"] += old_status == new_status == 0
        print(f"== {name} (status {old_status}, {new_status})", file=listed)
        if name.endswith(": unchanged") and (old_status or new_status):
            print(f"{name}, and refused already (status {old_status}, {new_status}): a plugin or a file is missing")
        found = [(judgement(*pair), *pair) for pair in paired(old, new)]
        if old_status != new_status:
            found.append(("other status", {"message": f"status {old_status}"}, {"message": f"status {new_status}"}))
        for kind, before, after in found:
            counts["errors of the old build"] += before is not None and kind != "other status"
            print(f"{kind}\n  {shown(before)}\n  {shown(after)}", file=listed)
            reason = kind in ("lost place", "lost help", "other status") and next(
                (kept.reason for kept in KEPT
                 if re.search(kept.name, name) and re.search(kept.message, before["message"])), None)
            counts[f"{kind}, as intended" if reason else kind] += 1
            reasons[reason] += 1 if reason else 0
            if kind in ("lost place", "lost help", "other status") and not reason:
                print(f"{name}: {kind}\n  old {shown(before)}\n  new {shown(after)}", flush=True)
                for error in new if kind == "lost place" else ():
                    print(f"    new {shown(error)}")
    for reason, count in sorted((+reasons).items()):
        print(f"intended ({count}): {reason}")
    return counts


def main():
    parser = argparse.ArgumentParser(description="Compares the errors of two builds of Belay.")
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--list", type=pathlib.Path, default="/dev/null")
    parser.add_argument("--only")
    options = parser.parse_args()
    builds = [Build("old", options.old.resolve()), Build("new", options.new.resolve())]
    with tempfile.TemporaryDirectory(prefix="belay_wrong.") as folder, open(options.list, "w", encoding="utf-8") as listed:
        counts = compare(builds, pathlib.Path(folder), options, listed)
    for kind in ("manifests", "of these accepted by both", "errors of the old build", "equal place", "got a place",
                 "lost place", "lost place, as intended", "lost help", "lost help, as intended", "other status",
                 "other status, as intended", "gained"):
        print(f"{kind:28} {counts[kind]:6}")
    return 1 if counts["lost place"] or counts["lost help"] or counts["other status"] else 0


if __name__ == "__main__":
    sys.exit(main())
