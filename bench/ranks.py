# SPDX-License-Identifier: Apache-2.0
"""Two processes that train one model, against two that train one each, side by side on this machine: what the exchange
costs. A convolutional network with one thread a process, so that both have as much to compute.

    ranks.py BUILD_DIRECTORY [--steps N] [--rounds N] [--plugins NAME ...] [--manifest FILE]
    ranks.py BUILD_DIRECTORY --sleeping [--steps N] [--rounds N]

Prints a line for each cluster plugin: samples a second of the two ranks, of the two runs, and the ratio. --manifest: another
training with batches of 64, as examples/mnist_cnn.toml, instead of the one below.

--sleeping: one of two ranks, the other one is not there. Its cluster is the test's (tests/e2e/plugins/pretend.cc, the target
`pretend`), which sleeps instead of sending, so the exchange takes nothing from the computation. A line for each speed of that
network: a step without an exchange, the exchange alone (the times of its buckets in a trace), a step with it, and what part
that is of the larger of the two. Where the exchange takes longer than the backward pass, the forward pass in front of it is
in no step hidden.
"""
import argparse
import collections
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
SHARES = (0.25, 0.5, 1, 4)  # of a step's time, that an exchange takes
CALL_US = 50


def rate_in(directory):
    """Steps a second: the median of the lines of metrics.jsonl."""
    lines = [json.loads(line) for line in (directory / "metrics.jsonl").read_text().splitlines()]
    rates = [line["steps_per_sec"] for line in lines if "steps_per_sec" in line]
    if not rates:
        raise models.Failed(f"{directory} has no rates; use more steps")
    return statistics.median(rates)


def run_all(build, commands):
    """[(the command, variables)], all at once, to their end."""
    environment = {**os.environ, "BELAY_PLUGIN_PATH": f"{build / 'plugins'}:{build / 'tests/e2e/plugins'}"}
    started = [subprocess.Popen(command, env={**environment, **variables}, stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
               for command, variables in commands]
    for process in started:
        _, errors = process.communicate()
        if process.returncode != 0:
            raise models.Failed(f"belay ended with status {process.returncode}: {errors.strip()}")


def write(folder, name, plugin, steps, given=None):
    """The arguments of `belay run`, and the run's directory."""
    if given is not None:
        settings = {"run.dir": folder / name, "run.max_steps": steps, "run.threads": 1, "cluster.plugin": plugin,
                    "session.log_step_count_steps": 10, "session.save_summaries_steps": 0}
        return [str(given), *(f"--set={key}={value}" for key, value in settings.items())], folder / name
    manifest = folder / f"{name}.toml"
    manifest.write_text(MANIFEST.format(directory=folder / name, steps=steps, batch=BATCH, plugin=plugin))
    return [str(manifest)], folder / name


def together(build, plugin, steps, given=None):
    """Steps a second of two ranks."""
    with tempfile.TemporaryDirectory(prefix="belay_ranks.") as folder:
        arguments, directory = write(pathlib.Path(folder), "ranks", plugin, steps, given)
        call = [str(build / "bin" / "belay"), "run", *arguments]
        launcher = clusters.LAUNCHERS[plugin]
        commands = ([([launcher, "-np", str(RANKS), *call], clusters.OPENMPI)] if launcher is not None else
                    [(call, {"RANK": str(rank), "WORLD_SIZE": str(RANKS)}) for rank in range(RANKS)])
        run_all(build, commands)
        return rate_in(directory)


def apart(build, steps, given=None):
    """The sum of the steps a second of as many runs of their own."""
    with tempfile.TemporaryDirectory(prefix="belay_ranks.") as folder:
        runs = [write(pathlib.Path(folder), f"run_{i}", "gloo", steps, given) for i in range(RANKS)]
        run_all(build, [([str(build / "bin" / "belay"), "run", *arguments], {}) for arguments, _ in runs])
        return sum(rate_in(directory) for _, directory in runs)


def pretended(build, steps, mib_us, call_us, *more):
    """The directory of a run of one of two ranks; it is deleted behind `with`."""
    folder = tempfile.TemporaryDirectory(prefix="belay_ranks.")
    arguments, directory = write(pathlib.Path(folder.name), "ranks", "pretend", steps)
    options = [f"--set=cluster.mib_us={mib_us}", f"--set=cluster.call_us={call_us}", *more]
    call = [str(build / "bin" / "belay"), "run", *arguments, *options]
    run_all(build, [(call, {"RANK": "0", "WORLD_SIZE": str(RANKS)})])
    return folder, directory


def step_ms(build, steps, mib_us, call_us):
    folder, directory = pretended(build, steps, mib_us, call_us)
    with folder:
        return 1000 / rate_in(directory)


def exchange_ms(build, mib_us, call_us):
    """Of a step: the buckets' times in a trace."""
    folder, directory = pretended(build, 30, mib_us, call_us, "--trace")
    with folder:
        slices = json.loads((directory / "trace.json").read_text())
        by_bucket = collections.defaultdict(list)
        for piece in slices:
            if piece.get("cat") == "ranks":
                by_bucket[piece["name"]].append(piece["dur"] / 1000)
        return sum(statistics.median(times) for times in by_bucket.values())


def sleeping(build, steps, rounds):
    free = step_ms(build, steps, 0, 0)
    of_a_mib = exchange_ms(build, 10_000, CALL_US) / 10_000  # of a step's gradients, for each us of a MiB
    speeds = {share: share * free / of_a_mib for share in SHARES}
    alone, with_it = [], {share: [] for share in SHARES}
    for _ in range(rounds):
        alone.append(step_ms(build, steps, 0, 0))
        for share, mib_us in speeds.items():
            with_it[share].append(step_ms(build, steps, mib_us, CALL_US))
    compute = statistics.median(alone)
    for share, mib_us in speeds.items():
        exchange, step = exchange_ms(build, mib_us, CALL_US), statistics.median(with_it[share])
        print(f"a step {compute:.2f} ms, its exchange {exchange:.2f} ms, both {step:.2f} ms: "
              f"{step / max(compute, exchange):.2f} times the larger")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--plugins", nargs="+", choices=list(clusters.LAUNCHERS), default=list(clusters.LAUNCHERS))
    parser.add_argument("--manifest", type=pathlib.Path)
    parser.add_argument("--sleeping", action="store_true")
    arguments = parser.parse_args()
    arguments.build = arguments.build.resolve()
    if arguments.sleeping:
        return sleeping(arguments.build, arguments.steps, arguments.rounds)
    given = arguments.manifest.resolve() if arguments.manifest is not None else None
    alone, ranks = [], {plugin: [] for plugin in arguments.plugins}
    for _ in range(arguments.rounds):  # in turns, so that what else the machine does meets all of them
        alone.append(BATCH * apart(arguments.build, arguments.steps, given))
        for plugin, rates in ranks.items():
            rates.append(BATCH * RANKS * together(arguments.build, plugin, arguments.steps, given))
    two = statistics.median(alone)
    for plugin, rates in ranks.items():
        rate = statistics.median(rates)
        print(f"{plugin}: {rate:.0f} samples/s of {RANKS} ranks, {two:.0f} of {RANKS} runs: {rate / two:.2f}")


if __name__ == "__main__":
    main()
