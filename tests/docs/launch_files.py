# SPDX-License-Identifier: Apache-2.0
"""The files for batch systems: examples/slurm and examples/kubernetes. Read as far as that goes without the systems, and
what they start is started, with as many processes and the variables that the system would set.

    launch_files.py BELAY PLUGINS SOURCE
"""
import os
import pathlib
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

try:
    import yaml
except ImportError:
    print("skipped: python3-yaml is not there")
    sys.exit(77)

BELAY, PLUGINS, SOURCE = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
SBATCH = SOURCE / "examples/slurm/train.sbatch"
KUBERNETES = SOURCE / "examples/kubernetes"
MANIFEST = """
[run]
dir = "{dir}"
max_steps = {steps}
[input.train]
plugin = "digits"
examples = 500
batch_size = 16
[model]
plugin = "linear"
[optimizer]
name = "sgd"
learning_rate = 0.01
[cluster]
plugin = "gloo"
"""
# srun in three lines: all ranks on this machine, the greatest of their statuses; a signal to it is one to all.
SRUN = """#!/bin/bash
while [[ "$1" == --* ]]; do echo "$1" >> "$FAKE_LOG"; shift; done
trap 'kill -TERM "${ranks[@]}"' TERM
for ((rank = 0; rank < SLURM_NTASKS; ++rank)); do SLURM_STEP_ID=0 SLURM_PROCID=$rank "$@" & ranks+=($!); done
worst=0
for rank in "${ranks[@]}"; do
  while :; do wait "$rank"; status=$?; kill -0 "$rank" 2> /dev/null || break; done
  ((status > worst)) && worst=$status
done
exit "$worst"
"""
SCONTROL = """#!/bin/bash
echo "scontrol $*" >> "$FAKE_LOG"
"""
SECONDS = 120  # behind which a process hangs


def arguments_of(text):
    """[(option, value)] of #SBATCH lines."""
    lines = [line.split(None, 1)[1] for line in text.splitlines() if line.startswith("#SBATCH ")]
    return dict(line.lstrip("-").split("=", 1) if "=" in line else (line.lstrip("-"), "") for line in lines)


class Folder(unittest.TestCase):
    def setUp(self):
        self.temp = tempfile.TemporaryDirectory(prefix="belay_launch.")
        self.folder = pathlib.Path(self.temp.name)
        self.addCleanup(self.temp.cleanup)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.bin / "belay").symlink_to(BELAY)
        self.environment = {**os.environ, "PATH": f"{self.bin}:{os.environ['PATH']}", "BELAY_PLUGIN_PATH": str(PLUGINS),
                            "FAKE_LOG": str(self.folder / "log")}

    def popen(self, command, **variables):
        """In a session of its own, of which nothing is left behind the test."""
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   start_new_session=True, env={**self.environment, **variables})
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        process.stdout.close()

    def program(self, name, text):
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(stat.S_IRWXU)

    def manifest(self, steps):
        path = self.folder / "train.toml"
        path.write_text(MANIFEST.format(dir=self.folder / "run", steps=steps))
        return path

    def logged(self):
        log = self.folder / "log"
        return log.read_text() if log.exists() else ""

    def checkpoints(self):
        return sorted(path.name for path in (self.folder / "run").glob("model.ckpt-*"))


