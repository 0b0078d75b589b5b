/* SPDX-License-Identifier: Apache-2.0 */
/* Clusters: processes that train together, and what moves tensors between them.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_CLUSTER_H_
#define BELAY_ABI_CLUSTER_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* Some of the ranks, made by split; null: all of them. Valid until close. */
typedef struct belay_ranks belay_ranks;

/* Where this process is. */
typedef struct belay_cluster_place {
  uint32_t struct_size;
  uint32_t flags;      /* 0 */
  int32_t rank;        /* 0 <= rank < size */
  int32_t size;        /* of processes, >= 1 */
  int32_t local_rank;  /* among those of this machine; 0 where that is not known */
  int32_t reserved;
  int64_t generation;  /* of the group: 0 at first, one more each time that processes form it anew */
} belay_cluster_place;

/* What open gets. */
typedef struct belay_cluster_args {
  uint32_t struct_size;
  uint32_t flags;      /* 0 */
  int32_t rank;        /* of the launcher; in a later generation that of the one before, -1 for a process that joins */
  int32_t size;        /* how many are expected; -1 for both: the plugin's library knows (MPI), or there is one alone */
  int32_t local_rank;  /* -1: not known */
  int32_t min_size;    /* of a later generation: how many are enough; else size */
  int64_t generation;
  int64_t wait_ns;     /* how long open waits for the others; > 0 */
  int64_t timeout_ns;  /* a rank that gives no sign of life for so long has failed; > 0 */
  belay_str directory; /* where ranks meet: an absolute path that all see, and that exists; empty: there is none */
  belay_str meeting;   /* [0-9a-z-]*, the same on all ranks and never used before: keys and names begin with it */
} belay_cluster_args;

#define BELAY_CLUSTER_TAGS 65536 /* tags are below it */

/* Which call of the ranks this is. Calls match by group and tag: each rank of the group makes the same call with a
 * tensor of the same dtype and as many elements. Calls of one tag come one after the other; those of different tags may
 * be under way at once, on several threads, and need not begin in the same order on all ranks. */
typedef struct belay_collective {
  uint32_t struct_size;
  uint32_t flags;     /* 0 */
  belay_ranks* ranks; /* null: all */
  uint32_t tag;       /* < BELAY_CLUSTER_TAGS */
  int32_t peer;       /* in broadcast whose tensor it is; in send and receive the other one. A rank of the group */
  int32_t wire_dtype; /* in all_reduce of float32 BELAY_BFLOAT16: rounded to it on the way; 0: as it is */
  int32_t reserved;
  int64_t timeout_ns; /* of this call, however alive the others are: ABORTED when it is over; 0: no limit */
} belay_collective;

/* The calls, of a plugin (self) and of the service "cluster" (belay_host*) alike. Tensors are dense memory of the host,
 * of any dtype but BELAY_STRING unless a line says otherwise; they must stay until the call returns. All [any].
 *   barrier     returns when all ranks of the group have called it.
 *   broadcast   the tensor of the rank `peer` is in all others' afterwards.
 *   all_reduce  the sum over the ranks is in each tensor afterwards: of float32, float64 and int64. The order of the
 *               additions depends on the group's size and the number of elements alone: all ranks get the same bits, and
 *               get them again in the next run.
 *   all_gather  `all` has the elements of each rank's `mine`, in the order of the ranks: size times as many.
 *   send        to the rank `peer`, which calls receive with the same tag; peer is not the rank itself.
 *   receive
 *   split       new groups: of those with the same colour, in the order of their ranks; a colour below 0 joins none and
 *               gets null. All ranks of `ranks` call it. `rank` and `size` are those in the new group, -1 and 0 without.
 *
 * Errors. A rank that has failed, left, or showed no sign of life for open's timeout ends the generation: ABORTED, with
 * the rank in the message ("rank 1 ..."), in all calls that are under way and in all later ones, on every rank that is
 * left, soon. A rank whose process is there but makes no call is waited for. A tensor may be half written then.
 * UNAVAILABLE: the ranks could not meet, naming who is missing, in open. INVALID_ARGUMENT: a rank, tag, dtype or size
 * that cannot be; nothing was sent. CANCELLED: abort was called. */
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

/* A cluster plugin: one instance in a process.
 *   open   meets the other ranks and fills in where this one is. [main], once for each generation, behind close.
 *   close  leaves them: no call is under way, and none comes until the next open. Peers that still call see that this
 *          rank has left. Absent: nothing to do. [main]
 *   abort  wakes each call that waits, which fails with CANCELLED, as all later ones until close. It must not wait.
 *          Absent: calls wait on. [any] */
typedef struct belay_cluster_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*open)(void* self, const belay_cluster_args* args, belay_cluster_place* place, belay_status* status);
  int32_t (*close)(void* self, belay_status* status);
  void (*abort)(void* self);
  BELAY_CLUSTER_CALLS(void* self);
} belay_cluster_api;

/* "cluster": for hooks and models; in one process too, where each call is one of a group of one. An instance's tags are
 * its own: those of others, and the host's, never match them. A group that it made is its own, too, and is gone with a
 * recovery. Each rank's instance makes the same calls: a hook that runs on the chief alone makes none. */
typedef struct belay_cluster_service {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*place)(belay_host* host, belay_cluster_place* place, belay_status* status);
  BELAY_CLUSTER_CALLS(belay_host* host);
} belay_cluster_service;

BELAY_C_END

#endif /* BELAY_ABI_CLUSTER_H_ */
