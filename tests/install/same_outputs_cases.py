# SPDX-License-Identifier: Apache-2.0
"""The trainings that same_outputs.py makes by two builds, and the differences that are intended."""
import dataclasses
import os
import pathlib
import struct
import zipfile

ROWS = {"rows": (), "csv": ("--format", "csv")}
TEXT = {"text": ("--prompt", "ROMEO:", "--length", "60", "--seed", "3")}
MNIST = ("BELAY_DATA_DIR", "mnist/train-images-idx3-ubyte.gz")
IRIS = ("BELAY_DATA_DIR", "uci/iris.csv")
WINE = ("BELAY_DATA_DIR", "uci/wine_data.csv")
SHAKESPEARE = ("BELAY_DATA_DIR", "shakespeare/tinyshakespeare.txt")
PENGUINS = ("BELAY_SAMPLES_DIR", "tfrecord/penguin_train_data_tfrecord-00000-of-00001.gz")

# A training without data, for what no example has.
SMALL = """
[input.train]
plugin = "digits"
split = "train"
batch_size = 32
shuffle = true
[input.eval]
plugin = "digits"
split = "eval"
batch_size = 100
epochs = 1
[model]
plugin = "mlp"
hidden = [32]
[optimizer]
name = "adam"
learning_rate = 0.01
"""

# Hooks with a state, and hooks that write files.
HOOKS = SMALL + """
[eval]
every_steps = 5
[[hooks]]
plugin = "csv_logger"
tensors = ["loss", "accuracy"]
every_n_steps = 3
[[hooks]]
plugin = "early_stopping"
tensor = "eval/loss"
patience = 50
[[hooks]]
plugin = "reduce_lr_on_plateau"
tensor = "loss"
patience = 2
factor = 0.5
every_n_steps = 2
[[hooks]]
plugin = "gradient_norms"
every_n_steps = 3
weights = true
updates = true
[[hooks]]
plugin = "histograms"
every_n_steps = 7
[[hooks]]
plugin = "running_average"
tensors = ["loss"]
every_n_steps = 4
[[hooks]]
plugin = "history"
tensors = ["loss", "accuracy"]
capacity = 16
[[hooks]]
plugin = "spike_detection"
window = 5
deviations = 1.5
[[hooks]]
plugin = "state_digest"
every_n_steps = 5
[[hooks]]
plugin = "lr_monitor"
every_n_steps = 5
[[hooks]]
plugin = "activation_stats"
every_n_steps = 6
[[hooks]]
plugin = "sample_dump"
tensors = ["class"]
rows = 3
every_n_steps = 4
[[hooks]]
plugin = "model_summary"
[[hooks]]
plugin = "threshold_stop"
tensor = "eval/accuracy"
target = 1.5
[[hooks]]
plugin = "nan_guard"
[[hooks]]
plugin = "logging_tensor"
tensors = ["loss"]
every_n_iter = 4
[[hooks]]
plugin = "weight_averaging"
decay = 0.9
"""


def wine(folder):
    """wine.npz as the comment of examples/wine_npy.toml makes it, without numpy."""
    lines = (pathlib.Path(os.environ["BELAY_DATA_DIR"]) / "uci" / "wine_data.csv").read_text().splitlines()[1:]
    rows = [[float(cell) for cell in line.split(",")] for line in lines]
    columns = []
    for column in list(zip(*rows))[:-1]:
        mean = sum(column) / len(column)
        deviation = (sum((value - mean) ** 2 for value in column) / len(column)) ** 0.5
        columns.append([(value - mean) / deviation for value in column])
    features = [value for row in zip(*columns) for value in row]
    arrays = {"x": ("<f4", (len(rows), len(columns)), struct.pack(f"<{len(features)}f", *features)),
              "y": ("<i8", (len(rows),), struct.pack(f"<{len(rows)}q", *(int(row[-1]) for row in rows)))}
    with zipfile.ZipFile(folder / "wine.npz", "w") as archive:
        for name, (kind, shape, data) in arrays.items():
            header = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}"
            header += " " * (-(len(header) + 11) % 64) + "\n"
            archive.writestr(zipfile.ZipInfo(f"{name}.npy"), b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                             header.encode() + data)


@dataclasses.dataclass(frozen=True)
class Case:
    """A training of twice `steps` steps."""
    name: str
    steps: int
    data: tuple = None  # a variable and a file below its folder
    example: str = None
    text: str = None  # a manifest that is no example
    sets: tuple = ()
    predictions: dict = dataclasses.field(default_factory=lambda: ROWS)
    exact: bool = True  # a training that was continued has the bits of one without an end
    ranks: bool = True
    replay: tuple = ("--batch",)
    processor: str = ""  # a feature that it needs, by its name in /proc/cpuinfo

    def manifest(self, source):
        return (source / "examples" / self.example).read_text() if self.example else self.text

    def data_is_there(self):
        return self.data is None or (pathlib.Path(os.environ.get(self.data[0], "/nowhere")) / self.data[1]).exists()

    def processor_can(self):
        return self.processor in pathlib.Path("/proc/cpuinfo").read_text().split() + [""]

    def prepare(self, folder):
        """Makes the files that the manifest reads in its own folder."""
        if self.data == WINE:
            wine(folder)


