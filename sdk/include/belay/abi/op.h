/* SPDX-License-Identifier: Apache-2.0 */
/* Operations for graphs, and the service "op" for their shapes, threads and scratch memory.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_OP_H_
#define BELAY_ABI_OP_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* The service "op": infer returns the outputs through it, and run uses the host's threads and scratch memory. */
typedef struct belay_op_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* In infer: adds the next output. Rank -1 and dimensions of -1 are unknown; they are allowed while an input has
   * unknowns. BELAY_STRING is not allowed. [any] */
  int32_t (*output)(belay_op_outputs* outputs, int32_t dtype, int32_t rank, const int64_t* dims, belay_status* status);
  /* In run: calls body(arg, begin, end) for disjoint parts that make up [0, n), and returns when all have returned. It
   * uses at most belay_op_kernel_args.threads threads at once. No part is smaller than `grain`, if n allows it. The
   * parts depend only on n, grain and the number of threads, so results are the same bits in every run. body cannot
   * fail. Do not call this from inside a body. [any] */
  int32_t (*parallel)(belay_op_context* context, int64_t n, int64_t grain,
                      void (*body)(void* arg, int64_t begin, int64_t end), void* arg, belay_status* status);
  /* In run, also from inside a body: 1 if the run was cancelled or is past its deadline. The host then ignores the
   * operation's result, BELAY_OK or an error. 0: continue; also if the host cannot tell. [any] */
  int32_t (*cancelled)(belay_op_context* context);
  /* In run, not from inside a body: returns `bytes` bytes of memory, 64-byte aligned, not zeroed. They belong to this
   * run until it returns or asks again. The host allocates only when a kernel asks for more than before, not at each
   * run. 0 bytes: *memory is null. RESOURCE_EXHAUSTED: not enough memory. [any] */
  int32_t (*scratch)(belay_op_context* context, uint64_t bytes, void** memory, belay_status* status);
} belay_op_service;

/* A node as its operation sees it: the given attributes, checked against the note's options, and inputs with data null.
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

#define BELAY_OP_ELEMENTWISE 1 /* output 0 has the inputs' broadcast shape; each element depends on its own inputs */
#define BELAY_OP_RANDOM 2      /* draws random numbers from seed and counter: never merged or folded */
#define BELAY_OP_STATEFUL 4    /* equal inputs may give another result: never merged or folded */
#define BELAY_OP_BLOCKING 8    /* run may wait for something outside; no host supports it yet: refused */
#define BELAY_OP_COLLECTIVE 16 /* all ranks run it together, in one order; no host supports it yet: refused */
typedef struct belay_op_traits {
  uint32_t struct_size;
  uint32_t flags;    /* of BELAY_OP_... */
  int32_t n_inputs;  /* -1: any number; infer checks it */
  uint32_t in_place; /* bit i: output 0 may use the memory of input i, if both have the same size */
} belay_op_traits;

typedef struct belay_op_kernel_args {
  uint32_t struct_size;
  uint32_t flags;
  const belay_op_node* node;   /* every dimension is known */
  const belay_tensor* outputs; /* the outputs of infer for these inputs; data null */
  uint64_t n_outputs;
  int32_t threads; /* maximum to use; constant for a kernel */
  int32_t reserved;
  uint64_t seed; /* of this node, from the run's seed and the node's name */
} belay_op_kernel_args;

/* The elements of one run. Dtypes, ranks and dims are those that the kernel was made for. */
typedef struct belay_op_run {
  uint32_t struct_size;
  uint32_t flags;
  const belay_tensor* inputs;
  uint64_t n_inputs;
  const belay_tensor* outputs; /* to fill, every element; the old contents have no meaning */
  uint64_t n_outputs;
  uint64_t counter;          /* the global step; 0 if the graph has none */
  belay_op_context* context; /* for the calls of the service "op" in run; valid until it returns */
} belay_op_run;

typedef struct belay_op_gradient_args {
  uint32_t struct_size;
  uint32_t flags;
  const belay_op_node* node;
  belay_graph* graph;
  const belay_output* inputs; /* one for each input of the node */
  const belay_output* outputs;
  uint64_t n_outputs;
  const belay_output* output_gradients; /* the incoming gradient per output; graph 0: none */
  const int32_t* wanted;                /* per input; 0: its gradient is not needed */
  belay_output* input_gradients;        /* per input, to fill; graph 0, the value before the call: none */
} belay_op_gradient_args;

/* An operation for graphs. Its name in a graph is the plugin's name in title case: plugin "leaky_swish" is operation
 * "LeakySwish". The note's options are the attributes of a node; create gets none. One instance serves all nodes.
 *   traits          describes all nodes to the host. Absent: one input, no flags. [main]
 *   infer           returns dtypes and shapes of the outputs from those of the inputs, or fails if they do not fit.
 *                   Called when a node is added, and again with every dimension known, before a kernel is made. [any]
 *   make_kernel     prepares one node for these shapes. It may be slow and allocate. The kernel must not be null. [any]
 *   run             fills the outputs and allocates nothing. A kernel belongs to one run at a time. A step in which it
 *                   fails changes no variable. [any]
 *   destroy_kernel  frees a kernel. [any]
 *   gradient        adds nodes that compute the gradients of the inputs. Absent: no gradient passes. [main]
 * infer, make_kernel, run and destroy_kernel are mandatory. The host may call several nodes at the same time. */
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
