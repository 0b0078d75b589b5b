/* SPDX-License-Identifier: Apache-2.0 */
/* The service "graph".
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_GRAPH_H_
#define BELAY_ABI_GRAPH_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

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
  /* Names of nodes added before the matching leave begin with "name/", made unique. Scopes may be inside scopes. What a
   * callback enters or begins it leaves or ends before it returns: what is left open is closed and refused, by the
   * callback's name, and what others opened a callback cannot leave. In a frozen graph: FAILED_PRECONDITION. */
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
   * body uses is captured: it becomes an input of the node that runs the body, behind the arguments. `name` follows the
   * rules for a scope's name. end_body sets the outputs of the body and returns its full name, valid until this thread's
   * next call; with n 0, or if it fails, the body is closed and cannot be used. Bodies may be nested. */
  int32_t (*begin_body)(belay_graph* graph, belay_str name, belay_status* status);
  int32_t (*end_body)(belay_graph* graph, const belay_output* outputs, uint64_t n, belay_str* name,
                      belay_status* status);
} belay_graph_api;

BELAY_C_END

#endif /* BELAY_ABI_GRAPH_H_ */
