#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of run.py: it names the processor, holds the bounds, and docs/design/benchmarks.md says what it measures."""
import contextlib
import io
import json
import pathlib
import random
import re
import tempfile
import unittest
from unittest import mock

import background_save
import checkpoints
import cluster_plan
import clusters
import embedding
import models
import onnxruntime_peer
import processor
import run

HERE = pathlib.Path(__file__).resolve().parent
PAGE = (HERE.parent / "docs" / "design" / "benchmarks.md").read_text()

XEON = "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 143\nmodel name\t: Intel(R) Xeon(R)\nflags\t\t: avx512f avx512_bf16 amx_bf16\n"
EPYC = "processor\t: 0\ncpu family\t: 26\nmodel\t\t: 2\nmodel name\t: AMD EPYC\nflags\t\t: avx512f avx512_bf16\n"
OLD = "processor\t: 0\ncpu family\t: 6\nmodel\t\t: 60\nmodel name\t: Intel(R) Core(TM)\nflags\t\t: avx2 fma\n"


def described(cpuinfo, cores=2):
    with tempfile.TemporaryDirectory() as folder, mock.patch("os.sched_getaffinity", return_value=set(range(cores))):
        path = pathlib.Path(folder) / "cpuinfo"
        path.write_text(cpuinfo + "\n" + OLD.replace(": 0", ": 1"))  # a second one, which does not count
        return processor.describe(path)


class Runs(unittest.TestCase):
    """Runs main with one measure."""

    def main(self, value, *options, measure=None, then="", cpuinfo=EPYC, peers=None):
        def group(build):
            return {"thing": value}

        def beside_peers(build):
            return {"thing": value, **peers}

        said = io.StringIO()
        measures = {"thing": {"what": "a thing", "unit": "us", **(measure or {})}}
        measures.update({name: {"what": f"{name} to another's", "unit": "times"} for name in peers or {}})
        with mock.patch.object(run, "GROUPS", (group,)), mock.patch.object(run, "PEERS", (beside_peers,)), \
                mock.patch("sys.argv", ["run.py", "--build", "b", *options]), \
                mock.patch.object(run, "read_baseline", return_value=(measures, then)), \
                mock.patch.object(processor, "describe", return_value=described(cpuinfo)), \
                contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            status = run.main()
        return status, said.getvalue()


