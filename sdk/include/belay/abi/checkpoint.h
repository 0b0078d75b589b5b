/* SPDX-License-Identifier: Apache-2.0 */
/* The service "checkpoint".
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_CHECKPOINT_H_
#define BELAY_ABI_CHECKPOINT_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

/* "checkpoint": save now, read any. [session] */
typedef struct belay_checkpoint_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Asks for a checkpoint of this step: written at the step's boundary, after every hook's after_run. In
   * after_create_session: when the session is complete. In end: at once. */
  int32_t (*save)(belay_host* host, belay_status* status);
  /* The newest whole checkpoint of a directory, or NOT_FOUND. `path` is valid until the instance's next call here. */
  int32_t (*latest)(belay_host* host, belay_str directory, belay_str* path, belay_status* status);
  /* Opens and verifies a checkpoint, of this run or another one. DATA_LOSS where it is damaged, with file and place. The
   * caller closes it. */
  int32_t (*open)(belay_host* host, belay_str path, belay_checkpoint** checkpoint, belay_status* status);
  /* Of its tensors. */
  uint64_t (*count)(belay_checkpoint* checkpoint);
  /* Name, dtype and shape of tensor i; data is null. Sorted by name. Valid until close. */
  int32_t (*info)(belay_checkpoint* checkpoint, uint64_t i, belay_str* name, belay_tensor* tensor, belay_status* status);
  /* Reads tensor i into the caller's memory of exactly its bytes, checked by its checksum. Strings cannot be read. */
  int32_t (*read)(belay_checkpoint* checkpoint, uint64_t i, void* data, uint64_t bytes, belay_status* status);
  /* Once for each checkpoint that was opened. */
  void (*close)(belay_checkpoint* checkpoint);
} belay_checkpoint_api;

BELAY_C_END

#endif /* BELAY_ABI_CHECKPOINT_H_ */
