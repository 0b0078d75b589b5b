// SPDX-License-Identifier: Apache-2.0
/* The C boundary between the host and its plugins. Nothing else crosses it.
 *
 * This header is C11 and C++; the C++ headers beside it (plugin.h is the one include that an author needs) are the API
 * that people program against. Read this one to write a plugin in another language, or to change the host.
 *
 * Shape
 *   A library exports one const data object, `belay_module_v0` (belay_module below). It points at a note, JSON text that
 *   describes every plugin of the library, which also lies in an ELF note of the file, so that the host lists, describes
 *   and checks plugins without running any of their code. Per plugin the module points at a table of callbacks.
 *   A library imports nothing from the host: what the host offers arrives as tables too, asked for by name
 *   (belay_host_api.service).
 *
 * Tables
 *   A table is a uint32_t struct_size, a reserved uint32_t, then function pointers only. struct_size is the end of the
 *   last slot that its writer knew. The reader copies the table once over a table of stubs, whole slots only, and takes a
 *   stub for a null slot; so no call site tests for null. Tables grow at their end and only there.
 *
 * Structs
 *   Two kinds cross. Value types go by value, in arrays or behind a pointer, carry no size and do not change within a
 *   major version: belay_str, belay_status, belay_output, belay_tensor, belay_value, belay_named_value,
 *   belay_named_output, belay_feed.
 *   Every other struct is sized: it crosses by pointer, never in an array, and begins with uint32_t struct_size and
 *   uint32_t flags. The owner of its memory sets struct_size to what it was compiled with before the call, in C by
 *   BELAY_INIT, which also zeroes the rest. Neither side reads or writes beyond struct_size; a field beyond it counts as
 *   0. So the callee fills the fields of a struct of the caller's one by one: who zeroes it or copies another over it
 *   loses struct_size, and is refused. Flags that a side does not know are refused, not ignored; the host sets only
 *   those that the module's abi_minor has. Structs grow at their end and only there.
 *
 * Calls
 *   Every callback that can fail returns an int32_t code (BELAY_OK or one of the codes below) and writes its message into
 *   the belay_status that the caller owns. No exception passes through a slot in either direction. `destroy` cannot fail.
 *
 * Ownership
 *   Who allocates, frees. A view (belay_str, belay_tensor) given to a call is valid for that call. What `before_run`
 *   returns in belay_run_args must stay valid until the next call on that instance. Tensors that leave a plugin (a batch,
 *   a restored variable) lie in memory that the host provides.
 *
 * Threads
 *   [main]    the thread that builds and closes the session; never two at once.
 *   [session] one call at a time per instance, with a happens-before between calls; usually the main thread.
 *   [save]    one call at a time per instance, on any thread, possibly beside the instance's [session] calls of others and
 *             beside the steps of the session.
 *   [input]   one call at a time per input instance: on the main thread before the first batch, then on a feeding thread.
 *   [any]     any thread, also several at once.
 *   All callbacks of one hook instance are [session]; two instances may always be called at the same time.
 *
 * Floating point
 *   run of an operation, and the bodies that it hands to op.parallel, are called in the host's mode, in which denormals
 *   are zero. Every other callback is called in the mode of the thread that opened the session. A callback that changes
 *   the mode finds it put back, with one warning. The mode is in a checkpoint's fingerprint.
 *
 * Versions
 *   While the major is 0 the minor must match exactly. From 1.0 on: equal major, and the minor that the plugin needs is
 *   not above the host's.
 */
#ifndef BELAY_ABI_H_
#define BELAY_ABI_H_

#include <stdint.h>
#include <string.h>

#define BELAY_ABI_MAJOR 0
#define BELAY_ABI_MINOR 3
/* "[0, 3]", for the note of a module in C. */
#define BELAY_NOTE_ABI "[" BELAY_TEXT_OF(BELAY_ABI_MAJOR) ", " BELAY_TEXT_OF(BELAY_ABI_MINOR) "]"
#define BELAY_TEXT_OF(x) BELAY_TEXT_OF_(x)
#define BELAY_TEXT_OF_(x) #x
#define BELAY_MODULE_SYMBOL "belay_module_v0"
#define BELAY_MODULE_MAGIC UINT64_C(0x003079616c6562b3) /* bytes b3 'b' 'e' 'l' 'a' 'y' '0' 0 */

