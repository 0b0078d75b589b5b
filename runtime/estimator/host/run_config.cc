// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/run_config.h"

#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

void need(bool holds, const char* option, const std::string& wanted, const std::string& got) {
  if (!holds)
    fail(Code::kInvalidArgument, std::string("[B5051] RunConfig: ") + option + " must be " + wanted + ", got " + got);
}

template <class T>
void need_not_negative(const char* option, const std::optional<T>& value) {
  if (value) need(*value >= 0, option, "at least 0", std::to_string(*value));
}

template <class T>
void need_positive(const char* option, const std::optional<T>& value) {
  if (value) need(*value > 0, option, "above 0", std::to_string(*value));
}

}  // namespace

RunConfig::RunConfig(RunConfigOptions options, const Environment& environment)
    : RunConfig(std::move(options), task_of(environment)) {}

RunConfig::RunConfig(RunConfigOptions options, Task task) : options_(std::move(options)), task_(std::move(task)) {
  check();
  settle();
}

void RunConfig::check() const {
  const RunConfigOptions& o = options_;
  if (!o.model_dir.empty() && !task_.model_dir.empty() && o.model_dir != task_.model_dir)
    fail(Code::kInvalidArgument, "[B5051] RunConfig: model_dir is '" + escaped(o.model_dir) + "', and in " +
                                     task_.variable + " it is '" + escaped(task_.model_dir) +
                                     "'; leave one of them out");
  need_not_negative("save_summary_steps", o.save_summary_steps);
  need_not_negative("save_checkpoints_steps", o.save_checkpoints_steps.value());
  need_not_negative("save_checkpoints_secs", o.save_checkpoints_secs.value());
  if (o.save_checkpoints_steps.value() && o.save_checkpoints_secs.value())
    fail(Code::kInvalidArgument,
         "[B5051] RunConfig: save_checkpoints_steps and save_checkpoints_secs are both given; leave one of them out");
  need_not_negative("keep_checkpoint_max", o.keep_checkpoint_max);
  need_positive("keep_checkpoint_every_n_hours", o.keep_checkpoint_every_n_hours);
  need_positive("log_step_count_steps", o.log_step_count_steps);
  need_positive("session_creation_timeout_secs", o.session_creation_timeout_secs);
  need(o.threads >= 0, "threads", "at least 0", std::to_string(o.threads));
}

void RunConfig::settle() {
  constexpr double kSaveSecs = 600;
  if (options_.model_dir.empty()) options_.model_dir = task_.model_dir;
  save_steps_ = options_.save_checkpoints_steps.value();
  save_secs_ = options_.save_checkpoints_secs.value();
  if (!options_.save_checkpoints_steps.given() && !options_.save_checkpoints_secs.given()) save_secs_ = kSaveSecs;
}

RunConfig RunConfig::replace(const std::function<void(RunConfigOptions&)>& change) const {
  RunConfigOptions changed = options_;
  // The periods are set as they are, so a default that is switched off does not come back.
  changed.save_checkpoints_steps = save_steps_ ? Period<std::int64_t>(*save_steps_) : std::nullopt;
  changed.save_checkpoints_secs = save_secs_ ? Period<double>(*save_secs_) : std::nullopt;
  const RunConfigOptions before = changed;
  change(changed);
  const bool steps = changed.save_checkpoints_steps != before.save_checkpoints_steps;
  const bool secs = changed.save_checkpoints_secs != before.save_checkpoints_secs;
  if (steps && !secs && changed.save_checkpoints_steps.value()) changed.save_checkpoints_secs = std::nullopt;
  if (secs && !steps && changed.save_checkpoints_secs.value()) changed.save_checkpoints_steps = std::nullopt;
  return RunConfig(std::move(changed), task_);
}

}  // namespace belay::runtime
