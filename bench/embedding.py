# SPDX-License-Identifier: Apache-2.0
"""Training steps on embeddings of which a batch uses few rows: tables of many rows beside tables of few, and Belay beside
PyTorch's Embedding(sparse=True) on the same ids. One thread; the rounds of all programs take turns, as in bench/models.py.

A step's time should not depend on the rows of a table, but for cache misses. With the same ids in each step the rows
stay in the cache. So the ratio of that case to the small table is what Belay adds, and the rest is cache misses.
bench_embedding_least reads and writes the rows of a batch and does nothing else. What it takes longer on the large table
than on the small one, beside a step on the small table, gives the least ratio that any program can have here.
"""
import pathlib
import subprocess

import checkpoints
import models

HERE = pathlib.Path(__file__).resolve().parent
OPTIMIZERS = ("sgd", "adagrad", "adam")
WIDTH, SMALL, LARGE, BATCHES = 32, 10_000, 10_000_000, 1000
TABLES, TABLES_ENTRIES, TABLES_WIDTH, TABLES_BATCHES = 26, 1_000_000, 16, 100
MIB = 12 << 10  # of free memory, for the programs of one optimizer together
PYTHON = "/usr/bin/python3"  # Debian's, which finds Debian's python3-torch
INSTALL = f"{models.INSTALL} python3-torch"


def peer(build, optimizer):
    """The program that compares; None if it is not installed."""
    if optimizer == "adam":
        found = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True, check=False).returncode == 0
        return HERE / "embedding_torch.py" if found else None
    program = build / "bin" / "bench_libtorch_embedding"
    return program if program.exists() else None


def open_case(name, path, optimizer, *sizes):
    return models.Program(name, path, optimizer, 1, *(str(size) for size in sizes))


def plan_mib(build, optimizer):
    """The memory that a step's plan holds beside the variables."""
    command = [build / "bin" / "bench_embedding", optimizer, "1", "1", str(LARGE), str(WIDTH), "1"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise models.Failed(f"bench_embedding ended with status {done.returncode}: {done.stderr.strip()}")
    return float(done.stderr)


def measure_optimizer(build, optimizer, say):
    own, least, other = build / "bin" / "bench_embedding", build / "bin" / "bench_embedding_least", peer(build, optimizer)
    if other is None:
        say(f"bench: nothing is compared with embeddings by {optimizer}: {INSTALL}")
    measures = {}

    def measure(title, sizes, more=()):
        programs = [open_case("belay", own, optimizer, *sizes)]
        if other:
            programs.append(open_case("libtorch", other, optimizer, *sizes))
        programs += [open_case(name, own, optimizer, *sizes_of_it) for name, sizes_of_it in more]
        return models.measure(programs, f"embeddings by {optimizer}, {title}", 1, 7, 0.5, say)

    # The programs of `measure` have ended, so that these find the memory.
    def least_to_small(title, large, small):
        programs = [open_case("small", own, optimizer, *small), open_case("least", least, optimizer, *large),
                    open_case("least_small", least, optimizer, *small)]
        found = models.measure(programs, f"embeddings by {optimizer}, {title}, the least", 1, 7, 0.5, say)
        time = {name: measured["cpu_us"] for name, measured in found.items()}
        return 1 + (time["least"] - time["least_small"]) / time["small"]

    large = measure("one table", (1, LARGE, WIDTH, BATCHES),
                    (("small", (1, SMALL, WIDTH, BATCHES)), ("same_ids", (1, LARGE, WIDTH, 1)),
                     ("small_same_ids", (1, SMALL, WIDTH, 1))))
    time = {name: measured["cpu_us"] for name, measured in large.items()}
    name = f"embedding_{optimizer}"
    measures[f"{name}_us"] = time["belay"]
    measures[f"{name}_to_small"] = time["belay"] / time["small"]
    measures[f"{name}_same_ids_to_small"] = time["same_ids"] / time["small_same_ids"]
    measures[f"{name}_least_to_small"] = least_to_small("one table", (1, LARGE, WIDTH, BATCHES), (1, SMALL, WIDTH, BATCHES))
    measures[f"{name}_plan_mib"] = plan_mib(build, optimizer)
    if other:
        measures[f"{name}_to_libtorch"] = time["belay"] / time["libtorch"]
    tables = measure(f"{TABLES} tables", (TABLES, TABLES_ENTRIES, TABLES_WIDTH, TABLES_BATCHES),
                     (("small", (TABLES, SMALL, TABLES_WIDTH, TABLES_BATCHES)),))
    time = {name: measured["cpu_us"] for name, measured in tables.items()}
    name = f"embeddings_{optimizer}"
    measures[f"{name}_us"] = time["belay"]
    measures[f"{name}_to_small"] = time["belay"] / time["small"]
    measures[f"{name}_least_to_small"] = least_to_small(
        f"{TABLES} tables", (TABLES, TABLES_ENTRIES, TABLES_WIDTH, TABLES_BATCHES),
        (TABLES, SMALL, TABLES_WIDTH, TABLES_BATCHES))
    if other:
        measures[f"{name}_to_libtorch"] = time["belay"] / time["libtorch"]
    return measures


def measure(build, say):
    why_not = checkpoints.too_little_memory(MIB)
    if why_not is not None:
        say(f"bench: embeddings: NOT MEASURED: {why_not}")
        return {}
    measures = {}
    for optimizer in OPTIMIZERS:
        measures.update(measure_optimizer(build, optimizer, say))
    return measures
