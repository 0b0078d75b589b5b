# SPDX-License-Identifier: Apache-2.0
"""What 1,000 steps of examples/mnist_mlp.toml take on two threads and two processors, while something else runs on one of
these or on both, beside what they take while nothing does."""
import contextlib
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

EXAMPLE = pathlib.Path(__file__).resolve().parent.parent / "examples" / "mnist_mlp.toml"
DATA = "mnist/train-images-idx3-ubyte.gz"
STEPS = 1000
PAIRS = 7


def data_directory():
    """None where the images are not there."""
    place = pathlib.Path(os.environ.get("BELAY_DATA_DIR", EXAMPLE.parent.parent.parent / "shared" / "data")).resolve()
    return place if (place / DATA).exists() else None


def processors():
    """The two that all of it runs on; None where this process has but one."""
    mine = sorted(os.sched_getaffinity(0))
    return mine[:2] if len(mine) > 1 else None


@contextlib.contextmanager
def busy_loops(on):
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"],
                              preexec_fn=lambda core=core: os.sched_setaffinity(0, {core})) for core in on]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def training_seconds(build, folder, data, cores):
    """Of the loop alone, as the run's last line says."""
    text = EXAMPLE.read_text()
    evaluation, model = text.index("[input.eval]"), text.index("[model]")
    manifest = folder / "train.toml"
    manifest.write_text(text[:evaluation] + text[model:])
    environment = {**os.environ, "BELAY_DATA_DIR": str(data), "BELAY_PLUGIN_PATH": str((build / "plugins").resolve())}
    command = [str(build / "bin" / "belay"), "run", str(manifest), "--from-scratch", "--set", f'run.dir="{folder}/run"',
               "--set", f"run.max_steps={STEPS}", "--set", "run.threads=2"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True,
                          preexec_fn=lambda: os.sched_setaffinity(0, set(cores)))
    seconds = re.search(rf"\({STEPS} steps in ([0-9.]+) s\)", done.stderr)
    if done.returncode != 0 or seconds is None:
        raise ValueError(f"belay run ended with status {done.returncode}: {done.stderr.strip()}")
    return float(seconds.group(1))


def measure(build, say):
    """The ratios of the medians: {"busy_one": ..., "busy_each": ...}. The runs take turns, and every second pair in the
    other order. Raises ValueError or OSError."""
    cores, data = processors(), data_directory()
    ratios = {}
    with tempfile.TemporaryDirectory(prefix="belay_bench.") as name:
        for measured, on in (("busy_one", cores[:1]), ("busy_each", cores)):
            taken = {"quiet": [], "busy": []}
            for pair in range(PAIRS):
                for kind in ("quiet", "busy") if pair % 2 == 0 else ("busy", "quiet"):
                    with busy_loops(on if kind == "busy" else []):
                        taken[kind].append(training_seconds(build, pathlib.Path(name), data, cores))
            quiet, busy = statistics.median(taken["quiet"]), statistics.median(taken["busy"])
            say(f"{measured}: quiet {quiet:.2f} s {sorted(taken['quiet'])}, busy {busy:.2f} s {sorted(taken['busy'])}")
            ratios[measured] = busy / quiet
    return ratios
