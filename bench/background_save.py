#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What saving in the background costs a training: the stall of a save, and the steps beside its writing.

    python3 bench/background_save.py [BUILD_DIRECTORY [MIB [ROUNDS]]]

The build directory, build/release if none is given, needs its target bench_background_save. The checkpoints, 1024 MiB each
if no size is given, go to a folder in BELAY_BENCH_DIR, /dev/shm if that is unset. What is compared is measured in turns, and
each figure is the median of the rounds' ratios; other work on the machine adds to the steps while nothing is saved, too.
"""
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile


def rounds_of(program, mib, threads, rounds):
    with tempfile.TemporaryDirectory(dir=os.environ.get("BELAY_BENCH_DIR", "/dev/shm"), prefix="belay_bench_") as directory:
        run = subprocess.run([program, mib, str(threads), rounds, directory], stdout=subprocess.PIPE, text=True, check=True,
                             stderr=subprocess.DEVNULL)
    names, *lines = run.stdout.splitlines()
    return [dict(zip(names.split(), map(float, line.split()))) for line in lines]


def median(rounds, ratio):
    return statistics.median(ratio(r) for r in rounds)


def lost(r):
    """Of the run, in milliseconds: what the steps beside the save took longer."""
    return r["saving"] * (1 - r["step"] / r["step_while_saving"])


def main():
    build = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "build/release")
    mib = sys.argv[2] if len(sys.argv) > 2 else "1024"
    rounds = sys.argv[3] if len(sys.argv) > 3 else "5"
    print(f"a save of {mib} MiB, medians of {rounds} rounds; in brackets the bound")
    for threads in (1, 2):
        taken = rounds_of(str(build / "bin" / "bench_background_save"), mib, threads, rounds)
        print(f"{threads} thread{'s' if threads > 1 else ''}")
        print(f"  stall                       {median(taken, lambda r: r['stall']):8.1f} ms")
        print(f"    to one thread's copy      {median(taken, lambda r: r['stall'] / r['copy']):8.2f} times (1.3)")
        print(f"  step                        {median(taken, lambda r: r['step']):8.3f} ms")
        print(f"    while a save is written   {median(taken, lambda r: r['step_while_saving'] / r['step']):8.2f} times"
              + (" (1.1)" if threads == 1 else ""))
        print(f"  written in                  {median(taken, lambda r: r['saving']):8.1f} ms")
        print(f"  the run loses, to the save's processor time {median(taken, lambda r: lost(r) / (r['save_alone'] - r['copy'])):6.2f} times"
              + (" (1.5)" if threads == 2 else ""))


if __name__ == "__main__":
    main()
