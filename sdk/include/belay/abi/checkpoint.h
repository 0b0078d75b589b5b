/* SPDX-License-Identifier: Apache-2.0 */
/* The service "checkpoint".
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_CHECKPOINT_H_
#define BELAY_ABI_CHECKPOINT_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

/* "checkpoint": saves now, reads any checkpoint. All slots are [session]. */
typedef struct belay_checkpoint_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Asks for a checkpoint of this step. The host writes it at the step's boundary, after every hook's after_run. In
   * after_create_session it writes when the session is complete; in end at once. */
  int32_t (*save)(belay_host* host, belay_status* status);
  /* Returns the newest whole checkpoint of a directory. `path` is valid until the instance's next call here. NOT_FOUND:
   * the directory has none. */
  int32_t (*latest)(belay_host* host, belay_str directory, belay_str* path, belay_status* status);
  /* Opens and verifies a checkpoint of this run or another run. The caller closes it. DATA_LOSS, with file and place:
   * it is damaged. */
  int32_t (*open)(belay_host* host, belay_str path, belay_checkpoint** checkpoint, belay_status* status);
  /* Number of tensors in the checkpoint. */
  uint64_t (*count)(belay_checkpoint* checkpoint);
  /* Returns name, dtype and shape of tensor i, 0 <= i < count, in the order of names. data is null. Valid until
   * close. */
  int32_t (*info)(belay_checkpoint* checkpoint, uint64_t i, belay_str* name, belay_tensor* tensor, belay_status* status);
  /* Reads tensor i into the caller's memory of exactly its bytes, and checks its checksum. Strings cannot be read. */
  int32_t (*read)(belay_checkpoint* checkpoint, uint64_t i, void* data, uint64_t bytes, belay_status* status);
  /* Closes a checkpoint. Call it once for each that was opened. */
  void (*close)(belay_checkpoint* checkpoint);
} belay_checkpoint_api;

BELAY_C_END

#endif /* BELAY_ABI_CHECKPOINT_H_ */
