#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported models in ONNX Runtime.

    onnxruntime_check.py BELAY PLUGINS

Installs onnxruntime-node (npm, --ignore-scripts: its CPU binary is in the package) into a temporary folder, and compares
with `belay predict` on all 10,000 test images of MNIST: examples/mnist_best.toml, which is exported where it is the best and
stopped early, and the perceptron and the convolutional network at the end of a short training; each model of
onnx_check.py on its 7 examples, and each of onnx_tables_check.py on its rows. Classes are equal, unless the two best are closer than the bound; other
values are within 1e-4 of the largest of their example. Without npm, a network, numpy or BELAY_DATA_DIR it ends with 77.
"""
import gzip
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import onnx_check
import onnx_tables_check

HERE = pathlib.Path(__file__).resolve().parent


def skip(why):
    print(f"NOT TESTED: {why}")
    sys.exit(77)


try:
    import numpy as np
except ImportError:
    skip("there is no python3-numpy")


def install(folder):
    if shutil.which("npm") is None or shutil.which("node") is None:
        skip("there is no npm and node")
    done = subprocess.run(["npm", "install", "onnxruntime-node", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        skip("npm cannot install onnxruntime-node:\n" + done.stdout)
    shutil.copy(HERE / "onnxruntime_run.js", folder)


def compute(node, model, x, outputs, folder):
    """{name: array}, with the dtypes and shapes of `outputs`. `x`: {input: array}, or the array of the only input."""
    inputs = []
    for name, array in (x if isinstance(x, dict) else {onnx_check.Model(model).inputs[0]: x}).items():
        array.tofile(folder / f"input_{name}.bin")
        inputs += [name, str(folder / f"input_{name}.bin"), str(array.dtype), ",".join(map(str, array.shape))]
    subprocess.run(["node", "onnxruntime_run.js", str(model), str(folder), *inputs], cwd=node, check=True)
    return {name: np.fromfile(folder / f"{name}.bin", like.dtype).reshape(like.shape) for name, like in outputs.items()}


def compare(name, ours, theirs):
    """Where the two best are closer than the bound either may be the class."""
    if "class" in ours:
        best = np.sort(ours["probabilities"], axis=-1)
        close = best[..., -1] - best[..., -2] <= onnx_check.BOUND * best[..., -1]
        theirs["class"] = np.where(close, ours["class"], theirs["class"])
    worst = max(onnx_check.compare(name, key, ours[key], theirs[key]) for key in ours)
    print(f"{name}: {len(next(iter(ours.values())))} examples, {', '.join(ours)} within {worst:.1e}")


def predicted(belay, environment, toml, keys, folder, more=()):
    ours = {}
    for key in keys:
        out = str(folder / f"belay_{key}.npy")
        onnx_check.run([belay, "predict", toml, "--keys", key, "--format", "npy", "--output", out, *more], environment)
        ours[key] = np.load(out)
    return ours


def newest(folder):
    return sorted((folder / "run/export/onnx").glob("[0-9]*"))[-1] / "model.onnx"


def small(belay, environment, node, name, folder):
    kind, model = onnx_check.CASES[name]
    regression = name.endswith("regression")
    onnx_check.prepare(kind, model, regression, folder)
    toml = str(folder / "m.toml")
    onnx_check.run([belay, "run", toml], environment)
    path = newest(folder)
    ours = predicted(belay, environment, toml, onnx_check.Model(path).outputs, folder)
    compare(name, ours, compute(node, path, np.load(folder / "x.npy"), ours, folder))


MODELS = {"mnist_mlp": ('plugin = "mlp"\nhidden = [256]', (784,), 200),
          "mnist_cnn": ('plugin = "cnn"\nfilters = [32, 64]\nkernel_size = 5\ndense = [256]', (28, 28), 60)}


def mnist(belay, environment, node, name, folder):
    model, shape, steps = MODELS[name]
    data = os.environ["BELAY_DATA_DIR"] + "/mnist"
    toml = str(folder / "m.toml")
    images = 'plugin = "idx"\nimages = "%s/%s-images-idx3-ubyte.gz"\nflatten = %s\n'
    flat = "true" if len(shape) == 1 else "false"
    pathlib.Path(toml).write_text(
        f'[run]\ndir = "run"\nmax_steps = {steps}\n[input.train]\n' + images % (data, "train", flat) +
        f'labels = "{data}/train-labels-idx1-ubyte.gz"\nbatch_size = 64\n[input.predict]\n' + images % (data, "t10k", flat) +
        f'epochs = 1\nbatch_size = 500\n[model]\n{model}\n[optimizer]\nname = "adam"\n[[exporters]]\nplugin = "onnx"\n',
        encoding="utf-8")
    onnx_check.run([belay, "run", toml], environment)
    ours = predicted(belay, environment, toml, ["probabilities", "class"], folder)
    compare(name, ours, compute(node, newest(folder), test_images(shape), ours, folder))


def test_images(shape):
    raw = gzip.open(os.environ["BELAY_DATA_DIR"] + "/mnist/t10k-images-idx3-ubyte.gz").read()[16:]
    return np.frombuffer(raw, np.uint8).astype(np.float32).reshape((10000,) + shape) * np.float32(1 / 255)


def table(belay, environment, node, name, folder):
    toml, path, x = onnx_tables_check.prepared(belay, environment, name, folder)
    ours = onnx_tables_check.predicted(belay, environment, toml, onnx_check.Model(path).outputs, folder)
    theirs = compute(node, path, x, ours, folder)
    for key in ours:  # classes are by thresholds, so each must be equal
        onnx_check.compare(name, key, ours[key], theirs[key])
    print(f"{name}: {len(x['features'])} rows, {', '.join(ours)}")


def best(belay, environment, node, name, folder):
    toml = str(HERE.parents[1] / "examples" / f"{name}.toml")
    there = ["--set", f"run.dir={folder}/run"]
    done = subprocess.run([belay, "run", toml, *there], env=environment, capture_output=True, text=True)
    if done.returncode != 0 or "early_stopping" not in done.stderr:
        raise SystemExit(f"{name}: it did not stop early, but with status {done.returncode}\n{done.stderr}")
    ours = predicted(belay, environment, toml, ["probabilities", "class"], folder, ["--checkpoint", "best", *there])
    compare(name, ours, compute(node, newest(folder), test_images((784,)), ours, folder))


def main():
    belay, plugins = sys.argv[1:3]
    environment = dict(os.environ, BELAY_PLUGIN_PATH=plugins)
    if "BELAY_DATA_DIR" not in os.environ:
        skip("BELAY_DATA_DIR is not set")
    with tempfile.TemporaryDirectory() as node:
        install(node)
        for name in ["mnist_best", *MODELS, *onnx_check.CASES]:
            check = best if name == "mnist_best" else mnist if name in MODELS else small
            with tempfile.TemporaryDirectory() as folder:
                check(belay, environment, node, name, pathlib.Path(folder))
        for name in onnx_tables_check.CASES:
            with tempfile.TemporaryDirectory() as folder:
                table(belay, environment, node, name, pathlib.Path(folder))


if __name__ == "__main__":
    main()
