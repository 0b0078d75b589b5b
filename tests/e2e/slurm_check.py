# SPDX-License-Identifier: Apache-2.0
"""examples/slurm/train.sbatch with a Slurm of this test's own, on this machine alone: a job of two ranks is signalled
before its time is over, saves, is started again and goes on to its end.

    slurm_check.py BELAY PLUGINS SCRIPT

Status 77 where Slurm is not installed, or where its daemons cannot run: they want root.
"""
import contextlib
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

DAEMONS = ("munged", "slurmctld", "slurmd")
WAIT_SECS = 240  # Slurm signals up to a minute early, and looks at its jobs' time now and then

CONFIGURATION = """\
ClusterName=trial
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={here}/munge/socket
StateSaveLocation={here}/state
SlurmdSpoolDir={here}/spool
SlurmctldPidFile={here}/slurmctld.pid
SlurmdPidFile={here}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES State=UP
"""

MANIFEST = """\
[run]
dir = "run"
max_steps = {steps}
[cluster]
plugin = "gloo"
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


def program(name):
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return shutil.which(name, path=path) or skip(f"there is no {name} (apt install slurmctld slurmd slurm-client munge)")


def free_ports(count):
    with contextlib.ExitStack() as open_ones:
        found = []
        for _ in range(count):
            taken = open_ones.enter_context(socket.socket())
            taken.bind(("127.0.0.1", 0))
            found.append(taken.getsockname()[1])
        return found


def asked(*arguments):
    return subprocess.run(arguments, capture_output=True, text=True, check=True).stdout


def wait_for(what, holds):
    end = time.monotonic() + WAIT_SECS
    while time.monotonic() < end:
        if holds():
            return
        time.sleep(0.5)
    raise AssertionError(f"waited {WAIT_SECS} s for {what}")


def idle():
    nodes = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True, check=False)
    return nodes.stdout.strip() == "idle"


@contextlib.contextmanager
def slurm(here):
    """A node of two processors; ends with the test, and so does each job."""
    commands = {name: program(name) for name in DAEMONS}
    host = socket.gethostname().split(".")[0]
    for folder in ("state", "spool", "munge"):
        (here / folder).mkdir()
    (here / "slurm.conf").write_text(CONFIGURATION.format(host=host, here=here, ports=free_ports(2)))
    os.environ["SLURM_CONF"] = str(here / "slurm.conf")
    key = here / "key"
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    munge = here / "munge"
    started = []

    def start(name, *arguments):
        log = open(here / f"{name}.log", "w", encoding="utf-8")
        started.append((name, subprocess.Popen([commands[name], *arguments], stdout=log, stderr=log)))

    def ready():
        ended = [name for name, process in started if process.poll() is not None]
        if ended:
            skip(f"{ended[0]} does not run here: " + (here / f"{ended[0]}.log").read_text()[-500:])
        return idle()

    try:
        start("munged", "--foreground", "--force", f"--key-file={key}", f"--socket={munge}/socket",
              f"--pid-file={munge}/pid", f"--log-file={munge}/log", f"--seed-file={munge}/seed")
        wait_for("munged", lambda: started[0][1].poll() is not None or (munge / "socket").exists())
        start("slurmctld", "-D")
        start("slurmd", "-D")
        wait_for("an idle node", ready)
        yield
    finally:
        subprocess.run(["scancel", "--full", "--state=RUNNING"], capture_output=True, check=False)
        for _, process in reversed(started):
            process.terminate()
        for _, process in started:
            process.wait()


def last_save(run):
    steps = [int(path.name[11:]) for path in run.glob("model.ckpt-*") if re.fullmatch(r"model\.ckpt-\d+", path.name)]
    return max(steps, default=0)


def check(belay, plugins, script, here):
    os.environ["PATH"] = f"{pathlib.Path(belay).parent}:{os.environ['PATH']}"
    os.environ["BELAY_PLUGIN_PATH"] = plugins
    manifest, run = here / "train.toml", here / "run"
    manifest.write_text(MANIFEST.format(steps=10**9))
    job = asked("sbatch", "--parsable", f"--chdir={here}", "--nodes=1", "--ntasks-per-node=2", "--cpus-per-task=1",
                "--time=2", "--signal=TERM@90", script, str(manifest)).strip()

    def log():
        path = here / f"belay-{job}.log"
        return path.read_text() if path.exists() else ""

    def state():
        fields = asked("scontrol", "show", "job", job, "-o")
        return re.search(r"JobState=(\S+)", fields)[1], re.search(r"Restarts=(\d+)", fields)[1]

    try:
        wait_for("the job to be started again behind Slurm's signal", lambda: state() == ("PENDING", "1"))
        saved = last_save(run)
        assert saved > 0, "nothing was saved behind the signal"
        assert f"next start  continues from model.ckpt-{saved}" in log()
        wait_for("the node to be done with the job", idle)
        # Slurm waits two minutes by itself, since a node refuses a job within the second in which it was ended.
        manifest.write_text(MANIFEST.format(steps=saved + 50))
        # With time enough, or it may be signalled again at its first step.
        asked("scontrol", "update", f"JobId={job}", "StartTime=now+5", "TimeLimit=10")
        wait_for("the job's end", lambda: state()[0] not in ("PENDING", "RUNNING", "COMPLETING"))
        assert state() == ("COMPLETED", "1"), state()
        assert f"restored step {saved} " in log() or f"restored step {saved}\n" in log(), "the job began anew"
        assert last_save(run) == saved + 50, last_save(run)
    except BaseException:
        print(log(), asked("scontrol", "show", "job", job), *((here / f"{name}.log").read_text() for name in DAEMONS), sep="\n")
        raise
    print(f"saved step {saved} at Slurm's signal, was started again and ended at step {saved + 50}")


def main():
    if os.geteuid() != 0:
        skip("Slurm's daemons are started as root")
    for name in (*DAEMONS, "sbatch", "srun"):
        program(name)
    with tempfile.TemporaryDirectory(prefix="belay_slurm.") as folder:
        here = pathlib.Path(folder)
        here.chmod(0o755)  # munge trusts no folder that others can write
        with slurm(here):
            check(*sys.argv[1:], here)


if __name__ == "__main__":
    main()
