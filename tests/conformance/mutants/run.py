#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the contract's tests would notice a wrong runtime.

    run.py --source . --build build/mutants [NAME...]
    run.py --source . --places     only that each mutation's line is in the sources, once

mutants.toml holds one-line mutations of the runtime, each with the rows that claim what it breaks. Each is applied to a
copy of the sources, built, and must make every one of these rows fail; a mutant that survives, that does not compile or
whose line is no longer there is an error. The sources themselves are never touched.
"""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tomllib

HERE = pathlib.Path(__file__).resolve().parent
PROGRAMS = ["session_conformance", "hook_conformance", "coordination_conformance"]
COPIED = ["CMakeLists.txt", "CMakePresets.json", "cmake", "docs", "sdk", "runtime", "plugins", "tests", "examples", "LICENSE",
          "README.md", "bench"]


def copy_sources(source, copy):
    """Only what changed is written again, so that a second run builds little."""
    for top in COPIED:
        for path in [source / top] if (source / top).is_file() else sorted((source / top).rglob("*")):
            to = copy / path.relative_to(source)
            if path.is_dir():
                to.mkdir(parents=True, exist_ok=True)
                continue
            to.parent.mkdir(parents=True, exist_ok=True)
            if not to.exists() or to.read_bytes() != path.read_bytes():
                shutil.copyfile(path, to)


def build(directory):
    process = subprocess.run(["cmake", "--build", directory, "-j", str(os.cpu_count()), "--target", *PROGRAMS],
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return process.returncode == 0, process.stdout


def row_passes(directory, row):
    """None: no program has a test of this row."""
    found = False
    for program in PROGRAMS:
        command = [directory / "bin" / program, f"--gtest_filter=*.{row.replace('-', '_')}_*"]
        listed = subprocess.run([*command, "--gtest_list_tests"], stdout=subprocess.PIPE, text=True).stdout
        if row.replace("-", "_") not in listed:
            continue
        found = True
        try:
            process = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=60)
        except subprocess.TimeoutExpired:  # a mutant that hangs is noticed too
            return False
        if process.returncode != 0:
            return False
    return True if found else None


def misplaced(mutant, source):
    """Why the mutation cannot be applied there; empty: it can."""
    path = source / mutant["file"]
    if not path.exists():
        return f"there is no {mutant['file']}"
    n = path.read_text(encoding="utf-8").count(mutant["old"])
    return "" if n == 1 else f"{mutant['file']} holds its line {n} times instead of once"


def judge(mutant, copy, directory):
    """What is wrong with this mutant's death; empty: nothing."""
    path = copy / mutant["file"]
    if problem := misplaced(mutant, copy):
        return problem
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(mutant["old"], mutant["new"]), encoding="utf-8")
    try:
        built, output = build(directory)
        if not built:
            return "does not compile:\n" + output[-2000:]
        survivors = []
        for row in mutant["rows"]:
            passes = row_passes(directory, row)
            if passes is None:
                return f"no test proves {row}"
            if passes:
                survivors.append(row)
        return f"survives {', '.join(survivors)}" if survivors else ""
    finally:
        path.write_text(text, encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--source", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("--places", action="store_true")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()

    mutants = tomllib.loads((HERE / "mutants.toml").read_text(encoding="utf-8"))["mutant"]
    unknown = set(arguments.names) - {m["name"] for m in mutants}
    if unknown:
        sys.exit(f"no mutant is named {', '.join(sorted(unknown))}")
    if len({m["name"] for m in mutants}) != len(mutants):
        sys.exit("two mutants have the same name")
    if arguments.names:
        mutants = [m for m in mutants if m["name"] in arguments.names]

    if arguments.places:
        problems = [f"{m['name']}: {problem}" for m in mutants if (problem := misplaced(m, arguments.source))]
        return "\n".join(problems) if problems else 0
    if not arguments.build:
        parser.error("--build is needed to judge mutants")
    copy, directory = arguments.build.resolve() / "source", arguments.build.resolve() / "build"
    copy_sources(arguments.source.resolve(), copy)
    if not (directory / "build.ninja").exists():
        subprocess.run(["cmake", "-S", copy, "-B", directory, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                        "-DBELAY_BENCH=OFF", "-DCMAKE_CXX_FLAGS_RELEASE=-O1"], check=True, stdout=subprocess.DEVNULL)
    built, output = build(directory)
    if not built:
        sys.exit("the sources do not build:\n" + output[-4000:])
    wrong = sorted({row for m in mutants for row in m["rows"] if row_passes(directory, row) is not True})
    if wrong:
        sys.exit("these rows do not pass without any mutation: " + ", ".join(wrong))

    alive = 0
    for mutant in mutants:
        problem = judge(mutant, copy, directory)
        alive += bool(problem)
        print(f"{'ALIVE' if problem else 'killed'} {mutant['name']} ({', '.join(mutant['rows'])})"
              + (f": {problem}" if problem else ""), flush=True)
    print(f"{len(mutants)} mutants, {len(mutants) - alive} killed")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main())
