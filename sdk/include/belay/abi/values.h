/* SPDX-License-Identifier: Apache-2.0 */
/* The base of every part: versions, codes, value types, sized structs, the host's objects.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_VALUES_H_
#define BELAY_ABI_VALUES_H_

#include <stdint.h>
#include <string.h>

#define BELAY_ABI_MAJOR 0
#define BELAY_ABI_MINOR 4
/* Expands to "[0, 4]", for the note of a module in C. */
#define BELAY_NOTE_ABI "[" BELAY_TEXT_OF(BELAY_ABI_MAJOR) ", " BELAY_TEXT_OF(BELAY_ABI_MINOR) "]"
#define BELAY_TEXT_OF(x) BELAY_TEXT_OF_(x)
#define BELAY_TEXT_OF_(x) #x
#define BELAY_MODULE_SYMBOL "belay_module_v0"
#define BELAY_MODULE_MAGIC UINT64_C(0x003079616c6562b3) /* bytes b3 'b' 'e' 'l' 'a' 'y' '0' 0 */

#ifdef __cplusplus
#define BELAY_C_BEGIN extern "C" {
#define BELAY_C_END }
#else
#define BELAY_C_BEGIN
#define BELAY_C_END
#endif

BELAY_C_BEGIN

/* ---- codes ---------------------------------------------------------------------------------------------------------- */

/* gRPC's codes with their numbers, and three codes of Belay. A reader takes an unknown code as BELAY_INTERNAL and shows
 * its number. abi.h lists the codes that steer the run ("Codes that steer"). */
#define BELAY_OK 0
#define BELAY_CANCELLED 1
#define BELAY_UNKNOWN 2
#define BELAY_INVALID_ARGUMENT 3
#define BELAY_DEADLINE_EXCEEDED 4
#define BELAY_NOT_FOUND 5
#define BELAY_ALREADY_EXISTS 6
#define BELAY_PERMISSION_DENIED 7
#define BELAY_RESOURCE_EXHAUSTED 8
#define BELAY_FAILED_PRECONDITION 9
#define BELAY_ABORTED 10 /* like UNAVAILABLE a preemption error: the session recovers from it */
#define BELAY_OUT_OF_RANGE 11 /* from an input's next: the input has ended, and the session closes without an error */
#define BELAY_UNIMPLEMENTED 12
#define BELAY_INTERNAL 13
#define BELAY_UNAVAILABLE 14
#define BELAY_DATA_LOSS 15
#define BELAY_UNAUTHENTICATED 16
#define BELAY_STOP 100     /* StopIteration, from next, before_run and after_run: ends the loop without an error */
#define BELAY_DIVERGED 101 /* NaN, infinity or a passed limit: training cannot continue from these values */
#define BELAY_SKIP 102     /* from before_save: the host does not write this checkpoint; elsewhere an ordinary error */

/* ---- value types ---------------------------------------------------------------------------------------------------- */

/* A UTF-8 string or bytes. It is not NUL-terminated and may hold NUL. data may be null when size is 0. */
typedef struct belay_str {
  const char* data;
  uint64_t size;
} belay_str;

/* The buffer for a callee's message, owned by the caller. The callee writes at most `capacity` bytes into `text`, and
 * their number into `size`. */
typedef struct belay_status {
  char* text;
  uint64_t capacity;
  uint64_t size;
} belay_status;

/* Element types. The numbers are those of TensorFlow's DataType. */
#define BELAY_FLOAT32 1
#define BELAY_FLOAT64 2
#define BELAY_INT32 3
#define BELAY_UINT8 4
#define BELAY_STRING 7
#define BELAY_INT64 9
#define BELAY_BOOL 10     /* one byte, 0 or 1 */
#define BELAY_BFLOAT16 14 /* the upper half of a float32 */
#define BELAY_FLOAT16 19  /* IEEE half, storage only */

#define BELAY_DEVICE_HOST 0      /* memory of this process, the only device so far */
#define BELAY_TENSOR_READ_ONLY 1 /* flag: the receiver must not write the elements */