#ifdef __cplusplus
extern "C" {
#endif

/* ---- codes ---------------------------------------------------------------------------------------------------------- */

/* gRPC's codes by number, and two of our own. An unknown code is read as BELAY_INTERNAL, its number shown. */
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
#define BELAY_ABORTED 10 /* with UNAVAILABLE: the preemption errors, after which a session recovers */
#define BELAY_OUT_OF_RANGE 11 /* with STOP: end of input, after which a session closes without error */
#define BELAY_UNIMPLEMENTED 12
#define BELAY_INTERNAL 13
#define BELAY_UNAVAILABLE 14
#define BELAY_DATA_LOSS 15
#define BELAY_UNAUTHENTICATED 16
#define BELAY_STOP 100     /* StopIteration: ends the loop, no error */
#define BELAY_DIVERGED 101 /* NaN or infinity, or a limit passed: training cannot go on from these values */
#define BELAY_SKIP 102     /* from before_save: this checkpoint is not to be written; elsewhere an error as any other */

/* ---- value types ---------------------------------------------------------------------------------------------------- */

/* UTF-8 text or bytes, not NUL-terminated; may hold NUL. data may be null when size is 0. */
typedef struct belay_str {
  const char* data;
  uint64_t size;
} belay_str;

/* Where the callee puts its message: at most `capacity` bytes into `text`, their number into `size`. The caller owns it. */
typedef struct belay_status {
  char* text;
  uint64_t capacity;
  uint64_t size;
} belay_status;

/* Element types; the numbers are TensorFlow's DataType. */
#define BELAY_FLOAT32 1
#define BELAY_FLOAT64 2
#define BELAY_INT32 3
#define BELAY_UINT8 4
#define BELAY_STRING 7
#define BELAY_INT64 9
#define BELAY_BOOL 10     /* one byte, 0 or 1 */
#define BELAY_BFLOAT16 14 /* the upper half of a float32 */
#define BELAY_FLOAT16 19  /* IEEE half, storage only */

#define BELAY_DEVICE_HOST 0      /* memory of this process; so far there is no other device */
#define BELAY_TENSOR_READ_ONLY 1 /* flag: its elements are not to be written */

/* A dense row-major view. A scalar has rank 0. For BELAY_STRING, data is belay_str[number of elements].
 * Where a comment says "data null" the tensor only describes: data is null and bytes 0 whatever the dimensions are.
 * Elements are aligned as their dtype asks, unless a comment says 64 bytes. A device or a flag that the receiver does not
 * know is refused. */
typedef struct belay_tensor {
  int32_t dtype;
  int32_t rank;
  const int64_t* dims; /* rank of them; may be null at rank 0 */
  void* data;          /* null where a dimension is 0 */
  uint64_t bytes;      /* of the elements: their number times the size of one */
  int32_t device;
  uint32_t flags;
} belay_tensor;

/* Output `index` of node `node` of the graph with serial number `graph`. Index BELAY_OPERATION names the operation
 * itself: fetched, it runs and gives nothing. */
#define BELAY_OPERATION UINT32_C(0xffffffff)
typedef struct belay_output {
  uint64_t graph;
  uint32_t node;
  uint32_t index;
} belay_output;

/* An option, an attribute or an entry of a hook's state. `data` points at `count` elements of the type without
 * BELAY_LIST: int64_t for BOOL and INT, double for FLOAT, belay_str for TEXT, belay_tensor for TENSOR. A value that is no
 * list has count 1. */
#define BELAY_VALUE_BOOL 1
#define BELAY_VALUE_INT 2
#define BELAY_VALUE_FLOAT 3
#define BELAY_VALUE_TEXT 4
#define BELAY_VALUE_TENSOR 5
#define BELAY_VALUE_LIST 16 /* added to one of the above */
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

/* Makes a sized struct ready for a call: all zero but struct_size. */
#define BELAY_INIT(x) (memset(&(x), 0, sizeof(x)), (void)((x).struct_size = (uint32_t)sizeof(x)))

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

/* ---- host objects --------------------------------------------------------------------------------------------------- */

typedef struct belay_host belay_host;               /* one per plugin instance; valid from create to destroy */
typedef struct belay_graph belay_graph;             /* valid while the session that it belongs to */
typedef struct belay_session belay_session;         /* valid for the call that got it; a recovery makes a new one */
typedef struct belay_run belay_run;                 /* one run of a session, shared by all its hooks */
typedef struct belay_result belay_result;           /* results of a raw run; released by whoever asked for it */
typedef struct belay_coordinator belay_coordinator; /* of a session: its threads' common stop flag */
typedef struct belay_model_spec belay_model_spec;
typedef struct belay_input_spec belay_input_spec;
typedef struct belay_batch belay_batch;
typedef struct belay_dir belay_dir;   /* an open directory */
typedef struct belay_file belay_file; /* an open file in one */
typedef struct belay_tensors belay_tensors;
typedef struct belay_checkpoint belay_checkpoint;
typedef struct belay_state belay_state;
typedef struct belay_op_outputs belay_op_outputs;
typedef struct belay_op_context belay_op_context; /* one run of a kernel */

/* The first table that an instance gets. service gives the table of a name below, or null where the host has none; the
 * pointer is valid as long as the instance. [any] */
typedef struct belay_host_api {
  uint32_t struct_size;
  uint32_t reserved;
  const void* (*service)(belay_host* host, belay_str name);
} belay_host_api;

/* ---- services of the host ------------------------------------------------------------------------------------------- */

#define BELAY_LOG_DEBUG 10
#define BELAY_LOG_INFO 20
#define BELAY_LOG_WARNING 30
#define BELAY_LOG_ERROR 40

/* What a graph, and the session over it, is for. A model answers a mode that it does not know with UNIMPLEMENTED. */
#define BELAY_MODE_TRAIN 1
#define BELAY_MODE_EVAL 2
#define BELAY_MODE_PREDICT 3

/* "core": log, clock, run directory, the place in the run. All [any]. */
typedef struct belay_core_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* One line; the host adds time, level and the instance's name, and escapes control characters. */
  void (*log)(belay_host* host, int32_t level, belay_str text);
  /* 1 where a line of that level would be shown: ask before putting an expensive one together. */
  int32_t (*log_enabled)(belay_host* host, int32_t level);
  /* The host's clocks in nanoseconds: monotonic since some start, and wall since 1970. Tests drive them by hand. */
  int64_t (*monotonic_ns)(belay_host* host);
  int64_t (*wall_ns)(belay_host* host); /* may jump, in either direction */
  /* Absolute path of the run directory, or empty where the run has none. Valid until destroy returns. */
  belay_str (*run_directory)(belay_host* host);
  /* The instance's name, unique among its kind in the run: the manifest's, or the plugin's. Valid until destroy returns. */
  belay_str (*instance_name)(belay_host* host);
  /* The run's seed ([run] seed), the same for all instances: mix in what tells yours apart. */
  uint64_t (*seed)(belay_host* host);
  /* 1 where the user watches a terminal: then status_line shows `text` in place, redrawn at most ten times a second. */
  int32_t (*interactive)(belay_host* host);
  void (*status_line)(belay_host* host, belay_str text);
  /* What the session of this instance is for: BELAY_MODE_TRAIN, BELAY_MODE_EVAL or BELAY_MODE_PREDICT, the same from create
   * to destroy; 0: it belongs to no session (an input or a saver that several share). */
  int32_t (*mode)(belay_host* host);
  /* This process among those of the run, 0 <= rank < ranks. One process is 0 of 1. */
  int32_t (*rank)(belay_host* host);
  int32_t (*ranks)(belay_host* host);
  /* 1 in the process that writes checkpoints and events: rank 0. */
  int32_t (*is_chief)(belay_host* host);
} belay_core_api;

