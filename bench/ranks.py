# SPDX-License-Identifier: Apache-2.0
"""Two processes that train one model, against two that train one each, side by side on this machine: what the exchange
costs. A convolutional network with one thread a process, so that both have as much to compute.

    ranks.py BUILD_DIRECTORY [--steps N] [--rounds N]

Prints a line for each cluster plugin: samples a second of the two ranks, of the two runs, and the ratio.
"""
import argparse
import json
import os
import pathlib
import statistics
import subprocess
import tempfile

import clusters
import models

RANKS = 2
BATCH = 64
MANIFEST = """
[run]
dir = "{directory}"
max_steps = {steps}
threads = 1
[input.train]
plugin = "digits"
batch_size = {batch}
[model]
plugin = "cnn"
image = [28, 28]
dropout = 0.0
filters = [16, 32]
dense = [128]
[optimizer]
name = "adam"
[session]
log_step_count_steps = 10
save_summaries_steps = 0
[cluster]
plugin = "{plugin}"
"""


def rate_in(directory):
    """Steps a second: the median of the lines of metrics.jsonl."""
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    rates = [line["steps_per_sec"] for line in lines if "steps_per_sec" in line]
    if not rates:
        raise models.Failed(f"{directory} has no rates; use more steps")
    return statistics.median(rates)


def run_all(build, commands):
    """[(the command, variables)], all at once, to their end."""
    environment = {**os.environ, "BELAY_PLUGIN_PATH": str(build / "plugins")}
    started = [subprocess.Popen(command, env={**environment, **variables}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
               for command, variables in commands]
    for process in started:
        _, errors = process.communicate()
        if process.returncode != 0:
            raise models.Failed(f"belay ended with status {process.returncode}: {errors.strip()}")


def write(folder, name, plugin, steps):
    manifest = folder / f"{name}.toml"
    manifest.write_text(MANIFEST.format(directory=folder / name, steps=steps, batch=BATCH, plugin=plugin))
    return [str(manifest)], folder / name


def together(build, plugin, steps):
    """Steps a second of two ranks."""
    with tempfile.TemporaryDirectory(prefix="belay_ranks.") as folder:
        arguments, directory = write(pathlib.Path(folder), "ranks", plugin, steps)
        call = [str(build / "bin" / "belay"), "run", *arguments]
        launcher = clusters.LAUNCHERS[plugin]
        commands = ([([launcher, "-np", str(RANKS), *call], clusters.OPENMPI)] if launcher is not None else
                    [(call, {"RANK": str(rank), "WORLD_SIZE": str(RANKS)}) for rank in range(RANKS)])
        run_all(build, commands)
        return rate_in(directory)


def apart(build, steps):
    """The sum of the steps a second of as many runs of their own."""
    with tempfile.TemporaryDirectory(prefix="belay_ranks.") as folder:
        runs = [write(pathlib.Path(folder), f"run_{i}", "gloo", steps) for i in range(RANKS)]
        run_all(build, [([str(build / "bin" / "belay"), "run", *arguments], {}) for arguments, _ in runs])
        return sum(rate_in(directory) for _, directory in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    alone, ranks = [], {plugin: [] for plugin in clusters.LAUNCHERS}
    for _ in range(arguments.rounds):  # in turns, so that what else the machine does meets all of them
        alone.append(BATCH * apart(arguments.build, arguments.steps))
        for plugin, rates in ranks.items():
            rates.append(BATCH * RANKS * together(arguments.build, plugin, arguments.steps))
    two = statistics.median(alone)
    for plugin, rates in ranks.items():
        rate = statistics.median(rates)
        print(f"{plugin}: {rate:.0f} samples/s of {RANKS} ranks, {two:.0f} of {RANKS} runs: {rate / two:.2f}")


if __name__ == "__main__":
    main()
