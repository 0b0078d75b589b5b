#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the hook state_digest costs a training: processor time of a digest, against that of a step.

    bench/state_digest.py BELAY MANIFEST

Three runs on one thread: few steps, more steps, and as many with a digest at each. Their differences leave out the start of
the program. GOMP_SPINCOUNT=0, since what waits in a loop would count as work. The manifest has no [input.eval], whose pass at
the end would take longer than the steps.
"""
import os
import resource
import subprocess
import sys
import tempfile

SHORT, LONG, EVERY = 2, 22, 100
DIGESTS = '[{plugin="state_digest", every_n_steps=1}]'


def processor_seconds(belay, manifest, steps, hooks):
    def used():
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    with tempfile.TemporaryDirectory(prefix="belay_bench.") as directory:
        command = [belay, "run", manifest, "--set", f"run.max_steps={steps}", "--set", "run.threads=1",
                   "--set", f'run.dir="{directory}/run"', "--set", "checkpoint.save_steps=1000000", "--set", f"hooks={hooks}"]
        before = used()
        run = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "GOMP_SPINCOUNT": "0"})
        if run.returncode != 0:
            sys.exit(f"state_digest.py: belay run ended with status {run.returncode}:\n{run.stderr[-2000:]}")
        return used() - before


def main(belay, manifest):
    short, long, digests = (processor_seconds(belay, manifest, steps, hooks)
                            for steps, hooks in ((SHORT, "[]"), (LONG, "[]"), (LONG, DIGESTS)))
    step, digest = (long - short) / (LONG - SHORT), (digests - long) / LONG
    print(f"a step {1e3 * step:.1f} ms, a digest {1e3 * digest:.1f} ms: every {EVERY} steps "
          f"{100 * digest / EVERY / step:.2f} % of a step")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
