#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the benchmarks, prints a table, and with --check compares it with baseline.json.

    python3 bench/run.py --build build/release [--check] [--json FILE] [--only GROUP | --peers]

docs/design/benchmarks.md says what each line of the table measures.

A machine that others use too only ever adds time, so the smallest of several takes counts, and a measure that misses its
bounds is taken again, twice at most. The limits hold on every machine. Where a measure has a `tolerance` it is also held
against what it was, but only on the processor that `was` is of.

Exit status: 0; 1 a measure misses its bounds; 2 a benchmark could not be run.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import background_save
import busy_machine
import checkpoints
import clusters
import embedding as embedding_tables
import models
import onnxruntime_peer
import processor
import thousand_plugins

HERE = pathlib.Path(__file__).resolve().parent
TAKES = 3

MANIFEST = """[run]
dir = "run"
max_steps = 1
[input.train]
plugin = "csv"
path = "points.csv"
label = "y"
label_type = "float"
batch_size = 16
[model]
plugin = "linear"
[optimizer]
name = "sgd"
learning_rate = 0.1
"""


class CannotRun(Exception):
    pass


def program(build, name):
    path = build / "bin" / name
    if not path.exists():
        raise CannotRun(f"{path} is not there; build it with ./dev build (BELAY_BENCH must be ON)")
    return path


def google_benchmark(build, name, *options):
    done = subprocess.run([program(build, name), "--benchmark_format=json", *options], capture_output=True, text=True)
    if done.returncode != 0:
        raise CannotRun(f"{name} ended with status {done.returncode}: {done.stderr.strip()}")
    runs = [r for r in json.loads(done.stdout)["benchmarks"] if r["run_type"] == "iteration"]
    for run in runs:
        if run.get("error_occurred"):
            raise CannotRun(f"{name}, {run['name']}: {run['error_message']}")
    return runs


def session(build):
    """Nanoseconds of CPU time: of one raw run, and of each hook more."""
    best = {}
    for run in google_benchmark(build, "bench_session", "--benchmark_repetitions=5", "--benchmark_min_time=0.1"):
        name = run["run_name"]
        best[name] = min(run["cpu_time"], best.get(name, float("inf")))
    hooked = {n: best[f"hooked_run/{n}"] for n in (0, 1, 10, 100, 1000)}
    return {
        "raw_run_us": best["raw_run"] / 1000,
        "first_hook_ns": max(hooked[1] - hooked[0], 0),
        "hook_of_10_ns": (hooked[10] - hooked[1]) / 9,
        "hook_of_100_ns": (hooked[100] - hooked[10]) / 90,
        "hook_of_1000_ns": (hooked[1000] - hooked[100]) / 900,
    }


def scale(build):
    """What a node, a MiB of variables and a hook cost where there are many; least of three takes."""
    best = {}
    for run in google_benchmark(build, "bench_scale", "--benchmark_repetitions=3", "--benchmark_min_time=0.05"):
        name = run["run_name"]
        if name not in best or run["cpu_time"] < best[name]["cpu_time"]:
            best[name] = run
    measures = {}
    for nodes in (1000, 10000, 100000):
        measures[f"first_run_{nodes}_us"] = best[f"build_plan_and_run_first/{nodes}"]["us_per_node"]
    measures["first_run_100000_ms"] = best["build_plan_and_run_first/100000"]["real_time"]
    for nodes in (1000, 10000, 100000):
        measures[f"warm_run_{nodes}_ns"] = best[f"warm_run/{nodes}"]["ns_per_node"]
    measures["node_overhead_ns"] = best["node_overhead/1000"]["ns_per_node"]
    for size in (1, 32, 1024):
        measures[f"initialize_{size}_ms"] = best[f"initialize_variable/{size}"]["ms_per_MiB"]
    return measures


def least(build, name, field, *options):
    """The least of a field over all repetitions, by benchmark."""
    best = {}
    for run in google_benchmark(build, name, *options):
        best[run["run_name"]] = min(run[field], best.get(run["run_name"], float("inf")))
    return best


def init(build):
    """Variables of 1 GiB, elapsed: what two threads share is measured by the clock."""
    best = least(build, "bench_init", "real_time", "--benchmark_filter=random_normal|copy", "--benchmark_repetitions=3")
    normal = {n: best[f"random_normal/{n}/process_time/real_time"] for n in (1, 2)}
    return {
        "init_normal_1_ms": normal[1],
        "init_normal_2_ms": normal[2],
        "init_normal_2_to_copy": normal[2] / best["copy/process_time/real_time"],
    }


