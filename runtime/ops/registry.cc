// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/registry.h"

#include "runtime/ops/training/rank_ops.h"

namespace belay::runtime {

std::unique_ptr<OpRegistry> make_op_registry() {
  auto registry = std::make_unique<OpRegistry>();
  add_control_ops(*registry);
  add_control_flow_ops(*registry);
  add_variable_ops(*registry);
  add_queue_ops(*registry);
  add_table_ops(*registry);
  add_random_ops(*registry);
  add_summary_ops(*registry);
  add_math_ops(*registry);
  add_unary_ops(*registry);
  add_compare_ops(*registry);
  add_reduction_ops(*registry);
  add_matmul_ops(*registry);
  add_batch_matmul_ops(*registry);
  add_gather_ops(*registry);
  add_sparse_ops(*registry);
  add_layer_norm_ops(*registry);
  add_lstm_ops(*registry);
  add_gru_ops(*registry);
  add_attention_ops(*registry);
  add_convolution_ops(*registry);
  add_pooling_ops(*registry);
  add_batch_norm_ops(*registry);
  add_activation_ops(*registry);
  add_gelu_ops(*registry);
  add_loss_ops(*registry);
  add_shape_ops(*registry);
  add_part_ops(*registry);
  add_strided_slice_ops(*registry);
  add_sorting_ops(*registry);
  add_step_mean_ops(*registry);
  add_rank_ops(*registry);
  add_training_ops(*registry);
  return registry;
}

}  // namespace belay::runtime
