/* SPDX-License-Identifier: Apache-2.0 */
/* Init functions.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_INIT_FN_H_
#define BELAY_ABI_INIT_FN_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* run is called once after the init operation, and only if no checkpoint was restored. The graph is frozen. An error
 * ends the run. Both pointers are valid for the call. run is mandatory. [main] */
typedef struct belay_init_fn_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*run)(void* self, belay_graph* graph, belay_session* session, belay_status* status);
} belay_init_fn_api;

BELAY_C_END

#endif /* BELAY_ABI_INIT_FN_H_ */