/* One node to add. `name` is a hint, made unique inside the current scope; empty: the operation's own name. */
typedef struct belay_node_def {
  uint32_t struct_size;
  uint32_t flags;
  belay_str op;
  belay_str name;
  const belay_output* inputs;
  uint64_t n_inputs;
  const belay_output* control_inputs;
  uint64_t n_control_inputs;
  const belay_named_value* attrs;
  uint64_t n_attrs;
} belay_node_def;

typedef struct belay_output_info {
  uint32_t struct_size;
  uint32_t flags;
  int32_t dtype;
  int32_t rank;        /* -1: unknown */
  const int64_t* dims; /* -1: unknown; owned by the graph */
  belay_str name;      /* "scope/node:index" */
} belay_output_info;

typedef struct belay_node_info {
  uint32_t struct_size;
  uint32_t flags;
  belay_str op;
  belay_str name;
  uint32_t n_inputs;
  uint32_t n_outputs;
} belay_node_info;

/* "graph": building and asking. [main] A graph is open until the session is made, then frozen: a change fails and names
 * its culprit. */
typedef struct belay_graph_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* The graph's number, of this process: belay_output.graph of its nodes. Never 0. */
  uint64_t (*serial)(belay_graph* graph);
  /* 1 where it is frozen. */
  int32_t (*finalized)(belay_graph* graph);
  /* Adds a node under the current scope and control dependencies; *node is its number. Its shapes are inferred now:
   * INVALID_ARGUMENT where inputs or attributes do not fit, NOT_FOUND with the nearest name for an unknown operation,
   * FAILED_PRECONDITION in a frozen graph. What `def` points at is copied. */
  int32_t (*add_node)(belay_graph* graph, const belay_node_def* def, uint32_t* node, belay_status* status);
  /* A role of the model ("loss"), else a node ("scope/node", output 0), else an output ("scope/node:1"). NOT_FOUND, with
   * the nearest name. */
  int32_t (*find)(belay_graph* graph, belay_str name, belay_output* output, belay_status* status);
  /* Operation, name and counts of a node. The strings are valid as long as the graph. */
  int32_t (*node_info)(belay_graph* graph, uint32_t node, belay_node_info* info, belay_status* status);
  /* Dtype, shape and name of an output; of an operation (index BELAY_OPERATION) the name alone. `name` is valid until
   * this thread's next call here, dims as long as the graph. */
  int32_t (*output_info)(belay_graph* graph, belay_output output, belay_output_info* info, belay_status* status);
  /* Where the node's input `index` comes from. INVALID_ARGUMENT: it has no such input. */
  int32_t (*input)(belay_graph* graph, uint32_t node, uint32_t index, belay_output* output, belay_status* status);
  /* An attribute that the node was given. NOT_FOUND: it was not, so its default holds. The value is valid until this
   * thread's next call here. */
  int32_t (*attr)(belay_graph* graph, uint32_t node, belay_str name, belay_value* value, belay_status* status);
  /* Announces that the output may be fetched later, so that the first plan has it. Optional: it saves one plan. */
  int32_t (*will_fetch)(belay_graph* graph, belay_output output, belay_status* status);
  /* Names of nodes added before the matching leave begin with "name/", made unique. Scopes may be inside scopes. */
  int32_t (*enter_scope)(belay_graph* graph, belay_str name, belay_status* status);
  void (*leave_scope)(belay_graph* graph);
  /* Nodes added before the matching leave run after these. */
  int32_t (*enter_control)(belay_graph* graph, const belay_output* outputs, uint64_t n, belay_status* status);
  void (*leave_control)(belay_graph* graph);
  /* Puts an output or an operation into a collection, which begins with the first; the order is kept. */
  int32_t (*collect)(belay_graph* graph, belay_str collection, belay_output output, belay_status* status);
  /* 0 also where there is no such collection. */
  uint64_t (*collection_size)(belay_graph* graph, belay_str collection);
  /* Item i, 0 <= i < collection_size. INVALID_ARGUMENT beyond it. */
  int32_t (*collection_item)(belay_graph* graph, belay_str collection, uint64_t i, belay_output* output,
                             belay_status* status);
  /* d(sum of ys, weighted by grad_ys) / dx for each x; grad_ys null: ones. gradients[i].graph is 0 where y does not depend
   * on xs[i]. */
  int32_t (*gradients)(belay_graph* graph, const belay_output* ys, uint64_t n_ys, const belay_output* grad_ys,
                       const belay_output* xs, uint64_t n_xs, belay_output* gradients, belay_status* status);
  /* Bodies: what nodes such as "Cond" and "While" run, named by their attributes. Nodes added between begin and end belong
   * to the body; its arguments are its nodes "BodyInput", in the order of their making. An outer output that a node of the
   * body uses is captured: it becomes an input of the node that runs the body, behind the arguments. name is a scope's.
   * end gives the body its outputs and tells its full name, valid until this thread's next call; with n 0, or where it
   * fails, the body is closed and of no use. Bodies may stand in bodies. */
  int32_t (*begin_body)(belay_graph* graph, belay_str name, belay_status* status);
  int32_t (*end_body)(belay_graph* graph, const belay_output* outputs, uint64_t n, belay_str* name,
                      belay_status* status);
} belay_graph_api;

