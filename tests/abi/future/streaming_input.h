// SPDX-License-Identifier: Apache-2.0
/* An input whose data comes while it trains. The input's bytes in a position and belay.interrupt.1 exist. An
 * acknowledgement of the data that is safely in a checkpoint, and another number of shards, could follow. */
#ifndef BELAY_ABI_FUTURE_STREAMING_INPUT_H_
#define BELAY_ABI_FUTURE_STREAMING_INPUT_H_

#include <belay/abi.h>

#define BELAY_STREAMING_EXTENSION "belay.streaming.1"
typedef struct belay_streaming_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Everything before the position is in a durable checkpoint and is never asked for again. [any] */
  int32_t (*acknowledge)(void* self, const belay_position* position, belay_status* status);
  /* The lag of the input after its source, in seconds; negative: not known. [any] */
  double (*lag)(void* self);
} belay_streaming_api;

#define BELAY_SHARDS_EXTENSION "belay.shards.1"
typedef struct belay_shards_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Positions of n_from shards become those of n_to, in the memory of `to`. [input] */
  int32_t (*reshard)(void* self, const belay_position* const* from, uint64_t n_from, belay_position* const* to,
                     uint64_t n_to, belay_status* status);
} belay_shards_api;

/* Appended to "input": examples that can be read without waiting; -1: not known. */
typedef struct belay_input_service_with_streams {
  belay_input_service before;
  int32_t (*available)(belay_batch* batch, int64_t examples, belay_status* status);
} belay_input_service_with_streams;

/* Appended to belay_position, by a flag so that a host of today refuses what it would lose. */
#define BELAY_POSITION_TIMED 1
typedef struct belay_position_with_time {
  belay_position before;
  int64_t event_time_ns;
} belay_position_with_time;

#endif /* BELAY_ABI_FUTURE_STREAMING_INPUT_H_ */
