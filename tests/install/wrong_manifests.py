# SPDX-License-Identifier: Apache-2.0
"""The wrong manifests of same_diagnostics.py: changes by rules of manifests that are right."""
import re

from same_outputs import SOURCE
from same_outputs_cases import CASES, SMALL

# Keys that no example has.
KEYS = SMALL.replace('[optimizer]\nname = "adam"\nlearning_rate = 0.01\n', "") + """
[run]
mode = "train"
dir = "run"
max_steps = 20
min_steps = 2
seed = 3
threads = 1
[optimizer]
name = "adam"
learning_rate = { schedule = "exponential_decay", learning_rate = 0.1, decay_steps = 500, decay_rate = 0.9 }
beta1 = 0.8
epsilon = 1e-7
clip_norm = 1.0
clip_value = 2.0
accumulate = 2
groups = [{ vars = "hidden*", learning_rate_scale = 0.1, clip_norm = 0.5, from_step = 3 }]
[scaffold]
saver = { plugin = "safetensors", shard_bytes = 100000 }
[checkpoint]
save_secs = 60
save_steps = 5
save = "sync"
basename = "weights"
max_to_keep = 3
keep_every_hours = 1.0
keep_every_steps = 10
on_save_error = "stop"
save_failures = 2
save_on_exception = true
refuse_non_finite = false
keep_best = 2
best_metric = "eval/accuracy"
best_mode = "max"
[eval]
every_steps = 5
every_secs = 60
at_checkpoint = true
inputs = ["eval"]
batches = 2
start_delay_secs = 1.0
throttle_secs = 1.0
at_start = true
on_error = "continue"
[predict]
keys = ["class"]
format = "csv"
output = "out.csv"
temperature = 1.0
seed = 4
[session]
save_summaries_steps = 5
save_summaries_secs = 60
events_flush_secs = 60
log_step_count_steps = 5
stop_grace_period_secs = 60
signal_grace_secs = 20
no_progress_secs = 600
max_recoveries = 3
recovery_backoff_secs = 1.0
hooks_on_all_ranks = ["norms"]
precision = "float32"
[[hooks]]
plugin = "logging_tensor"
name = "losses"
on_error = "disable"
tensors = ["loss"]
every_n_iter = 3
[[hooks]]
plugin = "gradient_norms"
name = "norms"
[[metrics]]
kind = "auc"
name = "area"
labels = "label"
predictions = "probabilities"
class_id = 3
num_thresholds = 100
curve = "pr"
[[metrics]]
kind = "in_top_k"
name = "top5"
labels = "label"
predictions = "probabilities"
k = 5
[[exporters]]
plugin = "onnx"
when = "best"
keep = 3
on_error = "stop"
[[exporters]]
plugin = "safetensors"
signature = "serving_default"
"""

# A key with the start of its value; the value is whole if it is no list or table.
PAIR = re.compile(r'("[^"]+"|[\w.]+) *= *("(?:[^"\\]|\\.)*"|[-+\w.]+|[\[{])')
OTHER_TYPES = {'"': ("7", "[1.5]"), "[": ('"x"',), "{": ("3",), "t": ('"yes"',), "f": ("1",)}
# --set of keys that a manifest of any case may have.
SETS = ("run.max_stepps=3", "run.max_steps=many", "run.max_steps=-1", "no_such.key=1", "model.no_such_option=1",
        "optimizer.learning_rate=-1", 'optimizer.name="adamm"', 'model.plugin="no_such"', "hooks.7.plugin=nan_tensor",
        'checkpoint.best_metric="eval/no_such"', 'hooks=[{plugin="logging_tensor",tensors=["lss"],every_n_iter=1}]',
        'hooks=[{plugin="nan_gard"}]', 'exporters=[{plugin="onx"}]', 'scaffold.saver={plugin="safetensor"}',
        'scaffold.init_fn=[{plugin="warm_start",from="no_such"}]', 'scaffold.summary_op="no_such"',
        'metrics=[{kind="accuracy",labels="labl",predictions="class"}]', 'cluster={plugin="glo"}',
        'optimizer.groups=[{vars="no_such*"}]', 'predict.keys=["no_such"]', "input.train.batch_size", "=3")


def misspelt(key):
    return f'{key[:-1]}s"' if key[-1] == '"' else key + key[-1]


def other_values(value):
    """(kind, value) of values that are probably wrong."""
    for number, other in enumerate(OTHER_TYPES.get(value[0], ('"x"', "true"))):
        yield f"other type {number}" if number else "other type", other
    if value[0] == '"':
        yield "misspelt value", f'{value[:-1]}{value[-2:]}'
        yield "empty", '""'
    elif re.match(r"[-+\d]", value):
        yield "negative", "-1"
        yield "too large", "1e39" if re.search(r"[.e]", value) else "99999999999999999"


