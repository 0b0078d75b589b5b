/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, and the service "input" to which they hand their batches.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_INPUT_H_
#define BELAY_ABI_INPUT_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* Up to so many bytes of a position are the input's own. */
#define BELAY_POSITION_BYTES 4096

/* A position of an input: where its next batch begins. `epoch` and `index` are for people: the next example as
 * index of the order of the epoch, both from 0. An input that needs more to begin there keeps it in `bytes`, whose
 * meaning is its own; size 0: epoch and index are all. */
typedef struct belay_position {
  uint32_t struct_size;
  uint32_t flags;
  int64_t epoch;
  int64_t index;
  uint8_t* bytes;    /* the host's memory: next fills it, seek reads it */
  uint64_t capacity; /* at least BELAY_POSITION_BYTES */
  uint64_t size;     /* of what is there; 0 when next is called */
} belay_position;

#define BELAY_FEATURE 1
#define BELAY_LABEL 2

/* What `use` returns: what the batches of this input are for. A prediction needs no labels. */
#define BELAY_INPUT_TRAINING 1
#define BELAY_INPUT_EVALUATION 2
#define BELAY_INPUT_PREDICTION 3

/* What `learned` is asked for, by a name. */
#define BELAY_LEARNED_COLUMNS 1     /* words: the columns of the feature or label of this name, in order */
#define BELAY_LEARNED_CLASS_NAMES 2 /* words: the class names of the feature or label of this name, by number */
#define BELAY_LEARNED_VALUES 3      /* values: what was kept under this name */
#define BELAY_LEARNED_WORDS 4       /* words: what was kept under this name */

/* What the training's input declared or kept. Both arrays are the host's, until the next call of
 * `learned` or the end of spec. */
typedef struct belay_learned {
  uint32_t struct_size;
  uint32_t flags;
  const belay_str* words; /* null for values */
  const double* values;   /* null for words */
  uint64_t count;
} belay_learned;

/* The service "input": spec and next return their results through it. */
typedef struct belay_input_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* dims[0] is the batch, usually -1; slots count from 0 in the order of these calls. [main] */
  int32_t (*declare)(belay_input_spec* spec, int32_t role, belay_str name, int32_t dtype, int32_t rank,
                     const int64_t* dims, belay_status* status);
  /* Memory for slot's tensor of this batch, 64-byte aligned, not zeroed (strings: empty). [input] */
  int32_t (*tensor)(belay_batch* batch, uint32_t slot, int32_t rank, const int64_t* dims, belay_tensor* tensor,
                    belay_status* status);
  /* Sets an element of a string tensor; the bytes are copied. [input] */
  int32_t (*set_string)(belay_batch* batch, uint32_t slot, uint64_t element, belay_str bytes, belay_status* status);
  /* The values of an integer slot are in [0, classes): what a model is told in belay_model_args. [main] */
  int32_t (*set_classes)(belay_input_spec* spec, uint32_t slot, int64_t classes, belay_status* status);
  /* What the values of an integer slot mean: names[i] is value i, a class of a label or a character of a vocabulary. The
   * names are copied before the call returns. They are UTF-8, or of a vocabulary of bytes single bytes: who shows one
   * escapes what is no UTF-8. Implies set_classes(count). INVALID_ARGUMENT, and nothing is set, where the slot is no
   * integer or there is no such slot, count is 0 or not the number that set_classes was called with (in either order), or
   * two names are equal. A second call replaces the names. [main] */
  int32_t (*set_class_names)(belay_input_spec* spec, uint32_t slot, const belay_str* names, uint64_t count,
                             belay_status* status);
  /* What stands in the slot's last dimension, column after column. The names are copied. INVALID_ARGUMENT: there is no
   * such slot, the last dimension has another size, or two names are equal. A second call replaces the names. [main] */
  int32_t (*set_columns)(belay_input_spec* spec, uint32_t slot, const belay_str* names, uint64_t count,
                         belay_status* status);
  /* Keeps what this input fitted on its data, under a name of its own: "standardize.mean". The host keeps it with the
   * model. A name that begins with an option's name and a dot belongs to that option. [main] */
  int32_t (*keep_values)(belay_input_spec* spec, belay_str name, const double* values, uint64_t count,
                         belay_status* status);
  int32_t (*keep_words)(belay_input_spec* spec, belay_str name, const belay_str* words, uint64_t count,
                        belay_status* status);
  /* `use`: BELAY_INPUT_TRAINING and so on. `has_learned`: 1 if `learned` knows what a training learned. [main] */
  int32_t (*use)(belay_input_spec* spec, int32_t* use, int32_t* has_learned, belay_status* status);
  /* `what` is one of BELAY_LEARNED_*. NOT_FOUND: the training has nothing of this name, or there is none. [main] */
  int32_t (*learned)(belay_input_spec* spec, int32_t what, belay_str name, belay_learned* learned,
                     belay_status* status);
} belay_input_service;

/* spec -> open -> (seek | next)*. All but size are mandatory.
 *   spec   names, dtypes and partial shapes, before the model is built; names of columns and classes, and what was
 *          fitted over all examples of the training, whatever the shard. Another input of the model asks `learned`
 *          here, and delivers the same columns, classes and scales. [main]
 *   open   this replica's share is `shard` of `shards`; `seed` keys shuffling. Fails here if a file is missing or
 *          there is nothing to read. [main]
 *   next   fills one batch; `position` becomes the input's position after it. OUT_OF_RANGE: the end. [input]
 *   seek   the next batch begins at `position`; also after the end. [input]
 *   size   examples in one epoch of this shard, -1 where it cannot say. [main] */
typedef struct belay_input_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*spec)(void* self, belay_input_spec* spec, belay_status* status);
  int32_t (*open)(void* self, int64_t shard, int64_t shards, uint64_t seed, belay_status* status);
  int32_t (*next)(void* self, belay_batch* batch, belay_position* position, belay_status* status);
  int32_t (*seek)(void* self, const belay_position* position, belay_status* status);
  int32_t (*size)(void* self, int64_t* examples, belay_status* status);
} belay_input_api;

BELAY_C_END

#endif /* BELAY_ABI_INPUT_H_ */
