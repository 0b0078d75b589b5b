#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Columns with types, computed again with numpy: what a training fitted, applied to another file.

    columns_check.py BELAY PLUGINS

Trains a linear model on a table with each type of column and each transform. Predictions for another file, with words
and gaps that the training did not have and with its columns in another order, are those that numpy computes from the
training's rows and the weights of the checkpoint, within 1e-5. Without numpy it ends with 77.
"""
import csv
import datetime
import json
import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("NOT TESTED: there is no python3-numpy")
    sys.exit(77)

NAMES = ["age", "income", "height", "debt", "rooms", "city", "plan", "since", "at", "seen", "note", "y"]
GAPS = ("", "NA", "N/A", "null", "?")
MANIFEST = """
[run]
dir = "run"
max_steps = 60
[input.train]
plugin = "csv"
path = "train.csv"
label = "y"
label_type = "float"
shuffle = true
[input.train.columns]
age = { missing = "median", scale = "standard", indicator = true }
income = { missing = "mean", buckets = 4 }
height = { scale = "minmax" }
debt = { missing = -5.5, scale = "log" }
rooms = { buckets = [2, 4.5] }
city = { type = "category", min_count = 10 }
plan = { type = "category", hash_buckets = 3 }
since = { type = "date", parts = ["year", "month", "weekday", "days"] }
at = { type = "date", parts = ["hour", "month"], cycles = "words" }
seen = { type = "date", formats = ["%d.%m.%Y %H"], parts = ["weekday", "hour"], cycles = "number" }
note = { type = "text", min_count = 3 }
[input.predict]
plugin = "csv"
path = "other.csv"
epochs = 1
[model]
plugin = "linear"
"""


def rows(n, seed, cities):
    draw = random.Random(seed)
    for _ in range(n):
        date = datetime.date(2010, 1, 1) + datetime.timedelta(days=draw.randrange(5000))
        words = " ".join(draw.choice(["Good", "bad", "late", "f\u00fcnf"]) for _ in range(draw.randrange(4)))
        yield {"age": draw.choice([str(draw.randrange(18, 80)), str(draw.randrange(18, 80)), "NA"]),
               "income": draw.choice(["%.2f" % draw.expovariate(1e-3)] * 5 + ["?"]),
               "height": draw.choice(["%.3f" % draw.uniform(1.4, 2.1)] * 8 + [""]),
               "debt": draw.choice(["%.1f" % draw.gauss(0, 1000)] * 8 + ["null"]), "rooms": str(draw.randrange(8) / 2),
               "city": draw.choice(cities), "plan": draw.choice(["A", "B b", "\u00c4"] * 2 + ["N/A"]),
               "since": draw.choice([date.isoformat()] * 9 + [""]),
               "at": f"{date}T{draw.randrange(24):02d}:30:00", "seen": f"{date:%d.%m.%Y} {draw.randrange(24)}",
               "note": words, "y": "%.3f" % draw.gauss(0, 1)}


def write(path, names, table):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, names, extrasaction="ignore")
        out.writeheader()
        out.writerows(table)


def numbers(cells, fill):
    return np.array([fill if c in GAPS else float(c) for c in cells])


def fnv1a(word):
    value = 14695981039346656037
    for byte in word.encode():
        value = (value ^ byte) * 1099511628211 % (1 << 64)
    return value


def places(values, n):
    """A 1 in the place of each value."""
    return [np.array(values) == i for i in range(n)]


def features(train, other):
    """The columns of features of `other`, in order, from what is measured on `train`."""
    def column(table, name):
        return [row[name] for row in table]
    made = []
    known = [float(c) for c in column(train, "age") if c not in GAPS]
    of_train, here = (numbers(column(t, "age"), np.median(known)) for t in (train, other))
    made += [(here - of_train.mean()) / of_train.std(), [c in GAPS for c in column(other, "age")]]
    known = [float(c) for c in column(train, "income") if c not in GAPS]
    here = numbers(column(other, "income"), np.mean(known))
    bucket = np.digitize(here, np.quantile(known, [0.25, 0.5, 0.75]))
    made += [bucket == i for i in range(4)]
    known = np.array([float(c) for c in column(train, "height") if c not in GAPS])
    of_train, here = (numbers(column(t, "height"), np.median(known)) for t in (train, other))
    made.append((here - of_train.min()) / (of_train.max() - of_train.min()))
    here = numbers(column(other, "debt"), -5.5)
    made.append(np.sign(here) * np.log1p(np.abs(here)))
    made += places(np.digitize(numbers(column(other, "rooms"), 0), [2, 4.5]), 3)
    cities = column(train, "city")
    words = sorted({c for c in cities if c not in GAPS and cities.count(c) >= 10}, key=lambda w: (-cities.count(w), w))
    made += [[c == w for c in column(other, "city")] for w in words]
    made += [[c not in GAPS and c not in words for c in column(other, "city")], [c in GAPS for c in column(other, "city")]]
    has_gaps = any(c in GAPS for c in column(train, "plan"))
    made += places([3 if c in GAPS else fnv1a(c) % 3 for c in column(other, "plan")], 3 + has_gaps)
    known = sorted(datetime.date.fromisoformat(c) for c in column(train, "since") if c not in GAPS)
    fill = known[(len(known) - 1) // 2]
    of_train, here = ([fill if c in GAPS else datetime.date.fromisoformat(c) for c in column(t, "since")]
                      for t in (train, other))
    for value, period in ((lambda d: d.year, 0), (lambda d: d.month - 1, 12), (lambda d: d.weekday(), 7),
                          (lambda d: d.toordinal() - 719163, 0)):
        of, own = np.array([value(d) for d in of_train], float), np.array([value(d) for d in here], float)
        angle = 2 * math.pi * own / period if period else None
        made += [np.sin(angle), np.cos(angle)] if period else [(own - of.mean()) / of.std()]
    moments = [datetime.datetime.fromisoformat(c) for c in column(other, "at")]
    made += places([m.hour for m in moments], 24) + places([m.month - 1 for m in moments], 12)
    moments = [datetime.datetime.strptime(c, "%d.%m.%Y %H") for c in column(other, "seen")]
    made += [[m.weekday() for m in moments], [m.hour for m in moments]]
    notes = [note.lower().split() for note in column(train, "note")]
    words = sorted({w for note in notes for w in note}, key=lambda w: (-sum(w in note for note in notes), w.encode()))
    made += [[note.lower().split().count(w) for note in column(other, "note")] for w in words]
    return np.array(made, float).T


def weights(path):
    data = path.read_bytes()
    size = struct.unpack_from("<Q", data)[0]
    head = json.loads(data[8:8 + size])
    read = {}
    for name, entry in head.items():
        if name.startswith("linear/"):
            begin, end = entry["data_offsets"]
            read[name] = np.frombuffer(data[8 + size + begin:8 + size + end], "<f4").reshape(entry["shape"])
    return read["linear/kernel"].astype(float), read["linear/bias"].astype(float)


def main(belay, plugins):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        train = list(rows(400, 1, ["Bonn"] * 9 + ["K\u00f6ln"] * 5 + ["Ulm"] + [""]))
        train += [dict(train[0], city="Rom")] * 3
        other = list(rows(50, 2, ["Bonn", "K\u00f6ln", "Paris", "Rom", "NA"]))
        write(folder / "train.csv", NAMES, train)
        write(folder / "other.csv", [name for name in reversed(NAMES) if name != "y"], other)
        (folder / "t.toml").write_text(MANIFEST)
        environment = dict(os.environ, BELAY_PLUGIN_PATH=plugins)
        for command in (["run", "t.toml", "-q"], ["predict", "t.toml", "-q", "--output", "out.npy"]):
            subprocess.run([belay, *command], cwd=folder, env=environment, check=True)
        kernel, bias = weights(folder / "run/model.ckpt-60/model.safetensors")
        expected = (features(train, other) @ kernel + bias)[:, 0]
        found = np.load(next(folder.glob("out*.np*"))).astype(float).reshape(-1)
        worst = np.abs(found - expected).max()
        if not worst < 1e-5 or np.abs(expected).max() < 0.01:
            raise SystemExit(f"predictions differ by {worst}: {found[:5]} and {expected[:5]}")
        print(f"{len(found)} predictions of {kernel.shape[0]} features are numpy's, within {worst:.1e}")


main(*sys.argv[1:])
