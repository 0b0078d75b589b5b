#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each shipped model, exported and computed by another program: an evaluator of ONNX in numpy.

    onnx_check.py BELAY PLUGINS [MODEL...]

Trains each model for a few steps on random examples, exports it with every exporter, and compares what `belay predict`
prints for 7 other examples (a batch that the training did not have) with what the evaluator computes from model.onnx:
classes are equal, other values within 1e-4 of the largest of their example. The folder of the exporter `belay` must
predict what the manifest did, to the last digit. The evaluator knows the operations that the exporter writes, by ONNX's
own documentation, and shares nothing with it. Without numpy it ends with 77.
"""
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("NOT TESTED: there is no python3-numpy")
    sys.exit(77)

BOUND = 1e-4
TYPES = {1: np.float32, 2: np.uint8, 6: np.int32, 7: np.int64, 9: np.bool_, 11: np.float64}


# ---- the file ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """{number: [values]} of a protobuf message: integers, bytes, floats of 4 bytes."""
    found, at = {}, 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
            value -= (1 << 64) if value >> 63 else 0
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        elif kind == 5:
            value, at = struct.unpack_from("<f", data, at)[0], at + 4
        else:
            raise ValueError(f"wire type {kind}")
        found.setdefault(number, []).append(value)
    return found


def tensor(data):
    f = fields(data)
    return f[8][0].decode(), np.frombuffer(f.get(9, [b""])[0], TYPES[f[2][0]]).reshape(f.get(1, []))


def attribute(data):
    f = fields(data)
    kind = f[20][0]
    value = {1: lambda: f[2][0], 2: lambda: f[3][0], 3: lambda: f[4][0].decode(), 7: lambda: f.get(8, [])}[kind]()
    return f[1][0].decode(), value


class Model:
    def __init__(self, path):
        model = fields(pathlib.Path(path).read_bytes())
        graph = fields(model[7][0])
        self.opset = fields(model[8][0])[2][0]
        self.constants = dict(tensor(t) for t in graph.get(5, []))
        self.inputs = [fields(v)[1][0].decode() for v in graph[11]]
        self.outputs = [fields(v)[1][0].decode() for v in graph[12]]
        self.nodes = []
        for n in graph[1]:
            f = fields(n)
            self.nodes.append((f[4][0].decode(), [i.decode() for i in f.get(1, [])], [o.decode() for o in f[2]],
                               dict(attribute(a) for a in f.get(5, []))))

    def run(self, feeds):
        values = dict(self.constants, **feeds)
        for op, inputs, outputs, attributes in self.nodes:
            if op not in OPERATIONS:
                raise ValueError(f"the evaluator has no {op}")
            made = OPERATIONS[op]([values[i] if i else None for i in inputs], attributes)
            values.update(zip(outputs, made if isinstance(made, tuple) else (made,)))
        return {o: values[o] for o in self.outputs}


# ---- operations ----

def softmax(x, axis):
    e = np.exp(x - x.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def erf(x):
    import math
    return np.vectorize(math.erf, otypes=[x.dtype])(x)


def windows(x, attributes, size, fill):
    """[batch, channels, out h, out w, kernel h, kernel w]"""
    strides = attributes.get("strides", [1, 1])
    dilations = attributes.get("dilations", [1, 1])
    reach = [(size[i] - 1) * dilations[i] + 1 for i in range(2)]
    if attributes.get("auto_pad") == "SAME_UPPER":
        pads = []
        for i in range(2):
            n = x.shape[2 + i]
            total = max((-(-n // strides[i]) - 1) * strides[i] + reach[i] - n, 0)
            pads.append((total // 2, total - total // 2))
    else:
        given = attributes.get("pads", [0, 0, 0, 0])
        pads = [(given[0], given[2]), (given[1], given[3])]
    x = np.pad(x, [(0, 0), (0, 0)] + pads, constant_values=fill)
    out = [(x.shape[2 + i] - reach[i]) // strides[i] + 1 for i in range(2)]
    rows = np.arange(out[0])[:, None] * strides[0] + np.arange(size[0])[None, :] * dilations[0]
    columns = np.arange(out[1])[:, None] * strides[1] + np.arange(size[1])[None, :] * dilations[1]
    return x[:, :, rows[:, None, :, None], columns[None, :, None, :]]


def conv(i, a):
    return np.einsum("bchwij,ocij->bohw", windows(i[0], a, i[1].shape[2:], 0), i[1], optimize=True)


def average_pool(i, a):
    return np.nanmean(windows(i[0], a, a["kernel_shape"], np.nan), axis=(4, 5)).astype(i[0].dtype)


def batch_normalization(i, a):
    shape = [1, -1] + [1] * (i[0].ndim - 2)
    x, scale, offset, mean, variance = [i[0]] + [v.reshape(shape) for v in i[1:]]
    return ((x - mean) / np.sqrt(variance + np.float32(a["epsilon"])) * scale + offset).astype(x.dtype)


def layer_normalization(i, a):
    x = i[0]
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + np.float32(a["epsilon"])) * i[1] + i[2]


def lstm(i, a):
    x, w, r, b = i[0], i[1][0], i[2][0], i[3][0]
    n = a["hidden_size"]
    h, c = np.zeros((x.shape[1], n), x.dtype), np.zeros((x.shape[1], n), x.dtype)
    steps = []
    for t in range(x.shape[0]):
        gates = x[t] @ w.T + h @ r.T + b[:4 * n] + b[4 * n:]
        gi, go, gf, gc = [gates[:, k * n:(k + 1) * n] for k in range(4)]
        c = sigmoid(gf) * c + sigmoid(gi) * np.tanh(gc)
        h = sigmoid(go) * np.tanh(c)
        steps.append(h)
    return np.stack(steps)[:, None], h[None], c[None]


def gru(i, a):
    x, w, r, b = i[0], i[1][0], i[2][0], i[3][0]
    n = a["hidden_size"]
    assert a["linear_before_reset"] == 1
    h = np.zeros((x.shape[1], n), x.dtype)
    steps = []
    for t in range(x.shape[0]):
        left, right = x[t] @ w.T + b[:3 * n], h @ r.T + b[3 * n:]
        z, reset = sigmoid(left[:, :n] + right[:, :n]), sigmoid(left[:, n:2 * n] + right[:, n:2 * n])
        new = np.tanh(left[:, 2 * n:] + reset * right[:, 2 * n:])
        h = (1 - z) * new + z * h
        steps.append(h)
    return np.stack(steps)[:, None], h[None]


def reshape(i, _):
    shape = [i[0].shape[k] if d == 0 else d for k, d in enumerate(i[1])]
    return i[0].reshape(shape)


def slice_of(i, _):
    """Steps of 1: an end beyond the dimension is its end, as in ONNX."""
    at = [slice(None)] * i[0].ndim
    for axis, begin, end in zip(i[3], i[1], i[2]):
        at[axis] = slice(begin, end)
    return i[0][tuple(at)]


def split(i, a):
    return tuple(np.split(i[0], np.cumsum(i[1])[:-1], axis=a["axis"]))


def squeeze(i, _):
    return np.squeeze(i[0], tuple(i[1])) if len(i) > 1 else np.squeeze(i[0])


OPERATIONS = {
    "Abs": lambda i, a: np.abs(i[0]),
    "Add": lambda i, a: i[0] + i[1],
    "ArgMax": lambda i, a: np.argmax(i[0], a["axis"]),
    "AveragePool": average_pool,
    "BatchNormalization": batch_normalization,
    "Cast": lambda i, a: i[0].astype(TYPES[a["to"]]),
    "Clip": lambda i, a: np.clip(i[0], i[1], i[2]),
    "Concat": lambda i, a: np.concatenate(i, a["axis"]),
    "Conv": conv,
    "Div": lambda i, a: i[0] / i[1],
    "Equal": lambda i, a: i[0] == i[1],
    "Elu": lambda i, a: np.where(i[0] > 0, i[0], np.expm1(i[0])),
    "Erf": lambda i, a: erf(i[0]),
    "Exp": lambda i, a: np.exp(i[0]),
    "GRU": gru,
    "Gather": lambda i, a: np.take(i[0], i[1], axis=a["axis"]),
    "Greater": lambda i, a: i[0] > i[1],
    "Identity": lambda i, a: i[0],
    "LSTM": lstm,
    "LayerNormalization": layer_normalization,
    "LeakyRelu": lambda i, a: np.where(i[0] > 0, i[0], np.float32(a["alpha"]) * i[0]),
    "LogSoftmax": lambda i, a: np.log(softmax(i[0], a["axis"])),
    "MatMul": lambda i, a: i[0] @ i[1],
    "MaxPool": lambda i, a: windows(i[0], a, a["kernel_shape"], -np.inf).max(axis=(4, 5)),
    "Mul": lambda i, a: i[0] * i[1],
    "Not": lambda i, a: np.logical_not(i[0]),
    "Reciprocal": lambda i, a: 1 / i[0],
    "ReduceMean": lambda i, a: i[0].mean(tuple(a["axes"]) if "axes" in a else None, keepdims=bool(a["keepdims"])),
    "Relu": lambda i, a: np.maximum(i[0], 0),
    "Reshape": reshape,
    "Sigmoid": lambda i, a: sigmoid(i[0]),
    "Sign": lambda i, a: np.sign(i[0]),
    "Slice": slice_of,
    "Softmax": lambda i, a: softmax(i[0], a["axis"]),
    "Softplus": lambda i, a: np.log1p(np.exp(-np.abs(i[0]))) + np.maximum(i[0], 0),
    "Split": split,
    "Sqrt": lambda i, a: np.sqrt(i[0]),
    "Squeeze": squeeze,
    "Sub": lambda i, a: i[0] - i[1],
    "Sum": lambda i, a: sum(i),
    "Tanh": lambda i, a: np.tanh(i[0]),
    "Transpose": lambda i, a: np.transpose(i[0], a.get("perm")),
    "Unsqueeze": lambda i, a: np.expand_dims(i[0], tuple(i[1])),
    "Where": lambda i, a: np.where(*i),
}

# ---- the models ----

IMAGES, ROWS, IDS = "images", "rows", "ids"
CASES = {
    "linear": (ROWS, 'plugin = "linear"'),
    "linear_regression": (ROWS, 'plugin = "linear"\ntask = "regression"'),
    "mlp": (ROWS, 'plugin = "mlp"\nhidden = [9, 7]'),
    "tabular": (ROWS, 'plugin = "tabular"\nhidden = [9, 7]\nnorm = "layer"'),
    "tabular_regression": (ROWS, 'plugin = "tabular"\nhidden = [9]\nloss = "huber"\nlabel_scale = "log"'),
    "cnn": (IMAGES, 'plugin = "cnn"\nfilters = [3, 4]\nkernel_size = 3\ndense = [6]'),
    "resnet": (IMAGES, 'plugin = "resnet"\nblocks = [1, 1]\nfilters = 4'),
    "autoencoder": (ROWS, 'plugin = "autoencoder"'),
    "lstm": (IDS, 'plugin = "lstm"\nvocabulary = 11\nembedding = 5\nhidden = 6\nlayers = 2'),
    "transformer": (IDS, 'plugin = "transformer"\nvocabulary = 11\nlayers = 2\nheads = 2\nwidth = 8\nfeed_forward = 12'),
    "sequential_images": (IMAGES, '''plugin = "sequential"
layers = [
  { type = "reshape", shape = [12, 12, 1] },
  { type = "conv", filters = 3, size = 3, strides = 2, padding = "SAME", activation = "relu6" },
  { type = "batch_norm" },
  { type = "activation", function = "leaky_relu" },
  { type = "avg_pool", size = 3, strides = 2, padding = "SAME" },
  { type = "max_pool", size = 2, padding = "SAME" },
  { type = "dropout", rate = 0.5 },
  { type = "flatten" },
  { type = "dense", units = 8, activation = "elu" },
  { type = "layer_norm" },
  { type = "dense", units = 5, activation = "softplus" },
]'''),
    "sequential_lstm_gru": (IDS, '''plugin = "sequential"
layers = [
  { type = "embedding", width = 6, entries = 11 },
  { type = "lstm", units = 5, return_sequences = true },
  { type = "gru", units = 4, return_sequences = true },
  { type = "dense", units = 11 },
]'''),
}


def examples(kind, n, seed):
    random = np.random.default_rng(seed)
    if kind == IDS:
        return random.integers(0, 11, (n, 8)).astype(np.int32), random.integers(0, 11, (n, 8)).astype(np.int64)
    shape = (n, 12, 12) if kind == IMAGES else (n, 10)
    return random.standard_normal(shape).astype(np.float32), random.integers(0, 5, n).astype(np.int64)


def manifest(kind, model, regression):
    classes = "" if regression else f"classes = {11 if kind == IDS else 5}\n"
    return f'''[run]
dir = "run"
max_steps = 3
[input.train]
plugin = "npy"
features = "train_x.npy"
labels = "train_y.npy"
{classes}batch_size = 4
[input.predict]
plugin = "npy"
features = "x.npy"
epochs = 1
[model]
{model}
[optimizer]
name = "adam"
learning_rate = 0.01
[[exporters]]
plugin = "onnx"
[[exporters]]
plugin = "safetensors"
[[exporters]]
plugin = "belay"
'''


def run(command, environment):
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def compare(name, key, ours, theirs):
    if ours.shape != theirs.shape:
        raise SystemExit(f"{name}: {key} has the shape {theirs.shape}, belay's {ours.shape}")
    if key == "class":
        if not np.array_equal(ours, theirs):
            raise SystemExit(f"{name}: {key} differs: {theirs}, belay's {ours}")
        return 0.0
    n = len(ours)
    largest = np.abs(ours.reshape(n, -1)).max(axis=1) if ours.ndim > 1 else np.abs(ours)
    off = np.abs(ours - theirs).reshape(n, -1).max(axis=1) / np.maximum(largest, 1e-6)
    if not off.max() <= BOUND:
        raise SystemExit(f"{name}: {key} is off by {off.max():.2g} of the largest")
    return float(off.max())


def prepare(kind, model, regression, folder):
    """Examples to train with, 7 others to predict, and m.toml."""
    x, y = examples(kind, 40, 1)
    np.save(folder / "train_x.npy", x)
    np.save(folder / "train_y.npy", y.astype(np.float32) if regression else y)
    x, _ = examples(kind, 7, 2)
    np.save(folder / "x.npy", x)
    (folder / "m.toml").write_text(manifest(kind, model, regression), encoding="utf-8")
    return x


def check(belay, environment, name, folder):
    kind, model = CASES[name]
    folder = pathlib.Path(folder)
    x = prepare(kind, model, name.endswith("regression"), folder)
    toml = str(folder / "m.toml")
    run([belay, "run", toml], environment)
    made = run([belay, "export", toml], environment).split()
    if len(made) != 3 or len(list((folder / "run/export/onnx").glob("[0-9]*"))) != 2:
        raise SystemExit(f"{name}: the run's end and `belay export` make one version each; exported {made}")
    onnx = Model(pathlib.Path(made[0]) / "model.onnx")
    computed = onnx.run({onnx.inputs[0]: x})
    worst = 0.0
    for key, theirs in computed.items():
        out = str(folder / f"{key}.npy")
        run([belay, "predict", toml, "--keys", key, "--format", "npy", "--output", out], environment)
        worst = max(worst, compare(name, key, np.load(out), theirs))
    lines = run([belay, "predict", toml], environment)
    if run([belay, "predict", made[2]], environment) != lines:
        raise SystemExit(f"{name}: `belay predict` of the exported folder prints something else")
    print(f"{name}: {', '.join(computed)} within {worst:.1e}, opset {onnx.opset}")


def main():
    belay, plugins = sys.argv[1:3]
    environment = dict(os.environ, BELAY_PLUGIN_PATH=plugins, OMP_NUM_THREADS="1")
    for name in sys.argv[3:] or CASES:
        with tempfile.TemporaryDirectory() as folder:
            check(belay, environment, name, folder)


if __name__ == "__main__":
    main()
