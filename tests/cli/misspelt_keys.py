# SPDX-License-Identifier: Apache-2.0
"""Misspells every key and section of a manifest that `belay schema` lists, also the keys of layers, of groups of variables
and of other tables below options, and counts which of the messages name the right one.

usage: misspelt_keys.py BELAY PLUGIN_DIRECTORY

Each key is misspelt in four ways: without a character, with two neighbours swapped, with one doubled, with one replaced.
None may be accepted, and at least 97 % must get the key that was meant.
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile

WANTED = 0.97
ENOUGH = 40  # keys in one manifest: further problems than a hundred are only counted

belay, plugins = sys.argv[1:]
env = {**os.environ, "BELAY_PLUGIN_PATH": plugins}
schema = json.loads(subprocess.run([belay, "schema"], env=env, check=True, capture_output=True, text=True).stdout)


def misspelt(key):
    middle = len(key) // 2
    yield key[:middle] + key[middle + 1:]
    yield key[:middle - 1] + key[middle] + key[middle - 1] + key[middle + 1:]
    yield key[:middle] + key[middle] + key[middle:]
    yield key[:middle] + ("x" if key[middle] != "x" else "y") + key[middle + 1:]


def tables(table, name):
    """(lines that name the plugin, schemas of its keys) of each plugin that a schema of a table knows."""
    by_name = table["else"] if "else" in table else table
    for branch in by_name["allOf"]:
        properties = branch["then"]["properties"]
        yield f'{name} = "{properties[name]["const"]}"', properties


def below(header, properties):
    """(header, lines at its beginning, keys) of the tables below a table's options."""
    table = [line for line in header.splitlines() if line.startswith("[")][-1].strip("[]")
    for key, schema in properties.items():
        name = f"{table}.{key}"
        if "items" in schema and "allOf" in schema["items"]:  # of several kinds
            for branch in schema["items"]["allOf"]:
                decider, condition = next(iter(branch["if"]["properties"].items()))
                yield f"{header}\n[[{name}]]", f'{decider} = "{condition["const"]}"', branch["then"]["properties"]
        elif "properties" in schema.get("items", {}):
            yield f"{header}\n[[{name}]]", "", schema["items"]["properties"]
        elif "properties" in (schema.get("additionalProperties") or {}):  # tables of any name
            yield f"{header}\n[{name}.x]", "", schema["additionalProperties"]["properties"]


REST = {"input": '[input.train]\nplugin = "digits"\n', "model": '[model]\nplugin = "mlp"\n'}


def manifests():
    """(section, header of the table, lines at its beginning, keys) of each table that a manifest can have."""
    properties = schema["properties"]
    for section, table in properties.items():
        if "properties" in table and section not in ("input", "scaffold", "optimizer"):
            yield section, f"[{section}]", "", list(table["properties"])
    scaffold = properties["scaffold"]["properties"]
    yield "scaffold", "[scaffold]", "", list(scaffold)
    kinds = [("input", "[input.train]", properties["input"]["additionalProperties"], "plugin"),
             ("model", "[model]", properties["model"], "plugin"),
             ("optimizer", "[optimizer]", properties["optimizer"], "name"),
             ("scaffold", "[scaffold.saver]", scaffold["saver"], "plugin"),
             ("scaffold", "[[scaffold.init_fn]]", scaffold["init_fn"]["else"], "plugin"),
             ("hooks", "[[hooks]]", properties["hooks"]["items"], "plugin"),
             ("cluster", "[run]\ndir = \"run\"\n[cluster]", properties["cluster"], "plugin"),
             ("exporters", "[run]\ndir = \"run\"\n[[exporters]]", properties["exporters"]["items"], "plugin")]
    for section, header, table, name in kinds:
        for first, keys in tables(table, name):
            yield section, header, first + "\n", list(keys)
            for table_header, table_first, table_keys in below(f"{header}\n{first}", keys):
                yield section, table_header, table_first, list(table_keys)
    optimizer = next(iter(properties["optimizer"]["else"]["allOf"]))["then"]["properties"]
    for first, keys in tables(optimizer["learning_rate"]["then"], "schedule"):
        yield "optimizer", "[optimizer.learning_rate]", first + "\n", list(keys)
    metric = properties["metrics"]["items"]["properties"]
    yield "metrics", "[[metrics]]", "", list(metric)


def problems_of(folder, text):
    """The first problem of each line that has one, and the exit status."""
    path = folder / "m.toml"
    path.write_text(text)
    run = subprocess.run([belay, "check", path, "--diagnostics=json"], env=env, cwd=folder, capture_output=True,
                         text=True)
    problems = {}
    for line in run.stderr.splitlines():
        if line.startswith("{"):
            problem = json.loads(line)
            problems.setdefault(problem["line"], problem)
    return problems, run.returncode


def judge(folder, section, header, first, pairs):
    """Counts the pairs (misspelt, meant) of one manifest; returns those that were judged wrongly."""
    lines = (header + "\n" + first).splitlines()
    places = {}
    for wrong, meant in pairs:
        lines.append(f"[{wrong}]" if section == "" else f"{wrong} = 1")
        places[len(lines)] = (wrong, meant)
    text = "\n".join(lines) + "\n" + "".join(rest for name, rest in REST.items() if name != section)
    problems, status = problems_of(folder, text)
    missed, accepted = [], []
    for line, (wrong, meant) in places.items():
        wanted = [f'did you mean "{meant}"'] if section else [f"did you mean [{meant}]?", f"did you mean [[{meant}]]?"]
        if line not in problems:
            accepted.append(f"{header} {first.strip()}: {wrong} for {meant} is accepted, status {status}")
        elif not any(text in problems[line]["help"] for text in wanted):
            missed.append(f"{header} {first.strip()}: {wrong} for {meant}: {problems[line]['help']}")
    return missed, accepted


missed, accepted = [], []
counts = collections.Counter()
with tempfile.TemporaryDirectory() as folder:
    sections = [key for key in schema["properties"] if key != "version"]
    for section, header, first, keys in [*manifests(), ("", "", "", sections)]:
        pairs = [(wrong, key) for key in keys for wrong in dict.fromkeys(misspelt(key))
                 if key != "*" and wrong not in keys and wrong]
        for i in range(0, len(pairs), ENOUGH):
            m, a = judge(pathlib.Path(folder), section, header, first, pairs[i:i + ENOUGH])
            missed += m
            accepted += a
        counts["keys"] += len(keys)
        counts["misspelt"] += len(pairs)

right = counts["misspelt"] - len(missed) - len(accepted)
share = right / counts["misspelt"]
print("\n".join(accepted + missed))
print(f"{counts['keys']} keys misspelt {counts['misspelt']} times: {right} get the right name ({100 * share:.1f} %), "
      f"{len(accepted)} are accepted")
if counts["misspelt"] < 1000:
    sys.exit("fewer keys than there are: the schema was not read")
sys.exit(1 if accepted or share < WANTED else 0)