#define BELAY_TRACE_NONE 0
#define BELAY_TRACE_SOFTWARE 1
#define BELAY_TRACE_HARDWARE 2
#define BELAY_TRACE_FULL 3

/* What TensorFlow's RunOptions have for hooks. Those of several hooks and the caller are merged: the larger number. */
typedef struct belay_run_options {
  uint32_t struct_size;
  uint32_t flags;
  int32_t trace_level; /* of BELAY_TRACE_... */
  int32_t reserved;
  int64_t timeout_ms; /* 0: none */
} belay_run_options;

typedef struct belay_run_args {
  uint32_t struct_size;
  uint32_t flags;
  const belay_output* fetches;
  uint64_t n_fetches;
  const belay_feed* feeds;
  uint64_t n_feeds;
  const belay_run_options* options; /* null: defaults */
} belay_run_args;

/* results[i] is the value of fetches[i]; an operation's has data null, rank 0 and dtype 0. */
typedef struct belay_run_values {
  uint32_t struct_size;
  uint32_t flags;
  const belay_tensor* results;
  uint64_t n_results;
  const belay_run_options* options; /* of this run: the caller's and those of all hooks, merged; null: the defaults */
} belay_run_values;

typedef struct belay_variable_info {
  uint32_t struct_size;
  uint32_t flags;
  belay_str name;
  int32_t dtype;
  int32_t rank;
  const int64_t* dims;
  int32_t trainable;
  int32_t initialized;
} belay_variable_info;

/* What one node did in a run that was traced. Times are the host's monotonic clock. Of nodes that were computed together
 * one stands for all, and its `op` begins with "Fused". `name` and `op` are owned by the graph. */
typedef struct belay_node_stats {
  uint32_t struct_size;
  uint32_t flags;
  belay_str name;
  belay_str op;
  int64_t start_ns;
  int64_t end_ns;
  uint64_t output_bytes; /* of memory that the run itself holds for its outputs */
  uint32_t node;
  uint32_t reserved;
} belay_node_stats;

/* "session". run and the result calls are [any]; the rest is [session]. */
typedef struct belay_session_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* A raw run: no hook sees it. */
  int32_t (*run)(belay_session* session, const belay_run_args* args, belay_result** result, belay_status* status);
  /* The value of fetch i, read-only, valid until the result is released. INVALID_ARGUMENT: there is no fetch i. */
  int32_t (*result_tensor)(belay_result* result, uint64_t i, belay_tensor* tensor, belay_status* status);
  /* Once for each result, before the callback returns. */
  void (*result_release)(belay_result* result);
  /* Valid while the session is. */
  belay_graph* (*graph)(belay_session* session);
  /* Saved (global) variables of the store, in a fixed order. */
  uint64_t (*variable_count)(belay_session* session);
  /* Of variable i, 0 <= i < variable_count. The strings and dimensions are valid while the session is. */
  int32_t (*variable_info)(belay_session* session, uint64_t i, belay_variable_info* info, belay_status* status);
  /* Sets a variable by name; dtype and shape must be the variable's. */
  int32_t (*assign)(belay_session* session, belay_str variable, const belay_tensor* value, belay_status* status);
  /* Of the session's threads; null where it has none. Valid until the session has closed. */
  belay_coordinator* (*coordinator)(belay_session* session);
  /* The session of the run that before_run and after_run see, for runs that no hook sees. */
  belay_session* (*run_session)(belay_run* run);
  /* The session stops after this run's after_run calls. The first reason is what the user reads; it is copied. */
  void (*run_request_stop)(belay_run* run, belay_str reason);
  /* 1 where this hook or another one has asked in this run. */
  int32_t (*run_stop_requested)(belay_run* run);
  /* The caller's own fetches, feeds and options, without those of the hooks. */
  int32_t (*run_original_args)(belay_run* run, belay_run_args* args, belay_status* status);
  /* In after_run: how many nodes were traced; 0 unless a hook or the caller asked for a trace level. */
  uint64_t (*run_node_count)(belay_run* run);
  /* In after_run: what the i-th of them did, in the order of their start. OUT_OF_RANGE: there is none. */
  int32_t (*run_node_stats)(belay_run* run, uint64_t i, belay_node_stats* stats, belay_status* status);
  /* The global step, without a run: as of the last one that was committed. -1: the graph has none, or it is not
   * initialized yet. */
  int64_t (*global_step)(belay_session* session);
  /* Which run of its session this is, counted from 1: those that hooks see. A recovery begins again at 1. */
  int64_t (*run_number)(belay_run* run);
} belay_session_api;

/* "coordinator". All [any]. */
typedef struct belay_coordinator_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* 1 where a stop was asked for, by anybody. */
  int32_t (*should_stop)(belay_coordinator* coordinator);
  /* code BELAY_OK: a plain stop with a reason; else the error is raised where the session is closed. */
  void (*request_stop)(belay_coordinator* coordinator, int32_t code, belay_str text);
  /* Waits until a stop is asked for or the time is over; negative: for ever. Gives should_stop. */
  int32_t (*wait_for_stop)(belay_coordinator* coordinator, int64_t timeout_ns);
  /* A thread of the plugin's that the session shall wait for when it closes: join(arg, timeout_ns) returns 1 when it has
   * ended. join is called until the grace period is over; arg must live until the session has closed. */
  int32_t (*register_thread)(belay_coordinator* coordinator, belay_str name,
                             int32_t (*join)(void* arg, int64_t timeout_ns), void* arg, belay_status* status);
} belay_coordinator_api;

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

#define BELAY_FEATURE 1
#define BELAY_LABEL 2

/* "input": what an input's spec and next give back. */
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
} belay_input_service;

/* "files": files inside a directory that the host has opened. Names have no '/'. In a saver's write [save], else
 * [session]. */
