# SPDX-License-Identifier: Apache-2.0
"""What an all-reduce of two ranks on this machine costs by each cluster plugin and by size (bench/cluster_bench.cc): the
cost table that bench/cluster_plan.py computes with.

    clusters.py BUILD_DIRECTORY         prints it as JSON: {"gloo": [[bytes, microseconds], ...], ...}
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import models

RANKS = 2
# As root, and with more ranks than cores; memory is shared without the kernel's help, which containers forbid.
OPENMPI = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_rmaps_base_oversubscribe": "1",
           "OMPI_MCA_hwloc_base_binding_policy": "none", "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
           "PRTE_MCA_hwloc_default_binding_policy": "none", "OMPI_MCA_btl": "self,vader",
           "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
LAUNCHERS = {"gloo": None, "mpi_openmpi": "mpirun.openmpi", "mpi_mpich": "mpirun.mpich"}


def commands_of(plugin, program, file, directory, ranks):
    """[(the command, variables)]: one that starts all ranks, or one for each."""
    call = [str(program), str(file), str(directory)]
    launcher = LAUNCHERS[plugin]
    if launcher is not None:
        return [([launcher, "-np", str(ranks), *call], OPENMPI)]
    return [(call, {"RANK": str(rank), "WORLD_SIZE": str(ranks)}) for rank in range(ranks)]


def table_of(lines):
    """[[bytes, microseconds]], by bytes."""
    rows = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    return sorted([row["bytes"], row["us"]] for row in rows)


def costs(build, plugin, ranks=RANKS):
    program, file = build / "bin" / "bench_cluster", build / "plugins" / f"{plugin}.so"
    with tempfile.TemporaryDirectory(prefix="belay_bench.") as directory:
        started = [subprocess.Popen(command, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, env={**os.environ, **variables})
                   for command, variables in commands_of(plugin, program, file, directory, ranks)]
        ended = [(process.communicate(), process.returncode) for process in started]
    for (_, errors), status in ended:
        if status != 0:
            raise models.Failed(f"bench_cluster with {plugin} ended with status {status}: {errors.strip()}")
    return table_of("\n".join(output for (output, _), _ in ended))


def measures_of(tables):
    """By the names of bench/baseline.json."""
    measures = {}
    for plugin, table in tables.items():
        measures[f"cluster_{plugin}_small_us"] = table[0][1]
        measures[f"cluster_{plugin}_mib_per_s"] = table[-1][0] / 2**20 / (table[-1][1] / 1e6)
    return measures


def measure(build, say):
    tables = {}
    for plugin in LAUNCHERS:
        tables[plugin] = costs(build, plugin)
        say(f"  an all-reduce of {RANKS} ranks by {plugin}: " +
            ", ".join(f"{size} B {us:.0f} us" for size, us in tables[plugin]))
    return measures_of(tables)


if __name__ == "__main__":
    print(json.dumps({plugin: costs(pathlib.Path(sys.argv[1]), plugin) for plugin in LAUNCHERS}))
