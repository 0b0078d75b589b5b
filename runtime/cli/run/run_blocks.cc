// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run/run_blocks.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/log_fields.h"
#include "belay/tensor_text.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/best_checkpoints.h"
#include "runtime/cli/run/disk_room.h"
#include "runtime/cli/text/shell_word.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/estimator/problems/input_checks.h"
#include "runtime/estimator/run/training_end.h"
#include "runtime/platform/process/build_id.h"
#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// A headline and rows of a label and a text; the same facts are fields.
class Block {
 public:
  explicit Block(std::string headline) : headline_(std::move(headline)) {}
  void row(const std::string& label, const std::string& text) {
    constexpr std::size_t kColumn = 12;
    rows_ += detail::kLogRow + label +
             std::string(std::max<std::size_t>(kColumn, label.size() + 1) - label.size(), ' ') + text;
  }
  LogFields& fields() noexcept { return fields_; }
  void say(Logger& log) const { log.info("", headline_ + rows_ + fields_.text()); }

 private:
  std::string headline_, rows_;
  LogFields fields_;
};

std::string run_time_text(double seconds) { return fixed_text(seconds, seconds < 10 ? 2 : 1) + " s"; }

// The last part of a path.
std::string name_in(const std::string& path) { return escaped(path.substr(path.rfind('/') + 1)); }

// ---- the beginning ----

void add_model(const PreparedRun& run, Block& block) {
  const NodeGraph& graph = run.model.graph;
  std::int64_t parameters = 0;
  const std::vector<Port>& variables = graph.collection(collections::kTrainableVariables);
  for (const Port& p : variables) parameters += graph.spec(p).second.elements();
  const std::string& model = run.plugins.found().model->info.name;
  block.row("model", model + ", " + count_text(parameters, "trainable parameter") + " in " +
                         count_text(static_cast<std::int64_t>(variables.size()), "variable"));
  block.fields().add("model", model);
  block.fields().add("parameters", parameters);
}

// First-party inputs have the same name for this option; 0: this input does not have it.
std::int64_t batch_size(const ResolvedPlugin& input, const PluginUse& section) {
  const OptionInfo* option = input.info.option("batch_size");
  std::optional<OptionValue> value = option == nullptr ? std::nullopt : option->default_value;
  for (const PluginOption& o : section.options)
    if (o.key == "batch_size") value = o.value;
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number == nullptr ? 0 : *number;
}

void add_data(const PreparedRun& run, Block& block) {
  const ResolvedPlugin& input = run.plugins.found().inputs.at("train");
  const std::int64_t batch = batch_size(input, run.manifest.inputs.at("train"));
  const std::int64_t examples = run.input("train")->feed->size();
  const std::int64_t accumulate = run.model.accumulate;
  std::string text = input.info.name;
  if (examples >= 0) text += ", " + count_text(examples, "example");
  if (batch > 0) text += fmt::format(", batches of {}", batch);
  if (batch > 0 && examples >= 0) text += fmt::format(", {} an epoch", (examples + batch - 1) / batch);
  if (accumulate > 1) text += fmt::format(", {} of them a step", accumulate);
  block.row("data", text);
  if (const Schema* schema = run.schema.learned().get())
    for (const auto& [what, words] : schema_rows(*schema))
      if (!what.starts_with("fitted")) block.row(what, words);
  if (examples >= 0) block.fields().add("examples", examples);
  if (batch > 0) block.fields().add("batch_size", batch);
}

void add_optimizer(const PreparedRun& run, Block& block) {
  const ResolvedPlugins& found = run.plugins.found();
  const LearningRate& rate = run.manifest.optimizer.learning_rate;
  std::string text = found.optimizer ? found.optimizer->info.name : std::string("the model's");
  text += ", learning rate " + rounded_text(rate.number());
  if (found.schedule) text += ", schedule " + found.schedule->info.name;
  if (rate.warmup_steps > 0) text += ", warm-up of " + count_text(rate.warmup_steps, "step");
  block.row("optimizer", text);
  if (found.optimizer) block.fields().add("optimizer", found.optimizer->info.name);
  block.fields().add("learning_rate", rate.number());
}