typedef struct belay_files_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* A new file to write from its start. ALREADY_EXISTS where the name is taken. */
  int32_t (*create)(belay_dir* dir, belay_str name, belay_file** file, belay_status* status);
  /* A file to read. NOT_FOUND where there is none of that name. */
  int32_t (*open)(belay_dir* dir, belay_str name, belay_file** file, belay_status* status);
  /* Appends all of it, or fails: RESOURCE_EXHAUSTED where the disk is full. The bytes are the caller's again when it
   * returns. */
  int32_t (*write)(belay_file* file, const void* data, uint64_t size, belay_status* status);
  /* In bytes. */
  int32_t (*size)(belay_file* file, uint64_t* size, belay_status* status);
  /* Reads exactly `size` bytes; a file that ends before is DATA_LOSS. */
  int32_t (*read_at)(belay_file* file, uint64_t offset, void* data, uint64_t size, belay_status* status);
  /* Closes and frees, also when it fails. */
  int32_t (*close)(belay_file* file, belay_status* status);
} belay_files_api;

/* "saver": the tensors that a saver writes or reads. In write [save], in read [session]. */
typedef struct belay_saver_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* Writing: tensor i of count, in the order to keep. */
  uint64_t (*count)(belay_tensors* tensors);
  /* Name and value of tensor i, read-only; both are valid until write returns. */
  int32_t (*get)(belay_tensors* tensors, uint64_t i, belay_str* name, belay_tensor* tensor, belay_status* status);
  /* Reading: the saver announces each tensor that the directory holds; `data` becomes the memory to fill, or null where
   * the host does not want this one. */
  int32_t (*found)(belay_tensors* tensors, belay_str name, int32_t dtype, int32_t rank, const int64_t* dims, void** data,
                   belay_status* status);
} belay_saver_service;

/* "checkpoint": save now, read any. [session] */
typedef struct belay_checkpoint_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Asks for a checkpoint of this step: written at the step's boundary, after every hook's after_run. In
   * after_create_session: when the session is complete. In end: at once. */
  int32_t (*save)(belay_host* host, belay_status* status);
  /* The newest whole checkpoint of a directory, or NOT_FOUND. The text is valid until the instance's next call here. */
  int32_t (*latest)(belay_host* host, belay_str directory, belay_str* path, belay_status* status);
  /* Opens and verifies a checkpoint, of this run or another one. DATA_LOSS where it is damaged, with file and place. The
   * caller closes it. */
  int32_t (*open)(belay_host* host, belay_str path, belay_checkpoint** checkpoint, belay_status* status);
  /* Of its tensors. */
  uint64_t (*count)(belay_checkpoint* checkpoint);
  /* Name, dtype and shape of tensor i; data is null. Sorted by name. Valid until close. */
  int32_t (*info)(belay_checkpoint* checkpoint, uint64_t i, belay_str* name, belay_tensor* tensor, belay_status* status);
  /* Reads tensor i into the caller's memory of exactly its bytes, checked by its checksum. Strings cannot be read. */
  int32_t (*read)(belay_checkpoint* checkpoint, uint64_t i, void* data, uint64_t bytes, belay_status* status);
  /* Once for each checkpoint that was opened. */
  void (*close)(belay_checkpoint* checkpoint);
} belay_checkpoint_api;

#define BELAY_SESSION_START 1
#define BELAY_SESSION_STOP 2
#define BELAY_SESSION_CHECKPOINT 3

/* "events": the run's TensorBoard event file, shared by all who write. [session] Without a run directory every call is a
 * silent no-op. */
typedef struct belay_events_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* One point of the curve `tag`; written as float32. */
  int32_t (*scalar)(belay_host* host, belay_str tag, int64_t step, double value, belay_status* status);
  /* A serialized Summary message, as the summary operations give. */
  int32_t (*summary)(belay_host* host, belay_str summary, int64_t step, belay_status* status);
  /* A mark of BELAY_SESSION_...: TensorBoard restarts its curves at a START. `path` is of a CHECKPOINT. */
  int32_t (*session_log)(belay_host* host, int32_t kind, int64_t step, belay_str path, belay_status* status);
  /* All that was added is in the file when it returns. */
  int32_t (*flush)(belay_host* host, belay_status* status);
} belay_events_api;

/* "state": a hook's state in a checkpoint, by key. Values are copied. [session] */
typedef struct belay_state_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* In save_state: sets the key's value, no tensor. All states of a run together have at most 16 MiB. */
  int32_t (*put)(belay_state* state, belay_str key, const belay_value* value, belay_status* status);
  /* NOT_FOUND where the key is absent. The value is valid for the callback. */
  int32_t (*get)(belay_state* state, belay_str key, belay_value* value, belay_status* status);
} belay_state_service;

/* "op": what an operation's infer gives back, and the host's threads for its run. */
typedef struct belay_op_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* In infer: the next output. Rank -1 and dimensions of -1 are unknown, which is allowed as long as an input's are. No
   * strings. [any] */
  int32_t (*output)(belay_op_outputs* outputs, int32_t dtype, int32_t rank, const int64_t* dims, belay_status* status);
  /* In run: body(arg, begin, end) for disjoint parts that make up [0, n), on up to belay_op_kernel_args.threads threads
   * at once, no part smaller than `grain` where n allows; returns when all have. The parts depend on n, grain and that
   * number alone, so that results are the same bits in every run. body cannot fail. Not from inside a body. [any] */
  int32_t (*parallel)(belay_op_context* context, int64_t n, int64_t grain,
                      void (*body)(void* arg, int64_t begin, int64_t end), void* arg, belay_status* status);
  /* In run, also from inside a body: 1 where the run has been cancelled or is past its deadline. What the operation then
   * returns, BELAY_OK or an error, is not used. 0: go on, also where the host cannot say. [any] */
  int32_t (*cancelled)(belay_op_context* context);
  /* In run, not from inside a body: memory of `bytes` bytes, 64-byte aligned, not zeroed, that belongs to this run until
   * it returns or asks again. It is allocated when a kernel asks for more than before, so not at each run. 0 bytes:
   * *memory is null. RESOURCE_EXHAUSTED: there is not so much. [any] */
  int32_t (*scratch)(belay_op_context* context, uint64_t bytes, void** memory, belay_status* status);
} belay_op_service;

