#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the default hooks cost a step of examples/digits.toml, in instructions; status 1 where that is more
than 3 %, 77 without valgrind.

    python3 bench/hooks.py [BENCH_HOOKS]

The program is build/release/bin/bench_hooks if none is named; valgrind is needed, too. Each figure is the difference of a
longer run and a shorter one, so that the start and the end are in none of them. The bare step is the one of the example,
128 digits, and of it only the session's thread counts, not the one that draws them. The hooks' part is counted over a
period of each of them, 300 steps, all threads, with 8 digits a step: what hooks do is the same for any batch, but for the
accuracy that a summary and a line of the log have.
"""
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SKIPPED = 77
MOST = 3.0  # per cent
BATCH = 128  # of examples/digits.toml
FEW, MANY = 5, 25  # steps of the bare runs
BATCH_OF_HOOKS = 8
BEFORE, STEPS = 110, 300  # of the runs with and without hooks: each hook has come to its first period


def instructions(program, *arguments):
    """Of all threads, and of the first one."""
    with tempfile.TemporaryDirectory() as directory:
        out = os.path.join(directory, "out")
        subprocess.run(["valgrind", "--tool=callgrind", "--fair-sched=yes", "--separate-threads=yes",
                        f"--callgrind-out-file={out}", program, *arguments],
                       env={**os.environ, "GOMP_SPINCOUNT": "0"}, stderr=subprocess.PIPE, check=True)
        totals = {}
        for path in pathlib.Path(directory).glob("out-*"):
            total = re.search(r"^totals: (\d+)", path.read_text(errors="replace"), re.M)
            if total:
                totals[path.name] = int(total.group(1))
        return sum(totals.values()), totals["out-01"]


def per_step(pool, program, kind, batch, few, many):
    """A function that waits for it: of all threads, and of the first one."""
    runs = [pool.submit(instructions, program, kind, str(steps), str(batch)) for steps in (few, many)]
    return lambda: [(b - a) / (many - few) for a, b in zip(*(run.result() for run in runs))]


def main():
    if shutil.which("valgrind") is None:
        print("SKIPPED: there is no valgrind; apt-get install valgrind")
        return SKIPPED
    program = sys.argv[1] if len(sys.argv) > 1 else "build/release/bin/bench_hooks"
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:  # another program's load changes no count
        of_bare = per_step(pool, program, "bare", BATCH, FEW, MANY)
        of_few = per_step(pool, program, "bare", BATCH_OF_HOOKS, BEFORE, BEFORE + STEPS)
        of_hooked = per_step(pool, program, "hooked", BATCH_OF_HOOKS, BEFORE, BEFORE + STEPS)
    (_, step), (bare, _), (hooked, _) = of_bare(), of_few(), of_hooked()
    share = 100 * (hooked - bare) / step
    print(f"a bare step of {BATCH} digits           {step / 1e3:10.1f} thousand instructions, of the session's thread")
    print(f"a bare step of {BATCH_OF_HOOKS} digits             {bare / 1e3:10.1f}, of all threads")
    print(f"a step of {BATCH_OF_HOOKS} with default hooks     {hooked / 1e3:10.1f}, of all threads")
    print(f"the hooks                            {share:10.2f} % of the bare step, at most {MOST} %")
    return 0 if share <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
