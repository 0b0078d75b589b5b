#!/usr/bin/env python3
"""Compares the rows of the contract with the tests that prove them.

    report.py --rows rows.txt PROGRAM...

Runs the test programs and prints how many rows are proved, not applicable, open and missing. Fails when a row of the list
has no passing test, when a row that is said to be not applicable or open has one, or when a test names no row of the list.
A test proves the row that its name begins with: SCAF_02_BothReadyOpsNameTheVariables proves SCAF-02.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile

ROW = re.compile(r"^([A-Z]+)-([0-9]+B?)$")
TEST = re.compile(r"^([A-Z]+)_([0-9]+B?)_")


def read_rows(path):
    rows = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            fields = line.split(None, 2)
            if not ROW.match(fields[0]):
                sys.exit(f"{path}:{number}: '{fields[0]}' is no row ID")
            if fields[0] in rows:
                sys.exit(f"{path}:{number}: {fields[0]} stands there twice")
            if len(fields) > 1 and (fields[1] not in ("n/a", "open") or len(fields) < 3):
                sys.exit(f"{path}:{number}: behind {fields[0]} stands nothing, or n/a or open with a reason")
            rows[fields[0]] = fields[1:]
    return rows


def run(program):
    """What each test said: {name: passed | failed | skipped}."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        process = subprocess.run([program, f"--gtest_output=json:{report.name}", "--gtest_brief=1"],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        text = report.read()
    if not text:
        sys.exit(f"{process.stdout}\n{program} ended with status {process.returncode} and no report")
    if process.returncode != 0:
        print(process.stdout)
    results = {}
    for suite in json.loads(text)["testsuites"]:
        for test in suite["testsuite"]:
            name = test["name"]
            if test.get("result") == "SKIPPED" or test.get("status") == "NOTRUN":
                results[name] = "skipped"
            else:
                results[name] = "failed" if "failures" in test else "passed"
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", required=True)
    parser.add_argument("programs", nargs="*")
    arguments = parser.parse_args()

    rows = read_rows(arguments.rows)
    results = {}
    for program in arguments.programs:
        results.update(run(program))
    proofs = {row: [] for row in rows}
    wrong = []
    for name, result in results.items():
        match = TEST.match(name)
        row = f"{match.group(1)}-{match.group(2)}" if match else None
        if row not in rows:
            wrong.append(f"test {name} begins with no row of the list")
            continue
        proofs[row].append(result)
        if result != "passed":
            wrong.append(f"{row}: test {name} {result}")
    for row, status in rows.items():
        if not status and not proofs[row]:
            wrong.append(f"{row}: no test proves it")
        if status and proofs[row]:
            wrong.append(f"{row}: is listed as {status[0]}, and has a test")

    proved = [row for row, p in proofs.items() if p and all(r == "passed" for r in p)]
    not_applicable = [row for row, status in rows.items() if status[:1] == ["n/a"]]
    still_open = [row for row, status in rows.items() if status[:1] == ["open"]]
    missing = [row for row, status in rows.items() if not status and not proofs[row]]
    print(f"{len(rows)} rows: {len(proved)} proved by {len(results)} tests, {len(not_applicable)} not applicable, "
          f"{len(still_open)} open, {len(missing)} missing")
    for title, listed in (("not applicable", not_applicable), ("open", still_open)):
        for row in listed:
            print(f"  {row} {title}: {rows[row][1]}")
    for line in wrong:
        print(f"  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
