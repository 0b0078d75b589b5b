# SPDX-License-Identifier: Apache-2.0
"""Whole training steps of the models in bench/models.cc, and what they compute without gradients: Belay, libtorch as
shipped and as an expert would use it, and oneDNN's own primitives, round by round in turns.

A round of each program follows one of the others', so that what else the machine does meets all of them; the ratios are
those of the medians. With one thread times are CPU time: a program that computes and never waits takes no longer on an
idle machine. With two they are elapsed.
"""
import json
import os
import statistics
import subprocess

import processor

MODELS = ("linear", "mlp", "mlp_512", "mlp_wide", "cnn", "lstm", "transformer")
WITHOUT_ONEDNN = ("linear", "lstm")
BF16 = ("mlp", "mlp_wide", "cnn")
FORWARD = ("mlp", "cnn", "transformer")
FORWARD_BATCHES = (1, 64)
OTHERS = 0.1  # of one processor
OPENBLAS = "/usr/lib/x86_64-linux-gnu/openblas-openmp"  # of libopenblas0-openmp: the pthread build slows libtorch down
INSTALL = "apt-get install --no-install-recommends libtorch-dev libopenblas0-openmp"


class Failed(Exception):
    pass


class Program:
    """A process that makes a round at each line it is sent (bench/rounds.h)."""

    def __init__(self, name, path, model, threads, *options):
        self.name = name
        self.rounds = []
        libraries = [OPENBLAS] if os.path.isdir(OPENBLAS) else []
        libraries += [p for p in [os.environ.get("LD_LIBRARY_PATH")] if p]
        environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "LD_LIBRARY_PATH": ":".join(libraries)}
        self._process = subprocess.Popen([path, model, str(threads), *options], env=environment, text=True,
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def round(self, seconds):
        try:
            self._process.stdin.write(f"{seconds}\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            pass
        line = self._process.stdout.readline()
        if not line:
            raise Failed(f"{self.name} ended with status {self._process.wait()}")
        self.rounds.append(json.loads(line))

    def median(self, key):
        return statistics.median(r[key] for r in self.rounds)

    def memory(self):
        return max(r["max_rss_mib"] for r in self.rounds)

    def close(self):
        self._process.stdin.close()
        self._process.wait()


def with_libtorch(build):
    return (build / "bin" / "bench_libtorch_shipped").exists()


def open_libtorch(build, model, threads, *options):
    if not with_libtorch(build):
        return []
    return [Program("libtorch", build / "bin" / "bench_libtorch_shipped", model, threads, *options),
            Program("tuned", build / "bin" / "bench_libtorch_tuned", model, threads, *options)]


def open_steps(build, model, threads):
    own = build / "bin" / "bench_model_steps"
    programs = [Program("belay", own, model, threads), *open_libtorch(build, model, threads)]
    if threads > 1:
        return programs
    if model not in WITHOUT_ONEDNN:
        programs.append(Program("onednn", build / "bin" / "bench_onednn_peer", model, threads))
    if model in BF16 and processor.describe()["avx512_bf16"]:
        programs.append(Program("bf16", own, model, threads, "bf16"))
        if with_libtorch(build):
            tuned = build / "bin" / "bench_libtorch_tuned"
            programs.append(Program("tuned_bf16", tuned, model, threads, "bf16"))
    return programs


def open_forward(build, model, threads, batch):
    own = build / "bin" / "bench_model_steps"
    return [Program("belay", own, model, threads, "forward", str(batch)),
            *open_libtorch(build, model, threads, "forward", str(batch))]


def time_of(threads):
    return "cpu_us" if threads == 1 else "us"


def measure(programs, title, threads, rounds, seconds, say):
    """{program: {"us": .., "cpu_us": .., "max_rss_mib": ..}}; `say` gets each round as a line. Ends the programs. Empty
    where a team of threads met other programs on its processors: what it waits for then is these."""
    key = time_of(threads)
    others = processor.Others()
    try:
        # All start at once, so that no first round meets another's start.
        for program in programs:
            program.round(0.2)
            program.rounds.clear()
        for number in range(rounds):
            turn = programs if number % 2 == 0 else programs[::-1]
            for program in turn:
                program.round(seconds)
            say(f"  {title}, {threads} thread{'s' if threads > 1 else ''}, round {number + 1}: " +
                ", ".join(f"{p.name} {p.rounds[-1][key]:.1f} us" for p in programs))
    finally:
        for program in programs:
            program.close()
    if threads > 1 and others.part() > OTHERS:
        say(f"bench: {title}, {threads} threads: left out, for other programs took {others.part():.0%} of a processor")
        return {}
    return {p.name: {"us": p.median("us"), "cpu_us": p.median("cpu_us"), "max_rss_mib": p.memory()} for p in programs}


def step_ratios(model, threads, found):
    """The measures of bench/baseline.json, by their names there: how long a step of ours takes, by itself and as part of
    the others' time."""
    time = {name: measured[time_of(threads)] for name, measured in found.items()}
    measures = beside_libtorch(f"{model}_{threads}", time)
    if "bf16" in time:
        measures[f"{model}_bf16_to_float32"] = time["bf16"] / time["belay"]
    if "bf16" in time and "libtorch" in time:
        measures[f"{model}_bf16_to_tuned_bf16"] = time["bf16"] / time["tuned_bf16"]
        if model == "mlp_wide":
            measures[f"{model}_bf16_to_libtorch"] = time["bf16"] / time["libtorch"]
    if "onednn" in time:
        measures[f"{model}_to_onednn"] = time["belay"] / time["onednn"]
    if "libtorch" in time and threads == 1 and model in ("cnn", "transformer"):
        measures[f"{model}_memory_to_libtorch"] = found["belay"]["max_rss_mib"] / found["libtorch"]["max_rss_mib"]
    return measures


def forward_ratios(model, threads, batch, found):
    time = {name: measured[time_of(threads)] for name, measured in found.items()}
    return beside_libtorch(f"forward_{model}_{batch}_{threads}", time)


def beside_libtorch(name, time):
    measures = {f"{name}_us": time["belay"]} if time else {}
    if "libtorch" in time:
        measures[f"{name}_to_libtorch"] = time["belay"] / time["libtorch"]
        measures[f"{name}_to_tuned"] = time["belay"] / time["tuned"]
    return measures
