// SPDX-License-Identifier: Apache-2.0
/* A plugin in another process. A stub speaks this ABI on both sides. Today handles are valid only in the process that
 * got them, and a tensor's address may differ from call to call. The stub would need memory that both processes see,
 * and a way to declare the place of the plugin. */
#ifndef BELAY_ABI_FUTURE_CHILD_PROCESS_H_
#define BELAY_ABI_FUTURE_CHILD_PROCESS_H_

#include <belay/abi.h>

/* A flag of belay_module: its callbacks may be made in a child process. A host of today refuses unknown flags. */
#define BELAY_MODULE_MAY_BE_CHILD 1

/* A separate service, "child". */
typedef struct belay_child_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* A descriptor of shared memory and where the tensor's elements are in it; -1: not shared. */
  int32_t (*descriptor_of)(belay_host* host, const belay_tensor* tensor, uint64_t* offset);
  /* The process of the instance; this one: it is no child. */
  int64_t (*process)(belay_host* host);
} belay_child_api;

/* An extension of the plugin: what to send over before the process starts. */
#define BELAY_CHILD_EXTENSION "belay.child.1"
typedef struct belay_child_extension {
  uint32_t struct_size;
  uint32_t reserved;
  int32_t (*before_fork)(void* self, belay_status* status);
} belay_child_extension;

#endif /* BELAY_ABI_FUTURE_CHILD_PROCESS_H_ */
