/* SPDX-License-Identifier: Apache-2.0 */
/* The service "graph".
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_GRAPH_H_
#define BELAY_ABI_GRAPH_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

/* One node to add. The host makes `name` unique inside the current scope. Empty: the operation's own name. */
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

/* "graph": builds and describes a graph. [main] A graph is open until the session is made; then it is frozen. A change
 * of a frozen graph fails and names the caller. */
typedef struct belay_graph_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* The graph's number in this process: belay_output.graph of its nodes. It is never 0. */
  uint64_t (*serial)(belay_graph* graph);
  /* Returns 1 if the graph is frozen. */
  int32_t (*finalized)(belay_graph* graph);
  /* Adds a node under the current scope and control dependencies. *node becomes its number. The call infers its shapes
   * now, and copies all that `def` points at. INVALID_ARGUMENT: inputs or attributes do not fit. NOT_FOUND, with the
   * nearest name: an unknown operation. FAILED_PRECONDITION: the graph is frozen. */
  int32_t (*add_node)(belay_graph* graph, const belay_node_def* def, uint32_t* node, belay_status* status);
  /* Finds a role of the model ("loss"), else a node ("scope/node", output 0), else an output ("scope/node:1").
   * NOT_FOUND, with the nearest name. */
  int32_t (*find)(belay_graph* graph, belay_str name, belay_output* output, belay_status* status);
  /* Returns operation, name and counts of a node. The strings are valid as long as the graph. */
  int32_t (*node_info)(belay_graph* graph, uint32_t node, belay_node_info* info, belay_status* status);
  /* Returns dtype, shape and name of an output; for an operation (index BELAY_OPERATION) only the name. `name` is valid
   * until this thread's next call here, dims as long as the graph. */
  int32_t (*output_info)(belay_graph* graph, belay_output output, belay_output_info* info, belay_status* status);
  /* Returns the source of the node's input `index`. INVALID_ARGUMENT: the input does not exist. */
  int32_t (*input)(belay_graph* graph, uint32_t node, uint32_t index, belay_output* output, belay_status* status);
  /* Returns an attribute that the node was given. NOT_FOUND: it was not given, so its default applies. The value is
   * valid until this thread's next call here. */
  int32_t (*attr)(belay_graph* graph, uint32_t node, belay_str name, belay_value* value, belay_status* status);
  /* Announces a later fetch of the output, so that the first plan includes it. Optional: it saves one plan. */
  int32_t (*will_fetch)(belay_graph* graph, belay_output output, belay_status* status);
  /* Names of nodes that are added before the matching leave begin with "name/", made unique. Scopes nest. A callback
   * must leave each scope, and end each control and body, that it entered. The host closes what is left open and
   * refuses it, with the callback's name. A callback cannot leave what others opened. FAILED_PRECONDITION: the graph is
   * frozen. */
  int32_t (*enter_scope)(belay_graph* graph, belay_str name, belay_status* status);
  void (*leave_scope)(belay_graph* graph);
  /* Nodes that are added before the matching leave run after `outputs`. */
  int32_t (*enter_control)(belay_graph* graph, const belay_output* outputs, uint64_t n, belay_status* status);
  void (*leave_control)(belay_graph* graph);
  /* Adds an output or an operation to a collection, and makes the collection if it is new. The order is kept. */
  int32_t (*collect)(belay_graph* graph, belay_str collection, belay_output output, belay_status* status);
  /* Number of items; also 0 if the collection does not exist. */
  uint64_t (*collection_size)(belay_graph* graph, belay_str collection);
  /* Returns item i, 0 <= i < collection_size. INVALID_ARGUMENT: i is beyond it. */
  int32_t (*collection_item)(belay_graph* graph, belay_str collection, uint64_t i, belay_output* output,
                             belay_status* status);
  /* Adds the nodes for d(sum of ys, weighted by grad_ys) / dx for each x. grad_ys null: ones. gradients[i].graph is 0
   * if no y depends on xs[i]. */
  int32_t (*gradients)(belay_graph* graph, const belay_output* ys, uint64_t n_ys, const belay_output* grad_ys,
                       const belay_output* xs, uint64_t n_xs, belay_output* gradients, belay_status* status);
  /* A body is a part of the graph that nodes such as "Cond" and "While" run; their attributes name it. Nodes that are
   * added between begin and end belong to the body. Its arguments are its nodes "BodyInput", in the order of creation.
   * If a node of the body uses an outer output, the output is captured. It becomes an input of the node that runs the
   * body, after the arguments. `name` follows the rules for a scope's name. end_body sets the outputs of the body. It
   * returns the body's full name, valid until this thread's next call. If n is 0 or the call fails, the body is closed
   * and unusable. Bodies nest. */
  int32_t (*begin_body)(belay_graph* graph, belay_str name, belay_status* status);
  int32_t (*end_body)(belay_graph* graph, const belay_output* outputs, uint64_t n, belay_str* name,
                      belay_status* status);
} belay_graph_api;

BELAY_C_END

#endif /* BELAY_ABI_GRAPH_H_ */
