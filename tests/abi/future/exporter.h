// SPDX-License-Identifier: Apache-2.0
/* Models for other systems: a kind of its own (its number is reserved). It reads the graph with "graph", the values with
 * "checkpoint", and writes with "files". */
#ifndef BELAY_ABI_FUTURE_EXPORTER_H_
#define BELAY_ABI_FUTURE_EXPORTER_H_

#include <belay/abi.h>

typedef struct belay_export_args {
  uint32_t struct_size;
  uint32_t flags;
  belay_graph* graph;
  belay_checkpoint* checkpoint;
  belay_dir* dir;
  belay_str signature; /* of those that the model has set; empty: the only one */
  const belay_named_output* inputs;
  uint64_t n_inputs;
  const belay_named_output* outputs;
  uint64_t n_outputs;
} belay_export_args;

typedef struct belay_exporter_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*write)(void* self, const belay_export_args* args, belay_status* status);
} belay_exporter_api;

#endif /* BELAY_ABI_FUTURE_EXPORTER_H_ */
