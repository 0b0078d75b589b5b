/* SPDX-License-Identifier: Apache-2.0 */
/* Hooks, and the service "state" that keeps what they remember.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_HOOK_H_
#define BELAY_ABI_HOOK_H_

#include "belay/abi/instance.h"
#include "belay/abi/session.h"

BELAY_C_BEGIN

/* "state": what a hook keeps in a checkpoint, by key: values, and tensors. A key (UTF-8) has one value or one tensor.
 * All [session], with the belay_state that save_state or load_state got, until that callback returns. */
typedef struct belay_state_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* In save_state: sets the key's value, which is copied; the last one counts. No tensor and no list of booleans.
   * All values of all hooks of a run together take at most 16 MiB as JSON and 350,000 numbers, strings and keys: the call
   * that passes either fails with RESOURCE_EXHAUSTED, names the key and changes nothing. What is large is a tensor.
   * INVALID_ARGUMENT: a key that is no UTF-8 or has a tensor, a type that is not kept. FAILED_PRECONDITION: not in
   * save_state. */
  int32_t (*put)(belay_state* state, belay_str key, const belay_value* value, belay_status* status);
  /* The key's value: in load_state that of the checkpoint, in save_state the one that was put. Valid until the callback
   * returns or the key is put again. A tensor comes as BELAY_VALUE_TENSOR, read-only and 64-byte aligned; it is read
   * when it is first asked for, and takes memory until the callback returns. NOT_FOUND where the key is absent;
   * DATA_LOSS, with file and place, where the checkpoint's file was damaged after it was opened. */
  int32_t (*get)(belay_state* state, belay_str key, belay_value* value, belay_status* status);
  /* In save_state: memory for the key's tensor, 64-byte aligned, to be filled before save_state returns; every element,
   * for it holds anything. It is the host's, which keeps it: the next save with the same key, dtype and dimensions gets
   * the same memory and allocates nothing. Asked for again in one save it is the same tensor. Any dtype but
   * BELAY_STRING. Its elements have no limit but memory and disk; key, dtype and dimensions count as put's values do.
   * INVALID_ARGUMENT: strings, an unknown dtype, dimensions without a size, a key that has a value or a tensor of
   * another form, or is no UTF-8. RESOURCE_EXHAUSTED: no memory, or as put. FAILED_PRECONDITION: not in save_state. */
  int32_t (*tensor)(belay_state* state, belay_str key, int32_t dtype, int32_t rank, const int64_t* dims,
                    belay_tensor* out, belay_status* status);
  /* How many keys there are: in load_state of the checkpoint, in save_state so far. 0: there is no state. */
  uint64_t (*count)(belay_state* state);
  /* Key i of them, in the order of their bytes. Valid until the callback returns. INVALID_ARGUMENT from count on. */
  int32_t (*key)(belay_state* state, uint64_t i, belay_str* key, belay_status* status);
  /* In load_state: the version of the library that saved this state, from its note. Empty where that is not known: there
   * is no state, the hook was an object of the program, or the checkpoint is older than this slot; and in save_state.
   * Valid until the callback returns. Fails only as a stub, with UNIMPLEMENTED. */
  int32_t (*written_by)(belay_state* state, belay_str* version, belay_status* status);
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
