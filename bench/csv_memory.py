#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and time of the input csv for a table of numbers, beside numpy.loadtxt.

    python3 bench/csv_memory.py BELAY PLUGINS [ROWS [COLUMNS]]

Prints by how much a run's peak of memory and time on this table are above those on a table of 100 rows. The parsed size
is four bytes for each number of the features and eight for each label. It fails if the memory is above 1.5 times that size.
"""
import os
import random
import sys
import tempfile
import time

MANIFEST = """
[run]
dir = "{name}-run"
max_steps = 1
[input.train]
plugin = "csv"
path = "{name}.csv"
label = "y"
[model]
plugin = "linear"
"""
MOST = 1.5


def write(path, rows, columns):
    draw = random.Random(rows)
    with open(path, "w", encoding="ascii") as file:
        file.write(",".join(f"x{i}" for i in range(columns)) + ",y\n")
        for _ in range(rows):
            file.write(",".join(f"{draw.gauss(0, 100):.4f}" for _ in range(columns)) + f",{draw.randrange(2)}\n")


def run(command, environment):
    """Peak of memory in bytes, and seconds."""
    began = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, environment,
                          file_actions=[(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_WRONLY, 0) for fd in (1, 2)])
    _, status, usage = os.wait4(pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} ended with status {os.waitstatus_to_exitcode(status)}")
    return usage.ru_maxrss * 1024, time.perf_counter() - began


def main():
    belay, plugins = (os.path.abspath(argument) for argument in sys.argv[1:3])
    rows, columns = [int(argument) for argument in sys.argv[3:5]] + [600_000, 10][len(sys.argv) - 3:]
    environment = dict(os.environ, BELAY_PLUGIN_PATH=plugins)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        peaks, seconds = {}, {}
        for name, count in (("small", 100), ("large", rows)):
            write(f"{name}.csv", count, columns)
            with open(f"{name}.toml", "w", encoding="ascii") as file:
                file.write(MANIFEST.format(name=name))
            peaks[name], seconds[name] = run([belay, "run", f"{name}.toml", "--quiet"], environment)
        parsed = rows * (4 * columns + 8)
        ratio = (peaks["large"] - peaks["small"]) / parsed
        print(f"file {os.path.getsize('large.csv') / 1e6:.1f} MB, parsed {parsed / 1e6:.1f} MB")
        print(f"csv: memory {ratio:.2f} times the parsed size, {seconds['large'] - seconds['small']:.2f} s")
        code = "import numpy; numpy.loadtxt({!r}, dtype=numpy.float32, delimiter=',', skiprows=1)"
        base = run([sys.executable, "-c", code.format("small.csv")], environment)[1]
        print(f"numpy.loadtxt: {run([sys.executable, '-c', code.format('large.csv')], environment)[1] - base:.2f} s")
        os.chdir("/")
    sys.exit(ratio > MOST)


main()
