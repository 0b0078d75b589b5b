# SPDX-License-Identifier: Apache-2.0
"""Checks `belay schema` with a validator of others: it takes every example and refuses what is wrong.

usage: schema_check.py BELAY PLUGIN_DIRECTORY EXAMPLES_DIRECTORY
Ends with 77 where python3-jsonschema is not installed.
"""
import copy
import json
import os
import pathlib
import subprocess
import sys
import tomllib

try:
    import jsonschema
except ImportError:
    print("SKIPPED: python3-jsonschema is not installed (apt install python3-jsonschema)")
    sys.exit(77)

belay, plugins, examples = sys.argv[1:]
text = subprocess.run([belay, "schema"], env={**os.environ, "BELAY_PLUGIN_PATH": plugins}, check=True,
                      capture_output=True, text=True).stdout
schema = json.loads(text)
jsonschema.Draft7Validator.check_schema(schema)
validator = jsonschema.Draft7Validator(schema)

failures = []
manifests = sorted(pathlib.Path(examples).glob("*.toml"))
if not manifests:
    failures.append("there are no examples")
for path in manifests:
    manifest = tomllib.loads(path.read_text())
    for error in validator.iter_errors(manifest):
        failures.append(f"{path.name} is refused: {error.message}")

good = {
    "version": 1,
    "run": {"max_steps": 10},
    "input": {"train": {"plugin": "digits", "prefetch": 4}},
    "model": {"plugin": "mlp", "hidden": [8]},
    "optimizer": {"name": "sgd", "learning_rate": {"schedule": "cosine_decay", "decay_steps": 5}},
    "scaffold": {"init_fn": [{"plugin": "warm_start", "from": "x"}]},
    "hooks": [{"file": "./mine.so", "any": 1}, {"plugin": "stop_at_step", "last_step": 3, "name": "s"}],
    "metrics": [{"kind": "auc", "labels": "y", "predictions": "p", "curve": "pr"}],
    "ops": [{"plugin": "mish"}, {"file": "./mine.so"}],
}
for error in validator.iter_errors(good):
    failures.append(f"a right manifest is refused: {error.message}")


def bad(what, change):
    manifest = copy.deepcopy(good)
    change(manifest)
    if validator.is_valid(manifest):
        failures.append(f"is not refused: {what}")


nested = copy.deepcopy(good)
nested["input"]["train"] = {"plugin": "tfrecord", "files": ["x"], "features": {
    "x": {"dtype": "float32", "shape": [2], "default": 0.5}, "y": {"dtype": "string", "default": ["a"]}}}
nested["model"] = {"plugin": "sequential", "layers": [
    {"type": "conv", "filters": 4, "size": [3, 3], "strides": 2}, {"type": "flatten", "name": "flat"},
    {"type": "dense", "units": 10}]}
nested["scaffold"]["init_fn"][0]["names"] = {"dense/kernel": "other", "a": {"b": "c"}}
for error in validator.iter_errors(nested):
    failures.append(f"a right manifest with keys below tables is refused: {error.message}")


def bad_nested(what, change):
    manifest = copy.deepcopy(nested)
    change(manifest)
    if validator.is_valid(manifest):
        failures.append(f"N-05 is not refused: {what}")


grouped = copy.deepcopy(good)
grouped["optimizer"] = {"name": "adamw", "accumulate": 4, "groups": [
    {"vars": "conv*", "learning_rate_scale": 0.1, "weight_decay": 0}, {"vars": "b", "clip_norm": 1, "from_step": 10}]}
for error in validator.iter_errors(grouped):
    failures.append(f"a right manifest with groups of variables is refused: {error.message}")


def bad_group(what, change):
    manifest = copy.deepcopy(grouped)
    change(manifest["optimizer"])
    if validator.is_valid(manifest):
        failures.append(f"is not refused: {what}")


bad_group("a group without vars", lambda o: o["groups"][0].pop("vars"))
bad_group("an option of another optimizer in a group", lambda o: o["groups"][0].update(use_nesterov=True))
bad_group("a rate below 0", lambda o: o["groups"][0].update(learning_rate_scale=-1))
bad_group("no batch", lambda o: o.update(accumulate=0))

