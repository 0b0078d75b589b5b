#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the rows of the contract with the tests that prove them.

    report.py --contract docs/reference/contract.md [--all] tests.xml

tests.xml is what ctest wrote of the whole suite with --output-junit; ./dev test makes it and calls this. A test proves the
row that its name begins with: SCAF_02_BothReadyOpsNameTheVariables proves SCAF-02, T_20a_... proves T-20a. It may be a
GoogleTest test of any program or a test of ctest's.

A row is proved if it has a test and all its tests passed. A test that was skipped fails its row, too, unless the machine
lacks what the test needs (LACKING); then it counts as if it were not there, and the row needs another one. Rows that are
said to be not applicable or open have no test. Anything else is printed, and the status is 1.
"""
import argparse
import dataclasses
import re
import sys
import xml.etree.ElementTree as ElementTree

ROW = re.compile(r"([A-Z]+)-([0-9]+[A-Za-z]?)")
TEST = re.compile(r"([A-Z]+)_([0-9]+[A-Za-z]?)_")
LINE = re.compile(r"\[ (?P<what>RUN     |      OK|  FAILED | SKIPPED) \] (?P<suite>[\w/]+)\.(?P<name>[\w/]+)"
                  r"(?P<end>(?:, where [^\n]*?)? \(\d+ ms\))?")
TRUNCATED = "The rest of the test output was removed since it exceeds the threshold"
# In these programs every test proves a row.
PROGRAMS = re.compile(r"(session|hook|coordination|estimator)_conformance")
# A machine may lack these, in the words of a skipped test's reason.
LACKING = ("BELAY_DATA_DIR", "BELAY_SAMPLES_DIR", "this processor", "this system", "this user", "this is root")


@dataclasses.dataclass
class Result:
    program: str
    name: str
    outcome: str  # passed | failed | skipped
    reason: str = ""

    def row(self):
        match = TEST.match(self.name)
        return f"{match.group(1)}-{match.group(2)}" if match else None

    def lacks_something(self):
        return self.outcome == "skipped" and any(what in self.reason for what in LACKING)


@dataclasses.dataclass
class Row:
    status: str  # "", "n/a" or "open"
    said: str    # what it promises, or the reason
    tests: str   # the page's last column


def read_rows(path):
    """{ID: Row} of a page: each line of a table whose first cell is an ID, with what holds, where it is from, its tests."""
    rows = {}
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip())[1:-1]]
            if not cells or cells[0] in ("ID", "---"):
                continue
            if len(cells) != 4 or not ROW.fullmatch(cells[0]):
                sys.exit(f"{path}:{number}: a row is | ID | what holds | from | test |, with an ID as SCAF-02")
            row, said = cells[0], cells[1].replace("\\|", "|")
            if row in rows:
                sys.exit(f"{path}:{number}: {row} is listed twice")
            marked = re.fullmatch(r"\*\*(n/a|open)\*\*(.*)", said)
            status, said = (marked[1], marked[2].strip()) if marked else ("", said)
            if not status and not re.fullmatch(r".+ .+\.", said):
                sys.exit(f"{path}:{number}: behind {row} comes a sentence, or **n/a** or **open** with a reason")
            if not said:
                sys.exit(f"{path}:{number}: {row} is {status} without a reason")
            if not cells[2]:
                sys.exit(f"{path}:{number}: {row} is from nowhere")
            rows[row] = Row(status, said, cells[3])
    return rows


def tests_in_output(program, output):
    """The GoogleTest tests of a program, as it printed them. One that did not end has failed."""
    begun = {}
    results = []
    for match in LINE.finditer(output):
        what, test = match["what"].strip(), (match["suite"], match["name"])
        if what == "RUN":
            begun[test] = match.end()
        elif match["end"] and test in begun:  # without: the list at the end of the output
            said = output[begun.pop(test):match.start()]
            outcome = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}[what]
            results.append(Result(program, test[1], outcome, said if outcome == "skipped" else ""))
    return results + [Result(program, name, "failed") for _, name in begun]


def read_results(path):
    """The tests of the whole suite, and what is wrong with programs as a whole."""
    results, wrong = [], []
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        program, output = case.get("name"), case.findtext("system-out") or ""
        if TRUNCATED in output:
            wrong.append(f"the output of {program} is cut off: ctest needs larger --test-output-size-passed and -failed")
        outcome = {"run": "passed", "disabled": "skipped"}.get(case.get("status"), "failed")
        skipped = case.find("skipped")  # also where there is no such program
        if skipped is not None and skipped.get("message", "").startswith("SKIP_"):
            outcome = "skipped"
        tests = tests_in_output(program, output)
        if outcome == "failed" and not any(test.outcome == "failed" for test in tests):
            wrong.append(f"{program} failed")
        results += [*tests, Result(program, program, outcome, output)]
    return results, wrong


def compare(rows, results):
    """(proved, wrong): the IDs of the rows that are proved, and a line for all that is not as it should be."""
    proofs = {row: [] for row in rows}
    families = {row.split("-")[0] for row in rows}
    wrong = []
    for test in results:
        row = test.row()
        if row in rows:
            proofs[row].append(test)
        elif test.name != test.program and PROGRAMS.match(test.program) or row and row.split("-")[0] in families:
            wrong.append(f"test {test.name} of {test.program} begins with no row of the list")
    proved = []
    for row, promise in rows.items():
        status, said = promise.status, promise.said
        tests = [test for test in proofs[row] if not test.lacks_something()]
        bad = [test for test in tests if test.outcome != "passed"]
        wrong += [f"{row}: test {test.name} of {test.program} {test.outcome}" for test in bad]
        if status and proofs[row]:
            wrong.append(f"{row}: is listed as {status}, and has a test")
        elif not status and not tests:
            only = " but for what this machine lacks" if proofs[row] else ""
            wrong.append(f"{row}: no test proves it{only}: {said}")
        elif not status and not bad:
            proved.append(row)
    return proved, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contract", required=True)
    parser.add_argument("--all", action="store_true", help="print every row with its sentence")
    parser.add_argument("results", metavar="tests.xml")
    arguments = parser.parse_args()

    rows = read_rows(arguments.contract)
    results, wrong = read_results(arguments.results)
    proved, not_proved = compare(rows, results)
    wrong += not_proved
    if arguments.all:
        for name, row in rows.items():
            print(f"{row.status or ('proved' if name in proved else 'NOT PROVED'):10} {name:10} {row.said}")
    count = {status: sum(1 for row in rows.values() if row.status == status) for status in ("", "n/a", "open")}
    print(f"{len(rows)} rows of the contract: {len(proved)} proved by {sum(test.row() in proved for test in results)} "
          f"tests, {count['n/a']} not applicable, {count['open']} open, {count[''] - len(proved)} not proved")
    for line in wrong:
        print(f"  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