void add_machine(const PreparedRun& run, Block& block) {
  const DirectSessionOptions& session = run.host.environment().session;
  block.row("machine", fmt::format("{}, {}, seed {}", count_text(session.threads, "thread"), isa_text(), session.seed));
  block.fields().add("threads", static_cast<std::int64_t>(session.threads));
  block.fields().add("isa", isa_text());
  block.fields().add("seed", static_cast<std::int64_t>(session.seed));
}

void add_disk(const PreparedRun& run, const DiskRoom& room, Block& block) {
  if (!run.host.has_directory()) return block.row("disk", "no [run] dir: nothing is kept");
  std::string text = "a checkpoint takes " + bytes_text(room.checkpoint);
  text += room.kept > 0 ? fmt::format(", {} are kept: {}", room.kept,
                                      bytes_text(room.checkpoint * static_cast<std::uint64_t>(room.kept)))
                        : std::string(", all are kept");
  block.fields().add("checkpoint_bytes", static_cast<std::int64_t>(room.checkpoint));
  if (room.free) text += "; " + bytes_text(*room.free) + " are free";
  if (room.free) block.fields().add("free_disk_bytes", static_cast<std::int64_t>(*room.free));
  block.row("disk", text);
}

// A session usually begins with a save. After it the memory of hooks is known.
void add_memory(const RunHost& host, Block& block) {
  const std::shared_ptr<RunSaver>& saver = host.saver();
  const RunSaver::Memory memory = saver == nullptr ? RunSaver::Memory() : saver->memory();
  if (memory.copy + memory.hooks == 0) return;
  std::string text = "saving takes " + bytes_text(memory.copy + memory.hooks) + " more, for a copy of the variables";
  if (memory.hooks > 0) text += ", and " + bytes_text(memory.hooks) + " that hooks keep";
  block.row("memory", text);
  block.fields().add("save_copy_bytes", static_cast<std::int64_t>(memory.copy));
  block.fields().add("hook_state_bytes", static_cast<std::int64_t>(memory.hooks));
}

// "model.ckpt-50, 3 min old"
std::string from_text(PreparedRun& run, const std::string& path) {
  std::string text = name_in(path);
  try {
    const std::int64_t age = run.host.clock().wall_ns() - run.host.files().status(path).modified_ns;
    text += ", " + age_text(age) + " old";
  } catch (const Error&) {
    // The checkpoint was moved away meanwhile.
  }
  return text;
}

}  // namespace

void say_begin(PreparedRun& run, const std::string& ends, Logger& log) {
  const RunHost& host = run.host;
  const std::shared_ptr<RunSaver>& saver = host.saver();
  const bool restored = saver != nullptr && !run.begins_anew && !saver->saved_path().empty();
  std::string headline = fmt::format("attempt {}: ", host.attempt());
  if (!restored)
    headline += "a new training";
  else
    headline += (ends.empty() ? "continues from " : "restored ") + from_text(run, saver->saved_path());
  if (!run.strategy->chief())
    headline = fmt::format("rank {} of {}: training begins with the weights of rank 0", run.strategy->rank(),
                           run.strategy->size());
  const std::optional<std::int64_t>& last = run.manifest.run.max_steps;
  if (!ends.empty())
    headline += ", and makes no step: " + ends;
  else
    headline += last ? fmt::format(", to step {}", *last) : ", until the input ends";
  Block block(headline);
  block.fields().add("event", "begin");
  block.fields().add("attempt", host.attempt());
  if (restored) block.fields().add("restored", saver->saved_path());
  if (last) block.fields().add("max_steps", *last);
  add_model(run, block);
  add_data(run, block);
  add_optimizer(run, block);
  add_machine(run, block);
  if (!run.strategy->chief()) return block.say(log);
  const DiskRoom room = disk_room(run);
  add_disk(run, room, block);
  add_memory(host, block);
  block.say(log);
  if (const std::string tight = tight_disk(room); !tight.empty()) log.warning("", tight);
}

// ---- the end ----

