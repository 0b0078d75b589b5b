/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks, and the service "state" that keeps their state.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_HOOK_H_
#define BELAY_ABI_HOOK_H_

#include "belay/abi/instance.h"
#include "belay/abi/session.h"

BELAY_C_BEGIN

/* "state": the values and tensors of a hook in a checkpoint, by key. A key is UTF-8 and has one value or one tensor.
 * All slots are [session]. They take the belay_state of save_state or load_state, and work until that callback
 * returns. */
typedef struct belay_state_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* In save_state: sets the key's value, which is copied. The last value of a key counts. Tensors and lists of booleans
   * are not allowed. All values of all hooks of a run have two limits together: 16 MiB as JSON, and 350,000 numbers,
   * strings and keys. The call that exceeds a limit fails with RESOURCE_EXHAUSTED, names the key and changes nothing.
   * Use a tensor for large data. INVALID_ARGUMENT: the key is not UTF-8 or has a tensor, or the type is not allowed.
   * FAILED_PRECONDITION: not in save_state. */
  int32_t (*put)(belay_state* state, belay_str key, const belay_value* value, belay_status* status);
  /* Returns the key's value: in load_state from the checkpoint, in save_state the value that was put. It is valid until
   * the callback returns or the key is put again. A tensor comes as BELAY_VALUE_TENSOR, read-only and 64-byte aligned.
   * The host reads it at the first get and keeps it in memory until the callback returns. NOT_FOUND: the key is absent.
   * DATA_LOSS, with file and place: the checkpoint's file was damaged after it was opened. */
  int32_t (*get)(belay_state* state, belay_str key, belay_value* value, belay_status* status);
  /* In save_state: returns memory for the key's tensor, 64-byte aligned. The hook must fill every element before
   * save_state returns; the memory is not zeroed. The host owns and keeps the memory. The next save with the same key,
   * dtype and dimensions gets it again without an allocation. A second call in one save returns the same tensor. Any
   * dtype but BELAY_STRING is allowed. Only memory and disk limit the elements; key, dtype and dimensions count like
   * put's values. INVALID_ARGUMENT: strings, an unknown dtype, dimensions without a size, or a key that is not UTF-8.
   * INVALID_ARGUMENT also: the key has a value, or a tensor of another form. RESOURCE_EXHAUSTED: no memory, or put's
   * limits. FAILED_PRECONDITION: not in save_state. */
  int32_t (*tensor)(belay_state* state, belay_str key, int32_t dtype, int32_t rank, const int64_t* dims,
                    belay_tensor* out, belay_status* status);
  /* Number of keys: in load_state in the checkpoint, in save_state so far. 0: no state exists. */
  uint64_t (*count)(belay_state* state);
  /* Returns key i, in the order of the keys' bytes. Valid until the callback returns. INVALID_ARGUMENT: i >= count. */
  int32_t (*key)(belay_state* state, uint64_t i, belay_str* key, belay_status* status);
  /* In load_state: returns the version of the library that saved this state, from its note. It is empty if the version
   * is not known: no state exists, or the hook was an object of the program. It is also empty in save_state, and if the
   * checkpoint is older than this slot. Valid until the callback returns. Fails only as a stub, with UNIMPLEMENTED. */
  int32_t (*written_by)(belay_state* state, belay_str* version, belay_status* status);
} belay_state_service;

/* A checkpoint that the host has written. */
typedef struct belay_saved {
  uint32_t struct_size;
  uint32_t flags;
  int64_t step;   /* of the snapshot */
  belay_str path; /* its directory, absolute; valid until after_save returns */
  int32_t stop;   /* the hook sets 1 to ask the session to stop */
  int32_t reserved;
} belay_saved;

/* begin -> after_create_session -> (before_run -> the run -> after_run)* -> end
 *
 * The host calls begin once per instance and graph. It calls after_create_session again after every recovery. An error
 * skips the rest of that run and ends the session. Then every hook gets on_error, and no hook gets end. The host skips
 * null slots. All slots are [session]. */
typedef struct belay_hook_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  /* The graph is complete and still open. The hook looks up tensors and adds the nodes that it needs. */
  int32_t (*begin)(void* self, belay_graph* graph, belay_status* status);
  /* The variables are initialized or restored, and the graph is frozen. */
  int32_t (*after_create_session)(void* self, belay_session* session, belay_status* status);
  /* Fills `args` with fetches, feeds and options. An unchanged `args` asks for nothing. The memory that it points at
   * must stay valid until the next call on this instance. */
  int32_t (*before_run)(void* self, belay_run* run, belay_run_args* args, belay_status* status);
  /* `values` holds the results of this hook's own fetches, in their order. It is valid until the call returns. */
  int32_t (*after_run)(void* self, belay_run* run, const belay_run_values* values, belay_status* status);
  /* The loop has ended without an error. Runs are still possible. */
  int32_t (*end)(void* self, belay_session* session, belay_status* status);
  /* The calls around every checkpoint that the host writes. before_save is the moment of the snapshot: the host writes
   * the variables as they are then. BELAY_SKIP leaves this checkpoint out, with a line in the log and without
   * after_save. */
  int32_t (*before_save)(void* self, belay_session* session, int64_t step, belay_status* status);
  /* The checkpoint is on the disk, complete and durable. The session may have run some steps since the snapshot. */
  int32_t (*after_save)(void* self, belay_session* session, belay_saved* saved, belay_status* status);
  /* The session ends because of this error, which any part may have raised. It is the last call before destroy. The
   * host ignores its result. */
  int32_t (*on_error)(void* self, int32_t code, belay_str message, belay_status* status);
  /* Write and read the instance's state. Checkpoints keep it under the instance's name. The host loads it at resume and
   * at recovery. */
  int32_t (*save_state)(void* self, belay_state* state, belay_status* status);
  int32_t (*load_state)(void* self, belay_state* state, belay_status* status);
} belay_hook_api;

BELAY_C_END

#endif /* BELAY_ABI_HOOK_H_ */
