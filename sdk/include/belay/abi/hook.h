// SPDX-License-Identifier: Apache-2.0
/* Hooks, and the service "state" that keeps what they remember.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_HOOK_H_
#define BELAY_ABI_HOOK_H_

#include "belay/abi/instance.h"
#include "belay/abi/session.h"

BELAY_C_BEGIN

/* "state": a hook's state in a checkpoint, by key. Values are copied. [session] */
typedef struct belay_state_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* In save_state: sets the key's value, no tensor. All states of a run together have at most 16 MiB. */
  int32_t (*put)(belay_state* state, belay_str key, const belay_value* value, belay_status* status);
  /* NOT_FOUND where the key is absent. The value is valid for the callback. */
  int32_t (*get)(belay_state* state, belay_str key, belay_value* value, belay_status* status);
} belay_state_service;

/* A checkpoint that was written. */
typedef struct belay_saved {
  uint32_t struct_size;
  uint32_t flags;
  int64_t step;   /* of the snapshot */
  belay_str path; /* of its directory, absolute; valid until after_save returns */
  int32_t stop;   /* to set: 1 asks the session to stop */
  int32_t reserved;
} belay_saved;

/* begin -> after_create_session -> (before_run -> the run -> after_run)* -> end
 * begin once per instance and graph; after_create_session again after every recovery. An error skips what follows of that
 * run, ends the session and calls on_error of every hook, never end. Slots that are null are skipped. All [session]. */
typedef struct belay_hook_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  /* The graph is complete and still open: look tensors up, add what the hook needs. */
  int32_t (*begin)(void* self, belay_graph* graph, belay_status* status);
  /* Variables are initialized or restored, and the graph is frozen. */
  int32_t (*after_create_session)(void* self, belay_session* session, belay_status* status);
  /* Fill `args` with what to fetch, feed and ask for; left alone, it is nothing. What it points at must stay valid until
   * the next call on this instance. */
  int32_t (*before_run)(void* self, belay_run* run, belay_run_args* args, belay_status* status);
  /* The results of this hook's own fetches, in their order; valid until it returns. */
  int32_t (*after_run)(void* self, belay_run* run, const belay_run_values* values, belay_status* status);
  /* The loop has ended well; runs are still possible. */
  int32_t (*end)(void* self, belay_session* session, belay_status* status);
  /* Around every checkpoint that the host writes. before_save is the moment of the snapshot: what the session's variables
   * are then is what is written. BELAY_SKIP leaves this checkpoint out, with a line in the log and without after_save. */
  int32_t (*before_save)(void* self, belay_session* session, int64_t step, belay_status* status);
  /* The checkpoint is on the disk, whole and durable. It may come when the session is some steps further. */
  int32_t (*after_save)(void* self, belay_session* session, belay_saved* saved, belay_status* status);
  /* The session ends because of this error, raised anywhere; the last call before destroy. What it returns is ignored. */
  int32_t (*on_error)(void* self, int32_t code, belay_str message, belay_status* status);
  /* The instance's state, stored in checkpoints under its name and given back at resume and at recovery. */
  int32_t (*save_state)(void* self, belay_state* state, belay_status* status);
  int32_t (*load_state)(void* self, belay_state* state, belay_status* status);
} belay_hook_api;

BELAY_C_END

#endif /* BELAY_ABI_HOOK_H_ */
