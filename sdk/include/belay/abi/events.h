/* SPDX-License-Identifier: Apache-2.0 */
/* The service "events".
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_EVENTS_H_
#define BELAY_ABI_EVENTS_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

#define BELAY_SESSION_START 1
#define BELAY_SESSION_STOP 2
#define BELAY_SESSION_CHECKPOINT 3

/* "events": the run's TensorBoard event file, shared by all writers. Without a run directory the calls write nothing.
 * All slots are [session]. */
typedef struct belay_events_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Adds one point to the curve `tag`. The file holds it as float32. */
  int32_t (*scalar)(belay_host* host, belay_str tag, int64_t step, double value, belay_status* status);
  /* Adds a serialized Summary message, the output of a summary operation. */
  int32_t (*summary)(belay_host* host, belay_str summary, int64_t step, belay_status* status);
  /* Adds a mark of BELAY_SESSION_...; TensorBoard restarts its curves at a START. Only a CHECKPOINT has a `path`. */
  int32_t (*session_log)(belay_host* host, int32_t kind, int64_t step, belay_str path, belay_status* status);
  /* Returns when the file has all that was added. */
  int32_t (*flush)(belay_host* host, belay_status* status);
} belay_events_api;

BELAY_C_END

#endif /* BELAY_ABI_EVENTS_H_ */
