/* SPDX-License-Identifier: Apache-2.0 */
/* The services "session" and "coordinator": runs, variables, stopping.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_SESSION_H_
#define BELAY_ABI_SESSION_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

#define BELAY_TRACE_NONE 0
#define BELAY_TRACE_SOFTWARE 1
#define BELAY_TRACE_HARDWARE 2
#define BELAY_TRACE_FULL 3

/* What TensorFlow's RunOptions have for hooks. Those of several hooks and the caller are merged: the larger number. */
typedef struct belay_run_options {
  uint32_t struct_size;
  uint32_t flags;
  int32_t trace_level; /* of BELAY_TRACE_... */
  int32_t reserved;
  int64_t timeout_ms; /* 0: none */
} belay_run_options;

typedef struct belay_run_args {
  uint32_t struct_size;
  uint32_t flags;
  const belay_output* fetches;
  uint64_t n_fetches;
  const belay_feed* feeds;
  uint64_t n_feeds;
  const belay_run_options* options; /* null: defaults */
} belay_run_args;

/* results[i] is the value of fetches[i]; an operation's has data null, rank 0 and dtype 0. */
typedef struct belay_run_values {
  uint32_t struct_size;
  uint32_t flags;
  const belay_tensor* results;
  uint64_t n_results;
  const belay_run_options* options; /* of this run: the caller's and those of all hooks, merged; null: the defaults */
} belay_run_values;

typedef struct belay_variable_info {
  uint32_t struct_size;
  uint32_t flags;
  belay_str name;
  int32_t dtype;
  int32_t rank;
  const int64_t* dims;
  int32_t trainable;
  int32_t initialized;
} belay_variable_info;

/* What one node did in a run that was traced. Times are the host's monotonic clock. Nodes that were computed together
 * have one entry, whose `op` begins with "Fused". `name` and `op` are owned by the graph. */
typedef struct belay_node_stats {
  uint32_t struct_size;
  uint32_t flags;
  belay_str name;
  belay_str op;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t output_bytes; /* of memory that the run itself holds for its outputs */
  uint32_t node;
  uint32_t reserved;
} belay_node_stats;

/* Stopping. There are three ways to ask for it: run_request_stop, the coordinator's request_stop, and `stop` of
 * belay_saved (after_save). None of them ends anything at once: the session stops at the boundary of a step, when
 * the after_run calls and the checkpoint of that step are over, and no rank begins a step that another one does not
 * make. With several ranks (core's `ranks`) a request on any of them is one for all: at each boundary the ranks
 * agree whether one was made, and all stop at the same step, which is the later of those that they are in. A hook
 * need not ask on each rank, and does not know the last step when it asks; in `end` it is global_step, the same on
 * all ranks. One process is one rank: it stops at the boundary of the step in which it was asked, or, between two
 * steps, at the last one. An error is no stop: it ends the step. */

/* "session". run and the result calls are [any]; the rest is [session]. */
typedef struct belay_session_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* A raw run: no hook sees it. */
  int32_t (*run)(belay_session* session, const belay_run_args* args, belay_result** result, belay_status* status);
  /* The value of fetch i, read-only, valid until the result is released. INVALID_ARGUMENT: there is no fetch i. */
  int32_t (*result_tensor)(belay_result* result, uint64_t i, belay_tensor* tensor, belay_status* status);
  /* Once for each result, before the callback returns. */
  void (*result_release)(belay_result* result);
  /* Valid while the session is. */
  belay_graph* (*graph)(belay_session* session);
  /* Saved (global) variables of the store, in a fixed order. */
  uint64_t (*variable_count)(belay_session* session);
  /* Of variable i, 0 <= i < variable_count. The strings and dimensions are valid while the session is. */
  int32_t (*variable_info)(belay_session* session, uint64_t i, belay_variable_info* info, belay_status* status);
  /* Sets a variable by name; dtype and shape must be the variable's. */
  int32_t (*assign)(belay_session* session, belay_str variable, const belay_tensor* value, belay_status* status);
  /* Of the session's threads; null where it has none. Valid until the session has closed. */
  belay_coordinator* (*coordinator)(belay_session* session);
  /* The session of the run that before_run and after_run see, for runs that no hook sees. */
  belay_session* (*run_session)(belay_run* run);
  /* The session stops after this run's after_run calls ("Stopping", above). The first reason is what the user reads;
   * it is copied. */
  void (*run_request_stop)(belay_run* run, belay_str reason);
  /* 1 where this hook or another one has asked in this run. */
  int32_t (*run_stop_requested)(belay_run* run);
  /* The caller's own fetches, feeds and options, without those of the hooks. */
  int32_t (*run_original_args)(belay_run* run, belay_run_args* args, belay_status* status);
  /* In after_run: how many nodes were traced; 0 unless a hook or the caller asked for a trace level. */
  uint64_t (*run_node_count)(belay_run* run);
  /* In after_run: what the i-th of them did, in the order of their start. INVALID_ARGUMENT: there is none. */
  int32_t (*run_node_stats)(belay_run* run, uint64_t i, belay_node_stats* stats, belay_status* status);
  /* The global step, without a run: as of the last one that was committed. NOT_FOUND: the graph has none, or it is not
   * initialized yet. */
  int32_t (*global_step)(belay_session* session, int64_t* step, belay_status* status);
  /* Which run of its session this is, counted from 1: those that hooks see. A recovery begins again at 1. */
  int64_t (*run_number)(belay_run* run);
} belay_session_api;

/* "coordinator". All [any]. */
typedef struct belay_coordinator_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* 1 where a stop was asked for, by anybody. */
  int32_t (*should_stop)(belay_coordinator* coordinator);
  /* code BELAY_OK: a plain stop with a reason, at a step's boundary ("Stopping", above); else the error is raised
   * where the session is closed. */
  void (*request_stop)(belay_coordinator* coordinator, int32_t code, belay_str text);
  /* Waits until a stop is asked for or the time is over; negative: for ever. Returns should_stop. */
  int32_t (*wait_for_stop)(belay_coordinator* coordinator, int64_t timeout_ns);
  /* A thread of the plugin's that the session shall wait for when it closes. join waits at most timeout_ns nanoseconds for
   * it and returns BELAY_OK when it has ended, DEADLINE_EXCEEDED while it still runs, or the error with which it ended,
   * which then leaves the session as if it had been given to request_stop. join is called by the thread that closes the
   * session, again and again until the grace period is over; never after it has returned anything but DEADLINE_EXCEEDED.
   * arg must live until then, or until unregister_thread. The name is copied. */
  int32_t (*register_thread)(belay_coordinator* coordinator, belay_str name,
                             int32_t (*join)(void* arg, int64_t timeout_ns, belay_status* status), void* arg,
                             belay_status* status);
  /* Takes back what register_thread was called with for this arg: a thread that has ended long before its session. While
   * the session closes it returns when no join of it is under way. NOT_FOUND: there is none, or its join was called for the
   * last time. Not from inside its join. */
  int32_t (*unregister_thread)(belay_coordinator* coordinator, void* arg, belay_status* status);
} belay_coordinator_api;

BELAY_C_END

#endif /* BELAY_ABI_SESSION_H_ */