def wrong_lines(header, lines):
    """(what is wrong, lines of a table) for each change of one of its lines; `header` names the table."""
    if header:
        yield f"{header} misspelt", [lines[0].replace("]", "x]", 1), *lines[1:]]
        yield f"{header} twice", [*lines, lines[0]]
        yield f"{header} torn", [lines[0].rstrip("]"), *lines[1:]]
        yield f"{header} unknown key", [*lines, "no_such_key = 1"]
        yield f"{header} missing", []
    for at, line in enumerate(lines):
        comment = line.find("#") if '"#' not in line else -1
        pairs = [pair for pair in PAIR.finditer(line) if comment < 0 or pair.start() < comment]
        for pair in pairs:
            def with_pair(text):
                return [*lines[:at], line[:pair.start()] + text + line[pair.end():], *lines[at + 1:]]
            key, value = pair.groups()
            name = f"{header}{'' if pair.start() == 0 else ' inner'} {key}"
            name += f"={value}" if key in ("plugin", "name", "kind", "schedule", "type") else ""
            yield f"{name} misspelt", with_pair(f"{misspelt(key)} = {value}")
            yield f"{name} torn", [*lines[:at], line[:pair.start(2) + len(value) // 2]]
            if value not in "[{":
                yield f"{name} twice", with_pair(f"{pair[0]}{chr(10) if pair.start() == 0 else ', '}{pair[0]}")
                if pair.start() == 0:
                    yield f"{name} missing", [*lines[:at], *lines[at + 1:]]
            elif pair.start() == 0 and line[-1] in "]}":
                yield f"{name} missing", [*lines[:at], *lines[at + 1:]]
            for kind, other in other_values(value):
                if value not in "[{":
                    yield f"{name} {kind}", with_pair(f"{key} = {other}")
                elif line[-1] in "]}" and pair.start() == 0:
                    yield f"{name} {kind}", [*lines[:at], f"{key} = {other}", *lines[at + 1:]]


def tables(text):
    """(header, its lines) in their order; the first header is empty."""
    found = [("", [])]
    for line in text.splitlines():
        if re.match(r"\[", line):
            found.append((line.split("#")[0].strip(), []))
        if line and not line.startswith("#"):
            found[-1][1].append(line)
    return found


def wrong_texts(text):
    """(what is wrong, a wrong manifest)"""
    parts = tables(text)
    for number, (header, lines) in enumerate(parts):
        plugin = re.search(r'^(?:plugin|kind|name) *= *"(\w+)"', "\n".join(lines), re.M)
        for what, changed in wrong_lines(header + (f" of {plugin[1]}" if plugin else "") if header else "", lines):
            yield what, "\n".join(line for at, (_, own) in enumerate(parts) for line in (changed if at == number else own))


def wrong_files():
    """(what is wrong, the bytes of a manifest) for mistakes of the whole file."""
    yield "empty file", b""
    yield "NUL", SMALL.encode().replace(b"digits", b"dig\0its", 1)
    yield "no UTF-8", SMALL.encode().replace(b"digits", b"dig\xffits", 1)
    yield "mark of the order of bytes", b"\xef\xbb\xbf" + SMALL.replace("shuffle", "shufle").encode()
    yield "ends of lines of Windows", SMALL.replace("shuffle", "shufle").replace("\n", "\r\n").encode()
    yield "too many levels", (SMALL + "no_such = " + "[" * 80 + "]" * 80).encode()
    yield "too many parts", (SMALL + ".".join("k" * 80) + " = 1").encode()
    yield "too large", (SMALL + "# " + "x" * (1 << 20)).encode()
    yield "a long line", (SMALL + "[run]\nmax_steps = " + " " * 300 + '"many"').encode()
    yield "tabs and wide characters", (SMALL + '[run]\n\tdir\t=\t"\u4e2d"\n\tmax_stps\t=\t3').encode()


def wrong_manifests():
    """(name, bytes, arguments after its path, a function that makes its other files)"""
    bases = [(case.name, case.manifest(SOURCE), case.sets, case.prepare) for case in CASES if case.data_is_there()]
    design = (SOURCE / "tests" / "manifest" / "examples" / "design.toml").read_text()
    bases += [("design", design, (), None), ("keys", KEYS, (), None)]
    done = set()
    for name, text, case_sets, prepare in bases:
        sets = case_sets
        if not re.search("^ *dir *=", text, re.M):  # some hooks need a run directory
            sets = (*sets, 'run.dir="run"')
        arguments = [word for key in sets for word in ("--set", key)]
        yield f"{name}: unchanged", text.encode(), arguments, prepare
        for what, wrong in wrong_texts(text):
            if what not in done and not case_sets:
                done.add(what)
                yield f"{name}: {what}", wrong.encode(), arguments, prepare
        for wrong in SETS if name in ("digits", "keys", "shakespeare_lstm") else ():
            yield f"{name}: --set {wrong}", text.encode(), [*arguments, "--set", wrong], prepare
    for what, data in wrong_files():
        yield f"file: {what}", data, [], None
    yield "file: missing", None, [], None
