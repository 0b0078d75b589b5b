#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What an evaluation every 100 steps (or so many) costs a training beyond the evaluation's batches, in instructions.

    python3 bench/evaluation.py [BUILD_DIRECTORY [STEPS]]

The build directory, build/release if none is given, needs its target bench_evaluation; valgrind is needed, too.

Each figure is the difference of two runs, so that the start and the end are in none of them.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

EVERY = int(sys.argv[2]) if len(sys.argv) > 2 else 100


def instructions(program, *arguments):
    with tempfile.TemporaryDirectory() as directory:
        run = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={directory}/out", program, *arguments],
                             env={**os.environ, "GOMP_SPINCOUNT": "1000"}, stderr=subprocess.PIPE, text=True, check=True)
        return int(re.search(r"Collected : (\d+)", run.stderr).group(1))


def per_period(program, kind, few, many, *rest):
    """Instructions of one period, from runs of `few` and of `many` of them."""
    unit = EVERY if kind == "train" else 1
    first, last = (instructions(program, kind, str(n * unit), *rest) for n in (few, many))
    return (last - first) / (many - few)


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    program = str(build / "bin" / "bench_evaluation")
    steps = per_period(program, "train", 1, 2, "0")
    evaluated = per_period(program, "train", 1, 2, str(EVERY))
    batches = per_period(program, "batches", 1, 2)
    print(f"{EVERY} steps                      {steps / 1e6:10.2f} million instructions")
    print(f"the batches of an evaluation   {batches / 1e6:10.2f}")
    print(f"{EVERY} steps and an evaluation    {evaluated / 1e6:10.2f}")
    print(f"beyond steps and batches       {100 * (evaluated - steps - batches) / (steps + batches):+10.2f} %")


if __name__ == "__main__":
    main()
