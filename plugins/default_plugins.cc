// SPDX-License-Identifier: Apache-2.0
#include "plugins/default_plugins.h"

extern "C" {
extern const belay_module belay_module_adagrad;
extern const belay_module belay_module_adam;
extern const belay_module belay_module_adamw;
extern const belay_module belay_module_assign;
extern const belay_module belay_module_checkpoint_saver;
extern const belay_module belay_module_constant;
extern const belay_module belay_module_cosine_decay;
extern const belay_module belay_module_early_stopping;
extern const belay_module belay_module_embedding_file;
extern const belay_module belay_module_exponential_decay;
extern const belay_module belay_module_feed_fn;
extern const belay_module belay_module_final_ops;
extern const belay_module belay_module_ftrl;
extern const belay_module belay_module_global_step_waiter;
extern const belay_module belay_module_inverse_time_decay;
extern const belay_module belay_module_json_lines;
extern const belay_module belay_module_logging_tensor;
extern const belay_module belay_module_momentum;
extern const belay_module belay_module_nan_tensor;
extern const belay_module belay_module_natural_exp_decay;
extern const belay_module belay_module_npz;
extern const belay_module belay_module_onnx;
extern const belay_module belay_module_piecewise_constant;
extern const belay_module belay_module_polynomial_decay;
extern const belay_module belay_module_profiler;
extern const belay_module belay_module_progress;
extern const belay_module belay_module_rmsprop;
extern const belay_module belay_module_safetensors;
extern const belay_module belay_module_safetensors_exporter;
extern const belay_module belay_module_sgd;
extern const belay_module belay_module_step_counter;
extern const belay_module belay_module_stop_after_n_evals;
extern const belay_module belay_module_stop_at_checkpoint_step;
extern const belay_module belay_module_stop_at_step;
extern const belay_module belay_module_summary_at_end;
extern const belay_module belay_module_summary_saver;
extern const belay_module belay_module_tf_bundle;
extern const belay_module belay_module_time_limit;
extern const belay_module belay_module_warm_start;
}

namespace belay {

std::vector<const belay_module*> default_plugins() {
  return {&belay_module_adagrad,
          &belay_module_adam,
          &belay_module_adamw,
          &belay_module_assign,
          &belay_module_checkpoint_saver,
          &belay_module_constant,
          &belay_module_cosine_decay,
          &belay_module_early_stopping,
          &belay_module_embedding_file,
          &belay_module_exponential_decay,
          &belay_module_feed_fn,
          &belay_module_final_ops,
          &belay_module_ftrl,
          &belay_module_global_step_waiter,
          &belay_module_inverse_time_decay,
          &belay_module_json_lines,
          &belay_module_logging_tensor,
          &belay_module_momentum,
          &belay_module_nan_tensor,
          &belay_module_natural_exp_decay,
          &belay_module_npz,
          &belay_module_onnx,
          &belay_module_piecewise_constant,
          &belay_module_polynomial_decay,
          &belay_module_profiler,
          &belay_module_progress,
          &belay_module_rmsprop,
          &belay_module_safetensors,
          &belay_module_safetensors_exporter,
          &belay_module_sgd,
          &belay_module_step_counter,
          &belay_module_stop_after_n_evals,
          &belay_module_stop_at_checkpoint_step,
          &belay_module_stop_at_step,
          &belay_module_summary_at_end,
          &belay_module_summary_saver,
          &belay_module_tf_bundle,
          &belay_module_time_limit,
          &belay_module_warm_start};
}

}  // namespace belay