def example(name, steps, data=None, **more):
    return Case(name, steps, data, example=f"{name}.toml", **more)


def small(name, *sets, text=SMALL, **more):
    return Case(name, 12, text=text, sets=sets, predictions={"rows": ()}, **more)


def optimizer(name, options=""):
    return small(f"optimizer_{name}", f'optimizer={{name="{name}",learning_rate=0.01{options}}}')


def lstm(optimizer_name):
    return Case(f"lstm_{optimizer_name}", 3, SHAKESPEARE, example="shakespeare_lstm.toml", predictions=TEXT,
                sets=(f'optimizer={{name="{optimizer_name}",learning_rate=0.1}}',))


CASES = (
    example("digits", 20),
    example("digits_autoencoder", 10),
    example("digits_mish", 20),
    example("digits_sequential", 6),
    example("iris", 20, IRIS),
    example("mnist_best", 20, MNIST),
    example("mnist_cnn", 3, MNIST, predictions={"class": ("--keys", "class")}),
    example("mnist_mlp", 20, MNIST),
    example("mnist_resnet", 3, MNIST, predictions={"class": ("--keys", "class")}),
    example("penguins", 20, PENGUINS),
    example("petal_width", 20, IRIS),
    example("shakespeare_lstm", 3, SHAKESPEARE, predictions=TEXT),
    example("shakespeare_transformer", 3, SHAKESPEARE, predictions=TEXT),
    example("wine_npy", 20, WINE),
    small("hooks", text=HOOKS),
    small("restore_best", "checkpoint.keep_best=2", 'hooks=[{plugin="restore_best"}]', "eval.every_steps=4",
          exact=False),
    small("saver_npz", 'scaffold.saver={plugin="npz"}'),
    small("saver_shards", 'scaffold.saver={plugin="safetensors",shard_bytes=20000}'),
    small("saver_tf_bundle", 'scaffold.saver={plugin="tf_bundle"}'),
    small("several_batches", "optimizer.accumulate=2", "optimizer.clip_norm=0.5",
          'optimizer.groups=[{vars="hidden*",learning_rate_scale=0.5,from_step=9},{vars="logits*",clip_norm=0.1}]',
          replay=()),
    small("half_precision", 'session.precision="bf16"', processor="avx512_bf16"),
    small("sync_and_averages", 'checkpoint.save="sync"', 'hooks=[{plugin="weight_averaging",method="swa"}]',
          'optimizer.learning_rate={schedule="exponential_decay",decay_steps=5,warmup_steps=3}'),
    optimizer("sgd"),
    optimizer("momentum", ",momentum=0.8,use_nesterov=true"),
    optimizer("adagrad"),
    optimizer("rmsprop", ",momentum=0.5,centered=true"),
    optimizer("adamw"),
    optimizer("ftrl", ",l1_regularization_strength=0.001"),
    lstm("sgd"),
    lstm("adagrad"),
)

# Examples that the older build cannot train, each with the reason.
NEW_ALONE = {
    "tables_*.toml": "the model tabular and the split by each k-th row are new (6a726366, 6ca704b2)",
}


@dataclasses.dataclass(frozen=True)
class Kept:
    """An intended difference: changed lines of a diff of such artefacts."""
    case: str  # a pattern of names
    artefact: str  # regular expressions that are found in it
    line: str
    reason: str


# Of 2f0c49b1, after `git cherry-pick 56b25131`: this commit changes the last bits of products of one to three columns.
KEPT = (
    Kept("*", r"^graph: out", r"nodes, |accuracy|Equal|Cast|ArgMax", "the accuracy takes the classes of the predictions"),
    Kept("*", r"events$", r'"kind": "graph"', "the accuracy takes the classes of the predictions"),
    Kept("*", r": log$", r"\b(goes|went) on\b|\bcontinue[sd]\b", "messages were worded anew"),
    Kept("iris", r"^check: out|schema\.json|exported", r"label\.counts|eval_fraction|^[-+] +(\d+\.0,?|\],?)$",
         "csv keeps the rows of each class, and the part of the evaluation"),
    Kept("petal_width", r"^(check|report|checkpoint): out|schema\.json|exported",
         r"label\.moments|eval_fraction|belay\.schema|^[-+] +(\d+\.\d+,?|\],?)$",
         "csv keeps mean and deviation of a label, and the part of the evaluation"),
    Kept("shakespeare_*", r": log$", r"the optimizer takes no sparse gradients", "a dense gradient of a gather is named"),
    Kept("lstm_*", r"^graph: out", r"SumIndexedSlices|(Sparse)?Apply(GradientDescent|Adagrad)",
         "the gradient of an embedding is sparse"),
    Kept("wine_npy", r"^(replay: |replayed: |replay by old )", r"",
         "a replay finds an array of an archive by a relative path (data files: an array in an archive)"),
)