/* A dense row-major view. A scalar has rank 0. For BELAY_STRING, data is belay_str[number of elements].
 * "Data null" in a comment means that the tensor only describes: data is null and bytes is 0, with any dimensions.
 * Elements are aligned as their dtype requires, unless a comment asks for 64 bytes. The receiver refuses an unknown
 * device or flag. */
typedef struct belay_tensor {
  int32_t dtype;
  int32_t rank;
  const int64_t* dims; /* `rank` dimensions; may be null at rank 0 */
  void* data;          /* null when a dimension is 0 */
  uint64_t bytes;      /* number of elements times the size of an element */
  int32_t device;
  uint32_t flags;
} belay_tensor;

/* Output `index` of node `node` in the graph with serial number `graph`. Index BELAY_OPERATION names the operation
 * itself. A fetch of an operation runs it and has no value. */
#define BELAY_OPERATION UINT32_C(0xffffffff)
typedef struct belay_output {
  uint64_t graph;
  uint32_t node;
  uint32_t index;
} belay_output;

/* An option, an attribute or an entry of a hook's state. `data` points at `count` elements of the type without
 * BELAY_LIST. The elements are int64_t for BOOL and INT, double for FLOAT, belay_str for TEXT, belay_tensor for TENSOR.
 * A value that is not a list has count 1. */
#define BELAY_VALUE_BOOL 1
#define BELAY_VALUE_INT 2
#define BELAY_VALUE_FLOAT 3
#define BELAY_VALUE_TEXT 4
#define BELAY_VALUE_TENSOR 5
#define BELAY_VALUE_LIST 16 /* added to one of the types above */
typedef struct belay_value {
  int32_t type;
  uint32_t reserved;
  uint64_t count;
  const void* data;
} belay_value;

typedef struct belay_named_value {
  belay_str name;
  belay_value value;
} belay_named_value;

typedef struct belay_named_output {
  belay_str name;
  belay_output output;
} belay_named_output;

typedef struct belay_feed {
  belay_output output;
  belay_tensor value;
} belay_feed;

/* ---- sized structs --------------------------------------------------------------------------------------------------- */

/* Prepares a sized struct for a call: sets struct_size and zeroes the rest. */
#define BELAY_INIT(x) (memset(&(x), 0, sizeof(x)), (void)((x).struct_size = (uint32_t)sizeof(x)))

/* ---- host objects --------------------------------------------------------------------------------------------------- */

/* A handle has a meaning only in the process that received it. Each comment states how long the handle is valid. */
typedef struct belay_host belay_host;               /* one per plugin instance; until the process ends */
typedef struct belay_graph belay_graph;             /* as long as its session */
typedef struct belay_session belay_session;         /* for the call that received it; a recovery makes a new session */
typedef struct belay_run belay_run;                 /* one run of a session, shared by all its hooks; for the call */
typedef struct belay_result belay_result;           /* results of a raw run; until the caller releases them */
typedef struct belay_coordinator belay_coordinator; /* a session's common stop flag; until the session has closed */
typedef struct belay_model_spec belay_model_spec;   /* the result of a build; for the call */
typedef struct belay_input_spec belay_input_spec;   /* the declarations of an input; for the call */
typedef struct belay_batch belay_batch;             /* the batch that next fills; for the call */
typedef struct belay_dir belay_dir;                 /* an open directory; for the call */
typedef struct belay_file belay_file;               /* an open file; until it or its directory is closed */
typedef struct belay_tensors belay_tensors;         /* the tensors that a saver writes or reads; for the call */
typedef struct belay_checkpoint belay_checkpoint;   /* an open checkpoint; until it is closed */
typedef struct belay_state belay_state;             /* the state of one hook in one checkpoint; for the call */
typedef struct belay_op_outputs belay_op_outputs;   /* the result of an infer; for the call */
typedef struct belay_op_context belay_op_context;   /* one run of a kernel; for the call */

BELAY_C_END

#endif /* BELAY_ABI_VALUES_H_ */
