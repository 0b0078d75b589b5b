/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers and learning-rate schedules.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_OPTIMIZER_H_
#define BELAY_ABI_OPTIMIZER_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* The variables, gradients and rate for an optimizer. The host has computed the gradients of the loss and clipped them
 * as [optimizer] sets. The struct and its arrays are valid for the call; the outputs are valid as long as the graph. */
typedef struct belay_optimizer_args {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  belay_graph* graph;
  const belay_output* variables; /* trainable, with a gradient; all of one dtype, float32 or float64 */
  const belay_output* gradients; /* gradients[i]: of variables[i], dense, of its dtype and shape */
  uint64_t n_variables;          /* >= 1; the number of variables and of gradients */
  belay_output learning_rate;    /* a scalar of the variables' dtype */
  belay_output global_step;      /* an integer scalar: the number of steps before this step */
} belay_optimizer_args;

/* Adds the nodes that update variables by their gradients. The host calls it while the graph is built; no code of it
 * runs in a step.
 *
 *   create_slots -> prepare -> apply, once for each variable, in their order -> finish
 *
 * The sequence comes once per graph, with the same args; all calls are [main]. An error ends the run before its first
 * step. The instance may keep nodes that it added between these calls. destroy comes after the last call, and the nodes
 * stay.
 *   create_slots  makes the variables that the optimizer keeps, in the collection "variables". So checkpoints hold them
 *                 by their names; "dense/kernel/Momentum" is the usual name for one of "dense/kernel". The host has
 *                 entered no scope. Absent: no slots.
 *   prepare       makes nodes that all updates share. The host has entered the scope "train" here and in the two calls
 *                 below. Absent: no shared nodes.
 *   apply         adds the nodes that write variables[i] and its slots by gradients[i], i < n_variables. It sets
 *                 *update to an output of these nodes, or to their operation. After *update has run, variable and slots
 *                 are written. Mandatory.
 *   finish        adds nodes after the updates, for example the powers of Adam's betas. `updates` holds the n_variables
 *                 results of apply. It sets *more and *n_more to further operations of the step. Before the call *more
 *                 is null and *n_more is 0. The array stays the plugin's and must be valid until the instance's next
 *                 call. Nodes that must wait for the updates need control inputs from them. Absent: no further nodes.
 *   takes_sparse  sets *takes to 1 if the instance has a rule for sparse gradients; it is 0 before the call. It comes
 *                 at most once, before create_slots. Absent: 0, so each gradient is dense. Draft.
 *   apply_sparse  replaces apply for a variable whose gradient is sparse. `indices` (int64 [n]) are the ids of the
 *                 variable's rows (slices along its first dimension), ascending and each once, then -1 alone. `rows`
 *                 ([n, ...]) has the clipped gradient of each id; a row of -1 is unused. The step does not compute
 *                 gradients[i] unless a node reads it. Mandatory with takes_sparse. Draft.
 * The host increases the global step after all of these nodes. */
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
  /* Draft: the next two may change with a minor version. */
  int32_t (*takes_sparse)(void* self, int32_t* takes, belay_status* status);
  int32_t (*apply_sparse)(void* self, const belay_optimizer_args* args, uint64_t i, belay_output indices,
                          belay_output rows, belay_output* update, belay_status* status);
} belay_optimizer_api;

/* Flag of belay_schedule_args: the user has set learning_rate. Without it the field holds the host's default. */
#define BELAY_SCHEDULE_RATE_IS_GIVEN 1

/* The rate and step for a schedule. The struct is valid for the call; the outputs are valid as long as the graph. */
typedef struct belay_schedule_args {
  uint32_t struct_size;
  uint32_t flags; /* BELAY_SCHEDULE_RATE_IS_GIVEN */
  belay_graph* graph;
  double learning_rate;     /* >= 0; the initial rate */
  belay_output global_step; /* an integer scalar: the number of steps before this step */
  belay_output step;        /* the same as a float64 scalar */
} belay_schedule_args;

/* Adds the nodes that compute the learning rate of a step. The host calls it while the graph is built, once per graph;
 * no code of it runs in a step.
 *   build  sets *rate to a float32 or float64 scalar. The host has entered a scope. The host multiplies the rate by the
 *          warm-up of [optimizer.learning_rate] and rounds it to float32. An error ends the run before its first step.
 *          Mandatory. [main] */
typedef struct belay_schedule_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*build)(void* self, const belay_schedule_args* args, belay_output* rate, belay_status* status);
} belay_schedule_api;

BELAY_C_END

#endif /* BELAY_ABI_OPTIMIZER_H_ */
