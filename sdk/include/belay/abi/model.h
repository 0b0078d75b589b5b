/* SPDX-License-Identifier: Apache-2.0 */
/* Models, and the service "model" that takes their outputs.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_MODEL_H_
#define BELAY_ABI_MODEL_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

#define BELAY_ROLE_LOSS 1
#define BELAY_ROLE_PREDICTION 2
#define BELAY_ROLE_METRIC 3 /* with an update operation; without one the host averages it over batches by examples */
#define BELAY_ROLE_TRAIN_OP 4
/* The pieces of TensorFlow's Scaffold, each at most once. A piece that the manifest's [scaffold] names has precedence.
 * The host makes the pieces that neither names. */
#define BELAY_ROLE_INIT_OP 5       /* operation of a new run, in place of that for all initializers */
#define BELAY_ROLE_LOCAL_INIT_OP 6 /* operation of each session, besides those for local variables and tables */
#define BELAY_ROLE_READY_OP 7      /* string vector: names of what is not ready; empty if the session may run */
#define BELAY_ROLE_READY_FOR_LOCAL_INIT_OP 8 /* string vector as above, for the local init operation */
#define BELAY_ROLE_SUMMARY_OP 9    /* string: serialized summaries, in place of all summaries of the graph */

/* A way to call the trained model when it is served: a signature of TensorFlow's SavedModel. The host copies all of
 * it. */
typedef struct belay_signature {
  uint32_t struct_size;
  uint32_t flags;
  belay_str name;   /* unique in the model; a client that names none gets "serving_default" */
  belay_str method; /* "predict", "classify" or "regress" */
  /* Tensors of the graph, at least one input and one output. Names are unique among inputs, and among outputs. */
  const belay_named_output* inputs;
  uint64_t n_inputs;
  const belay_named_output* outputs;
  uint64_t n_outputs;
} belay_signature;

/* A hook that the model adds to the session of the graph that it builds. The host copies all of it. */
#define BELAY_MODEL_HOOK_CHIEF_ONLY 1 /* flag: on the chief alone, like TensorFlow's training_chief_hooks */
typedef struct belay_model_hook {
  uint32_t struct_size;
  uint32_t flags;   /* of BELAY_MODEL_HOOK_... */
  belay_str plugin; /* a hook's name, found like a name in the manifest, or in the model's own library */
  belay_str name;   /* of the instance, unique among the session's hooks; empty: the plugin's name */
  const belay_named_value* options; /* as in a manifest, nested ones flattened ("layers.0.units"); no tensors */
  uint64_t n_options;
} belay_model_hook;

/* The service "model": build returns the model's outputs through it. It is valid for the call of build alone. [main] */
typedef struct belay_model_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* Sets an output of the graph in one of BELAY_ROLE_.... PREDICTION and METRIC need a unique `name`; other roles need
   * none. Only METRIC uses `update`; graph 0: no update. INVALID_ARGUMENT: the role or name is taken, or the output is
   * of another graph or has a wrong shape. */
  int32_t (*set)(belay_model_spec* spec, int32_t role, belay_str name, belay_output output, belay_output update,
                 belay_status* status);
  /* Adds a signature for exporters; `belay graph` lists them. INVALID_ARGUMENT: the name is taken, the method is
   * unknown, or the graph lacks an output. The message names the signature, and its input or output. */
  int32_t (*export_signature)(belay_model_spec* spec, const belay_signature* signature, belay_status* status);
  /* Adds a hook to the session, which calls it after the hooks of the manifest. The host checks its options against its
   * note. NOT_FOUND and INVALID_ARGUMENT come after build, and name hook and option. */
  int32_t (*add_hook)(belay_model_spec* spec, const belay_model_hook* hook, belay_status* status);
} belay_model_service;

typedef struct belay_model_args {
  uint32_t struct_size;
  uint32_t flags;
  int32_t mode; /* of BELAY_MODE_..., or a mode that this model does not know */
  int32_t reserved;
  belay_graph* graph;
  const belay_named_output* features;
  uint64_t n_features;
  const belay_named_output* labels; /* none in BELAY_MODE_PREDICT */
  uint64_t n_labels;
  belay_model_spec* spec;
  /* Per feature and per label: its values are in [0, classes). 0: the input did not state it. */
  const int64_t* feature_classes;
  const int64_t* label_classes;
  /* The labels that the input declares, in every mode and in its order. In training and evaluation they describe
   * `labels`. In BELAY_MODE_PREDICT the model learns its task from them. Each value is a BELAY_VALUE_TENSOR of count 1:
   * dtype, rank and dims (-1: unknown), data null. Valid until build returns. 0: it declares none. */
  const belay_named_value* declared_labels;
  uint64_t n_declared_labels;
  const int64_t* declared_label_classes; /* like label_classes, for declared_labels */
  /* What the training's input kept about each of declared_labels, in every mode. The arrays are null, or have an item
   * for each label; the items of the first two are null, or have declared_label_classes[i] elements. */
  const belay_str* const* declared_label_class_names;
  const double* const* declared_label_class_counts; /* the training's examples of each class */
  /* Four per label: mean and standard deviation of y, then those of sign(y) ln(1 + |y|). 0, 0: unknown. */
  const double* declared_label_moments;
} belay_model_args;

/* The callbacks of a model. build is mandatory. */
typedef struct belay_model_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  /* Adds the model to the graph of a mode, once for each graph. The host adds the train operation from [optimizer],
   * unless the model sets its own. UNIMPLEMENTED: the model does not know the mode. [main] */
  int32_t (*build)(void* self, const belay_model_args* args, belay_status* status);
  /* Fills the first value of `variable`, in place of its initializer's value. Only a run that begins new asks, before
   * its init operation runs. It asks once for each global variable in the order of names, the optimizer's slots and the
   * global step too. It sets the values after the init operation and before the init functions. A run that resumes from
   * a checkpoint does not ask, nor does an evaluation or a prediction of one. `value` is memory of the host, zeroed and
   * 64-byte aligned, of the variable's dtype and shape. It is valid for the call. *given is 0 before the call. The
   * model sets it to 1 if it filled the value; 0 keeps the initializer's value. An error ends the run. An absent slot:
   * the model has no values. [session] */
  int32_t (*initial_value)(void* self, belay_str variable, const belay_tensor* value, int32_t* given,
                           belay_status* status);
} belay_model_api;

BELAY_C_END

#endif /* BELAY_ABI_MODEL_H_ */