def inputs(build):
    """CPU time of one thread: nanoseconds an example, and what opening takes."""
    measures = {}
    starts, memory = {}, {}
    for run in google_benchmark(build, "bench_inputs"):
        kind, name = run["name"].split("/")[:2]
        if kind == "next":
            measures[f"input_{name}_ns"] = 1e9 / run["examples"]
        else:
            starts[name], memory[name] = run["cpu_time"], run.get("memory_to_file")
    for name in ("csv", "text", "tfrecord"):
        measures[f"input_{name}_start_ms"] = starts[name]
    for name in ("csv", "text"):
        measures[f"input_{name}_memory"] = memory[name]
    return measures


def save(build):
    """Elapsed, into memory, where a sync costs nothing."""
    best = least(build, "bench_save", "real_time", "--benchmark_repetitions=3")
    written = best["write_and_sync/real_time"]
    return {
        "save_first_to_write": best["save/first:1/real_time"] / written,
        "save_to_write": best["save/first:0/real_time"] / written,
    }


def events(build):
    """Medians of pairs of blocks: CPU time of an event, and its ratio to protobuf's serialization of the same."""
    measures = {}
    for run in google_benchmark(build, "bench_events"):
        kind = run["name"].split("/")[0]
        measures[f"event_{kind}_ns"] = run["event_ns"]
        measures[f"event_{kind}_to_protobuf"] = run["ratio"]
    return measures


def boundary(build):
    """Nanoseconds of CPU time of one hook's two callbacks; allocations of all repetitions together."""
    runs = google_benchmark(build, "bench_boundary", "--benchmark_repetitions=10", "--benchmark_min_time=0.05")
    least = {name: min(r["cpu_time"] for r in runs if r["run_name"] == name) for name in ("table", "guarded")}
    return {
        "boundary_pair_ns": least["table"],
        "boundary_guarded_pair_ns": least["guarded"],
        "boundary_allocations": sum(r["allocations"] for r in runs),
    }


def step(build):
    """Medians: CPU time of a step without hooks, and the ratios of blocks with hooks to the blocks without beside them."""
    measures = {}
    for run in google_benchmark(build, "bench_step"):
        model = run["name"].split("/")[1]
        measures[f"{model}_step_us"] = run["bare_cpu_us"]
        measures[f"{model}_hooks_cpu_ratio"] = run["cpu_ratio"]
        measures[f"{model}_hooks_ratio"] = run["ratio"]
    return measures


def one_run(belay, directory, environment):
    """Milliseconds from start to exit, and MiB at the most."""
    shutil.rmtree(directory / "run", ignore_errors=True)
    log = directory / "log"
    to_log = [(os.POSIX_SPAWN_OPEN, fd, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600) for fd in (1, 2)]
    start = time.perf_counter()
    pid = os.posix_spawn(belay, [str(belay), "run", str(directory / "train.toml")], environment, file_actions=to_log)
    _, status, usage = os.wait4(pid, 0)
    milliseconds = (time.perf_counter() - start) * 1e3
    if status != 0:
        raise CannotRun(f"belay run ended with status {os.waitstatus_to_exitcode(status)}: {log.read_text().strip()}")
    return milliseconds, usage.ru_maxrss / 1024


def cold_start(build, parent, runs):
    belay = program(build, "belay")
    environment = {**os.environ, "BELAY_PLUGIN_PATH": str((build / "plugins").resolve())}
    points = random.Random(1)
    with tempfile.TemporaryDirectory(prefix="belay_bench.", dir=parent) as name:
        directory = pathlib.Path(name)
        (directory / "train.toml").write_text(MANIFEST)
        rows = [(points.random(), points.random()) for _ in range(100)]
        (directory / "points.csv").write_text("x1,x2,y\n" + "".join(f"{a},{b},{2 * a - b}\n" for a, b in rows))
        taken = [one_run(belay, directory, environment) for _ in range(runs)]
    return statistics.median(t for t, _ in taken), max(m for _, m in taken)


def folder_in_memory():
    """None, which means the usual place of temporary files, where there is none."""
    memory = "/dev/shm"
    return memory if os.path.isdir(memory) and os.access(memory, os.W_OK) else None


def cold_start_in_memory(build):
    """The program's own share: the run directory lies in memory, where the ten fsyncs of two checkpoints cost nothing."""
    milliseconds, mebibytes = cold_start(build, folder_in_memory(), 40)
    return {"cold_start_ms": milliseconds, "cold_start_mib": mebibytes}