/* ---- plugins -------------------------------------------------------------------------------------------------------- */

#define BELAY_KIND_HOOK 1
#define BELAY_KIND_SAVER 2
#define BELAY_KIND_INIT_FN 3
#define BELAY_KIND_MODEL 4
#define BELAY_KIND_INPUT 5
#define BELAY_KIND_CLUSTER 6  /* reserved */
#define BELAY_KIND_EXPORTER 7 /* reserved */
#define BELAY_KIND_OP 8
#define BELAY_KIND_OPTIMIZER 9
#define BELAY_KIND_SCHEDULE 10

/* The first three slots of every kind's table. A create that fails has made no instance: it frees what it made, and the host
 * neither uses nor destroys what it may have left in *self. Options are those that the manifest gives, nested tables flattened
 * ("layers.0.units"); the host has checked them against the note. The defaults are the plugin's own. */
#define BELAY_INSTANCE_SLOTS                                                                                         \
  int32_t (*create)(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options, \
                    void** self, belay_status* status);                                                               \
  void (*destroy)(void* self);                                                                                        \
  const void* (*extension)(void* self, belay_str name)

/* extension: a table of further callbacks of this instance, or null where it has none of that name. The table is const,
 * begins with struct_size and reserved like every table, and lives as long as the library; its callbacks take the same
 * self. Asked after create, the answer is the same each time. Names are "belay.NAME.VERSION" for those of this header,
 * "vendor.name.version" for others. An absent slot: no extensions. [any] */

/* "belay.interrupt.1", of inputs and savers: wakes an instance that waits (for a network, a lock, a pipe), because the
 * run is being stopped. Called at most once until the next callback begins, while another thread is inside a callback of
 * the instance; that one returns soon, with CANCELLED or with what it has. It must not wait itself. [any] */
#define BELAY_INTERRUPT_EXTENSION "belay.interrupt.1"
typedef struct belay_interrupt_api {
  uint32_t struct_size;
  uint32_t reserved;
  void (*interrupt)(void* self);
} belay_interrupt_api;

/* A checkpoint that was written. */
typedef struct belay_saved {
  uint32_t struct_size;
  uint32_t flags;
  int64_t step;   /* of the snapshot */
  belay_str path; /* of its directory, absolute; valid until after_save returns */
  int32_t stop;   /* to set: 1 asks the session to stop */
  int32_t reserved;
} belay_saved;

/* begin -> after_create_session -> (before_run -> the run -> after_run)* -> end
 * begin once per instance and graph; after_create_session again after every recovery. An error skips what follows of that
 * run, ends the session and calls on_error of every hook, never end. Slots that are null are skipped. All [session]. */
typedef struct belay_hook_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  /* The graph is complete and still open: look tensors up, add what the hook needs. */
  int32_t (*begin)(void* self, belay_graph* graph, belay_status* status);
  /* Variables are initialized or restored, and the graph is frozen. */
  int32_t (*after_create_session)(void* self, belay_session* session, belay_status* status);
  /* Fill `args` with what to fetch, feed and ask for; left alone, it is nothing. What it points at must stay valid until
   * the next call on this instance. */
  int32_t (*before_run)(void* self, belay_run* run, belay_run_args* args, belay_status* status);
  /* The results of this hook's own fetches, in their order; valid until it returns. */
  int32_t (*after_run)(void* self, belay_run* run, const belay_run_values* values, belay_status* status);
  /* The loop has ended well; runs are still possible. */
  int32_t (*end)(void* self, belay_session* session, belay_status* status);
  /* Around every checkpoint that the host writes. before_save is the moment of the snapshot: what the session's variables
   * are then is what is written. BELAY_SKIP leaves this checkpoint out, with a line in the log and without after_save. */
  int32_t (*before_save)(void* self, belay_session* session, int64_t step, belay_status* status);
  /* The checkpoint is on the disk, whole and durable. It may come when the session is some steps further. */
  int32_t (*after_save)(void* self, belay_session* session, belay_saved* saved, belay_status* status);
  /* The session ends because of this error, raised anywhere; the last call before destroy. What it returns is ignored. */
  int32_t (*on_error)(void* self, int32_t code, belay_str message, belay_status* status);
  /* The instance's state, stored in checkpoints under its name and given back at resume and at recovery. */
  int32_t (*save_state)(void* self, belay_state* state, belay_status* status);
  int32_t (*load_state)(void* self, belay_state* state, belay_status* status);
} belay_hook_api;

/* A codec for named tensors in a directory that the host has opened; the host checksums, syncs and renames what write
 * left there. write and read are mandatory, and never overlap on one instance.
 *   write  [save]: the tensors are a snapshot, valid until it returns whatever the session does meanwhile.
 *   read   [session] */
typedef struct belay_saver_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*write)(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status);
  int32_t (*read)(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status);
} belay_saver_api;

/* Runs once after the init operation, only where no checkpoint was restored. run is mandatory. [main] */
typedef struct belay_init_fn_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*run)(void* self, belay_graph* graph, belay_session* session, belay_status* status);
} belay_init_fn_api;

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

/* spec -> open -> (seek | next)*. All but size are mandatory.
 *   spec   names, dtypes and partial shapes, before the model is built. [main]
 *   open   this replica's share is `shard` of `shards`; `seed` keys shuffling. Fails here where a file is missing or
 *          there is nothing to read. [main]
 *   next   fills one batch; `position` becomes where the input stands after it. OUT_OF_RANGE: the end. [input]
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

/* A node as its operation sees it: attributes that were given, checked against the note's options; inputs with data null.
 * While the graph is built, an input's rank and dimensions may be -1: unknown. */
