// SPDX-License-Identifier: Apache-2.0
// The operations of the engine, family by family.
#pragma once

#include <memory>

#include "runtime/graph/op_def.h"

namespace belay::runtime {

void add_control_ops(OpRegistry& registry);        // control.cc: constants, placeholders, identity, order
void add_control_flow_ops(OpRegistry& registry);   // control_flow.cc: Cond, While
void add_variable_ops(OpRegistry& registry);       // variables.cc
void add_queue_ops(OpRegistry& registry);          // queues.cc
void add_table_ops(OpRegistry& registry);          // tables.cc: hash tables
void add_random_ops(OpRegistry& registry);         // random.cc: random numbers, dropout
void add_summary_ops(OpRegistry& registry);        // summaries.cc
void add_math_ops(OpRegistry& registry);           // math.cc: arithmetic on two operands
void add_unary_ops(OpRegistry& registry);          // unary.cc: functions of one tensor, casts, AddN
void add_compare_ops(OpRegistry& registry);        // compare.cc: comparisons, booleans, Select
void add_reduction_ops(OpRegistry& registry);      // reductions.cc: over axes, norms, broadcasting back
void add_matmul_ops(OpRegistry& registry);         // matmul.cc
void add_batch_matmul_ops(OpRegistry& registry);   // batch_matmul.cc
void add_gather_ops(OpRegistry& registry);         // gather.cc: slices by indices, and back
void add_sparse_ops(OpRegistry& registry);         // indexed_slices.cc: the gradient of gathers as rows
void add_lstm_ops(OpRegistry& registry);           // lstm.cc
void add_gru_ops(OpRegistry& registry);            // gru.cc
void add_attention_ops(OpRegistry& registry);      // attention.cc
void add_layer_norm_ops(OpRegistry& registry);     // layer_norm.cc
void add_convolution_ops(OpRegistry& registry);    // convolution.cc
void add_pooling_ops(OpRegistry& registry);        // pooling.cc
void add_batch_norm_ops(OpRegistry& registry);     // batch_norm.cc
void add_activation_ops(OpRegistry& registry);     // activations.cc: activations, softmax
void add_gelu_ops(OpRegistry& registry);           // gelu.cc
void add_loss_ops(OpRegistry& registry);           // losses.cc: cross entropies
void add_shape_ops(OpRegistry& registry);          // shape.cc: reshaping, tensors made from shapes
void add_part_ops(OpRegistry& registry);           // parts.cc: transpose, slice, concat
void add_strided_slice_ops(OpRegistry& registry);  // strided_slice.cc: strided slice, pad, tile
void add_sorting_ops(OpRegistry& registry);        // sorting.cc: top k, cumulative sums
void add_step_mean_ops(OpRegistry& registry);      // mean_over_batches.cc
void add_slices_of_step_op(OpRegistry& registry);  // rows_of_step.cc; add_step_mean_ops calls it
void add_training_ops(OpRegistry& registry);       // training.cc: updates of variables

// Makes a registry with all of them.
std::unique_ptr<OpRegistry> make_op_registry();

}  // namespace belay::runtime
