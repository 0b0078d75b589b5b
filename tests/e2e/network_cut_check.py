# SPDX-License-Identifier: Apache-2.0
"""Two ranks, each in a network namespace of its own, and the network between them cut: both notice it within
[cluster] timeout_secs and end with an error that names the other one; the same command goes on when the network is back.

    network_cut_check.py BELAY PLUGINS

Status 77 where no network namespace can be made: that wants root, and ip of the package iproute2.
"""
import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

SPACES = [f"belay-{os.getpid()}-{rank}" for rank in range(2)]
LINK = "lane0"  # the same name in both

MANIFEST = """\
[run]
dir = "run"
max_steps = {steps}
threads = 1
[cluster]
plugin = "gloo"
interface = "lane0"
timeout_secs = 5
[checkpoint]
save_steps = 200
[input.train]
plugin = "digits"
batch_size = 32
[model]
plugin = "mlp"
classes = 10
hidden = [32]
[optimizer]
name = "adam"
"""


def skip(why):
    print("SKIPPED:", why)
    sys.exit(77)


def ip(*arguments, space=None):
    inside = [] if space is None else ["-n", space]
    return subprocess.run(["ip", *inside, *arguments], capture_output=True, text=True, check=True)


@contextlib.contextmanager
def network():
    """Two namespaces and one link between them: 10.77.0.1 and 10.77.0.2."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        skip("network namespaces are for root, with ip (apt install iproute2)")
    try:
        try:
            for space in SPACES:
                ip("netns", "add", space)
            ip("link", "add", LINK, "netns", SPACES[0], "type", "veth", "peer", "name", LINK, "netns", SPACES[1])
        except subprocess.CalledProcessError as error:
            skip(f"no network namespace can be made here: {error.stderr.strip()}")
        for rank, space in enumerate(SPACES):
            ip("addr", "add", f"10.77.0.{rank + 1}/24", "dev", LINK, space=space)
            ip("link", "set", "lo", "up", space=space)
            ip("link", "set", LINK, "up", space=space)
        yield
    finally:
        for space in SPACES:
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)


class Rank:
    def __init__(self, belay, manifest, rank, folder):
        self.log = folder / f"rank{rank}.log"
        environment = dict(os.environ, RANK=str(rank), WORLD_SIZE="2")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(["ip", "netns", "exec", SPACES[rank], belay, "run", manifest], stderr=log,
                                            stdout=subprocess.DEVNULL, cwd=folder, env=environment)

    def text(self):
        return self.log.read_text(encoding="utf-8")

    def end(self):
        return self.process.wait(timeout=120)


def saved(run):
    steps = [int(path.name[11:]) for path in run.glob("model.ckpt-*") if re.fullmatch(r"model\.ckpt-\d+", path.name)]
    return max(steps, default=0)


def both(belay, manifest, folder):
    return [Rank(belay, manifest, rank, folder) for rank in range(2)]


def check(belay, folder):
    manifest, run = folder / "train.toml", folder / "run"
    manifest.write_text(MANIFEST.format(steps=10**9))
    ranks = both(belay, manifest, folder)
    try:
        while saved(run) < 400:
            assert all(rank.process.poll() is None for rank in ranks), "the run ended by itself"
            time.sleep(0.05)
        ip("link", "set", LINK, "down", space=SPACES[1])
        cut = time.monotonic()
        statuses = [rank.end() for rank in ranks]
        waited = time.monotonic() - cut
        for number, rank in enumerate(ranks):
            assert statuses[number] == 1, statuses
            assert re.search(f" error .*rank {1 - number} has shown no sign of life for 5 s", rank.text()), number
        ip("link", "set", LINK, "up", space=SPACES[1])
        last = saved(run)
        manifest.write_text(MANIFEST.format(steps=last + 100))
        ranks = both(belay, manifest, folder)
        assert [rank.end() for rank in ranks] == [0, 0]
        assert f"restored step {last} " in ranks[0].text(), "the run began anew"
        assert saved(run) == last + 100
    except BaseException:
        for rank in ranks:
            rank.process.kill()
            print(rank.text())
        raise
    print(json.dumps({"timeout_secs": 5, "ended_after_secs": round(waited, 1), "restored_step": last}))


def main():
    belay, os.environ["BELAY_PLUGIN_PATH"] = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="belay_cut.") as folder, network():
        check(belay, pathlib.Path(folder))


if __name__ == "__main__":
    main()
