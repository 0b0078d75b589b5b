/* SPDX-License-Identifier: Apache-2.0 */
/* The services "session" and "coordinator": runs, variables, stopping.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_SESSION_H_
#define BELAY_ABI_SESSION_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

#define BELAY_TRACE_NONE 0
#define BELAY_TRACE_SOFTWARE 1
#define BELAY_TRACE_HARDWARE 2
#define BELAY_TRACE_FULL 3

/* The options of TensorFlow's RunOptions for hooks. The host merges those of all hooks and the caller: the larger
 * number wins. */
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

/* results[i] is the value of fetches[i]. An operation's result has data null, rank 0 and dtype 0. */
typedef struct belay_run_values {
  uint32_t struct_size;
  uint32_t flags;
  const belay_tensor* results;
  uint64_t n_results;
  const belay_run_options* options; /* of this run: the caller's and all hooks', merged; null: the defaults */
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

/* The work of one node in a traced run. Times are of the host's monotonic clock. Nodes that were computed together
 * share one entry; its `op` begins with "Fused". The graph owns `name` and `op`. */
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

/* Stopping. Three calls ask for it: run_request_stop, the coordinator's request_stop, and `stop` of belay_saved
 * (after_save). No call ends anything at once. The session stops at the boundary of a step, after that step's after_run
 * calls and checkpoint. No rank begins a step that another rank does not make. With several ranks (core's `ranks`) a
 * request on any rank counts for all. At each boundary the ranks agree whether a request exists. All stop at the same
 * step, the latest that any rank is in. A hook need not ask on each rank, and does not know the last step when it asks.
 * In `end` it is global_step, the same on all ranks. A run of one process stops at the boundary of the step in which
 * the request came. A request between two steps stops it at the last step. An error is not a stop: it ends the step. */

/* "session". run and the result calls are [any]; the rest is [session]. */
typedef struct belay_session_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Makes a raw run: no hook sees it. The caller releases *result. */
  int32_t (*run)(belay_session* session, const belay_run_args* args, belay_result** result, belay_status* status);
  /* Returns the value of fetch i, read-only, valid until the result is released. INVALID_ARGUMENT: fetch i does not
   * exist. */
  int32_t (*result_tensor)(belay_result* result, uint64_t i, belay_tensor* tensor, belay_status* status);
  /* Frees a result. Call it once for each result, before the callback returns. */
  void (*result_release)(belay_result* result);
  /* Returns the session's graph, valid as long as the session. */
  belay_graph* (*graph)(belay_session* session);
  /* Number of saved (global) variables of the store, which have a fixed order. */
  uint64_t (*variable_count)(belay_session* session);
  /* Describes variable i, 0 <= i < variable_count. The strings and dimensions are valid as long as the session. */
  int32_t (*variable_info)(belay_session* session, uint64_t i, belay_variable_info* info, belay_status* status);
  /* Sets a variable by name. The value must have the variable's dtype and shape. */
  int32_t (*assign)(belay_session* session, belay_str variable, const belay_tensor* value, belay_status* status);
  /* Returns the coordinator of the session's threads, or null if it has none. Valid until the session has closed. */
  belay_coordinator* (*coordinator)(belay_session* session);
  /* Returns the session of the run that before_run and after_run see, for runs that no hook sees. */
  belay_session* (*run_session)(belay_run* run);
  /* Stops the session after this run's after_run calls ("Stopping", above). The user reads the first reason; it is
   * copied. */
  void (*run_request_stop)(belay_run* run, belay_str reason);
  /* Returns 1 if any hook has asked in this run. */
  int32_t (*run_stop_requested)(belay_run* run);
  /* Returns the caller's own fetches, feeds and options, without those of the hooks. */
  int32_t (*run_original_args)(belay_run* run, belay_run_args* args, belay_status* status);
  /* In after_run: the number of traced nodes. 0 unless a hook or the caller asked for a trace level. */
  uint64_t (*run_node_count)(belay_run* run);
  /* In after_run: describes traced node i, in the order of start. INVALID_ARGUMENT: i >= run_node_count. */
  int32_t (*run_node_stats)(belay_run* run, uint64_t i, belay_node_stats* stats, belay_status* status);
  /* Returns the global step of the last committed run, without a run. NOT_FOUND: the graph has none, or it is not
   * initialized yet. */
  int32_t (*global_step)(belay_session* session, int64_t* step, belay_status* status);
  /* Returns the number of this run among the session's runs that hooks see, from 1. A recovery starts again at 1. */
  int64_t (*run_number)(belay_run* run);
} belay_session_api;

/* "coordinator". All slots are [any]. */
typedef struct belay_coordinator_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Returns 1 if a stop was requested here, an error was reported, or the session closes. */
  int32_t (*should_stop)(belay_coordinator* coordinator);
  /* With code BELAY_OK: a plain stop with a reason, at a step's boundary ("Stopping", above). With another code: the
   * close of the session raises the error. */
  void (*request_stop)(belay_coordinator* coordinator, int32_t code, belay_str text);
  /* Waits until a stop is requested or the time is over; a negative time has no limit. Returns should_stop. */
  int32_t (*wait_for_stop)(belay_coordinator* coordinator, int64_t timeout_ns);
  /* Registers a thread of the plugin; the session waits for it when it closes. join waits for the thread at most
   * timeout_ns nanoseconds. It returns BELAY_OK when the thread has ended, DEADLINE_EXCEEDED while it still runs, or
   * the error that ended it. Such an error leaves the session as if request_stop had got it. The thread that closes the
   * session calls join repeatedly until the grace period is over. After any result but DEADLINE_EXCEEDED it does not
   * call join again. arg must be valid until then, or until unregister_thread. The call copies the name. */
  int32_t (*register_thread)(belay_coordinator* coordinator, belay_str name,
                             int32_t (*join)(void* arg, int64_t timeout_ns, belay_status* status), void* arg,
                             belay_status* status);
  /* Removes the registration with this arg, for a thread that ends long before its session. While the session closes,
   * the call returns when no join of this thread is in progress. NOT_FOUND: no such registration exists, or its last
   * join was called. Do not call it from inside that join. */
  int32_t (*unregister_thread)(belay_coordinator* coordinator, void* arg, belay_status* status);
} belay_coordinator_api;

BELAY_C_END

#endif /* BELAY_ABI_SESSION_H_ */