class Slurm(Folder):
    def setUp(self):
        super().setUp()
        self.program("srun", SRUN)
        self.program("scontrol", SCONTROL)
        self.environment.update(SLURM_NTASKS="2", SLURM_CPUS_PER_TASK="1", SLURM_JOB_ID="7")

    def start(self, *arguments):
        return self.popen(["bash", SBATCH, *arguments])

    def test_the_script_is_one(self):
        subprocess.run(["bash", "-n", SBATCH], check=True)
        options = arguments_of(SBATCH.read_text())
        self.assertEqual(options["signal"], "TERM@120")
        self.assertIn("requeue", options)
        self.assertNotIn("B:", options["signal"], "the ranks get the signal, not the script alone")

    def test_it_trains_with_as_many_ranks_as_there_are_tasks(self):
        job = self.start(self.manifest(30))
        said = job.communicate(timeout=SECONDS)[0]
        self.assertEqual(job.returncode, 0, said)
        self.assertIn("rank 1 of 2", said)
        self.assertIn("model.ckpt-30", self.checkpoints())
        self.assertEqual(self.logged(), "--kill-on-bad-exit=0\n--wait=0\n", "no requeue behind a good end")

    def test_a_signal_before_the_end_saves_and_starts_it_again(self):
        manifest = self.manifest(1000000)
        job = self.start(manifest)
        deadline = time.monotonic() + SECONDS
        said = ""
        while said.count("training begins") + said.count("a new training") < 2:
            self.assertLess(time.monotonic(), deadline, said)
            line = job.stdout.readline()
            self.assertTrue(line, said)
            said += line
        # What Slurm does: SIGTERM to the tasks.
        children = subprocess.run(["pgrep", "-x", "-s", str(job.pid), "belay"], capture_output=True, text=True).stdout
        self.assertEqual(len(children.split()), 2, children)
        for child in children.split():
            os.kill(int(child), signal.SIGTERM)
        said += job.communicate(timeout=SECONDS)[0]
        self.assertEqual(job.returncode, 0, said)
        self.assertIn("scontrol requeue 7", self.logged())
        self.assertTrue(self.checkpoints(), said)

    def test_without_a_manifest_it_says_how_it_is_called(self):
        job = self.start()
        self.assertIn("usage: sbatch train.sbatch MANIFEST.toml", job.communicate(timeout=SECONDS)[0])
        self.assertEqual(job.returncode, 2)


class Kubernetes(Folder):
    def document(self, name):
        return yaml.safe_load((KUBERNETES / name).read_text())

    def test_an_indexed_job_has_as_many_ranks_as_completions(self):
        spec = self.document("indexed_job.yaml")["spec"]
        pod = spec["template"]["spec"]
        variables = {e["name"]: e["value"] for e in pod["containers"][0]["env"]}
        self.assertEqual(spec["completionMode"], "Indexed")
        self.assertEqual(spec["completions"], spec["parallelism"])
        self.assertEqual(variables["WORLD_SIZE"], str(spec["completions"]))
        self.assertEqual({v["name"] for v in pod["volumes"]},
                         {m["name"] for m in pod["containers"][0]["volumeMounts"]})
        self.assertGreater(pod["terminationGracePeriodSeconds"], 25, "session.signal_grace_secs")

    def ranks(self, steps):
        """The containers of the indexed job, with what Kubernetes would set."""
        container = self.document("indexed_job.yaml")["spec"]["template"]["spec"]["containers"][0]
        variables = {e["name"]: e["value"] for e in container["env"]}
        variables.update(MANIFEST=str(self.manifest(steps)), RUN_DIR=str(self.folder / "run"), THREADS="1")
        return [self.popen([*container["command"], *container["args"]], **variables, JOB_COMPLETION_INDEX=str(rank))
                for rank in range(int(variables["WORLD_SIZE"]))]

    def test_the_containers_train_together_and_end_when_the_training_has(self):
        started = self.ranks(30)
        for rank in started:
            said = rank.communicate(timeout=SECONDS)[0]
            self.assertEqual(rank.returncode, 0, said)
        self.assertIn("model.ckpt-30", self.checkpoints())
        self.assertTrue((self.folder / "run/finished").exists())

    def test_an_mpijob_has_a_slot_for_each_rank(self):
        spec = self.document("mpijob.yaml")["spec"]
        replicas = spec["mpiReplicaSpecs"]
        command = replicas["Launcher"]["template"]["spec"]["containers"][0]["args"]
        ranks = int(command[command.index("-np") + 1])
        self.assertEqual(ranks, spec["slotsPerWorker"] * replicas["Worker"]["replicas"])
        self.assertIn("--allow-run-as-root", command)
        # What mpirun does with a signal to this script is in tests/e2e/mpi_ranks_test.cc.
        self.assertIn("trap 'kill -USR1 $!' TERM", command[0])
        self.assertGreater(replicas["Launcher"]["template"]["spec"]["terminationGracePeriodSeconds"], 25 + 2,
                           "session.signal_grace_secs, and mpirun's own end")

    def test_the_mpijobs_options_are_belays(self):
        command = self.document("mpijob.yaml")["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]["containers"][0][
            "args"]
        options = command[command.index("belay") + 3:]
        manifest = self.manifest(3)
        checked = subprocess.run([BELAY, "run", manifest, "--dry-run", *options], env=self.environment,
                                 capture_output=True, text=True, timeout=SECONDS)
        self.assertEqual(checked.returncode, 0, checked.stderr)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], "-v"])
