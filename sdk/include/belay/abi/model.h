/* SPDX-License-Identifier: Apache-2.0 */
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
/* The pieces of TensorFlow's Scaffold, each at most once. What the manifest's [scaffold] names has precedence; a
 * piece that neither has is made by the host. */
#define BELAY_ROLE_INIT_OP 5       /* operation; a new run's, in place of the one that runs all initializers */
#define BELAY_ROLE_LOCAL_INIT_OP 6 /* operation; besides the one for local variables and tables, in each session */
#define BELAY_ROLE_READY_OP 7      /* string vector: names of what is not ready; empty where the session may run */
#define BELAY_ROLE_READY_FOR_LOCAL_INIT_OP 8 /* the same, for the local init operation */
#define BELAY_ROLE_SUMMARY_OP 9    /* string: serialized summaries, in place of all those of the graph */

/* How a trained model is called when it is served: a signature of TensorFlow's SavedModel. All is copied. */
typedef struct belay_signature {
  uint32_t struct_size;
  uint32_t flags;
  belay_str name;   /* unique in the model; "serving_default" is what a client gets that names none */
  belay_str method; /* "predict", "classify" or "regress" */
  /* At least one of each: tensors of the graph, under names that are unique among the inputs, and among the outputs. */
  const belay_named_output* inputs;
  uint64_t n_inputs;
  const belay_named_output* outputs;
  uint64_t n_outputs;
} belay_signature;

/* A hook that the model brings to the session of the graph that is being built. All is copied. */
#define BELAY_MODEL_HOOK_CHIEF_ONLY 1 /* flag: on the chief alone, as TensorFlow's training_chief_hooks */
typedef struct belay_model_hook {
  uint32_t struct_size;
  uint32_t flags;   /* of BELAY_MODEL_HOOK_... */
  belay_str plugin; /* a hook's name; it is found as one of the manifest is, or in the model's own library */
  belay_str name;   /* of the instance, unique among the session's hooks; empty: the plugin's */
  const belay_named_value* options; /* as in a manifest; nested ones flattened ("layers.0.units"), no tensors */
  uint64_t n_options;
} belay_model_hook;

/* The service "model": build returns the model's outputs through it. Valid for that call alone. [main] */
typedef struct belay_model_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* An output of the graph in one of BELAY_ROLE_...; PREDICTION and METRIC are told apart by `name`, the others need
   * none. `update` is used by METRIC only; its graph is 0 where there is none. INVALID_ARGUMENT: a role or name that
   * is taken, an output of another graph or of the wrong shape. */
  int32_t (*set)(belay_model_spec* spec, int32_t role, belay_str name, belay_output output, belay_output update,
                 belay_status* status);
  /* For whatever exports the model; `belay graph` lists them. INVALID_ARGUMENT names the signature, and the input or
   * output of it: a name that is taken, an unknown method, an output that the graph does not have. */
  int32_t (*export_signature)(belay_model_spec* spec, const belay_signature* signature, belay_status* status);
  /* Its session calls the hook behind those of the manifest; its options are checked against its note. NOT_FOUND and
   * INVALID_ARGUMENT come after build, naming hook and option. */
  int32_t (*add_hook)(belay_model_spec* spec, const belay_model_hook* hook, belay_status* status);
} belay_model_service;

typedef struct belay_model_args {
  uint32_t struct_size;
  uint32_t flags;
  int32_t mode; /* of BELAY_MODE_..., or one that this model does not know */
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
  /* What the input declares as labels, in every mode, in its order: while training and evaluating those of `labels`; in
   * BELAY_MODE_PREDICT the model learns its task from them. Each value is a BELAY_VALUE_TENSOR of count 1: dtype, rank
   * and dims (-1: unknown), data null. Valid until build returns. 0: it declares none. */
  const belay_named_value* declared_labels;
  uint64_t n_declared_labels;
  const int64_t* declared_label_classes; /* as label_classes, of declared_labels */
} belay_model_args;

/* build is mandatory. */
typedef struct belay_model_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  /* Adds the model to the graph of a mode, once for each graph; the host adds the train operation from [optimizer]
   * unless the model sets one. UNIMPLEMENTED: a mode that this model does not know. [main] */
  int32_t (*build)(void* self, const belay_model_args* args, belay_status* status);
  /* The value with which `variable` begins, in place of what its initializer computes. Asked once for each global
   * variable of a run that begins anew (the optimizer's slots and the global step too), in the order of their names,
   * before the init operation runs; what is given here is set when that has run, and init functions come behind it.
   * Not asked by a run that is resumed from a checkpoint, or by an evaluation or a prediction of one. `value` is the
   * host's memory, zeroed and aligned to 64 bytes, of the variable's dtype and shape: to be filled, good for the
   * call. *given is 0 before the call; set to 1 it says that the value was filled, left alone that the initializer's
   * stays. An error ends the run. An absent slot: the model has no values. [session] */
  int32_t (*initial_value)(void* self, belay_str variable, const belay_tensor* value, int32_t* given,
                           belay_status* status);
} belay_model_api;

BELAY_C_END

#endif /* BELAY_ABI_MODEL_H_ */
