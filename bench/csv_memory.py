#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory and time of the input csv for a table of numbers, beside numpy.loadtxt, and for a table with types.

    python3 bench/csv_memory.py BELAY PLUGINS [ROWS [COLUMNS]]

Prints by how much a run's peak of memory and time on a table are above those on one of 100 rows. The parsed size is four
bytes for each number of the features and eight for each label and each category that is delivered as an id. The table with
types has numbers with gaps, words, dates and text, as many rows, and its columns are fitted. The script fails if the memory
of one table is above 1.5 times its parsed size.
"""
import json
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
{columns}[model]
plugin = "linear"
"""
TYPES = """[input.train.columns]
age = { type = "number", scale = "standard", indicator = true }
income = { type = "number", missing = "mean", scale = "log" }
town = { type = "category", deliver = "ids" }
plan = { type = "category" }
since = { type = "date" }
note = { type = "text", max_size = 10 }
"""
MOST = 1.5


def write_types(path, rows):
    draw = random.Random(rows)
    with open(path, "w", encoding="utf-8") as file:
        file.write("age,income,town,plan,since,note,y\n")
        for _ in range(rows):
            age = "NA" if draw.random() < 0.1 else str(draw.randrange(18, 90))
            income = "" if draw.random() < 0.2 else f"{draw.lognormvariate(8, 1):.2f}"
            town, plan = f"Köln-{draw.randrange(500)}", ("free", "basic", "pro", "?")[draw.randrange(4)]
            day = "" if draw.random() < 0.05 else f"{draw.randrange(2000, 2026)}-{draw.randrange(1, 13):02}-09"
            note = " ".join(f"word{draw.randrange(10)}" for _ in range(3))
            file.write(f"{age},{income},{town},{plan},{day},{note},{draw.choice(('yes', 'no'))}\n")


def write_numbers(path, rows, columns):
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


def measure(name, belay, environment, rows, write, columns=""):
    """Memory to the parsed size of the table, its seconds, and whether the memory is small enough."""
    peaks, seconds = {}, {}
    for size, count in (("small", 100), ("large", rows)):
        table = f"{name}-{size}"
        write(f"{table}.csv", count)
        with open(f"{table}.toml", "w", encoding="utf-8") as file:
            file.write(MANIFEST.format(name=table, columns=columns))
        peaks[size], seconds[size] = run([belay, "run", f"{table}.toml", "--quiet"], environment)
    with open(f"{name}-large-run/schema.json", encoding="utf-8") as file:
        schema = json.load(file)
    row = sum(4 * part["shape"][1] if part["dtype"] == "float32" else 8 for part in schema["features"]) + 8
    parsed, file_size = rows * row, os.path.getsize(f"{name}-large.csv")
    ratio, took = (peaks["large"] - peaks["small"]) / parsed, seconds["large"] - seconds["small"]
    print(f"{name}: file {file_size / 1e6:.1f} MB, parsed {parsed / 1e6:.1f} MB ({row} bytes a row), "
          f"memory {ratio:.2f} times the parsed size, {took:.2f} s")
    return ratio <= MOST


def main():
    belay, plugins = (os.path.abspath(argument) for argument in sys.argv[1:3])
    rows, columns = [int(argument) for argument in sys.argv[3:5]] + [600_000, 10][len(sys.argv) - 3:]
    environment = dict(os.environ, BELAY_PLUGIN_PATH=plugins)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        good = measure("numbers", belay, environment, rows, lambda path, count: write_numbers(path, count, columns))
        code = "import numpy; numpy.loadtxt({!r}, dtype=numpy.float32, delimiter=',', skiprows=1)"
        base = run([sys.executable, "-c", code.format("numbers-small.csv")], environment)[1]
        took = run([sys.executable, "-c", code.format("numbers-large.csv")], environment)[1] - base
        print(f"numpy.loadtxt of the numbers: {took:.2f} s")
        good = measure("types", belay, environment, rows, write_types, TYPES) and good
        os.chdir("/")
    sys.exit(not good)


main()
