#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""The step of bench/embedding_cases.h with PyTorch's SparseAdam, which libtorch's C++ interface lacks.

    embedding_torch.py adam THREADS TABLES ENTRIES WIDTH BATCHES

It answers as bench/rounds.h does; bench/embedding.py drives it. torch and numpy come from Debian's python3-torch.
"""
import json
import resource
import statistics
import sys
import time

import numpy
import torch

IDS = 1024
FILL, LEARNING_RATE = 0.5, 0.001


def batches_of(tables, entries, batches):
    ids, state = numpy.empty(batches * tables * IDS, numpy.int64), 42
    for at in range(len(ids)):
        state = (state * 6364136223846793005 + 1442695040888963407) % (1 << 64)
        ids[at] = (state >> 33) % entries
    return torch.from_numpy(ids).reshape(batches, tables, IDS)


def answer(step):
    for _ in range(5):
        step()
    for line in sys.stdin:
        elapsed, cpu = [], []
        end = time.monotonic() + float(line)
        while True:
            start, cpu_start = time.monotonic(), time.process_time()
            step()
            elapsed.append((time.monotonic() - start) * 1e6)
            cpu.append((time.process_time() - cpu_start) * 1e6)
            if time.monotonic() >= end:
                break
        print(json.dumps({"us": statistics.median(elapsed), "cpu_us": statistics.median(cpu),
                          "max_rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}), flush=True)


def main():
    threads, tables, entries, width, batches = (int(word) for word in sys.argv[2:7])
    torch.set_num_threads(threads)
    layers = [torch.nn.Embedding(entries, width, sparse=True, _weight=torch.full((entries, width), FILL))
              for _ in range(tables)]
    optimizer = torch.optim.SparseAdam([layer.weight for layer in layers], lr=LEARNING_RATE)
    ids = batches_of(tables, entries, batches)
    number = 0

    def step():
        nonlocal number
        optimizer.zero_grad(set_to_none=True)
        loss = sum(layer(one).square().sum() for layer, one in zip(layers, ids[number]))
        number = (number + 1) % batches
        loss.backward()
        optimizer.step()

    for _ in range(batches):
        step()
    answer(step)


if __name__ == "__main__":
    main()