namespace {

std::string last_checkpoint(const TrainingResult& result) {
  if (!result.moved) return escaped(result.checkpoint);
  const std::size_t name = result.checkpoint.rfind('/') + 1;
  return escaped(result.checkpoint.substr(name)) + ", which is in the run directory, but that was moved away from " +
         escaped(result.checkpoint.substr(0, name - 1));
}

void add_best(PreparedRun& run, Block& block) {
  if (run.manifest.checkpoint.keep_best == 0 || !run.host.has_directory()) return;
  try {
    const std::optional<BestList> list = read_best_list(run.host.directory());
    if (!list || list->checkpoints.empty()) return;
    const BestCheckpoint& best = list->checkpoints.front();
    const std::string name = checkpoint_name(best.step, list->basename);
    block.row("best", name + ", " + escaped(list->metric) + " = " + rounded_text(best.value));
    block.fields().add("best_checkpoint", name);
    block.fields().add("best_value", best.value);
  } catch (const Error&) {
    // Other readers of the list report the error.
  }
}

void add_times(const TrainingResult& result, Block& block) {
  if (result.seconds > 0 && result.steps > 0) {
    const double rate = static_cast<double>(result.steps) / result.seconds;
    block.row("speed", rounded_text(rate, 4) + " steps/s, saving and evaluations included");
    block.fields().add("steps_per_sec", rate);
  }
  constexpr std::int64_t kEnoughLooks = 20;
  const Shares& shares = result.shares;
  if (shares.looks < kEnoughLooks) return;
  block.row("time", shares.text());
  LogFields parts;
  parts.add("training", shares.of(Activity::kComputing));
  parts.add("input_wait", shares.of(Activity::kInputWait));
  parts.add("hooks", shares.of_hooks());
  parts.add("saving", shares.of(Activity::kSaving));
  parts.add("evaluation", shares.of(Activity::kEvaluating));
  parts.add("other_ranks", shares.of(Activity::kOtherRanks));
  block.fields().add_json("time_shares", parts.json());
  if (const auto slowest = shares.slowest_hook()) block.fields().add("slowest_hook", slowest->first);
}

const std::string& hook_name(const PluginUse& hook) { return hook.name.empty() ? hook.plugin : hook.name; }

bool is_set(const PluginUse& use, const std::string& key, bool by_default) {
  for (const PluginOption& o : use.options)
    if (const auto* value = o.key == key ? std::get_if<bool>(&o.value) : nullptr) return *value;
  return by_default;
}

// Returns the condition under which the hook also ends the next start before its first step. Empty: it does not, as far
// as is known here.
std::string what_stops_again(const PluginUse& hook) {
  const std::string &plugin = hook.plugin, &name = hook_name(hook);
  if (plugin == "early_stopping" || plugin == "threshold_stop" ||
      (plugin == "time_limit" && is_set(hook, "count_earlier_attempts", true)) ||
      (plugin == "limit_batches" && is_set(hook, "count_earlier_attempts", false)))
    return "unless " + name + " is changed: its state is saved";
  if (plugin == "stop_at_checkpoint_step" || (plugin == "stop_file" && !is_set(hook, "remove", true)))
    return "as long as what " + name + " looks for is there";
  return "";
}

std::string what_stops_again(const PreparedRun& run, const TrainingResult& result) {
  if (result.reason.kind != EndReason::Kind::kStopRequested || run.host.control().stopping()) return "";
  for (const PluginUse& hook : run.manifest.hooks)
    if (result.reason.text.starts_with(hook_name(hook) + ": ")) return what_stops_again(hook);
  return "";
}

// Adds the steps that the next start makes again, if the last save failed.
void add_unsaved(PreparedRun& run, const TrainingResult& result, Block& block) {
  if (result.save_error.empty() || run.host.saver() == nullptr) return;
  const std::int64_t saved = run.host.saver()->saved_step();
  const std::int64_t unsaved = result.global_step - std::max<std::int64_t>(saved, 0);
  if (unsaved <= 0) return;
  block.row("not saved",
            "the last " + count_text(unsaved, "step") + ": " +
                (saved < 0 ? "there is no checkpoint" : fmt::format("the newest checkpoint is of step {}", saved)));
  block.fields().add("unsaved_steps", unsaved);
}

std::string next_start(const PreparedRun& run, const TrainingResult& result) {
  const std::optional<std::int64_t>& last = run.manifest.run.max_steps;
  if (result.checkpoint.empty()) return "begins at step 0: nothing was saved";
  if (last && result.global_step >= *last && result.save_error.empty())
    return fmt::format("trains no further: raise [run] max_steps above {}, or give --from-scratch", *last);
  if (result.reason.kind == EndReason::Kind::kEndOfInput && result.save_error.empty())
    return "trains no further unless the input has more: raise its epochs, or give --from-scratch";
  if (const std::string again = what_stops_again(run, result); !again.empty() && result.save_error.empty())
    return "trains no further " + again + "; or give --from-scratch";
  return "continues from " + name_in(result.checkpoint);
}

// Whether `belay predict` with the same manifest and settings comes to an end.
bool can_predict(const PreparedRun& run) {
  const Manifest& manifest = run.manifest;
  if (!manifest.predict.prompt.empty()) return true;
  const std::string input = predict_input(manifest);
  return !input.empty() && !never_ends(run.plugins.found().inputs.at(input), manifest.inputs.at(input));
}

// Returns the given manifests and settings, for a shell. The command has the mode.
std::string same_arguments(const ManifestArguments& given) {
  std::string text;
  for (const std::string& manifest : given.manifests) text += " " + shell_word(manifest);
  for (const std::string& set : given.sets)
    if (!set.starts_with("run.mode")) text += " --set " + shell_word(set);
  return text;
}

void add_next(const PreparedRun& run, const TrainingResult& result, const ManifestArguments* given, Block& block) {
  if (given == nullptr) return block.row("kept", "nothing: --short removes its directory");
  block.row("next start", next_start(run, result));
  if (result.checkpoint.empty()) return;
  std::string commands;
  // Standard input can be read only once.
  if (std::ranges::count(given->manifests, "-") == 0) {
    if (!eval_inputs(run.manifest).empty()) commands += "belay evaluate" + same_arguments(*given) + "; ";
    if (can_predict(run)) commands += "belay predict" + same_arguments(*given) + "; ";
  }
  block.row("try", commands + "belay report " + shell_word(run.manifest.run.dir));
}

}  // namespace