class Processor(Runs):
    def test_its_name_and_what_it_has(self):
        self.assertEqual(processor.sentence(described(XEON)),
                         "Intel(R) Xeon(R), family 6 model 143: AVX-512 with bf16, AMX, 2 cores")
        self.assertEqual(processor.sentence(described(EPYC, cores=1)),
                         "AMD EPYC, family 26 model 2: AVX-512 with bf16, no AMX, 1 core")
        self.assertEqual(processor.sentence(described(OLD)),
                         "Intel(R) Core(TM), family 6 model 60: no AVX-512, no AMX, 2 cores")

    def test_a_system_that_does_not_say(self):
        self.assertEqual(processor.describe("/nonexistent")["name"], "unknown")

    def test_it_is_above_the_table_beside_that_of_the_baseline(self):
        _, said = self.main(1, then="an older one", cpuinfo=XEON)
        self.assertIn("now: Intel(R) Xeon(R), family 6 model 143: AVX-512 with bf16, AMX, 2 cores\nwas: an older one\n", said)

    def test_it_is_in_the_json(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "found.json"
            self.main(3, "--json", str(path))
            self.assertEqual(json.loads(path.read_text()), {
                "processor": {"name": "AMD EPYC, family 26 model 2", "avx512": True, "avx512_bf16": True, "amx": False,
                              "cores": 2},
                "measures": {"thing": 3}})


class Bounds(Runs):
    HERE = "AMD EPYC, family 26 model 2: AVX-512 with bf16, no AMX, 2 cores"

    def test_a_limit_holds_on_every_processor(self):
        for then in (self.HERE, "another"):
            self.assertEqual(self.main(2, "--check", measure={"limit": 3}, then=then)[0], 0)
            status, said = self.main(3, "--check", measure={"limit": 3}, then=then)
            self.assertEqual(status, 1)
            self.assertIn("a thing: 3 us, must be less than 3 us", said)

    def test_a_tolerance_holds_on_the_processor_of_the_baseline(self):
        measure = {"was": 1, "tolerance": 1.3, "limit": 3}
        self.assertEqual(self.main(1.2, "--check", measure=measure, then=self.HERE)[0], 0)
        self.assertEqual(self.main(1.4, "--check", measure=measure, then=self.HERE)[0], 1)
        self.assertEqual(self.main(1.4, "--check", measure=measure, then="another")[0], 0)

    def test_only_the_group_that_misses_its_bound_is_taken_again(self):
        taken = []

        def group(name, value):
            def measured(_):
                taken.append(name)
                return {name: value}
            return measured

        baseline = {name: {"what": name, "unit": "us", "limit": 3} for name in ("slow", "fast")}
        values = run.measure_all(HERE, baseline, (group("slow", 4), group("fast", 2)), check=True)
        self.assertEqual(values, {"slow": 4, "fast": 2})
        self.assertEqual(taken, ["slow"] * run.TAKES + ["fast"])

    def test_the_shipped_baseline_can_be_held(self):
        measures, then = run.read_baseline()
        self.assertRegex(then, r"^.+, family \d+ model \d+: .*AVX-512.*, (no )?AMX, \d+ cores?$")
        for name, measure in measures.items():
            if "tolerance" in measure:
                self.assertIn("was", measure, name)
            if "limit" in measure and "was" in measure:
                self.assertLess(measure["was"], measure["limit"], name)


class Peers(Runs):
    def test_they_are_compared_by_ratios_alone(self):
        said = self.main(7, "--peers", peers={"a step": 0.5, "a forward": 0.25})[1]
        self.assertRegex(said, r"\na step to another's +0\.5 ")
        self.assertNotIn("a thing", said)
        self.assertTrue(said.endswith("\nratios above 1, so Belay takes more:\n  none\n"), said)

    def test_those_above_1_are_named(self):
        said = self.main(7, "--peers", peers={"a step": 1.5, "a forward": 1, "a batch": 1.25})[1]
        self.assertTrue(said.endswith("\nratios above 1, so Belay takes more:\n  a step to another's: 1.5\n"
                                      "  a batch to another's: 1.25\n"), said)

    def test_the_library_of_debian_is_taken_before_that_of_npm(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(models, "Program") as program:
            build = pathlib.Path(folder)
            onnxruntime_peer.open_pair(build, "mlp", 64, 2, build / "files")
            self.assertEqual(program.call_args.args[:2], ("onnxruntime", "node"))
            (build / "bin").mkdir()
            (build / "bin" / "bench_onnxruntime_peer").touch()
            onnxruntime_peer.open_pair(build, "mlp", 64, 2, build / "files")
            self.assertEqual(program.call_args.args,
                             ("onnxruntime", build / "bin" / "bench_onnxruntime_peer", str(build / "files" / "mlp_64"), 2))


class OtherPrograms(unittest.TestCase):
    def part(self, took, own, elapsed=10):
        with mock.patch.object(processor, "busy_seconds", side_effect=[100, 100 + took]), \
                mock.patch.object(processor, "own_seconds", side_effect=[1, 1 + own]), \
                mock.patch("time.monotonic", side_effect=[0, elapsed]):
            return processor.Others().part()

    def test_what_we_took_is_not_theirs(self):
        self.assertEqual(self.part(took=20, own=15), 0.5)
        self.assertEqual(self.part(took=14.9, own=15), 0)

    def test_the_time_that_all_processors_worked(self):
        with tempfile.TemporaryDirectory() as folder, mock.patch("os.sysconf", return_value=100):
            path = pathlib.Path(folder) / "stat"
            path.write_text("cpu  100 20 30 9999 8888 4 5 600 7 8\ncpu0 1 2 3\n")
            self.assertEqual(processor.busy_seconds(path), 7.59)
            self.assertIsNone(processor.busy_seconds("/nonexistent"))

    def test_a_team_that_met_them_is_left_out(self):
        one_round = {"us": 3, "cpu_us": 2, "max_rss_mib": 1}
        for part, threads, found in ((0.5, 2, False), (0.05, 2, True), (0.5, 1, True)):
            with mock.patch.object(processor.Others, "part", return_value=part):
                measured = models.measure([FakeProgram(one_round)], "mlp", threads, 3, 0.1, lambda line: None)
            self.assertEqual(measured, {"belay": one_round} if found else {})
            self.assertEqual(models.step_ratios("mlp", threads, measured),
                             {f"mlp_{threads}_us": 2 if threads == 1 else 3} if found else {})


class Saves(unittest.TestCase):
    ROUND = {"copy": 200, "stall": 300, "copy_cpu": 100, "stall_cpu": 120, "step": 2, "step_while_saving": 4, "saving": 1000, "save_alone": 600}

    def test_by_the_clock_nothing_is_said_where_others_were_at_work(self):
        stall = {"background_stall_cpu_ms": 120, "background_stall_cpu_to_copy": 1.2}
        rounds = [self.ROUND] * 3
        self.assertEqual(background_save.measures_of(rounds, 1, alone=False), stall)
        self.assertEqual(background_save.measures_of(rounds, 1, alone=True),
                         {**stall, "background_stall_to_copy": 1.5, "background_step_to_quiet": 2})
        self.assertEqual(background_save.measures_of(rounds, 2, alone=False), {})

    def test_what_the_run_loses_is_to_the_writing_without_the_copy(self):
        self.assertEqual(background_save.measures_of([self.ROUND], 2, alone=True), {"background_lost_to_write": 1})

    def test_each_ratio_is_the_median_of_its_rounds(self):
        rounds = [{"write_mib": 1, "read_mib": 2},
                  {"write": 2, "dd": 1, "read": 3, "copy": 1, "crc": 1, "isal": 1},
                  {"write": 8, "dd": 2, "read": 6, "copy": 3, "crc": 1, "isal": 2},
                  {"write": 3, "dd": 1, "read": 5, "copy": 1, "crc": 3, "isal": 1}]
        self.assertEqual(checkpoints.measures_of(rounds, 10), {
            "checkpoint_write_to_dd": 3, "checkpoint_read_to_copy": 3, "checkpoint_crc_to_isal": 1,
            "checkpoint_write_memory": 0.1, "checkpoint_read_memory": 0.2})

    def test_where_there_is_no_room_it_says_so_and_measures_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            meminfo = pathlib.Path(folder) / "meminfo"
            meminfo.write_text("MemTotal: 9999999 kB\nMemAvailable:  2048000 kB\n")
            self.assertIsNone(checkpoints.why_not(folder, 1, meminfo))
            self.assertEqual(checkpoints.why_not(folder, 2001, meminfo), "2000 MiB of memory are free, and 2001 are needed")
            self.assertIn(f"{folder} has ", checkpoints.why_not(folder, 1 << 40, meminfo))
        said = io.StringIO()
        with mock.patch.object(checkpoints, "why_not", return_value="no room"), contextlib.redirect_stderr(said):
            self.assertEqual(run.with_room("/tmp", 4, checkpoints, None), {})
        self.assertEqual(said.getvalue(), "bench: checkpoints: NOT MEASURED: no room\n")


class Clusters(unittest.TestCase):
    def test_each_rank_is_a_process_of_its_own_unless_a_launcher_starts_them(self):
        one = clusters.commands_of("mpi_mpich", "b", "p.so", "d", 3)
        self.assertEqual(one, [(["mpirun.mpich", "-np", "3", "b", "p.so", "d"], clusters.OPENMPI)])
        self.assertEqual([variables["RANK"] for _, variables in clusters.commands_of("gloo", "b", "p.so", "d", 2)], ["0", "1"])

    def test_the_smallest_and_the_largest_are_the_measures(self):
        table = clusters.table_of('noise\n{"bytes": 1048576, "us": 500}\n{"bytes": 4, "us": 20}\n')
        self.assertEqual(clusters.measures_of({"x": table}), {"cluster_x_small_us": 20, "cluster_x_mib_per_s": 2000})

    def test_between_two_sizes_a_cost_is_on_their_line_and_beyond_them_as_bandwidth_says(self):
        costs = cluster_plan.CostTable([[4, 10], [1004, 20], [2004, 40]])
        self.assertEqual([round(costs.of_two(size) * 1e6, 6) for size in (1, 4, 504, 1504, 4008)], [10, 10, 15, 30, 80])

    def test_a_ring_takes_each_part_round_twice(self):
        link = cluster_plan.Link(latency_us=1, mib_per_s=1)
        self.assertEqual(cluster_plan.ring(link, 1, 2**20), 0)
        self.assertAlmostEqual(cluster_plan.ring(link, 4, 4 * 2**20), 6 * (1e-6 + 1))

    def test_the_slowest_rank_is_the_step_and_communication_behind_the_backward_pass_is_free(self):
        alone = cluster_plan.step_time([1.0], 8, 0.0, random.Random(1))
        self.assertEqual(cluster_plan.step_time([1.0], 8, 0.45, random.Random(1)), alone)
        self.assertAlmostEqual(cluster_plan.step_time([1.0], 8, 0.95, random.Random(1)), 1.5)
        self.assertGreater(cluster_plan.step_time([1.0, 2.0], 64, 0, random.Random(1)), 1.99)

    def test_outer_steps_cost_what_is_longer_than_the_steps_between_them(self):
        internet = cluster_plan.Link(latency_us=0, mib_per_s=1)
        self.assertEqual(cluster_plan.outer_step_time(0.1, internet, 2, 2**20, every=500), 0.1)
        self.assertAlmostEqual(cluster_plan.outer_step_time(0.1, internet, 2, 2**20, every=2), 0.5)

    def test_step_times_are_those_of_metrics_jsonl(self):
        self.assertEqual(cluster_plan.step_times('{"step":0,"event":"start"}\n{"step":9,"steps_per_sec":4.0}\n'), [0.25])


class FakeProgram(models.Program):
    """Answers as bench/rounds.h does, without a process."""

    def __init__(self, answer):
        self.name, self.rounds, self._answer = "belay", [], answer

    def round(self, seconds):
        self.rounds.append(self._answer)

    def close(self):
        pass


class Embeddings(unittest.TestCase):
    def measured(self, peer):
        """The measures if a program takes as many microseconds as its place among those of its case."""
        def programs(name, path, optimizer, threads, *sizes):
            self.count += 1
            took = FakeProgram({"us": self.count, "cpu_us": self.count, "max_rss_mib": 1})
            took.name = name
            return took
        self.count, said = 0, []
        with mock.patch.object(models, "Program", side_effect=programs), \
                mock.patch.object(embedding, "peer", return_value=peer), \
                mock.patch.object(embedding, "plan_mib", return_value=0.5):
            return embedding.measure_optimizer(HERE, "sgd", said.append), said

    def test_tables_are_compared_with_small_ones_and_with_the_peer(self):
        measures, _ = self.measured(HERE / "peer")
        self.assertEqual((measures["embedding_sgd_to_small"], measures["embedding_sgd_same_ids_to_small"],
                          measures["embedding_sgd_to_libtorch"]), (1 / 3, 4 / 5, 1 / 2))
        # A step on the small table took 6, and the least 7 and 8.
        self.assertEqual(measures["embedding_sgd_least_to_small"], 1 + (7 - 8) / 6)
        self.assertLessEqual(set(measures), set(run.read_baseline()[0]))

    def test_without_the_peer_its_packages_are_named(self):
        measures, said = self.measured(None)
        self.assertEqual((measures["embedding_sgd_to_small"], measures["embedding_sgd_same_ids_to_small"]), (1 / 2, 3 / 4))
        self.assertFalse([name for name in measures if "libtorch" in name])
        self.assertIn("libtorch-dev", said[0])

    def test_too_little_memory_is_named(self):
        said = []
        with mock.patch.object(checkpoints, "too_little_memory", return_value="no room"):
            self.assertEqual(embedding.measure(HERE, said.append), {})
        self.assertEqual(said, ["bench: embeddings: NOT MEASURED: no room"])


class Page(unittest.TestCase):
    def test_it_names_each_group_and_no_other(self):
        named = re.findall(r"`--only (\w+)`", PAGE)
        self.assertEqual(sorted(set(named)), sorted(group.__name__ for group in run.GROUPS))

    def test_it_names_each_program(self):
        for source in [*HERE.glob("*_bench.cc"), *HERE.glob("libtorch_*.cc"), *HERE.glob("*_peer.cc")]:
            if source.name != "libtorch_peer.cc":
                self.assertTrue(f"bench/{source.name}" in PAGE or f"`bench_{source.name.split('_')[0]}`" in PAGE, source.name)

    def test_it_says_which_processor_and_where_belay_loses(self):
        name = run.read_baseline()[1]
        self.assertIn(name, PAGE)
        self.assertIn("\n## Where Belay loses\n", PAGE)


if __name__ == "__main__":
    unittest.main()
