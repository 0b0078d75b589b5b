// SPDX-License-Identifier: Apache-2.0
/* Saving while the session goes on. [save], before_save as the moment of the snapshot and after_save as "durable" are there;
 * what could follow are figures for hooks, and savers that write only a part of a tensor. */
#ifndef BELAY_ABI_FUTURE_BACKGROUND_SAVE_H_
#define BELAY_ABI_FUTURE_BACKGROUND_SAVE_H_

#include <belay/abi.h>

/* Appended to belay_saved; a plugin of today is given a struct that ends before. */
typedef struct belay_saved_with_figures {
  belay_saved before;
  int64_t stalled_ns; /* for how long the session stood still */
  int64_t written_ns; /* from the snapshot until the checkpoint was durable */
  uint64_t bytes;
} belay_saved_with_figures;

/* Appended to "saver": the part of tensor i that this process holds, in elements of its first dimension. */
typedef struct belay_saver_service_with_slices {
  belay_saver_service before;
  int32_t (*slice)(belay_tensors* tensors, uint64_t i, int64_t* begin, int64_t* end, belay_status* status);
} belay_saver_service_with_slices;

#endif /* BELAY_ABI_FUTURE_BACKGROUND_SAVE_H_ */
