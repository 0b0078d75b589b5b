/* SPDX-License-Identifier: Apache-2.0 */
/* Optimizers and learning-rate schedules.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_OPTIMIZER_H_
#define BELAY_ABI_OPTIMIZER_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

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

BELAY_C_END

#endif /* BELAY_ABI_OPTIMIZER_H_ */
