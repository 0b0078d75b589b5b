#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Other data than the training's, in every way that an input meets a model: each cell must give the numbers of the right
file, or status 2 with a name.

    python3 tests/e2e/schema_cells.py BELAY PLUGINS [TEST_PLUGINS [PROGRAM]]

BELAY is the program, PLUGINS the folder of its plugins. TEST_PLUGINS is that of the tests' plugins: with it the input
`foreign` has cells, once with names and once without. PROGRAM is schema_program: with it the Estimator and the Experiment
have cells. Needs numpy. Prints a line for each cell that is silent or wrong, and the count; status 1 if there is one. The
long suite runs it: it starts some hundred processes.
"""

import gzip
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import tomllib

try:
    import numpy
except ImportError:
    print("SKIPPED: python3 has no numpy; install python3-numpy")
    sys.exit(77)

KINDS = ["alpha", "beta", "gamma"]


def rows():
    """Three kinds, told apart by `length`; `width` is much larger."""
    for i in range(90):
        kind = i % 3
        yield kind * 4 + (i % 7) * 0.1, 300.0 + i, KINDS[kind]


# ---- files: each function writes one variant and returns the options of the input that reads it


def csv(folder, name, columns, change=lambda r: r, keep=lambda r: True, extra=""):
    path = folder / f"{name}.csv"
    lines = [",".join(columns)]
    for length, width, kind in rows():
        cells = change({"length": f"{length:.3f}", "width": f"{width}", "kind": kind, "colour": "7", "breadth": f"{width}"})
        if keep(cells):
            lines.append(",".join(cells[c] for c in columns))
    path.write_text("\n".join(lines) + "\n")
    return f'plugin="csv",path="{path}",batch_size=16' + extra


def with_word(cells):
    return dict(cells, kind="delta" if cells["kind"] == "gamma" else cells["kind"])


def csv_variants(folder):
    yield "right", csv(folder, "right", ["length", "width", "kind"]), True
    yield "reordered", csv(folder, "reordered", ["kind", "width", "length"]), True
    yield "renamed", csv(folder, "renamed", ["length", "breadth", "kind"]), False
    yield "missing", csv(folder, "missing", ["length", "kind"]), False
    yield "extra", csv(folder, "extra", ["length", "colour", "width", "kind"]), False
    yield "other_words", csv(folder, "words", ["length", "width", "kind"],
                             lambda r: dict(r, kind=r["kind"].upper())), None
    yield "unseen_word", csv(folder, "unseen", ["length", "width", "kind"], with_word), None
    yield "one_class", csv(folder, "one", ["length", "width", "kind"], keep=lambda r: r["kind"] == "gamma"), "accurate"
    yield "not_a_number", csv(folder, "text", ["length", "width", "kind"], lambda r: dict(r, width="wide")), False


def npy(folder, name, features, labels, extra=""):
    numpy.save(folder / f"{name}.npy", features)
    numpy.save(folder / f"{name}_labels.npy", labels)
    return f'plugin="npy",features="{folder / name}.npy",labels="{folder / name}_labels.npy",batch_size=16' + extra


def npy_variants(folder):
    x = numpy.array([[r[0], r[1] / 100] for r in rows()], numpy.float32)
    y = numpy.array([KINDS.index(r[2]) for r in rows()], numpy.int64)
    names = ',class_names=["alpha","beta","gamma"]'
    columns = ',columns=["length","width"]'
    yield "right", npy(folder, "right", x, y, columns + names), True
    yield "reordered", npy(folder, "reordered", x[:, ::-1].copy(), y, ',columns=["width","length"]' + names), True
    yield "class_order", npy(folder, "class_order", x, 2 - y, columns + ',class_names=["gamma","beta","alpha"]'), True
    yield "renamed", npy(folder, "renamed", x, y, ',columns=["length","breadth"]' + names), False
    yield "missing", npy(folder, "missing", x[:, :1].copy(), y, ',columns=["length"]' + names), False
    yield "extra", npy(folder, "extra", numpy.hstack([x, x]), y, ',columns=["length","width","a","b"]' + names), False
    yield "other_dtype", npy(folder, "dtype", (x * 10).astype(numpy.int64), y, columns + names), False
    yield "other_scale", npy(folder, "scaled", x, y, columns + names + ",scale=3"), "warned"
    yield "other_words", npy(folder, "words", x, y, columns + ',class_names=["a","b","c"]'), None
    yield "more_classes", npy(folder, "more", x, y, columns + ",classes=5"), None
    yield "one_class", npy(folder, "one", x[y == 2], y[y == 2], columns + names), "accurate"


def idx_file(path, array, kind):
    with open(path, "wb") as f:
        f.write(struct.pack(">BBBB", 0, 0, kind, array.ndim) + struct.pack(f">{array.ndim}I", *array.shape))
        f.write(array.tobytes())


def idx(folder, name, images, labels, kind=8, extra=""):
    idx_file(folder / f"{name}.idx", images, kind)
    idx_file(folder / f"{name}_labels.idx", labels.astype(numpy.uint8), 8)
    return f'plugin="idx",images="{folder / name}.idx",labels="{folder / name}_labels.idx",batch_size=16' + extra


def idx_variants(folder):
    x = numpy.array([[[r[0] * 20, r[1] / 4]] for r in rows()], numpy.uint8)
    y = numpy.array([KINDS.index(r[2]) for r in rows()])
    names = ',class_names=["alpha","beta","gamma"]'
    scale = ",scale=0.01"
    yield "right", idx(folder, "right", x, y, extra=names + scale), True
    yield "scale_left_out", idx(folder, "noscale", x, y, extra=names), True
    yield "other_scale", idx(folder, "scaled", x, y, extra=names + ",scale=0.5"), "warned"
    yield "class_order", idx(folder, "order", x, 2 - y, extra=',class_names=["gamma","beta","alpha"]' + scale), True
    yield "missing", idx(folder, "missing", x[:, :, :1].copy(), y, extra=names + scale), False
    yield "extra", idx(folder, "extra", numpy.concatenate([x, x], 2), y, extra=names + scale), False
    yield "same_values_as_float", idx(folder, "dtype", x.astype(">f4"), y, 13, names + scale), True
    yield "other_words", idx(folder, "words", x, y, extra=',class_names=["a","b","c"]' + scale), None
    yield "more_classes", idx(folder, "more", x, y, extra=",classes=7" + scale), None
    yield "one_class", idx(folder, "one", x[y == 2], y[y == 2], extra=names + scale), "accurate"


def feature(values):
    if isinstance(values, int):
        body = b"\x1a" + chunk(b"\x0a" + chunk(varint(values)))
    else:
        body = b"\x12" + chunk(b"\x0a" + chunk(struct.pack(f"<{len(values)}f", *values)))
    return body


def varint(n):
    out = b""
    while n > 127:
        out, n = out + bytes([n & 127 | 128]), n >> 7
    return out + bytes([n])


def chunk(body):
    return varint(len(body)) + body


def crc(data):
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = (value >> 1) ^ (0x82F63B78 & -(value & 1))
    value ^= 0xFFFFFFFF
    return struct.pack("<I", ((value >> 15 | value << 17) + 0xA282EAD8) & 0xFFFFFFFF)


def tfrecord(folder, name, examples, features, extra=""):
    with open(folder / f"{name}.tfrecord", "wb") as f:
        for example in examples:
            entries = b"".join(b"\x0a" + chunk(b"\x0a" + chunk(k.encode()) + b"\x12" + chunk(feature(v)))
                               for k, v in example.items())
            data = b"\x0a" + chunk(entries)
            length = struct.pack("<Q", len(data))
            f.write(length + crc(length) + data + crc(data))
    return f'plugin="tfrecord",files=["{folder / name}.tfrecord"],features={features},label="y",batch_size=16' + extra


def tfrecord_variants(folder):
    def examples(change=lambda e: e):
        return [change({"a": [r[0]], "b": [r[1] / 100], "y": KINDS.index(r[2])}) for r in rows()]

    names = ',class_names=["alpha","beta","gamma"]'
    f32, i64 = '{dtype="float32",shape=[1]}', '{dtype="int64"}'
    yield "right", tfrecord(folder, "right", examples(), f"{{a={f32},b={f32},y={i64}}}", names), True
    yield "reordered", tfrecord(folder, "right", examples(), f"{{y={i64},b={f32},a={f32}}}", names), True
    yield "class_order", tfrecord(folder, "order", examples(lambda e: dict(e, y=2 - e["y"])), f"{{a={f32},b={f32},y={i64}}}",
                                  ',class_names=["gamma","beta","alpha"]'), True
    yield "renamed", tfrecord(folder, "renamed", examples(lambda e: {"a": e["a"], "c": e["b"], "y": e["y"]}),
                              f"{{a={f32},c={f32},y={i64}}}", names), False
    yield "missing", tfrecord(folder, "right", examples(), f"{{a={f32},y={i64}}}", names), False
    yield "extra", tfrecord(folder, "more", examples(lambda e: dict(e, d=e["a"])), f"{{a={f32},b={f32},d={f32},y={i64}}}",
                            names), False
    yield "other_dtype", tfrecord(folder, "dtype", examples(lambda e: dict(e, a=3)), f"{{a={{dtype=\"int64\",shape=[1]}},b={f32},y={i64}}}",
                                  names), False
    yield "other_words", tfrecord(folder, "right", examples(), f"{{a={f32},b={f32},y={i64}}}",
                                  ',class_names=["a","b","c"]'), None
    yield "one_class", tfrecord(folder, "one", [e for e in examples() if e["y"] == 2], f"{{a={f32},b={f32},y={i64}}}",
                                names), "accurate"


def text(folder, name, content, extra=""):
    path = folder / f"{name}.txt"
    path.write_text(content)
    return f'plugin="text",files=["{path}"],sequence_length=8,batch_size=4' + extra


def text_variants(folder):
    yield "right", text(folder, "right", "abcd" * 60), True
    yield "one_class", text(folder, "one", "dcba" * 60), "runs"
    yield "unseen_word", text(folder, "unseen", "abcx" * 60), False
    yield "extra", text(folder, "extra", "abcd" * 30 + "z" * 120), False


def foreign(folder, name, features, labels, extra=""):
    path = folder / f"{name}.rows"
    path.write_text("".join(" ".join(f"{x:.4f}" for x in row) + f" {label}\n" for row, label in zip(features, labels)))
    return f'plugin="foreign",path="{path}",batch_size=16' + extra


def foreign_variants(folder):
    x = numpy.array([[r[0], r[1] / 100] for r in rows()])
    y = numpy.array([KINDS.index(r[2]) for r in rows()])
    columns, words = ',columns=["length","width"]', ',words=["alpha","beta","gamma"]'
    names = columns + words
    yield "right", foreign(folder, "right", x, y, names), True
    yield "reordered", foreign(folder, "turned", x[:, ::-1], y, ',columns=["width","length"]' + words), True
    yield "class_order", foreign(folder, "order", x, 2 - y, columns + ',words=["gamma","beta","alpha"]'), True
    yield "renamed", foreign(folder, "renamed", x, y, ',columns=["length","breadth"]' + words), False
    yield "missing", foreign(folder, "missing", x[:, :1], y, ',columns=["length"]' + words), False
    yield "extra", foreign(folder, "extra", numpy.hstack([x, x]), y, ',columns=["length","width","a","b"]' + words), False
    yield "other_dtype", foreign(folder, "right", x, y, names + ",whole=true"), False
    yield "other_scale", foreign(folder, "right", x, y, names + ",scale=3"), "warned"
    yield "other_words", foreign(folder, "right", x, y, columns + ',words=["a","b","c"]'), None
    yield "unseen_word", foreign(folder, "unseen", x, y + 1, columns + ',words=["alpha","beta","gamma","delta"]'), None
    yield "one_class", foreign(folder, "one", x[y == 2], y[y == 2], names), "accurate"


def quiet_variants(folder):
    """Compared by dtype, shape and number alone."""
    x = numpy.array([[r[0], r[1] / 100] for r in rows()])
    y = numpy.array([KINDS.index(r[2]) for r in rows()])
    quiet = ",quiet=true"
    yield "right", foreign(folder, "right", x, y, quiet), True
    yield "missing", foreign(folder, "missing", x[:, :1], y, quiet), False
    yield "extra", foreign(folder, "extra", numpy.hstack([x, x]), y, quiet), False
    yield "other_dtype", foreign(folder, "right", x, y, quiet + ",whole=true"), False
    yield "other_scale", foreign(folder, "right", x, y, quiet + ",scale=3"), "warned"
    yield "one_class", foreign(folder, "one", x[y == 2], y[y == 2], quiet), "accurate"


FOREIGN = {
    "foreign": (foreign_variants, 'plugin="mlp",hidden=[8]', ""),
    "foreign_quiet": (quiet_variants, 'plugin="mlp",hidden=[8]', ""),
}
INPUTS = {
    "csv": (csv_variants, 'plugin="mlp",hidden=[8]', ",standardize=true"),
    "npy": (npy_variants, 'plugin="mlp",hidden=[8]', ""),
    "idx": (idx_variants, 'plugin="mlp",hidden=[8]', ""),
    "tfrecord": (tfrecord_variants, 'plugin="mlp",hidden=[8]', ""),
    "text": (text_variants, 'plugin="lstm"', ""),
}


class Cells:
    def __init__(self, belay, plugins):
        self.belay = belay
        self.environment = dict(os.environ, BELAY_PLUGIN_PATH=plugins)
        self.count, self.wrong = 0, []

    def run(self, folder, *arguments):
        done = subprocess.run([self.belay, *arguments], cwd=folder, env=self.environment, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    def cell(self, name, expected, right, result):
        """`expected`: True the same as `right`; False an error by name; None: an error, or as right; "warned": a warning by
        name; "accurate": fewer examples, all right; "runs": status 0."""
        self.count += 1
        status, out, err = result
        same = status == 0 and out == right
        refused = status != 0 and "error" in err and ("[input." in err or ":" in err)
        if expected is True:
            good = same
        elif expected == "accurate":
            good = status == 0 and ("accuracy = 1" in out or "class" in out)
        elif expected == "warned":
            good = status == 0 and ("sets scale otherwise than the training did" in err or
                                    "--resume=changed: input.train.scale" in err) or refused
        elif expected == "runs":
            good = status == 0
        elif expected is None:
            good = refused or same
        else:
            good = refused
        if not good:
            self.wrong.append(name)
            print(f"{name}: status {status}\n  {out[:160]!r}\n  {err[-300:]!r}")


def typed(value):
    """As schema_program has an option's type and value."""
    if isinstance(value, bool):
        return "b", "true" if value else "false"
    if isinstance(value, int):
        return "i", str(value)
    if isinstance(value, float):
        return "f", repr(value)
    if isinstance(value, list) and value and isinstance(value[0], str):
        return "l", "|".join(value)
    return "s", value