typedef struct belay_op_node {
  uint32_t struct_size;
  uint32_t flags;
  belay_str name;
  const belay_named_value* attrs;
  uint64_t n_attrs;
  const belay_tensor* inputs;
  uint64_t n_inputs;
} belay_op_node;

#define BELAY_OP_ELEMENTWISE 1 /* output 0 has the broadcast shape of the inputs, its elements come one from one */
#define BELAY_OP_RANDOM 2      /* draws random numbers from seed and counter: never merged or folded */
#define BELAY_OP_STATEFUL 4    /* equal inputs may give another result: never merged or folded */
#define BELAY_OP_BLOCKING 8    /* run may wait for something outside. No host has it yet: refused */
#define BELAY_OP_COLLECTIVE 16 /* all ranks run it together, in one order. No host has it yet: refused */
typedef struct belay_op_traits {
  uint32_t struct_size;
  uint32_t flags;    /* of BELAY_OP_... */
  int32_t n_inputs;  /* -1: any number, infer says which */
  uint32_t in_place; /* bit i: output 0 may lie in the memory of input i, where that has the same size */
} belay_op_traits;

typedef struct belay_op_kernel_args {
  uint32_t struct_size;
  uint32_t flags;
  const belay_op_node* node;   /* every dimension known */
  const belay_tensor* outputs; /* what infer gave for these inputs; data null */
  uint64_t n_outputs;
  int32_t threads; /* to use at most; always the same for a kernel */
  int32_t reserved;
  uint64_t seed; /* of this node, from the run's seed and the node's name */
} belay_op_kernel_args;

/* Elements of one run. Dtypes, ranks and dims are those that the kernel was made for. */
typedef struct belay_op_run {
  uint32_t struct_size;
  uint32_t flags;
  const belay_tensor* inputs;
  uint64_t n_inputs;
  const belay_tensor* outputs; /* to fill, every element; what was there before is of no meaning */
  uint64_t n_outputs;
  uint64_t counter;          /* the global step, 0 where the graph has none */
  belay_op_context* context; /* for the calls of the service "op" that are made in run; valid until it returns */
} belay_op_run;

typedef struct belay_op_gradient_args {
  uint32_t struct_size;
  uint32_t flags;
  const belay_op_node* node;
  belay_graph* graph;
  const belay_output* inputs; /* as many as the node's */
  const belay_output* outputs;
  uint64_t n_outputs;
  const belay_output* output_gradients; /* per output; its graph is 0 where none arrives */
  const int32_t* wanted;                /* per input; 0: nobody needs its gradient */
  belay_output* input_gradients;        /* per input, to fill; graph 0, as it is before: none */
} belay_op_gradient_args;

/* An operation for graphs. In a graph its name is the plugin's in title case: plugin "leaky_swish" is operation
 * "LeakySwish". The note's options are the attributes of a node; create gets none. One instance serves all nodes.
 *   traits          what the host must know of every node. Absent: one input, no flags. [main]
 *   infer           dtypes and shapes of the outputs from those of the inputs; fails where they do not fit. Called when a
 *                   node is added, and again with every dimension known, before a kernel is made. [any]
 *   make_kernel     prepares one node for these shapes; may be slow and allocate. Gives a kernel that is not null. [any]
 *   run             fills the outputs; allocates nothing. A kernel belongs to one run at a time. A step in which it fails
 *                   changes no variable. [any]
 *   destroy_kernel  [any]
 *   gradient        adds nodes that compute the gradients of the inputs. Absent: no gradient passes through. [main]
 * infer, make_kernel, run and destroy_kernel are mandatory. Calls of several nodes may come at the same time. */
typedef struct belay_op_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*traits)(void* self, belay_op_traits* traits, belay_status* status);
  int32_t (*infer)(void* self, const belay_op_node* node, belay_op_outputs* outputs, belay_status* status);
  int32_t (*make_kernel)(void* self, const belay_op_kernel_args* args, void** kernel, belay_status* status);
  int32_t (*run)(void* self, void* kernel, const belay_op_run* run, belay_status* status);
  void (*destroy_kernel)(void* self, void* kernel);
  int32_t (*gradient)(void* self, const belay_op_gradient_args* args, belay_status* status);
} belay_op_api;

/* What an optimizer works on. The host has computed the gradients of the loss and clipped them as [optimizer] says. The
 * struct and its arrays are valid for the call; the outputs are valid as long as the graph. */
typedef struct belay_optimizer_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  belay_graph* graph;
  const belay_output* variables; /* trainable, with a gradient; all of one dtype, float32 or float64 */
  const belay_output* gradients; /* gradients[i]: of variables[i], dense, of its dtype and shape */
  uint64_t n_variables;          /* >= 1; variables and gradients have as many */
  belay_output learning_rate;    /* a scalar of the variables' dtype */
  belay_output global_step;      /* an integer scalar: the steps that were taken before this one */
} belay_optimizer_args;

