/* SPDX-License-Identifier: Apache-2.0 */
/* Operations for graphs, and the service "op" for their shapes, threads and scratch memory.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_OP_H_
#define BELAY_ABI_OP_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* The service "op": infer returns the outputs through it, and run uses the host's threads and scratch memory. */
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
  const belay_tensor* outputs; /* what infer returned for these inputs; data null */
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
  const belay_output* output_gradients; /* the incoming gradient per output; graph 0: none */
  const int32_t* wanted;                /* per input; 0: its gradient is not needed */
  belay_output* input_gradients;        /* per input, to fill; graph 0, as it is before: none */
} belay_op_gradient_args;

/* An operation for graphs. In a graph its name is the plugin's in title case: plugin "leaky_swish" is operation
 * "LeakySwish". The note's options are the attributes of a node; create gets none. One instance serves all nodes.
 *   traits          what the host must know of every node. Absent: one input, no flags. [main]
 *   infer           dtypes and shapes of the outputs from those of the inputs; fails where they do not fit. Called when a
 *                   node is added, and again with every dimension known, before a kernel is made. [any]
 *   make_kernel     prepares one node for these shapes; may be slow and allocate. The kernel must not be null. [any]
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

BELAY_C_END

#endif /* BELAY_ABI_OP_H_ */