void say_end(PreparedRun& run, const TrainingResult& result, const ManifestArguments* given, Logger& log) {
  log.status_line("");
  const std::string why = why_it_ended(run, result);
  Block block(fmt::format(
      "ended at step {} ({} steps in {}): {}{}{}", result.global_step, result.steps, run_time_text(result.seconds), why,
      result.checkpoint.empty() || given == nullptr ? "" : "; last checkpoint " + last_checkpoint(result),
      result.recoveries == 0 ? "" : "; " + std::to_string(result.recoveries) + " recoveries"));
  block.fields().add("event", "end");
  block.fields().add("step", result.global_step);
  block.fields().add("steps", result.steps);
  block.fields().add("seconds", result.seconds);
  block.fields().add("reason", why);
  block.fields().add("attempt", run.host.attempt());
  if (!result.checkpoint.empty() && given != nullptr) block.fields().add("checkpoint", result.checkpoint);
  add_best(run, block);
  add_times(result, block);
  if (run.strategy->chief() && given != nullptr) add_unsaved(run, result, block);
  if (run.strategy->chief()) add_next(run, result, given, block);
  block.say(log);
}

void say_what_is_kept(PreparedRun& run, Logger& log) {
  if (run.host.lock_lost() || !run.strategy->chief()) return;
  log.info("", run.host.control().what_is_kept());
}

void say_how_to_search(PreparedRun& run, const std::string& error, Logger& log) {
  if (run.host.lock_lost() || !run.host.has_directory()) return;
  for (const PluginUse& hook : run.manifest.hooks)
    if ((hook.plugin == "threshold_stop" || hook.plugin == "spike_detection") &&
        error.starts_with("hook \"" + hook_name(hook) + "\" ("))
      return;  // the numbers are large, and finite
  log.info("", "find the first value that is not finite with: belay replay " + shell_word(run.manifest.run.dir) +
                   " --first-non-finite");
}

}  // namespace belay::runtime
