// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/training_end.h"

#include <fmt/core.h>

#include <filesystem>
#include <optional>
#include <variant>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Looks only at the given options.
std::optional<std::int64_t> epochs_of(const PluginUse& input) {
  for (const PluginOption& o : input.options)
    if (const auto* number = o.key == "epochs" ? std::get_if<std::int64_t>(&o.value) : nullptr) return *number;
  return std::nullopt;
}

}  // namespace

// The end is that of the training input, or an error of a hook or operation that counts as one.
std::string why_it_ended(const PreparedRun& run, const TrainingResult& result) {
  if (result.reason.kind != EndReason::Kind::kEndOfInput) return result.reason.text;
  const auto train = run.manifest.inputs.find("train");
  if (result.reason.text.find("'input/train_") == std::string::npos || train == run.manifest.inputs.end())
    return "the input ended (" + result.reason.text + ")";
  const PluginUse& use = train->second;
  std::string text = fmt::format("the input ended: [input.train] ({}, {}:{}) has no more batches",
                                 run.plugins.found().inputs.at("train").info.name,
                                 escaped(std::filesystem::path(use.at.file).filename().string()), use.at.line);
  const std::optional<std::int64_t> epochs = epochs_of(use);
  if (epochs) text += fmt::format(" after epochs = {}", *epochs);
  const std::int64_t accumulate = run.model.accumulate;
  if (result.steps == 0 && accumulate > 1) text += fmt::format(", and a step takes accumulate = {}", accumulate);
  const std::optional<std::int64_t>& last = run.manifest.run.max_steps;
  if (last && result.global_step < *last)
    text += fmt::format(", and max_steps is {}{}", *last,
                        epochs ? ": raise epochs, or leave it out" : ": raise its epochs, or give it more data");
  return text;
}

std::string untrained_text(const PreparedRun& run, const TrainingResult& result) {
  if (result.steps > 0 || result.global_step > 0 || run.host.control().stopping()) return "";
  std::string text = "nothing was trained, the run made no step: " + why_it_ended(run, result);
  if (!is_untrained(result)) return text;
  return text + "; " +
         (run.model.accumulate > 1 ? "lower [optimizer] accumulate or the input's batch_size"
                                   : "lower the input's batch_size") +
         ", or give the input more data";
}

}  // namespace belay::runtime
