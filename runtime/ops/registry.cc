#include "runtime/ops/registry.h"

namespace belay::runtime {

std::unique_ptr<OpRegistry> make_op_registry() {
  auto registry = std::make_unique<OpRegistry>();
  add_control_ops(*registry);
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
  add_activation_ops(*registry);
  add_loss_ops(*registry);
  add_shape_ops(*registry);
  add_part_ops(*registry);
  add_training_ops(*registry);
  return registry;
}

}  // namespace belay::runtime
