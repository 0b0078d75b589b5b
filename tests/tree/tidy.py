#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs clang-tidy over the sources of runtime/, sdk/ and plugins/ that changed, or over all of them.

    tidy.py --build BUILD_DIRECTORY [--all] [--minutes 6]

What changed is what differs from the commit in .ci/tidied, over which the last whole run found nothing; a change of
comments is none. The newest changes come first, and after --minutes no further source is begun: the whole run in
./dev test --long sees the rest. A header is looked at by itself, with the flags of a source beside it; one of tests,
NAME_test.h, is not, since it is compiled with what tests define.

The whole run wants a build that compiles several sources as one file (preset tidy_all), and looks at those files: the
headers are parsed once for all of their sources, which takes a fifth of the time. Three checks are for a source by itself:
that no source is included and that a library's class is not called like one of ours are left out, and a using declaration
that nothing needs is found among the changed sources.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import subprocess
import sys
import time

RECORD = ".ci/tidied"
FOLDERS = ("runtime", "sdk", "plugins")
NOT_COMPILED = "sdk/template/"  # what `belay new` copies
NOT_OF_SEVERAL = "--checks=-bugprone-suspicious-include,-bugprone-forward-declaration-namespace"
FINDING = re.compile(r"^\S+:\d+:\d+: (?:error|warning): ")
GENERATED = re.compile(r"^\S+\.pb\.cc:")


def git(*arguments):
    process = subprocess.run(["git", *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True)
    return process.stdout if process.returncode == 0 else None


def compiled_sources(build):
    """The sources with flags of their own, of a folder or of several sources of it, and those to be generated first."""
    with open(build / "compile_commands.json", encoding="utf-8") as file:
        paths = sorted({os.path.relpath(command["file"]) for command in json.load(file)})
    generated = {path for path in paths if path.endswith(".pb.cc")}
    sources = [path for path in paths
               if path.removeprefix(f"{build}/").split("/")[0] in FOLDERS and path not in generated]
    for path in sources:
        if path.startswith(f"{build}/"):
            included = re.findall(r'#include "(.*\.pb\.cc)"', pathlib.Path(path).read_text(encoding="utf-8"))
            generated.update(os.path.relpath(source) for source in included)
    return sources, sorted(os.path.relpath(path, build) for path in generated)


def without_comments(source):
    process = subprocess.run(["g++", "-fpreprocessed", "-dD", "-E", "-P", "-x", "c++", "-"], input=source,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return process.stdout if process.returncode == 0 else source


def differs_in_code(path, base):
    old = git("show", f"{base}:{path}")
    return old is None or without_comments(old) != without_comments(pathlib.Path(path).read_text(encoding="utf-8"))


def changed_files(base):
    """Newest first."""
    if git("cat-file", "-e", f"{base}^{{commit}}") is None:
        sys.exit(f"tidy: this clone has no commit {base} ({RECORD}): get its history (git fetch --unshallow), "
                 "or run ./dev tidy --all")
    files = dict.fromkeys((git("diff", "--name-only", "HEAD", "--", *FOLDERS) +
                           git("ls-files", "--others", "--exclude-standard", "--", *FOLDERS) +
                           git("log", "--format=", "--name-only", f"{base}..", "--", *FOLDERS)).splitlines())
    return [path for path in files if os.path.exists(path)]


def what_to_look_at(build, everything):
    sources, _ = compiled_sources(build)
    if everything:
        return sources
    base = pathlib.Path(RECORD).read_text(encoding="utf-8").strip()
    known = set(sources)
    changed = [path for path in changed_files(base)
               if path in known or path.endswith(".h") and not path.endswith("_test.h")
               and not path.startswith(NOT_COMPILED)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        differs = list(pool.map(lambda path: differs_in_code(path, base), changed))
    return [path for path, code in zip(changed, differs) if code]


def findings_of(build, path):
    """Each finding with its notes, and the time that it took."""
    begin = time.monotonic()
    several = [NOT_OF_SEVERAL] if path.startswith(f"{build}/") else []
    process = subprocess.run(["clang-tidy", "--quiet", *several, "-p", build, path], stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True)
    findings = []
    for line in process.stdout.splitlines():
        if FINDING.match(line) or not findings:
            findings.append(line)
        else:
            findings[-1] += "\n" + line
    if process.returncode != 0 and not findings:
        findings.append(f"clang-tidy ended with status {process.returncode} on {path}:\n{process.stderr}")
    return [finding for finding in findings if not GENERATED.match(finding)], time.monotonic() - begin


def look(build, paths, minutes):
    """(the findings, how many sources were looked at)."""
    end = time.monotonic() + 60 * minutes

    def one(path):
        return findings_of(build, path) if time.monotonic() < end else None

    findings, done = {}, 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for path, result in zip(paths, pool.map(one, paths)):
            if result is None:
                continue
            done += 1
            print(f"{path} {result[1]:.1f} s", file=sys.stderr)
            for finding in result[0]:  # one in a header comes from each source that includes it
                if findings.setdefault(finding, path) is path:
                    print(finding, flush=True)
    return findings, done


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--minutes", type=float, default=6)
    arguments = parser.parse_args()

    paths = what_to_look_at(arguments.build, arguments.all)
    _, generated = compiled_sources(arguments.build)
    subprocess.run(["cmake", "--build", arguments.build, "--target", *generated], check=True, stdout=subprocess.DEVNULL)
    findings, done = look(arguments.build, paths, 24 * 60 if arguments.all else arguments.minutes)
    print(f"{done} sources, {len(findings)} findings")
    if done < len(paths):
        print(f"{len(paths) - done} more changed, and the time is over: ./dev tidy --all looks at them")
    if arguments.all and not findings and not git("status", "--porcelain"):
        print(f"record it: git rev-parse HEAD >{RECORD}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
