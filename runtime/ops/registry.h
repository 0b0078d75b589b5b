// The operations that the engine knows, family by family.
#pragma once

#include <memory>

#include "runtime/graph/op_def.h"

namespace belay::runtime {

void add_control_ops(OpRegistry& registry);     // control.cc: constants, placeholders, identity, order
void add_variable_ops(OpRegistry& registry);    // variables.cc
void add_queue_ops(OpRegistry& registry);       // queues.cc
void add_table_ops(OpRegistry& registry);       // tables.cc: hash tables
void add_random_ops(OpRegistry& registry);      // random.cc: random numbers, dropout
void add_summary_ops(OpRegistry& registry);     // summaries.cc
void add_math_ops(OpRegistry& registry);        // math.cc: arithmetic on two operands
void add_unary_ops(OpRegistry& registry);       // unary.cc: functions of one tensor, casts, AddN
void add_compare_ops(OpRegistry& registry);     // compare.cc: comparisons, truth values, Select
void add_reduction_ops(OpRegistry& registry);   // reductions.cc: over axes, norms, broadcasting back
void add_matmul_ops(OpRegistry& registry);      // matmul.cc
void add_activation_ops(OpRegistry& registry);  // activations.cc: activations, softmax
void add_loss_ops(OpRegistry& registry);        // losses.cc: cross entropies
void add_shape_ops(OpRegistry& registry);       // shape.cc: reshaping, tensors made from shapes
void add_part_ops(OpRegistry& registry);        // parts.cc: transpose, slice, concat
void add_training_ops(OpRegistry& registry);    // training.cc: updates of variables

// All of them.
std::unique_ptr<OpRegistry> make_op_registry();

}  // namespace belay::runtime
