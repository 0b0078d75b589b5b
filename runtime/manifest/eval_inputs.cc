// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/manifest.h"

namespace belay::runtime {

bool is_eval_input(const std::string& name) { return name == "eval" || name.starts_with("eval_"); }

std::vector<std::string> eval_inputs(const Manifest& manifest) {
  if (!manifest.eval.inputs.empty()) return manifest.eval.inputs;
  std::vector<std::string> names;
  for (const auto& [name, input] : manifest.inputs)
    if (is_eval_input(name)) names.push_back(name);
  return names;
}

std::string predict_input(const Manifest& manifest) {
  if (manifest.inputs.count("predict") != 0) return "predict";
  const std::vector<std::string> evals = eval_inputs(manifest);
  return evals.empty() ? "" : evals.front();
}

std::string export_input(const Manifest& manifest) {
  return manifest.inputs.contains("train") ? "train" : predict_input(manifest);
}

}  // namespace belay::runtime