def cold_start_on_disk(build):
    return {"cold_start_disk_ms": cold_start(build, None, 15)[0]}


def list_thousand_plugins(build):
    """The check is on CPU time: one thread reads files that are in memory, so an idle machine takes no longer than that."""
    belay = program(build, "belay").resolve()
    library = build / "plugins" / f"{thousand_plugins.PLUGIN}.so"
    try:
        (elapsed, cpu), (_, cpu_of_ls) = thousand_plugins.measure(belay, library, folder_in_memory())
    except (ValueError, OSError, subprocess.CalledProcessError) as error:
        raise CannotRun(f"listing a thousand plugins: {error}") from error
    return {"list_1000_cpu_ms": cpu * 1e3, "list_1000_elapsed_ms": elapsed * 1e3, "list_1000_to_ls": cpu / cpu_of_ls}


def say(line):
    print(line, file=sys.stderr)


def say_without_libtorch(build):
    if not models.with_libtorch(build):
        say(f"bench: libtorch is not installed, so nothing is compared with it: {models.INSTALL}")


def model_steps(build):
    """Training steps of whole models beside libtorch's, one thread and two; each round is printed on stderr."""
    program(build, "bench_model_steps"), program(build, "bench_onednn_peer")
    say_without_libtorch(build)
    measures = {}
    try:
        for model in models.MODELS:
            for threads in (1, 2):
                if threads > 1 and model == "linear":
                    continue
                found = models.measure(models.open_steps(build, model, threads), model, threads, 7, 0.5, say)
                measures.update(models.step_ratios(model, threads, found))
    except models.Failed as error:
        raise CannotRun(str(error)) from error
    return measures


def embedding(build):
    """Training steps on large embeddings, beside small ones and beside libtorch; as model_steps."""
    program(build, "bench_embedding")
    program(build, "bench_embedding_least")
    say_without_libtorch(build)
    try:
        return embedding_tables.measure(build, say)
    except models.Failed as error:
        raise CannotRun(str(error)) from error


def inference(build):
    """What the models compute of a batch, without gradients, beside libtorch; as model_steps."""
    program(build, "bench_model_steps")
    say_without_libtorch(build)
    measures = {}
    try:
        for model in models.FORWARD:
            for batch in models.FORWARD_BATCHES:
                for threads in (1, 2):
                    programs = models.open_forward(build, model, threads, batch)
                    found = models.measure(programs, f"{model} of {batch}, forward", threads, 7, 0.3, say)
                    measures.update(models.forward_ratios(model, threads, batch, found))
    except models.Failed as error:
        raise CannotRun(str(error)) from error
    return measures


def onnxruntime(build):
    """What the models compute of a batch beside ONNX Runtime, which runs the exported files."""
    program(build, "bench_model_steps"), program(build, "bench_onnx_files")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        if onnxruntime_peer.library(build) is None:
            why_not = onnxruntime_peer.install(folder)
            if why_not is not None:
                say(f"bench: NOT MEASURED beside ONNX Runtime: {why_not}")
                return {}
            say(f"  onnxruntime-node {onnxruntime_peer.version(folder)}")
        try:
            return onnxruntime_peer.measure(build, folder, say)
        except models.Failed as error:
            raise CannotRun(str(error)) from error


def busy(build):
    """A run beside other programs, as ratios of medians; each is printed on stderr."""
    program(build, "belay")
    if busy_machine.data_directory() is None or busy_machine.processors() is None:
        say(f"bench: a busy machine is not measured: it needs two processors and BELAY_DATA_DIR with {busy_machine.DATA}")
        return {}
    try:
        return busy_machine.measure(build, say)
    except (ValueError, OSError) as error:
        raise CannotRun(f"on a busy machine: {error}") from error


def with_room(folder, times, module, build):
    """What the module measures of saves of 1 GiB, which take so many times their size; nothing where there is no room."""
    why_not = checkpoints.why_not(folder, times * module.MIB)
    if why_not is not None:
        say(f"bench: {module.__name__}: NOT MEASURED: {why_not}")
        return {}
    try:
        return module.measure(build, folder, say)
    except models.Failed as error:
        raise CannotRun(str(error)) from error


def background(build):
    """What a save in the background costs the training, into memory; each round is printed on stderr."""
    program(build, "bench_background_save")
    return with_room(os.environ.get("BELAY_BENCH_DIR", folder_in_memory() or tempfile.gettempdir()), 8, background_save, build)


