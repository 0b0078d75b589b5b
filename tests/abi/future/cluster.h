// SPDX-License-Identifier: Apache-2.0
/* Several processes that train together: a kind of its own (its number is reserved), which moves bytes between them. The
 * queries (core.rank, ranks, is_chief) are there already, and so is BELAY_OP_COLLECTIVE. */
#ifndef BELAY_ABI_FUTURE_CLUSTER_H_
#define BELAY_ABI_FUTURE_CLUSTER_H_

#include <belay/abi.h>

typedef struct belay_cluster_args {
  uint32_t struct_size;
  uint32_t flags;
  int32_t rank;
  int32_t ranks;
  belay_str address; /* where the ranks meet */
  int64_t timeout_ns;
} belay_cluster_args;

typedef struct belay_cluster_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*open)(void* self, const belay_cluster_args* args, belay_status* status);
  /* In place, over all ranks, in one order of additions. */
  int32_t (*all_reduce)(void* self, const belay_tensor* tensor, belay_status* status);
  int32_t (*broadcast)(void* self, int32_t root, const belay_tensor* tensor, belay_status* status);
  int32_t (*barrier)(void* self, belay_status* status);
  /* Drops what is under way and wakes the callers that wait. [any] */
  void (*abort)(void* self);
} belay_cluster_api;

/* Appended to "core": which of the groups of ranks this is, counted from 0; a recovery makes a new one. */
typedef struct belay_core_api_with_cluster {
  belay_core_api before;
  int64_t (*generation)(belay_host* host);
} belay_core_api_with_cluster;

/* A flag of belay_run_values: the results are this rank's alone. The host sets it only for modules that know it. */
#define BELAY_RUN_VALUES_LOCAL 1

#endif /* BELAY_ABI_FUTURE_CLUSTER_H_ */
