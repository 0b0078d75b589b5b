# SPDX-License-Identifier: Apache-2.0
"""Whole training steps of the models in bench/models.cc: Belay, libtorch and the limit, round by round in turns.

A round of each program follows one of the others', so that what else the machine does meets all of them; the ratios are
those of the medians. With one thread times are CPU time: a program that computes and never waits takes no longer on an
idle machine. With two they are elapsed.
"""
import json
import os
import statistics
import subprocess

MODELS = ("linear", "mlp", "mlp_512", "mlp_wide", "cnn", "lstm", "transformer")
WITHOUT_LIMIT = ("linear", "lstm")
BF16 = ("mlp", "mlp_wide", "cnn")
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


def peer_of(build):
    """libtorch's program; None where it is not built."""
    path = build / "bin" / "bench_libtorch_peer"
    return path if path.exists() else None


def open_programs(build, model, threads):
    peer = peer_of(build)
    programs = [Program("belay", build / "bin" / "bench_model_steps", model, threads)]
    if peer is not None:
        programs.append(Program("libtorch", peer, model, threads))
    if threads == 1:
        if model not in WITHOUT_LIMIT:
            programs.append(Program("limit", build / "bin" / "bench_limit_peer", model, threads))
        if model in BF16 and "avx512_bf16" in cpu_flags():
            programs.append(Program("bf16", build / "bin" / "bench_model_steps", model, threads, "bf16"))
    return programs


def cpu_flags():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as info:
            return next((line.split() for line in info if line.startswith("flags")), [])
    except OSError:
        return []


def measure(build, model, threads, rounds, seconds, say):
    """{program: {"us": .., "cpu_us": .., "max_rss_mib": .., "rounds": [..]}}; `say` gets each round as a line."""
    programs = open_programs(build, model, threads)
    key = "cpu_us" if threads == 1 else "us"
    try:
        # All start at once; nobody's first round is to meet the others' beginnings.
        for program in programs:
            program.round(0.2)
            program.rounds.clear()
        for number in range(rounds):
            turn = programs if number % 2 == 0 else programs[::-1]
            for program in turn:
                program.round(seconds)
            say(f"  {model}, {threads} thread{'s' if threads > 1 else ''}, round {number + 1}: " +
                ", ".join(f"{p.name} {p.rounds[-1][key]:.1f} us" for p in programs))
        return {p.name: {"us": p.median("us"), "cpu_us": p.median("cpu_us"), "max_rss_mib": p.memory(),
                         "rounds": p.rounds} for p in programs}
    finally:
        for program in programs:
            program.close()


def ratios(model, threads, found):
    """The measures of bench/baseline.json, by their names there: how long a step of ours takes, by itself and as part of
    the others' time."""
    key = "cpu_us" if threads == 1 else "us"
    own = found["belay"][key]
    measures = {f"{model}_{threads}_us": own}
    if "libtorch" in found:
        measures[f"{model}_{threads}_to_libtorch"] = own / found["libtorch"][key]
    if "bf16" in found:
        measures[f"{model}_bf16_to_float32"] = found["bf16"][key] / own
    if "bf16" in found and "libtorch" in found and model == "mlp_wide":
        measures[f"{model}_bf16_to_libtorch"] = found["bf16"][key] / found["libtorch"][key]
    if "limit" in found:
        measures[f"{model}_to_limit"] = own / found["limit"][key]
    if "libtorch" in found and threads == 1 and model in ("cnn", "transformer"):
        measures[f"{model}_memory_to_libtorch"] = found["belay"]["max_rss_mib"] / found["libtorch"]["max_rss_mib"]
    return measures