bad_nested("an unknown key of a layer", lambda m: m["model"]["layers"][2].update(unitz=1))
bad_nested("a key of another type of layer", lambda m: m["model"]["layers"][2].update(filters=1))
bad_nested("a layer without a required key", lambda m: m["model"]["layers"][2].pop("units"))
bad_nested("a layer without a type", lambda m: m["model"]["layers"][1].pop("type"))
bad_nested("a value of a layer out of its range", lambda m: m["model"]["layers"][2].update(units=0))
bad_nested("a table in place of a list of layers", lambda m: m["model"].update(layers={"type": "flatten"}))
bad_nested("an unknown type of layer", lambda m: m["model"]["layers"][1].update(type="flat"))
bad_nested("an unknown dtype", lambda m: m["input"]["train"]["features"]["x"].update(dtype="float23"))
bad_nested("a default of another dtype", lambda m: m["input"]["train"]["features"]["y"].update(default=1.5))
bad_nested("a number as a variable's name", lambda m: m["scaffold"]["init_fn"][0]["names"].update(x=1))

bad("no model", lambda m: m.pop("model"))
bad("no training input", lambda m: m["input"].update(other=m["input"].pop("train")))
bad("an unknown section", lambda m: m.update(runs={}))
bad("an unknown key", lambda m: m["run"].update(max_step=1))
bad("max_steps = 0", lambda m: m["run"].update(max_steps=0))
bad("max_steps as a string", lambda m: m["run"].update(max_steps="10"))
bad("an unknown plugin", lambda m: m["model"].update(plugin="mpl"))
bad("a plugin of another kind", lambda m: m["model"].update(plugin="digits"))
bad("an unknown option", lambda m: m["model"].update(hiden=[8]))
bad("an option of another type", lambda m: m["model"].update(hidden="8"))
bad("an option out of its range", lambda m: m["hooks"][1].update(last_step=0))
bad("a required option left out", lambda m: m["scaffold"].update(init_fn=[{"plugin": "warm_start"}]))
bad("prefetch of 0", lambda m: m["input"]["train"].update(prefetch=0))
bad("on_error at a model", lambda m: m["model"].update(on_error="stop"))
bad("an unknown optimizer", lambda m: m["optimizer"].update(name="adm"))
bad("an unknown schedule", lambda m: m["optimizer"]["learning_rate"].update(schedule="linear"))
bad("a negative learning rate", lambda m: m["optimizer"].update(learning_rate=-1))
bad("an option of another optimizer", lambda m: m["optimizer"].update(beta1=0.5))
bad("an option of another schedule", lambda m: m["optimizer"]["learning_rate"].update(power=2))
bad("a table without a plugin", lambda m: m["hooks"].append({"every_n_iter": 1}))
bad("an option at an operation", lambda m: m["ops"][0].update(beta=1))
bad("an unknown kind of metric", lambda m: m["metrics"][0].update(kind="auk"))
bad("an unknown key of a metric", lambda m: m["metrics"][0].update(lables="y"))
bad("a metric without a kind", lambda m: m["metrics"][0].pop("kind"))
bad("hooks that is no list", lambda m: m.update(hooks={"plugin": "stop_at_step", "last_step": 3}))


def named(what, change, *words):
    """The first error of a manifest with one wrong key is about that key."""
    manifest = copy.deepcopy(nested)
    change(manifest)
    error = jsonschema.exceptions.best_match(validator.iter_errors(manifest))
    message = "" if error is None else "/".join(map(str, error.absolute_path)) + ": " + error.message
    if not all(word in message for word in words):
        failures.append(f"{what}: an editor shows {message!r}, without {words}")


named("an option of a model", lambda m: m["model"].update(layerz=1), "model", "'layerz'")
named("an option of a hook", lambda m: m["hooks"][1].update(lastt_step=1), "hooks/1", "'lastt_step'")
named("an unknown plugin", lambda m: m["model"].update(plugin="mpl"), "model/plugin", "'mpl'")
named("a key of a layer", lambda m: m["model"]["layers"][2].update(unitz=1), "model/layers/2", "'unitz'")
named("a key of a schedule", lambda m: m["optimizer"]["learning_rate"].update(decay=1), "optimizer/learning_rate",
      "'decay'")
named("a value of an option", lambda m: m["hooks"][1].update(last_step="x"), "hooks/1/last_step", "'x'")
named("an option of an optimizer", lambda m: m["optimizer"].update(beta=1), "optimizer", "'beta'")
bad("a manifest of another version", lambda m: m.update(version=2))

print("\n".join(failures) or f"{len(manifests)} examples and 25 wrong manifests are judged rightly")
sys.exit(1 if failures else 0)
