#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a training step would take on more machines than there are here: a simulation with measured costs.

    python3 bench/clusters.py build/release > costs.json
    belay run examples/mnist_cnn.toml --set session.log_step_count_steps=10
    python3 bench/cluster_plan.py --costs costs.json --plugin mpi_openmpi --run runs/mnist_cnn --gradients-mib 4.6

The step times are those of the run's metrics.jsonl: each rank of each simulated step draws one, so that the slowest of a
thousand is as slow as the measured ones say. The all-reduces between two ranks are those of the cost table, straight lines
between its sizes, or of a link that --latency-us and --mib-per-s describe. From there on it is arithmetic:

    ring      2 (n - 1) turns of a part of 1/n of the gradients each; a turn costs half of what the all-reduce of two ranks
              with twice as many bytes costs, which has two turns of half of them
    groups    the ranks of a machine by the cost table, one rank of each by a ring over the link, and back
    sites     groups in each site; every H steps one rank of each site averages the variables over the internet (outer steps),
              while the others go on with what they have

Of the backward pass, a share of the step, communication hides behind what is left of it when the first bucket is ready.
"""
import argparse
import json
import pathlib
import random
import statistics

BACKWARD = 0.6   # of a step's time: bench/models.py, all models
FIRST_BUCKET = 0.25  # of the backward pass, until the first bucket's gradients are there
STEPS = 200      # that are simulated


def step_times(metrics):
    """Seconds, of each line that says steps_per_sec."""
    lines = (json.loads(line) for line in metrics.splitlines() if line.startswith("{"))
    rates = [line["steps_per_sec"] for line in lines if line.get("steps_per_sec")]
    return [1 / rate for rate in rates]


class CostTable:
    """Seconds of an all-reduce of two ranks, by bytes."""

    def __init__(self, rows):
        self.rows = sorted((size, us / 1e6) for size, us in rows)

    def of_two(self, size):
        below = self.rows[0]
        if size <= below[0]:
            return below[1]
        for above in self.rows[1:]:
            if size <= above[0]:
                share = (size - below[0]) / (above[0] - below[0])
                return below[1] + share * (above[1] - below[1])
            below = above
        return below[1] * size / below[0]  # bandwidth alone counts there

    def turn(self, size):
        return self.of_two(2 * size) / 2


class Link:
    """A turn of so many bytes over a network."""

    def __init__(self, latency_us, mib_per_s):
        self.latency, self.bytes_per_s = latency_us / 1e6, mib_per_s * 2**20

    def turn(self, size):
        return self.latency + size / self.bytes_per_s


def ring(costs, ranks, size):
    return 0.0 if ranks < 2 else 2 * (ranks - 1) * costs.turn(size / ranks)


def groups(inside, between, machines, ranks_each, size):
    """All ranks of a machine, the first ones of the machines, and back to the others."""
    spread = 0.0 if ranks_each < 2 else (ranks_each - 1) * inside.turn(size)
    return ring(inside, ranks_each, size) + ring(between, machines, size) + spread


def step_time(times, ranks, communication, draw):
    """The mean of simulated steps: the slowest rank, and what of the communication shows."""
    taken = []
    for _ in range(STEPS):
        slowest = max(draw.choice(times) for _ in range(ranks))
        hidden = slowest * BACKWARD * (1 - FIRST_BUCKET)
        taken.append(slowest + max(0.0, communication - hidden))
    return statistics.mean(taken)


def outer_step_time(inner, internet, sites, size, every):
    """Of a step of a site, with an average over the sites every so many; the exchange goes on beside them."""
    exchange = ring(internet, sites, size)
    return max(inner, exchange / every)


def rows(times, inside, between, internet, size, ranks_each, machines, every, seed=1):
    """[(machines, one ring ms, groups ms, share of the linear speed, four sites ms)]"""
    alone = statistics.mean(times)
    table = []
    for count in machines:
        draw = random.Random(seed)
        ranks = count * ranks_each
        flat = step_time(times, ranks, ring(between, ranks, size), draw)
        grouped = step_time(times, ranks, groups(inside, between, count, ranks_each, size), draw)
        site = step_time(times, max(1, ranks // 4), groups(inside, between, max(1, count // 4), ranks_each, size), draw)
        spread = outer_step_time(site, internet, min(count, 4), size, every)
        table.append((count, flat * 1e3, grouped * 1e3, alone / grouped, spread * 1e3))
    return table


def main():
    parser = argparse.ArgumentParser(description="how long a training step would take on more machines")
    parser.add_argument("--costs", type=pathlib.Path, required=True, help="what bench/clusters.py has printed")
    parser.add_argument("--plugin", default="mpi_openmpi", help="whose costs hold inside a machine")
    parser.add_argument("--run", type=pathlib.Path, required=True, help="a run directory, for the step times")
    parser.add_argument("--gradients-mib", type=float, required=True)
    parser.add_argument("--ranks", type=int, default=2, help="of a machine")
    parser.add_argument("--latency-us", type=float, default=30, help="of the link between machines")
    parser.add_argument("--mib-per-s", type=float, default=1100, help="of that link: 10 Gbit/s less its headers")
    parser.add_argument("--internet-ms", type=float, default=40, help="latency between sites")
    parser.add_argument("--internet-mib-per-s", type=float, default=11, help="100 Mbit/s")
    parser.add_argument("--outer-steps", type=int, default=500, help="steps of a site between two averages of all sites")
    args = parser.parse_args()
    times = step_times((args.run / "metrics.jsonl").read_text())
    if not times:
        parser.error(f"{args.run}/metrics.jsonl has no steps_per_sec; train with session.log_step_count_steps = 10")
    inside = CostTable(json.loads(args.costs.read_text())[args.plugin])
    table = rows(times, inside, Link(args.latency_us, args.mib_per_s),
                 Link(args.internet_ms * 1e3, args.internet_mib_per_s), args.gradients_mib * 2**20, args.ranks,
                 (1, 2, 4, 16, 64, 256, 1000), args.outer_steps)
    print(f"a step alone: {statistics.mean(times) * 1e3:.2f} ms, of {len(times)} measured ones; {args.ranks} ranks a machine")
    print("machines   one ring ms   groups ms   of linear speed   four sites ms")
    for count, flat, grouped, share, spread in table:
        print(f"{count:8}   {flat:11.2f}   {grouped:9.2f}   {share:15.2f}   {spread:13.2f}")


if __name__ == "__main__":
    main()
