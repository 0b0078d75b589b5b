/* SPDX-License-Identifier: Apache-2.0 */
/* Inputs, and the service "input" that takes their batches.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_INPUT_H_
#define BELAY_ABI_INPUT_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* Size limit of the input's own bytes in a position. */
#define BELAY_POSITION_BYTES 4096

/* A position of an input: the place where its next batch begins. `epoch` and `index` are for people. `index` is the
 * next example's place in the order of the epoch; both count from 0. An input that needs more data to begin there keeps
 * it in `bytes`, in a form that only the input knows. size 0: epoch and index are enough. */
typedef struct belay_position {
  uint32_t struct_size;
  uint32_t flags;
  int64_t epoch;
  int64_t index;
  uint8_t* bytes;    /* the host's memory: next fills it, seek reads it */
  uint64_t capacity; /* at least BELAY_POSITION_BYTES */
  uint64_t size;     /* of the valid bytes; 0 when next is called */
} belay_position;

#define BELAY_FEATURE 1
#define BELAY_LABEL 2

/* The results of `use`: the purpose of this input's batches. A prediction needs no labels. */
#define BELAY_INPUT_TRAINING 1
#define BELAY_INPUT_EVALUATION 2
#define BELAY_INPUT_PREDICTION 3

/* The things that `learned` returns for a name. */
#define BELAY_LEARNED_COLUMNS 1     /* words: the columns of the feature or label of this name, in order */
#define BELAY_LEARNED_CLASS_NAMES 2 /* words: the class names of the feature or label of this name, by number */
#define BELAY_LEARNED_VALUES 3      /* values: those that were kept under this name */
#define BELAY_LEARNED_WORDS 4       /* words: those that were kept under this name */

/* Data that the training's input declared or kept. The host owns both arrays. They are valid until the next call of
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
  /* Declares a feature or label. dims[0] is the batch, usually -1. Slots count from 0 in the order of these calls.
   * [main] */
  int32_t (*declare)(belay_input_spec* spec, int32_t role, belay_str name, int32_t dtype, int32_t rank,
                     const int64_t* dims, belay_status* status);
  /* Returns memory for the slot's tensor of this batch, 64-byte aligned, not zeroed (strings: empty). [input] */
  int32_t (*tensor)(belay_batch* batch, uint32_t slot, int32_t rank, const int64_t* dims, belay_tensor* tensor,
                    belay_status* status);
  /* Sets an element of a string tensor; the bytes are copied. [input] */
  int32_t (*set_string)(belay_batch* batch, uint32_t slot, uint64_t element, belay_str bytes, belay_status* status);
  /* States that the values of an integer slot are in [0, classes). The model reads it in belay_model_args. [main] */
  int32_t (*set_classes)(belay_input_spec* spec, uint32_t slot, int64_t classes, belay_status* status);
  /* Names the values of an integer slot: names[i] is value i, a class of a label or a character of a vocabulary. The
   * call copies the names. They are UTF-8, or single bytes for a vocabulary of bytes; a program that shows one escapes
   * invalid UTF-8. Implies set_classes(count). A second call replaces the names. INVALID_ARGUMENT, and the names stay
   * unset: the slot does not exist or is not an integer, count is 0, or two names are equal. So too if count differs
   * from set_classes (in either order). [main] */
  int32_t (*set_class_names)(belay_input_spec* spec, uint32_t slot, const belay_str* names, uint64_t count,
                             belay_status* status);
  /* Names the columns in the slot's last dimension, in order. The call copies the names. A second call replaces them.
   * INVALID_ARGUMENT: the slot does not exist, the last dimension has another size, or two names are equal. [main] */
  int32_t (*set_columns)(belay_input_spec* spec, uint32_t slot, const belay_str* names, uint64_t count,
                         belay_status* status);
  /* Keep values or words that this input fitted on its data, under a name that the input chooses: "standardize.mean".
   * The host keeps them with the model. A name that begins with an option's name and a dot belongs to that option.
   * [main] */
  int32_t (*keep_values)(belay_input_spec* spec, belay_str name, const double* values, uint64_t count,
                         belay_status* status);
  int32_t (*keep_words)(belay_input_spec* spec, belay_str name, const belay_str* words, uint64_t count,
                        belay_status* status);
  /* *use becomes one of BELAY_INPUT_*. *has_learned becomes 1 if `learned` can return data of a training. [main] */
  int32_t (*use)(belay_input_spec* spec, int32_t* use, int32_t* has_learned, belay_status* status);
  /* Returns what the training kept; `what` is one of BELAY_LEARNED_*. NOT_FOUND: no training, or nothing of this name.
   * [main] */
  int32_t (*learned)(belay_input_spec* spec, int32_t what, belay_str name, belay_learned* learned,
                     belay_status* status);
} belay_input_service;

/* spec -> open -> (seek | next)*. All callbacks but size are mandatory.
 *   spec   declares names, dtypes and partial shapes, before the model is built. It also names columns and classes, and
 *          keeps values fitted over all examples of the training, for any shard. Another input of the model calls
 *          `learned` here, and delivers the same columns, classes and scales. [main]
 *   open   opens this replica's share: `shard` of `shards`. `seed` is the key for shuffling. It fails if a file is
 *          missing or there is nothing to read. [main]
 *   next   fills one batch and sets `position` to the input's position after it. OUT_OF_RANGE: the end. [input]
 *   seek   makes the next batch begin at `position`, also after the end. [input]
 *   size   returns the examples in one epoch of this shard; -1: not known. [main] */
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