def checkpoint(build):
    """What a checkpoint takes beside disk and memory; as background, but to the disk of temporary files."""
    program(build, "bench_checkpoint")
    return with_room(os.environ.get("BELAY_BENCH_DIR", tempfile.gettempdir()), 4, checkpoints, build)


def cluster(build):
    """What an all-reduce of two ranks costs by each cluster plugin; each table is printed on stderr."""
    program(build, "bench_cluster")
    try:
        return clusters.measure(build, say)
    except models.Failed as error:
        raise CannotRun(str(error)) from error


GROUPS = (session, scale, boundary, step, cold_start_in_memory, cold_start_on_disk, list_thousand_plugins, init, inputs,
          save, background, checkpoint, events, model_steps, embedding, inference, onnxruntime, cluster, busy)
PEERS = (model_steps, embedding, inference, onnxruntime)  # Belay compared with other systems
RATIO = "times"


def read_baseline():
    """(the measures, the sentence that says which processor their `was` is of)"""
    baseline = json.loads((HERE / "baseline.json").read_text())
    return baseline["measures"], baseline["processor"]


def without_tolerances(measures):
    return {name: {key: value for key, value in measure.items() if key != "tolerance"}
            for name, measure in measures.items()}


def miss(measure, value):
    """A sentence; None where the value is within its bounds."""
    unit = measure["unit"]
    limit = measure.get("limit")
    if limit is not None and value >= limit:
        return f"{measure['what']}: {value:.3g} {unit}, must be less than {limit:g} {unit}"
    tolerance = measure.get("tolerance")
    if tolerance is not None and value > measure["was"] * tolerance:
        return f"{measure['what']}: {value:.3g} {unit}, more than {tolerance:g} times the {measure['was']:g} {unit} it was"
    return None


def measure_all(build, baseline, groups, check):
    values = {}
    for group in groups:
        least = {}
        for _ in range(TAKES if check else 1):
            for name, value in group(build).items():
                least[name] = min(value, least.get(name, value))
            if not any(miss(baseline[name], value) for name, value in least.items()):
                break
        values.update(least)
    return values


def print_table(values, baseline, here, then):
    print(f"now: {here}\nwas: {then}\n")
    width = max((len(baseline[name]["what"]) for name in values), default=0)
    print(f"{'':{width}} {'now':>10} {'was':>10} {'limit':>10}")
    for name, value in values.items():
        measure = baseline[name]
        limit = f"{measure['limit']:g}" if "limit" in measure else ""
        was = f"{measure['was']:.3g}" if "was" in measure else ""
        print(f"{measure['what']:{width}} {value:10.3g} {was:>10} {limit:>10} {measure['unit']}")


def above_one(values, baseline):
    """The ratios of which Belay has the larger part."""
    return [f"{baseline[name]['what']}: {value:.3g}" for name, value in values.items() if value > 1]


def groups_of(arguments):
    if arguments.peers:
        return PEERS
    return [g for g in GROUPS if arguments.only in (None, g.__name__)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="build directory")
    parser.add_argument("--check", action="store_true", help="exit 1 where a measure misses its bounds")
    parser.add_argument("--json", type=pathlib.Path, help="write the measures and the processor here too")
    some = parser.add_mutually_exclusive_group()
    some.add_argument("--only", choices=[g.__name__ for g in GROUPS], help="one group of the measures")
    some.add_argument("--peers", action="store_true", help="only ratios to other systems; names those above 1")
    arguments = parser.parse_args()
    baseline, then = read_baseline()
    here = processor.describe()
    if processor.sentence(here) != then:
        baseline = without_tolerances(baseline)
    try:
        values = measure_all(arguments.build, baseline, groups_of(arguments), arguments.check)
    except CannotRun as error:
        say(f"bench: {error}")
        return 2
    if arguments.peers:
        values = {name: value for name, value in values.items() if baseline[name]["unit"] == RATIO}
    print_table(values, baseline, processor.sentence(here), then)
    if arguments.peers:
        print("\nratios above 1, so Belay takes more:", *(above_one(values, baseline) or ["none"]), sep="\n  ")
    if arguments.json:
        arguments.json.write_text(json.dumps({"processor": here, "measures": values}, indent=2) + "\n")
    if not arguments.check:
        return 0
    misses = [text for name, value in values.items() if (text := miss(baseline[name], value))]
    for text in misses:
        say(f"bench: {text}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
