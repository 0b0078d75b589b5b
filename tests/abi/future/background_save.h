// SPDX-License-Identifier: Apache-2.0
/* Saving while the session continues. [save], before_save as the moment of the snapshot and after_save as "durable"
 * exist. Figures for hooks, and savers that write only a part of a tensor, could follow. */
#ifndef BELAY_ABI_FUTURE_BACKGROUND_SAVE_H_
#define BELAY_ABI_FUTURE_BACKGROUND_SAVE_H_

#include <belay/abi.h>

/* Appended to belay_saved; a plugin of today is given a struct that ends before. */
typedef struct belay_saved_with_figures {
  belay_saved before;
  int64_t stalled_ns; /* for how long the session waited */
  int64_t written_ns; /* from the snapshot until the checkpoint was durable */
  uint64_t bytes;
} belay_saved_with_figures;

/* Which part of a whole tensor a slice is; arrays of `rank` numbers. */
typedef struct belay_slice {
  uint32_t struct_size;
  uint32_t flags;
  int32_t rank;
  int32_t reserved;
  const int64_t* whole;  /* dimensions of all of it */
  const int64_t* offset; /* the beginning of the part */
  const int64_t* length; /* and its extent */
} belay_slice;

/* Appended to "saver" by the rules of abi/saver.h: the part of tensor i that this process holds, and one that a
 * directory has. */
typedef struct belay_saver_service_with_slices {
  belay_saver_service before;
  int32_t (*get_slice)(belay_tensors* tensors, uint64_t i, belay_str* name, belay_slice* slice, belay_tensor* tensor,
                       belay_status* status);
  int32_t (*found_slice)(belay_tensors* tensors, belay_str name, int32_t dtype, const belay_slice* slice, void** data,
                         belay_status* status);
} belay_saver_service_with_slices;

#endif /* BELAY_ABI_FUTURE_BACKGROUND_SAVE_H_ */
