# SPDX-License-Identifier: Apache-2.0
"""Predicting beside ONNX Runtime: the models of bench/models.cc without gradients, and what the exporter onnx writes of
them in ONNX Runtime, in turns (bench/models.py).

bench_onnxruntime_peer calls Debian's library. Without that library onnxruntime-node is used, which npm installs into a
temporary folder, with --ignore-scripts: its CPU binary is in the package.
"""
import json
import pathlib
import shutil
import statistics
import subprocess

import models

PACKAGE = "onnxruntime-node"
PAIRS, SECONDS = 15, 0.3
PEER = pathlib.Path(__file__).resolve().parent / "onnxruntime_peer.js"


def library(build):
    """The program that calls Debian's library; None: that library was not there when Belay was built."""
    program = build / "bin" / "bench_onnxruntime_peer"
    return program if program.exists() else None


def install(folder):
    """Why it cannot be compared with; None: it is in folder/node_modules."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        return "there is no npm and node"
    done = subprocess.run(["npm", "install", PACKAGE, "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return None if done.returncode == 0 else f"npm cannot install {PACKAGE}:\n{done.stdout}"


def version(folder):
    package = folder / "node_modules" / PACKAGE / "package.json"
    return json.loads(package.read_text(encoding="utf-8"))["version"]


def write_model(build, model, batch, folder):
    there = folder / f"{model}_{batch}"
    there.mkdir(exist_ok=True)
    done = subprocess.run([build / "bin" / "bench_onnx_files", model, str(batch), there], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise models.Failed(f"bench_onnx_files ended with status {done.returncode}")
    (there / "x.json").write_text(done.stdout, encoding="utf-8")
    return there


def open_pair(build, model, batch, threads, folder):
    own = models.Program("belay", build / "bin" / "bench_model_steps", model, threads, "forward", str(batch))
    program, files = library(build), str(folder / f"{model}_{batch}")
    if program is None:
        return [own, models.Program("onnxruntime", "node", str(PEER), threads, files)]
    return [own, models.Program("onnxruntime", program, files, threads)]


def measure(build, folder, say):
    """{measure: ratio}, by the names of bench/baseline.json."""
    measures = {}
    for threads in (1, 2):
        ratios = []
        for model in models.FORWARD:
            for batch in models.FORWARD_BATCHES:
                write_model(build, model, batch, folder)
                pair = open_pair(build, model, batch, threads, folder)
                found = models.measure(pair, f"{model} of {batch}, predicted", threads, PAIRS, SECONDS, say)
                if found:
                    key = models.time_of(threads)
                    ratios.append(found["belay"][key] / found["onnxruntime"][key])
                    measures[f"onnxruntime_{model}_{batch}_{threads}"] = ratios[-1]
        if len(ratios) == len(models.FORWARD) * len(models.FORWARD_BATCHES):
            measures[f"onnxruntime_mean_{threads}"] = statistics.fmean(ratios)
    return measures