/* Adds the nodes that update variables by their gradients. Called while the graph is built; no code of it runs in a step.
 *
 *   create_slots -> prepare -> apply, once for each variable, in their order -> finish
 *
 * once per graph, with the same args; all [main]. An error of any of them ends the run before its first step. What the
 * plugin adds to the graph it may keep between these calls, in its instance; destroy comes after the last of them, and
 * the nodes stay.
 *   create_slots  makes the variables that the optimizer keeps, in the collection "variables" and so in checkpoints, which
 *                 know them by their names: by custom "dense/kernel/Momentum" for one of "dense/kernel". The host has
 *                 entered no scope. Absent: there are none.
 *   prepare       makes nodes that all updates share. Here and in the two below the host has entered the scope "train".
 *                 Absent: there are none.
 *   apply         adds the nodes that write variables[i] and its slots by gradients[i]; *update, to be filled, is an output
 *                 of them, or their operation: after it, variable and slots are written. i < n_variables. Mandatory.
 *   finish        adds what comes after the updates, such as the powers of Adam's betas. `updates` is what apply filled
 *                 in, n_variables of them. *more and *n_more, to be filled, are further operations of the step (*more may
 *                 be null where *n_more is 0, as they are before the call); they stay the plugin's and are valid until the
 *                 instance's next call. What must wait for the updates has control inputs from them. Absent: nothing.
 * The global step is increased by the host after all of it. */
typedef struct belay_optimizer_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*create_slots)(void* self, const belay_optimizer_args* args, belay_status* status);
  int32_t (*prepare)(void* self, const belay_optimizer_args* args, belay_status* status);
  int32_t (*apply)(void* self, const belay_optimizer_args* args, uint64_t i, belay_output* update,
                   belay_status* status);
  int32_t (*finish)(void* self, const belay_optimizer_args* args, const belay_output* updates,
                    const belay_output** more, uint64_t* n_more, belay_status* status);
} belay_optimizer_api;

/* Of belay_schedule_args: the user has set learning_rate. Without it the field holds the host's default. */
#define BELAY_SCHEDULE_RATE_IS_GIVEN 1

/* What a schedule works on. The struct is valid for the call; the outputs are valid as long as the graph. */
typedef struct belay_schedule_args {
  uint32_t struct_size;
  uint32_t flags; /* BELAY_SCHEDULE_RATE_IS_GIVEN */
  belay_graph* graph;
  double learning_rate;     /* >= 0; where the rate starts */
  belay_output global_step; /* an integer scalar: the steps that were taken before this one */
  belay_output step;        /* the same as a float64 scalar */
} belay_schedule_args;

/* Adds the nodes that compute the learning rate of a step. Called while the graph is built, once per graph; no code of it
 * runs in a step.
 *   build  *rate, to be filled, is a float32 or float64 scalar. The host has entered a scope. It multiplies the rate by
 *          the warm-up of [optimizer.learning_rate] and rounds it to float32. An error ends the run before its first
 *          step. Mandatory. [main] */
typedef struct belay_schedule_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*build)(void* self, const belay_schedule_args* args, belay_output* rate, belay_status* status);
} belay_schedule_api;

/* ---- the module ----------------------------------------------------------------------------------------------------- */

/* name: [a-z][a-z0-9_-]{0,62}, or VENDOR.NAME of two such and at most 63 bytes in all; unique per kind in the library.
 * table: the kind's table above. A plugin whose kind the host does not know, or with an option of a type that it does not
 * know, is listed as unusable; the library's other plugins work. */
typedef struct belay_plugin {
  int32_t kind;
  uint32_t reserved;
  const char* name;
  const void* table;
} belay_plugin;

/* The exported object, as data and with C's name. Its first 32 bytes never change, in any major. It and all that it points
 * to lie in the library itself: of two exported symbols of one name the dynamic linker may take one for both libraries,
 * and the host refuses a module whose note, plugins, names or tables are another library's. */
typedef struct belay_module {
  uint64_t magic;
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor; /* the lowest minor whose features the library uses */
  uint32_t flags;     /* 0 */
  uint64_t reserved;
  const char* note; /* the JSON text of the ELF note, at its own bytes */
  uint64_t note_size;
  const belay_plugin* const* plugins;
  uint64_t n_plugins;
} belay_module;

/* The ELF note: section ".note.belay" (type SHT_NOTE, allocated, 4-byte aligned), owner "BELAY", type 1, descriptor = the
 * JSON text without a final NUL, padded with NULs to a multiple of 4:
 *
 *   {"abi": [0, 3], "version": "1.0.0", "toolchain": "gcc 12.2.0, C++17", "isa": ["sse2"],
 *    "plugins": [{"kind": "hook", "name": "loss_ceiling", "doc": "Stops the run ...",
 *                 "options": [{"name": "max", "type": "float", "default": 10, "min": 0, "max": 1e30, "help": "..."}]}]}
 *
 * Option types: bool int float string path table, and bool_list int_list float_list string_list path_list. Of an option:
 * "default" (absent: none), "required": true, "min", "max" (numbers and elements of lists), "choices": [text...].
 * "isa" lists what the code needs beyond the architecture's baseline, as in /proc/cpuinfo.
 * Limits: 1 MiB in all, 8 levels of nesting, 64 KiB a string. Unknown keys are ignored.
 *
 * A plugin in C states its note with BELAY_NOTE and places it as above, for example:
 *
 *   #define TEXT "{\"abi\": " BELAY_NOTE_ABI ", ...}"
 *   BELAY_NOTE(my_note, TEXT);
 *   const belay_module belay_module_v0 = {BELAY_MODULE_MAGIC, sizeof(belay_module), BELAY_ABI_MAJOR, BELAY_ABI_MINOR, 0, 0,
 *                                         my_note.text, sizeof(TEXT) - 1, plugins, 1};
 */
#define BELAY_NOTE_TYPE 1
#define BELAY_NOTE(variable, json)                                                   \
  __attribute__((section(".note.belay"), used, aligned(4))) static const struct {    \
    uint32_t name_size;                                                              \
    uint32_t text_size;                                                              \
    uint32_t type;                                                                   \
    char name[8];                                                                    \
    char text[(sizeof(json) + 3) / 4 * 4];                                           \
  } variable = {6, sizeof(json) - 1, BELAY_NOTE_TYPE, "BELAY", json}

#ifdef __cplusplus
}
#endif

#endif /* BELAY_ABI_H_ */
