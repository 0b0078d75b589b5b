#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the outputs of two builds of Belay: an older one, and one after a large change that keeps them.

    python3 -B tests/install/same_outputs.py OLD_BUILD NEW_BUILD [--only NAME]... [--keep DIR]

Each build has bin/belay and plugins/. Each manifest in examples/, and some manifests with all hooks, savers and
optimizers, is checked, trained, evaluated, predicted, exported, replayed and reported by both. Outputs, logs,
checkpoints, states of hooks, events and exported files are compared without times, paths, versions and codes of errors.
Then the new build continues trainings of the old one, with one process and with two ranks. They must end with the
bits of trainings that one build made alone. A run of the old build is also evaluated and predicted by the new one.

KEPT in same_outputs_cases.py lists the differences that are intended, with reasons. Any other one is printed, and then
the status is 1. --only takes the cases with these names or patterns. --keep leaves all files in DIR. A case without its
data in BELAY_DATA_DIR or BELAY_SAMPLES_DIR is skipped. It takes about half an hour.
"""
import argparse
import collections
import dataclasses
import difflib
import fnmatch
import hashlib
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

from same_outputs_cases import CASES, KEPT, NEW_ALONE

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
EXPORTERS = '[{plugin="onnx"},{plugin="safetensors"},{plugin="belay"}]'
SHOWN = 24  # lines of a difference
LARGE = 4000  # lines; difflib takes too long for more

# Parts of texts that differ from run to run, and what replaces them.
CHANGING = [(re.compile(pattern), new) for pattern, new in (
    (r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?Z?", "TIME"),
    (r"\[B\d{4}\]", ""),
    (r"(?m)^(TIME error):", r"\1"),  # the log's colon came with the codes
    (r"\bbelay \d+\.\d+\.\d+", "belay VERSION"),
    (r"\bevents\.out\.tfevents\.[\w.-]+", "EVENTS"),
    (r"(?m)\b\d{10}(\.\d+)?(?=/|$| )", "SECOND"),
    (r"(?<![\d.,])[\d.,]+(e[+-]?\d+)? (ns|us|ms|s|sec|min|h)\b", "N s"),
    (r"(?<![\d.,])[\d.,]+(e[+-]?\d+)? (steps|examples)(/s| a second)", "N/s"),
    (r"(, N/s)*,? ?ETA [\d:]+( h)?|(, N/s)+", ""),
    (r"\bpid \d+", "pid N"),
    (r"[\d.]+ [KMGT]iB (free|of memory|are free)", "N free"),
    (r"\b[0-9a-f]{40}\b", "BUILD"),
)]
# Lines that come or stay away with the load of the machine.
LOAD = re.compile(r"waits? for the input|is to be saved while|by the clock|went into|^  *time  +|  (time    |disk    |machine )    ")
# Members of JSON objects that differ from run to run, or that describe files that are compared themselves.
CHANGING_KEYS = re.compile(r"(wall_)?time|.*secs?|.*seconds.*|binary|build|build_id|hash|host|pid|code|length|version|"
                           r"writer|belay|of")
# Tags of events that are measurements of time or memory.
CHANGING_TAGS = re.compile(r"(global_step|examples)/sec|time/.*|.*_secs|system/.*|input_wait/.*|step_\d+|_hparams_/.*")


@dataclasses.dataclass(frozen=True)
class Build:
    name: str
    path: pathlib.Path

    def start(self, folder, *arguments, **variables):
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "LC_ALL": "C.UTF-8", "TZ": "UTC",
                       "COLUMNS": "120", "GOMP_SPINCOUNT": "0", "BELAY_PLUGIN_PATH": str(self.path / "plugins"),
                       **variables}
        data = ("BELAY_DATA_DIR", "BELAY_SAMPLES_DIR")
        environment.update({name: os.environ[name] for name in data if name in os.environ})
        return subprocess.Popen([str(self.path / "bin" / "belay"), *arguments], cwd=folder, env=environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, folder, *arguments):
        """The lines of what a command printed, and its status."""
        process = self.start(folder, *arguments)
        out, err = process.communicate(timeout=1200)
        log = self.lines(err, folder)
        # A thread saves while the training continues, so these lines come at any time.
        log.sort(key=lambda line: "info saved " in line)
        return {"out": self.lines(out, folder), "log": log, "status": [str(process.returncode)]}

    def lines(self, text, folder):
        """Without what differs from run to run."""
        text = text.replace(str(folder), "DIR").replace(str(self.path), "BUILD").replace(str(folder.parent), "DIR")
        for pattern, new in CHANGING:
            text = pattern.sub(new, text)
        return [line.rstrip() for line in text.splitlines() if not LOAD.search(line)]


# ---- what files hold


def digest(data):
    return f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()[:16]}"


def without_changing(value):
    if isinstance(value, dict):
        return {key: without_changing(member) for key, member in value.items() if not CHANGING_KEYS.fullmatch(key)}
    return [without_changing(member) for member in value] if isinstance(value, list) else value


def json_text(value):
    return json.dumps(without_changing(value), indent=1, sort_keys=True)


def safetensors(data):
    (length,) = struct.unpack_from("<Q", data)
    for name, tensor in sorted(json.loads(data[8:8 + length]).items()):
        if name == "__metadata__":
            for key, text in sorted(tensor.items()):
                yield f"metadata {key}"
                yield from (json_text(json.loads(text)) if text.startswith("{") else text).splitlines()
        else:
            first, last = (8 + length + offset for offset in tensor["data_offsets"])
            yield f"{name} {tensor['dtype']} {tensor['shape']} {digest(data[first:last])}"


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift, at = shift + 7, at + 1
        if data[at - 1] < 128:
            return value, at


def onnx(data):
    """A line for each field of the model, and for each one of its graph."""
    def fields(message):
        at = 0
        while at < len(message):
            key, at = varint(message, at)
            length, at = varint(message, at)
            if key & 7 == 0:
                yield key >> 3, b"%d" % length
            else:
                yield key >> 3, message[at:at + length]
                at += length

    for number, value in fields(data):
        if number == 7:
            yield from (f"graph {part}: {digest(content)}" for part, content in fields(value))
        elif number != 3:  # the version of the producer
            yield f"model {number}: {value.decode('utf-8', 'replace')}"


def archive(path):
    with zipfile.ZipFile(path) as parts:
        return [f"{part.filename} {digest(parts.read(part))}" for part in parts.infolist()]


def metrics(text):
    """Lines of training steps come by the clock; the events have those numbers, too."""
    for line in map(json.loads, text.splitlines()):
        if "event" in line:
            yield json.dumps(without_changing(line), sort_keys=True)


def state(value):
    """The state of a checkpoint: positions, hooks, and the conditions without the ids of programs."""
    conditions = value.get("fingerprint", {})
    if "plugins" in conditions:
        conditions["plugins"] = sorted(conditions["plugins"])
    return json_text(value)


def content(path, build, folder):
    """The lines of one file, without what differs from run to run."""
    data = path.read_bytes()
    if path.name.startswith("events.out.tfevents") or path.name in ("index", "lock", "trace.json"):
        return []  # `belay events` prints the first; the files of an index are compared themselves
    if path.suffix == ".safetensors":
        return list(safetensors(data))
    if path.suffix == ".npz":
        return archive(path)
    if path.suffix == ".onnx":
        return list(onnx(data))
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return [digest(data)]
    if path.name == "metrics.jsonl":
        return list(metrics(text))
    if path.name == "state":
        text = state(json.loads(text))
    elif path.name == "plugins.json":
        text = json_text(sorted(json.loads(text)["plugins"], key=json.dumps)) if "plugins" in text else text
    elif path.name.endswith(".json") or path.name in ("evaluations", "best"):
        text = "\n".join(line for line in json_text(json.loads(text)).splitlines() if '"crc32c"' not in line)
    elif path.name.endswith(".toml"):
        text = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    return build.lines(text, folder)


def files(root, build, folder):
    """{name: lines} of all files in a folder, and their list."""
    found = {}
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        name = "/".join(build.lines(str(path.relative_to(root)), folder))
        found[name] = content(path, build, folder)
    return {**found, "list of files": sorted(found)}


def events(build, folder):
    printed = build.start(folder, "events", "run", "--json")
    out, _ = printed.communicate(timeout=600)
    rows = [without_changing(row) for row in json.loads(out or "[]")
            if not CHANGING_TAGS.fullmatch(row.get("tag") or "")]
    return build.lines("\n".join(json.dumps(row, sort_keys=True) for row in rows), folder)


# ---- what the builds do


class Trial:
    """One case in a folder of its own for each build."""

    def __init__(self, case, builds, folder):
        self.case, self.builds, self.folder = case, builds, folder
        self.differences = []  # (artefact, lines of a diff)
        self.equal = 0

    def place(self, build, run):
        """The folder of a run, which has the manifest and what it reads."""
        place = self.folder / build.name / run
        if not place.is_dir():
            place.mkdir(parents=True)
            (place / "case.toml").write_text(self.case.manifest(SOURCE))
            self.case.prepare(place)
        return place

    def sets(self, steps, *more):
        keys = ['run.dir="run"', f"run.max_steps={steps}", "run.threads=1", "run.seed=7", "checkpoint.save_secs=0",
                f"checkpoint.save_steps={self.case.steps}", "checkpoint.max_to_keep=20",
                "session.save_summaries_steps=1", "eval.batches=4", *self.case.sets, *more]
        return [word for key in keys for word in ("--set", key)]

    def compare(self, artefact, old, new):
        if old == new:
            self.equal += 1
        elif max(len(old), len(new)) > LARGE:
            pairs = [(a, b) for a, b in zip(old, new) if a != b]
            lines = [f"-{len(old)} lines", f"+{len(new)} lines"] if len(old) != len(new) else []
            lines += [mark + line for pair in pairs for mark, line in zip("-+", pair)]
            self.differences.append((artefact, lines))
        else:
            self.differences.append((artefact, list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]))

    def compare_all(self, what, old, new):
        for name in sorted({*old, *new}):
            self.compare(f"{what}: {name}", old.get(name, ["not there"]), new.get(name, ["not there"]))

    def train(self, build, place, steps):
        return build.run(place, "run", "case.toml", *self.sets(steps))

    def commands(self, build):
        """{command: {artefact: lines}} of one build, in the order in which they run."""
        steps, place = self.case.steps, self.place(build, "whole")
        sets = self.sets(2 * steps)
        done = {"check": build.run(place, "check", "case.toml", "--diagnostics=json", *sets)}
        mistaken = build.run(place, "check", "case.toml", "--diagnostics=json", *sets, "--set", "run.max_stepps=5",
                             "--set", "model.no_such_option=1")
        done["check with mistakes"] = {**mistaken, "log": places_of_mistakes(mistaken["log"])}
        for command in ("show", "graph"):
            done[command] = build.run(place, command, "case.toml", *sets)
        done["run"] = self.train(build, place, 2 * steps)
        done["run directory"] = {**files(place / "run", build, place), "events": events(build, place)}
        done["evaluate"] = build.run(place, "evaluate", "case.toml", *sets)
        earlier = ["--checkpoint", str(steps)]
        done["evaluate an earlier one"] = build.run(place, "evaluate", "case.toml", "-q", *earlier, *sets)
        for name, options in self.case.predictions.items():
            done[f"predict {name}"] = build.run(place, "predict", "case.toml", *options, *sets)
        done["export"] = build.run(place, "export", "case.toml", *sets, "--set", f"exporters={EXPORTERS}")
        done["exported"] = files(place / "run" / "export", build, place)
        done["replay"] = build.run(place, "replay", "run", "--step", str(steps + 1), "--fetch", "loss",
                                   *self.case.replay, "--hook", "gradient_norms", "--out", "again")
        replayed = files(place / "again", build, place)
        done["replayed"] = {name: lines for name, lines in replayed.items() if name.endswith(".npz")}
        done["report"] = build.run(place, "report", "run")
        done["checkpoint"] = build.run(place, "checkpoint", "show", "run", "--json")
        return done

    def outputs(self):
        old, new = (self.commands(build) for build in self.builds)
        for command in old:
            self.compare_all(command, old[command], new[command])
        self.compare("status of run", new["run"]["status"], ["0"])
        for build, done in zip(self.builds, (old, new)):
            proved = [line for line in done["replay"]["out"] if line.startswith("0 differing bits at step ")]
            self.compare(f"replay by {build.name} has the bits of its run", [str(len(proved))], ["1"])

    def old_run_in_new(self):
        """The new build looks at the old one's run."""
        old, new = self.builds
        sets, place = self.sets(2 * self.case.steps), self.place(old, "whole")
        commands = {"evaluate": ["evaluate", "case.toml", "-q"],
                    **{f"predict {name}": ["predict", "case.toml", "-q", *options]
                       for name, options in self.case.predictions.items()}}
        for name, command in commands.items():
            own, other = (build.run(place, *command, *sets) for build in (old, new))
            self.compare_all(f"{name} of the old run", own, other)

    def same_bits(self, what, a, b):
        """The variables of two checkpoints are equal by the new build's own comparison."""
        result = self.builds[1].run(self.folder, "checkpoint", "diff", str(a), str(b))
        self.compare(f"bits: {what}", ["0"] if result["status"] == ["0"] else result["out"] + result["log"], ["0"])

    def continued(self, ranks=1):
        """What the old build trained to half of the steps, each build trains to the end."""
        (old, new), steps = self.builds, self.case.steps
        kind = "" if ranks == 1 else f" on {ranks} ranks"
        run = self.of_ranks if ranks > 1 else self.alone
        name = "whole" if ranks == 1 else "whole_ranks"
        if ranks > 1:
            for build in self.builds:
                run(build, self.place(build, name), 2 * steps)
        first = self.place(old, "first" + kind.replace(" ", "_"))
        run(old, first, steps)
        ends = {}
        for build in self.builds:
            place = self.place(build, "continued" + kind.replace(" ", "_"))
            shutil.copytree(first / "run", place / "run", symlinks=True)
            run(build, place, 2 * steps)
            ends[build.name] = place / "run" / f"model.ckpt-{2 * steps}"
        self.same_bits(f"old, then new, as old, then old{kind}", ends["new"], ends["old"])
        for build in self.builds if self.case.exact else ():
            whole = self.place(build, name) / "run" / f"model.ckpt-{2 * steps}"
            self.same_bits(f"old, then new, as {build.name} alone{kind}", ends["new"], whole)
        states = [content(ends[build.name] / "state", build, ends[build.name].parent.parent) for build in self.builds]
        self.compare(f"state: old, then old or new{kind}", *states)

    def alone(self, build, place, steps):
        result = build.run(place, "run", "case.toml", "-q", *self.sets(steps))
        self.compare(f"{place.name} by {build.name}: status", result["status"],
                     ["0"] if result["status"] == ["0"] else ["0", *result["log"]])

    def of_ranks(self, build, place, steps, size=2):
        arguments = ["run", "case.toml", "-q", *self.sets(steps, 'cluster={plugin="gloo"}')]
        ranks = [build.start(place, *arguments, RANK=str(rank), WORLD_SIZE=str(size)) for rank in range(size)]
        for rank, process in enumerate(ranks):
            _, log = process.communicate(timeout=1200)
            status = [str(process.returncode)]
            self.compare(f"{place.name} by {build.name}, rank {rank}: status", status,
                         ["0"] if status == ["0"] else ["0", *build.lines(log, place)])