def options_of(text):
    """From an inline table to schema_program's words: the plugin, and its options."""

    def flat(prefix, table):
        for key, value in table.items():
            if isinstance(value, dict):
                yield from flat(f"{prefix}{key}.", value)
            elif isinstance(value, list) and value and isinstance(value[0], int):
                yield f"j:{prefix}{key}=" + "|".join(map(str, value))
            else:
                kind, shown = typed(value)
                yield f"{kind}:{prefix}{key}={shown}"

    table = tomllib.loads(f"x = {{{text}}}")["x"]
    return [table.pop("plugin"), *flat("", table)]


def metrics_of(out):
    return "\n".join(line[line.index(":"):] for line in out.splitlines() if line.startswith("eval at step"))


def main():
    folders = ":".join(os.path.abspath(folder) for folder in sys.argv[2:4])
    program = os.path.abspath(sys.argv[4]) if len(sys.argv) > 4 else None
    cells = Cells(os.path.abspath(sys.argv[1]), folders)
    for kind, (variants, model, of_training) in {**INPUTS, **(FOREIGN if len(sys.argv) > 3 else {})}.items():
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            all_variants = list(variants(folder))
            right = all_variants[0][1]
            manifest = folder / "m.toml"

            def write(more=""):
                manifest.write_text(
                    '[run]\ndir="run"\nmax_steps=300\nthreads=1\n[optimizer]\nname="adam"\nlearning_rate=0.02\n'
                    f'[model]\n{model.replace(",", chr(10), 1)}\n'
                    f"[input]\ntrain={{{right}{of_training}}}\n" + more)

            write('[[exporters]]\nplugin="belay"\nwhen="final"\n')
            status, out, err = cells.run(folder, "run", "m.toml")
            if status != 0:
                print(f"{kind}: the training fails: {err}")
                return 1
            exported = str(next(p for p in (folder / "run/export/belay").iterdir() if p.is_dir()))

            def evaluation(options):
                status, out, err = cells.run(folder, "evaluate", "m.toml", "--set", f"input.eval={{{options},epochs=1}}")
                return status, metrics_of(out) if status == 0 else out, err

            def while_training(options):
                result = cells.run(folder, "run", "m.toml", "--set", f"input.eval={{{options},epochs=1}}", "--set",
                                   "run.dir=again", "--from-scratch")
                return result[0], metrics_of(result[1]) if result[0] == 0 else result[1], result[2]

            def check(options):
                status, out, err = cells.run(folder, "check", "m.toml", "--set", f"input.eval={{{options},epochs=1}}")
                return status, "", err

            def prediction(options):
                return cells.run(folder, "predict", "m.toml", "--set", f"input.predict={{{options},epochs=1}}")

            def of_export(options):
                return cells.run(folder, "predict", exported, "--set", f"input.predict={{{options},epochs=1}}")

            def continuous(options):
                status, out, err = cells.run(folder, "run", "m.toml", "--set", "run.mode=continuous_eval", "--set",
                                             f"input.eval={{{options},epochs=1}}")
                return status, metrics_of(out) if status == 0 else out, err

            def resume(options):
                copy = folder / "resumed"
                subprocess.run(["cp", "-r", str(folder / "run"), str(copy)], check=True)
                result = cells.run(folder, "run", "m.toml", "--set", f"input.train={{{options}{of_training}}}", "--set",
                                   "run.dir=resumed", "--set", "run.max_steps=302", "--resume=changed")
                subprocess.run(["rm", "-r", str(copy)], check=True)
                return result[0], "", result[2]

            ways = {"evaluate": evaluation, "eval": while_training, "check": check, "continuous_eval": continuous,
                    "predict": prediction, "export": of_export, "resume": resume}
            if kind == "text":
                ways.pop("export"), ways.pop("predict")

            def estimator(way, options, directory="estimator"):
                done = subprocess.run([program, folders, way, str(folder / directory), *options_of(options)], cwd=folder,
                                      capture_output=True, text=True)
                return done.returncode, done.stdout, done.stderr

            def estimator_resume(options):
                copy = folder / "resumed_estimator"
                subprocess.run(["cp", "-r", str(folder / "estimator"), str(copy)], check=True)
                result = estimator("resume", options + of_training, copy.name)
                subprocess.run(["rm", "-r", str(copy)], check=True)
                return result[0], "", result[2]

            if program is not None and "mlp" in model:
                status, out, err = estimator("train", right + of_training)
                if status != 0:
                    print(f"{kind}: the Estimator's training fails: {err}")
                    return 1
                for way in ("evaluate", "experiment", "predict"):
                    ways[f"estimator_{way}"] = lambda options, way=way: estimator(way, options + ",epochs=1")
                ways["estimator_resume"] = estimator_resume
            for way, run in ways.items():
                reference = run(right)
                if reference[0] != 0:
                    cells.count += 1
                    cells.wrong.append(f"{kind} right {way}")
                    print(f"{kind} right {way}: status {reference[0]} {reference[2][-300:]}")
                    continue
                for name, options, expected in all_variants:
                    if way in ("check", "resume", "estimator_resume") and expected in ("accurate", "runs"):
                        expected = True
                    if way.endswith("resume") and name == "scale_left_out":
                        expected = False  # it is the training's own option that changes
                    cells.cell(f"{kind} {name} {way}", expected, reference[1], run(options))
    print(f"{cells.count} cells, {len(cells.wrong)} wrong")
    return 1 if cells.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
