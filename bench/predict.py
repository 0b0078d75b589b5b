#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Instructions that the reading thread takes for a batch: of the bare forward pass, of predicting, of the rows of an
Estimator's predictions, and their ratios to the first.

    python3 bench/predict.py [build/release/bin/bench_predict]

Valgrind's callgrind counts; the difference of a longer and a shorter run leaves out the start of the program. It takes
some minutes.
"""
import glob
import os
import subprocess
import sys
import tempfile

SHORT, LONG = 20, 80


def instructions(program, mode, batches):
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "out")
        subprocess.run(["valgrind", "--tool=callgrind", "--fair-sched=yes", "--separate-threads=yes",
                        f"--callgrind-out-file={out}", program, mode, str(batches)],
                       check=True, capture_output=True, env=dict(os.environ, GOMP_SPINCOUNT="1000"))
        first_thread = sorted(glob.glob(out + "-*"))[0]
        with open(first_thread, encoding="utf-8") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("totals:"))


def main():
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/bench_predict"
    per_batch = {}
    for mode in ("forward", "predict", "estimator"):
        first, last = (instructions(program, mode, n) for n in (SHORT, LONG))
        per_batch[mode] = (last - first) / (LONG - SHORT)
        print(f"{mode}: {per_batch[mode]:,.0f} instructions a batch")
    for mode in ("predict", "estimator"):
        print(f"{mode} / forward: {per_batch[mode] / per_batch['forward']:.4f}")


main()
