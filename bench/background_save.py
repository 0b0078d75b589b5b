# SPDX-License-Identifier: Apache-2.0
"""What saving in the background costs a training: the stall of a save, and the steps beside its writing
(bench/background_save_bench.cc). What is compared is measured in turns, and each figure is the median of the rounds'.
"""
import statistics
import subprocess
import tempfile

import models
import processor

MIB, ROUNDS = 1024, 5


def rounds_of(program, threads, folder, mib, rounds):
    with tempfile.TemporaryDirectory(dir=folder, prefix="belay_bench.") as directory:
        run = subprocess.run([program, str(mib), str(threads), str(rounds), directory], stdout=subprocess.PIPE, text=True,
                             stderr=subprocess.DEVNULL)
    if run.returncode != 0:
        raise models.Failed(f"bench_background_save ended with status {run.returncode}")
    names, *lines = run.stdout.splitlines()
    return [dict(zip(names.split(), map(float, line.split()))) for line in lines]


def lost(r):
    """Of the run, in milliseconds: what the steps beside the save took longer."""
    return r["saving"] * (1 - r["step"] / r["step_while_saving"])


def measures_of(rounds, threads, alone):
    """By the names of bench/baseline.json. `alone`: no other program was on the processors, so that what takes longer by the
    clock does so for the save's sake."""
    def median(value):
        return statistics.median(map(value, rounds))

    found = {}
    if threads == 1:
        found["background_stall_cpu_ms"] = median(lambda r: r["stall_cpu"])
        found["background_stall_cpu_to_copy"] = median(lambda r: r["stall_cpu"] / r["copy_cpu"])
    if threads == 1 and alone:
        found["background_stall_to_copy"] = median(lambda r: r["stall"] / r["copy"])
        found["background_step_to_quiet"] = median(lambda r: r["step_while_saving"] / r["step"])
    if threads == 2 and alone:
        found["background_lost_to_write"] = median(lambda r: lost(r) / (r["save_alone"] - r["copy_cpu"]))
    return found


def measure(build, folder, say, mib=MIB, rounds=ROUNDS):
    """{measure: value}. The checkpoints go to a folder in `folder`."""
    measures = {}
    for threads in (1, 2):
        others = processor.Others()
        taken = rounds_of(build / "bin" / "bench_background_save", threads, folder, mib, rounds)
        part = others.part()
        for number, r in enumerate(taken):
            say(f"  a save of {mib} MiB, {threads} thread{'s' if threads > 1 else ''}, round {number + 1}: "
                f"copy {r['copy']:.0f} ms, stall {r['stall']:.0f} ms, step {r['step']:.3f} ms, while it is written "
                f"{r['step_while_saving']:.3f} ms, for {r['saving']:.0f} ms; alone a save takes {r['save_alone']:.0f} ms")
        if part > models.OTHERS:
            say(f"bench: stall and steps of a save by the clock, {threads} thread{'s' if threads > 1 else ''}: left out, for other programs "
                f"took {part:.0%} of a processor")
        measures.update(measures_of(taken, threads, part <= models.OTHERS))
    return measures
