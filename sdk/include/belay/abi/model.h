// SPDX-License-Identifier: Apache-2.0
/* Models, and the service "model" to which they hand what they built.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_MODEL_H_
#define BELAY_ABI_MODEL_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

#define BELAY_ROLE_LOSS 1
#define BELAY_ROLE_PREDICTION 2
#define BELAY_ROLE_METRIC 3 /* with an update operation, or without one: averaged over batches by examples */
#define BELAY_ROLE_TRAIN_OP 4
#define BELAY_ROLE_EXPORT 5

/* "model": what a model's build gives back. [main] */
typedef struct belay_model_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* `update` is used by METRIC only; its graph is 0 where there is none. */
  int32_t (*set)(belay_model_spec* spec, int32_t role, belay_str name, belay_output output, belay_output update,
                 belay_status* status);
} belay_model_service;

typedef struct belay_model_args {
  uint32_t struct_size;
  uint32_t flags;
  int32_t mode;
  int32_t reserved;
  belay_graph* graph;
  const belay_named_output* features;
  uint64_t n_features;
  const belay_named_output* labels; /* none in BELAY_MODE_PREDICT */
  uint64_t n_labels;
  belay_model_spec* spec;
  /* Of each feature and label: its values are in [0, classes); 0: the input did not say. */
  const int64_t* feature_classes;
  const int64_t* label_classes;
  /* What the input declares as labels, in every mode, in its order: while training and evaluating those of `labels`, in
   * BELAY_MODE_PREDICT what tells the model its task. Each value is a BELAY_VALUE_TENSOR of count 1: dtype, rank and dims
   * (-1: unknown), data null. Valid until build returns. 0: it declares none. */
  const belay_named_value* declared_labels;
  uint64_t n_declared_labels;
  const int64_t* declared_label_classes; /* as label_classes, of declared_labels */
} belay_model_args;

/* Builds a graph once per mode; the host adds the train operation from [optimizer] unless the model sets one. build is
 * mandatory. [main] */
typedef struct belay_model_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*build)(void* self, const belay_model_args* args, belay_status* status);
} belay_model_api;

BELAY_C_END

#endif /* BELAY_ABI_MODEL_H_ */