def places_of_mistakes(lines):
    """Of errors only the place and the kind, since words of messages are free to change."""
    parsed = [json.loads(line) for line in lines if line.startswith("{")]
    return [json.dumps({key: error.get(key) for key in ("file", "line", "column", "length")}) for error in parsed]


# ---- what is kept


def reason_of(case, artefact, line):
    """Why this line of a difference is intended; None: it is not."""
    for kept in KEPT:
        if fnmatch.fnmatch(case, kept.case) and re.search(kept.artefact, artefact) and re.search(kept.line, line):
            return kept.reason
    return None


def judge(trial, reasons):
    """Prints the differences without a reason, and returns their number."""
    unexplained = 0
    for artefact, lines in trial.differences:
        changed = [line for line in lines if not line.startswith("@@")]
        found = [reason_of(trial.case.name, artefact, line) for line in changed]
        reasons.update({reason for reason in found if reason})
        if None not in found:
            continue
        unexplained += 1
        print(f"  DIFFERENT {artefact}")
        rest = [line for line, reason in zip(changed, found) if reason is None]
        print("".join(f"    {line[:400]}\n" for line in rest[:SHOWN]), end="")
        if len(rest) > SHOWN:
            print(f"    and {len(rest) - SHOWN} more lines")
    return unexplained


