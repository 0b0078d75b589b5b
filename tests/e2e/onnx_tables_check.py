#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models of tables, exported: model.onnx predicts for a row what `belay predict` does, with nothing but its metadata.

    onnx_tables_check.py BELAY PLUGINS

A file of ONNX takes numbers and ids. The columns' transforms, which it cannot express, are in its metadata
"belay.schema". This script applies them to the cells of another file than the training's, with words and gaps that the
training did not have, and computes the model with the evaluator of onnx_check.py. Probabilities are within 1e-4, and
classes are equal, also those by a tuned threshold. Without numpy it ends with 77.
"""
import csv
import datetime
import json
import math
import os
import pathlib
import random
import sys
import tempfile

import onnx_check
import numpy as np

COLUMNS = '''
age = { missing = "median", scale = "standard", indicator = true }
income = { scale = "log" }
height = { scale = "minmax" }
rooms = { buckets = [2, 4] }
city = { type = "category", deliver = "ids", min_count = 5 }
plan = { type = "category", deliver = "ids", hash_buckets = 4 }
since = { type = "date", parts = ["year", "month", "weekday", "days"] }
note = { type = "text", min_count = 3 }
'''
CASES = {
    "tabular, tuned": ("kind", 'plugin = "tabular"\nhidden = [9]\nloss = "binary"\ntune_threshold = "f1"'),
    "tabular, three classes": ("city_of_label", 'plugin = "tabular"\nhidden = [9, 5]\nnorm = "batch"'),
    "linear, tuned for the first class": ("kind", 'plugin = "linear"\ntune_threshold = "f1"\npositive_class = "rare"'),
    "linear, threshold": ("kind", 'plugin = "linear"\nloss = "binary"\nthreshold = 0.8'),
    "linear, number": ("price", 'plugin = "linear"\nlabel_scale = "log"'),
    "mlp, ids": ("kind", 'plugin = "mlp"\nhidden = [9]'),
    "tabular, number": ("price", 'plugin = "tabular"\nhidden = [9]\nlabel_scale = "standard"\nnorm = "layer"'),
}
LABELS = ["kind", "city_of_label", "price"]


def write(path, n, seed, cities):
    draw = random.Random(seed)
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["age", "income", "height", "rooms", "city", "plan", "since", "note"] + LABELS)
        for _ in range(n):
            date = datetime.date(2010, 1, 1) + datetime.timedelta(days=draw.randrange(5000))
            city = draw.choice(cities)
            rare = (city == "Ulm") + draw.random() > 0.8
            out.writerow([draw.choice([str(draw.randrange(18, 80))] * 5 + ["NA"]), f"{draw.expovariate(1e-3):.2f}",
                          f"{draw.uniform(1.5, 2):.3f}", draw.randrange(7), city, draw.choice("ABCDEF"),
                          draw.choice([date.isoformat()] * 9 + [""]),
                          " ".join(draw.choice(["Good", "bad", "late"]) for _ in range(draw.randrange(3))),
                          "rare" if rare else "usual", draw.choice(["x", "y", "z"]),
                          f"{draw.gauss(100, 20) * (2 if rare else 1):.2f}"])


# ---- the metadata, applied ----

def metadata(path):
    properties = [onnx_check.fields(p) for p in onnx_check.fields(path.read_bytes())[14]]
    return {p[1][0].decode(): p[2][0].decode() for p in properties}


def fnv1a(word):
    value = 14695981039346656037
    for byte in word.encode():
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    return value


class Column:
    def __init__(self, kept, name):
        self.name, self.gaps = name, set(kept["gaps"])
        self.settings = dict(s.split("=", 1) for s in kept[f"columns.{name}.settings"])
        self.values = {key.rsplit(".", 1)[1]: value for key, value in kept.items() if key.startswith(f"columns.{name}.")}

    def scaled(self, x, part=0):
        scale = self.settings["scale"]
        if scale == "log":
            return math.copysign(math.log1p(abs(x)), x)
        return x if scale == "none" else (x - self.values["offset"][part]) / self.values["divisor"][part]

    def number(self, cell):
        x = self.values["fill"][0] if cell in self.gaps else float(cell)
        limits = self.values.get("limits")
        made = [self.scaled(x)] if not limits else [float(sum(x >= t for t in limits) == i) for i in range(len(limits) + 1)]
        return made + [float(cell in self.gaps)] * (self.settings.get("indicator") == "true")

    def date(self, cell):
        fill = self.settings["fill"].split("T")[0]
        day, made = datetime.date.fromisoformat(fill if cell in self.gaps else cell), []
        for at, part in enumerate(self.values["parts"]):
            value = {"year": day.year, "month": day.month - 1, "weekday": day.weekday(), "days": day.toordinal() - 719163}[part]
            period = {"month": 12, "weekday": 7}.get(part)
            angle = 2 * math.pi * value / (period or 1)
            made += [math.sin(angle), math.cos(angle)] if period else [self.scaled(value, at)]
        return made

    def text(self, cell):
        return [float(cell.lower().split().count(word)) for word in self.values["words"]]

    def id(self, cell):
        words, buckets = self.values.get("words", []), int(self.values.get("hash_buckets", [0])[0])
        known = buckets or len(words)
        if cell in self.gaps:
            return known + 1
        if buckets:
            return fnv1a(cell) % buckets
        return words.index(cell) if cell in words else known


def feeds(schema, rows):
    """{input: array} of the model, from the cells of the rows."""
    kept, numbers, made = schema["kept"], [[] for _ in rows], {}
    for name in kept["columns"]:
        column = Column(kept, name)
        if column.settings["type"] == "category":
            made["category." + name] = np.array([column.id(row[name]) for row in rows], np.int64)
            continue
        for of_row, row in zip(numbers, rows):
            of_row += getattr(column, column.settings["type"])(row[name])
    return dict(made, features=np.array(numbers, np.float32))


# ---- runs ----

def manifest(label, model):
    others = "".join(f'{name} = "ignore"\n' for name in LABELS if name != label)
    of_label = f'label = "{label}"\n' + ('label_type = "float"\n' if label == "price" else "")
    tuned = '[eval]\nevery_steps = 10\n[input.eval]\nplugin = "csv"\npath = "eval.csv"\n' + of_label + "epochs = 1\n"
    return f'''[run]
dir = "run"
max_steps = 60
[input.train]
plugin = "csv"
path = "train.csv"
{of_label}batch_size = 25
[input.train.columns]{COLUMNS}{others}{tuned}[input.predict]
plugin = "csv"
path = "other.csv"
epochs = 1
[model]
{model}
[optimizer]
name = "adam"
learning_rate = 0.02
[[exporters]]
plugin = "onnx"
'''


def prepared(belay, environment, case, folder):
    """Trains the case; returns its manifest, model.onnx and the inputs of the rows to predict."""
    label, model = CASES[case]
    write(folder / "train.csv", 200, 1, ["Bonn", "Ulm", "K\u00f6ln", ""])
    write(folder / "eval.csv", 60, 2, ["Bonn", "Ulm", "K\u00f6ln", ""])
    write(folder / "other.csv", 40, 3, ["Bonn", "Ulm", "K\u00f6ln", "Rom", "NA"])
    toml = folder / "m.toml"
    toml.write_text(manifest(label, model), encoding="utf-8")
    onnx_check.run([belay, "run", str(toml)], environment)
    path = sorted((folder / "run/export/onnx").glob("[0-9]*"))[-1] / "model.onnx"
    with open(folder / "other.csv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return str(toml), path, feeds(json.loads(metadata(path)["belay.schema"]), rows)


def predicted(belay, environment, toml, keys, folder):
    ours = {}
    for key in keys:
        out = str(folder / f"belay_{key}.npy")
        onnx_check.run([belay, "predict", toml, "--keys", key, "--format", "npy", "--output", out], environment)
        ours[key] = np.load(out)
    return ours


def check(belay, environment, case, folder):
    toml, path, x = prepared(belay, environment, case, folder)
    model = onnx_check.Model(path)
    if sorted(model.inputs) != sorted(x):
        raise SystemExit(f"{case}: the model takes {model.inputs}, and its metadata is of {sorted(x)}")
    theirs = model.run(x)
    ours = predicted(belay, environment, toml, theirs, folder)
    worst = max(onnx_check.compare(case, key, ours[key], theirs[key]) for key in ours)
    if "class" in ours and len(set(ours["class"])) < 2:
        raise SystemExit(f"{case}: all rows have one class, so the comparison says nothing")
    print(f"{case}: {', '.join(ours)} of {len(x['features'])} rows within {worst:.1e}")


def main():
    belay, plugins = sys.argv[1:3]
    environment = dict(os.environ, BELAY_PLUGIN_PATH=plugins, OMP_NUM_THREADS="1")
    for case in CASES:
        with tempfile.TemporaryDirectory() as folder:
            check(belay, environment, case, pathlib.Path(folder))


if __name__ == "__main__":
    main()
