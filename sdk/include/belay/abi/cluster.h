/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: processes that train together, and the calls that move tensors between them.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_CLUSTER_H_
#define BELAY_ABI_CLUSTER_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* A group of ranks, made by split; null: all ranks. Valid until close. */
typedef struct belay_ranks belay_ranks;

/* The place of this process in the cluster. */
typedef struct belay_cluster_place {
  uint32_t struct_size;
  uint32_t flags;      /* 0 */
  int32_t rank;        /* 0 <= rank < size */
  int32_t size;        /* of processes, >= 1 */
  int32_t local_rank;  /* among those of this machine; 0 if not known */
  int32_t reserved;
  int64_t generation;  /* of the group: 0 at first, one more each time that processes form the group again */
} belay_cluster_place;

/* The arguments of open. */
typedef struct belay_cluster_args {
  uint32_t struct_size;
  uint32_t flags;      /* 0 */
  int32_t rank;        /* of the launcher; in a later generation the previous rank, -1 for a process that joins */
  int32_t size;        /* expected processes; rank and size -1: the library knows (MPI), or one process is alone */
  int32_t local_rank;  /* -1: not known */
  int32_t min_size;    /* in a later generation the number of processes that is enough; else size */
  int64_t generation;
  int64_t wait_ns;     /* how long open waits for the others; > 0 */
  int64_t timeout_ns;  /* a rank without a sign of life for this time has failed; > 0 */
  belay_str directory; /* meeting place of the ranks: an existing absolute path that all can see; empty: none */
  belay_str meeting;   /* [0-9a-z-]*, the same on all ranks and new each time; keys and names begin with it */
} belay_cluster_args;

#define BELAY_CLUSTER_TAGS 65536 /* tags are below it */

/* Identifies one call of the ranks. Calls match by group and tag: each rank of the group makes the same call. Each
 * rank's tensor has the same dtype and number of elements. Calls of one tag follow one another. Calls of different tags
 * may run at the same time, on several threads, and may begin in any order on each rank. */
typedef struct belay_collective {
  uint32_t struct_size;
  uint32_t flags;     /* 0 */
  belay_ranks* ranks; /* null: all */
  uint32_t tag;       /* < BELAY_CLUSTER_TAGS */
  int32_t peer;       /* a rank of the group: the source of broadcast, the other side of send and receive */
  int32_t wire_dtype; /* all_reduce of float32: BELAY_BFLOAT16 rounds to it on the way; 0: unchanged */
  int32_t reserved;
  int64_t timeout_ns; /* limit of this call, even if the others are alive: then ABORTED; 0: no limit */
} belay_collective;

/* The calls of a plugin (self) and of the service "cluster" (belay_host*). Tensors are dense memory of the host, of any
 * dtype but BELAY_STRING unless a line states otherwise. They must stay valid until the call returns. All slots are
 * [any].
 *   barrier     returns when all ranks of the group have called it.
 *   broadcast   copies the tensor of the rank `peer` to all others.
 *   all_reduce  writes the sum over the ranks to each tensor: float32, float64 and int64. The order of the additions
 *               depends only on the group's size and the number of elements. So all ranks get the same bits, in every
 *               run.
 *   all_gather  fills `all` with the elements of each rank's `mine`, in the order of the ranks. It has size times the
 *               elements.
 *   send        sends to the rank `peer`, which calls receive with the same tag. peer is another rank.
 *   receive     fills the tensor with the elements that the rank `peer` sends.
 *   split       makes new groups of ranks with the same colour, in the order of their ranks. All ranks of `ranks` call
 *               it. `rank` and `size` become those in the new group. A colour below 0 joins no group: *ranks is null,
 *               rank and size are -1 and 0.
 *
 * Errors. A rank that fails, leaves, or shows no sign of life for open's timeout ends the generation. All calls in
 * progress, and all later calls, then soon fail with ABORTED on every rank that is left. The message names the rank
 * ("rank 1 ..."). A tensor may then be partly written. A call waits for a rank that is alive but makes no call, until
 * timeout_ns of the call. UNAVAILABLE, in open: the ranks could not meet; the message names the missing ranks.
 * INVALID_ARGUMENT: an impossible rank, tag, dtype or size; nothing was sent. CANCELLED: abort was called. */
#define BELAY_CLUSTER_CALLS(first)                                                                                       \
  int32_t (*barrier)(first, const belay_collective* call, belay_status* status);                                       \
  int32_t (*broadcast)(first, const belay_collective* call, const belay_tensor* tensor, belay_status* status);         \
  int32_t (*all_reduce)(first, const belay_collective* call, const belay_tensor* tensor, belay_status* status);        \
  int32_t (*all_gather)(first, const belay_collective* call, const belay_tensor* mine, const belay_tensor* all,        \
                        belay_status* status);                                                                         \
  int32_t (*send)(first, const belay_collective* call, const belay_tensor* tensor, belay_status* status);              \
  int32_t (*receive)(first, const belay_collective* call, const belay_tensor* tensor, belay_status* status);           \
  int32_t (*split)(first, const belay_collective* call, int32_t colour, belay_ranks** ranks, int32_t* rank,            \
                   int32_t* size, belay_status* status)

/* A cluster plugin. A process has one instance.
 *   open   meets the other ranks and fills in the place of this rank. [main], once for each generation, after close.
 *   close  leaves the other ranks. No call is in progress, and none comes until the next open. Peers that still call
 *          see that this rank has left. Absent: nothing to do. [main]
 *   abort  wakes each call that waits. It fails with CANCELLED, and so do all later calls until close. abort must not
 *          wait. Absent: calls continue to wait. [any] */
typedef struct belay_cluster_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*open)(void* self, const belay_cluster_args* args, belay_cluster_place* place, belay_status* status);
  int32_t (*close)(void* self, belay_status* status);
  void (*abort)(void* self);
  BELAY_CLUSTER_CALLS(void* self);
} belay_cluster_api;

/* "cluster": for hooks and models. In a run of one process each call is one of a group of one. Each instance has its
 * own tags: they never match the tags of others or of the host. A group that an instance made is its own too, and a
 * recovery ends it. Each rank's instance must make the same calls, so a hook on the chief alone makes none. */
typedef struct belay_cluster_service {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*place)(belay_host* host, belay_cluster_place* place, belay_status* status);
  BELAY_CLUSTER_CALLS(belay_host* host);
} belay_cluster_service;

BELAY_C_END

#endif /* BELAY_ABI_CLUSTER_H_ */