def try_case(case, builds, folder):
    trial = Trial(case, builds, folder)
    trial.outputs()
    trial.old_run_in_new()
    trial.continued()
    if case.ranks:
        trial.continued(ranks=2)
    return trial


def main():
    parser = argparse.ArgumentParser(description="Compares the outputs of two builds of Belay.")
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    builds = [Build("old", options.old.resolve()), Build("new", options.new.resolve())]
    known = {case.example for case in CASES}
    for example in sorted(path.name for path in (SOURCE / "examples").glob("*.toml")):
        if example not in known and not any(fnmatch.fnmatch(example, pattern) for pattern in NEW_ALONE):
            sys.exit(f"same_outputs.py: examples/{example} is in no case of same_outputs_cases.py; add one")
    for pattern, reason in NEW_ALONE.items():
        print(f"not compared: examples/{pattern}: {reason}")
    reasons, unexplained, equal = collections.Counter(), 0, 0
    with tempfile.TemporaryDirectory(prefix="belay_same.") as temporary:
        for case in CASES:
            if options.only and not any(fnmatch.fnmatch(case.name, pattern) for pattern in options.only):
                continue
            if not case.data_is_there():
                print(f"{case.name}: SKIPPED, there is no {case.data}")
                continue
            if not case.processor_can():
                print(f"{case.name}: SKIPPED, this processor has no {case.processor}")
                continue
            folder = (options.keep.resolve() if options.keep else pathlib.Path(temporary)) / case.name
            folder.mkdir(parents=True)
            trial = try_case(case, builds, folder)
            print(f"{case.name}: {trial.equal} equal, {len(trial.differences)} different", flush=True)
            unexplained += judge(trial, reasons)
            equal += trial.equal
            if not options.keep:
                shutil.rmtree(folder)
    for reason, count in sorted(reasons.items()):
        print(f"intended ({count} artefacts): {reason}")
    print(f"{equal} artefacts are equal; {unexplained} differ without a reason")
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
