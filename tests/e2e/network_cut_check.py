# SPDX-License-Identifier: Apache-2.0
"""Two ranks, each in a network namespace of its own, and the network between them cut, while both see the run's directory:
both notice it within [cluster] timeout_secs and end with an error that names the other one; the same command goes on when
the network is back. With on_lost_rank = "continue" the chief goes on alone, and the other one says that it was left out;
with "wait" they try again, and the chief saves before it gives up.

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
{cluster}
[session]
max_recoveries = 2
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


def wait_for(condition, ranks):
    while not condition():
        assert all(rank.process.poll() is None for rank in ranks), "a rank ended by itself"
        time.sleep(0.05)


def end_all(ranks):
    for rank in ranks:
        rank.process.kill()
        print(rank.text())


def cut_off(belay, folder, keys):
    """Two ranks that are cut from each other behind a checkpoint."""
    manifest, run = folder / "train.toml", folder / "run"
    shutil.rmtree(run)
    manifest.write_text(MANIFEST.format(steps=10**9, cluster=keys))
    ranks = both(belay, manifest, folder)
    try:
        wait_for(lambda: saved(run) >= 400, ranks)
    except BaseException:
        end_all(ranks)
        raise
    ip("link", "set", LINK, "down", space=SPACES[1])
    return ranks, run


def check_continue(belay, folder):
    ranks, run = cut_off(belay, folder, 'on_lost_rank = "continue"\nmax_wait_secs = 8')
    try:
        cut = time.monotonic()
        wait_for(lambda: "rank 1 was lost; 1 rank continues after step" in ranks[0].text(), ranks)
        waited = time.monotonic() - cut
        at = saved(run)
        assert ranks[1].end() == 1
        assert "the other ranks continued without this one, which they did not reach" in ranks[1].text()
        wait_for(lambda: saved(run) > at + 400, ranks[:1])
        ranks[0].process.terminate()
        assert ranks[0].end() == -15
    except BaseException:
        end_all(ranks)
        raise
    finally:
        ip("link", "set", LINK, "up", space=SPACES[1])
    print(json.dumps({"on_lost_rank": "continue", "went_on_after_secs": round(waited, 1)}))


def check_wait(belay, folder):
    ranks, run = cut_off(belay, folder, 'on_lost_rank = "wait"')
    try:
        assert [rank.end() for rank in ranks] == [1, 1]
        for rank in ranks:
            assert "gave up after 2 recoveries in a row" in rank.text()
        made = re.search(r"recovery 1.*?step (\d+)", ranks[0].text())
        ends = re.search(r"(?:next start|the next start) *continues from.*?(\d+)", ranks[0].text())
        print(json.dumps({"on_lost_rank": "wait", "saved_step": saved(run), "said": [m and m.group(1) for m in (made, ends)]}))
        assert saved(run) % 200 != 0, "it saved nothing behind the cut"
    except BaseException:
        end_all(ranks)
        raise
    finally:
        ip("link", "set", LINK, "up", space=SPACES[1])


def check(belay, folder):
    manifest, run = folder / "train.toml", folder / "run"
    manifest.write_text(MANIFEST.format(steps=10**9, cluster=""))
    ranks = both(belay, manifest, folder)
    try:
        wait_for(lambda: saved(run) >= 400, ranks)
        ip("link", "set", LINK, "down", space=SPACES[1])
        cut = time.monotonic()
        statuses = [rank.end() for rank in ranks]
        waited = time.monotonic() - cut
        for number, rank in enumerate(ranks):
            assert statuses[number] == 1, statuses
            assert re.search(rf" error(\[B\d+\]:)? .*rank {1 - number} has shown no sign of life for 5 s", rank.text()), number
        ip("link", "set", LINK, "up", space=SPACES[1])
        last = saved(run)
        manifest.write_text(MANIFEST.format(steps=last + 100, cluster=""))
        ranks = both(belay, manifest, folder)
        assert [rank.end() for rank in ranks] == [0, 0]
        assert f"restored step {last} " in ranks[0].text(), "the run began anew"
        assert saved(run) == last + 100
    except BaseException:
        end_all(ranks)
        raise
    print(json.dumps({"timeout_secs": 5, "ended_after_secs": round(waited, 1), "restored_step": last}))


def main():
    belay, os.environ["BELAY_PLUGIN_PATH"] = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    with tempfile.TemporaryDirectory(prefix="belay_cut.") as folder, network():
        check(belay, pathlib.Path(folder))
        check_continue(belay, pathlib.Path(folder))
        check_wait(belay, pathlib.Path(folder))


if __name__ == "__main__":
    main()
