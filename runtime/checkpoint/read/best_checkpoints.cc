// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/best_checkpoints.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/strict_json.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

BestList without_step(BestList list, std::int64_t step) {
  std::erase_if(list.checkpoints, [&](const BestCheckpoint& c) { return c.step == step; });
  return list;
}

BestRule best_rule(const CheckpointSettings& settings) {
  const bool by_name = settings.best_mode == BestMode::kAuto;
  const auto better = by_name
                          ? better_by_name(settings.best_metric)
                          : std::optional(settings.best_mode == BestMode::kMin ? Better::kSmaller : Better::kLarger);
  if (settings.keep_best > 0 && !better)
    fail(Code::kInvalidArgument,
         fmt::format("[B4015] {} does not show by its name which values are better: set best_mode to min or max",
                     single_quoted(settings.best_metric)));
  return {settings.keep_best, settings.best_metric, better.value_or(Better::kSmaller)};
}

BestList with_checkpoint(BestList list, const BestCheckpoint& checkpoint, const BestRule& rule) {
  list = without_step(std::move(list), checkpoint.step);
  if (!std::isfinite(checkpoint.value)) return list;
  const auto beats = [&](const BestCheckpoint& c) {
    if (checkpoint.value == c.value) return checkpoint.step < c.step;
    return rule.better == Better::kSmaller ? checkpoint.value < c.value : checkpoint.value > c.value;
  };
  list.checkpoints.insert(std::find_if(list.checkpoints.begin(), list.checkpoints.end(), beats), checkpoint);
  if (list.checkpoints.size() > static_cast<std::size_t>(rule.keep))
    list.checkpoints.resize(static_cast<std::size_t>(rule.keep));
  return list;
}

const BestCheckpoint* find_step(const BestList& list, std::int64_t step) {
  const auto found = std::find_if(list.checkpoints.begin(), list.checkpoints.end(),
                                  [&](const BestCheckpoint& c) { return c.step == step; });
  return found == list.checkpoints.end() ? nullptr : &*found;
}

// ---- as JSON ----

std::string format_best_list(const BestList& list) {
  using nlohmann::ordered_json;
  std::string text = "{\n \"metric\": " + ordered_json(list.metric).dump() + ", \"mode\": \"" +
                     (list.better == Better::kSmaller ? "min" : "max") + "\",\n \"checkpoints\": [";
  for (std::size_t i = 0; i < list.checkpoints.size(); ++i) {
    const BestCheckpoint& c = list.checkpoints[i];
    text += (i == 0 ? "\n  " : ",\n  ") +
            ordered_json{{"step", c.step}, {"value", c.value}, {"path", checkpoint_name(c.step, list.basename)}}.dump();
  }
  return text + (list.checkpoints.empty() ? "]\n}" : "\n ]\n}");
}

BestList parse_best_list(std::string_view text, const std::string& where) {
  const nlohmann::json value = parse_json(text);
  const JsonFields fields(value, where, {"metric", "mode", "checkpoints"});
  BestList list;
  list.metric = fields.text("metric");
  const std::string& mode = fields.text("mode");
  if (list.metric.empty() || (mode != "min" && mode != "max"))
    fail(Code::kDataLoss, fmt::format("[B4016] {} is no metric with min or max", fields.place("mode")));
  list.better = mode == "min" ? Better::kSmaller : Better::kLarger;
  for (const nlohmann::json& item : fields.list("checkpoints")) {
    const std::string place = fmt::format("{}[{}]", fields.place("checkpoints"), list.checkpoints.size());
    const JsonFields entry(item, place, {"step", "value", "path"});
    const BestCheckpoint checkpoint{entry.integer("step"),
                                    item["value"].is_number() ? item["value"].get<double>() : NAN};
    if (!std::isfinite(checkpoint.value))
      fail(Code::kDataLoss, fmt::format("[B4016] {} is no number", entry.place("value")));
    const auto named = parse_checkpoint_name(entry.text("path"));
    if (named && list.checkpoints.empty()) list.basename = named->basename;
    if (entry.text("path") != checkpoint_name(checkpoint.step, list.basename))
      fail(Code::kDataLoss, fmt::format("[B4016] {} is \"{}\", which is not the checkpoint of step {}",
                                        entry.place("path"), entry.text("path"), checkpoint.step));
    if (find_step(list, checkpoint.step) != nullptr)
      fail(Code::kDataLoss, fmt::format("[B4016] {} has the step of another one", place));
    list.checkpoints.push_back(checkpoint);
  }
  return list;
}

// ---- in a run directory ----

std::optional<BestList> read_best_list(const OpenDirectory& run) {
  if (!run.exists(kBestName)) return std::nullopt;
  try {
    return parse_best_list(run.read(kBestName, kMaxListBytes));
  } catch (const Error& e) {
    fail(e.code(),
         fmt::format(
             "[B4016] {}, the list of the best checkpoints, cannot be used: {}; the run writes it again when it starts",
             single_quoted(run.path() + "/" + std::string(kBestName)), e.message()));
  }
}

std::vector<BestCheckpoint> best_checkpoints(const OpenDirectory& run) {
  const std::optional<BestList> list = read_best_list(run);
  return list ? list->checkpoints : std::vector<BestCheckpoint>();
}

void check_has_best(const OpenDirectory& run, const BestList& list) {
  if (list.checkpoints.empty())
    fail(Code::kNotFound,
         fmt::format("[B4017] {} has no best checkpoint: {} was not evaluated, was not finite, or a hook has put "
                     "other weights into the place of those that were",
                     single_quoted(run.path()), escaped(list.metric)));
}

std::unique_ptr<CheckpointReader> find_best(const OpenDirectory& run, Logger& log) {
  const std::optional<BestList> list = read_best_list(run);
  if (!list)
    fail(Code::kNotFound, fmt::format("[B4017] {} has no list of its best checkpoints: set [checkpoint] keep_best",
                                      single_quoted(run.path())));
  check_has_best(run, *list);
  std::vector<std::string> reasons;
  for (const BestCheckpoint& best : list->checkpoints) {
    std::string reason;
    std::unique_ptr<CheckpointReader> reader = open_if_whole(run, checkpoint_name(best.step, list->basename), reason);
    if (reader != nullptr) return reader;
    log.warning("checkpoint", "one of the best checkpoints is damaged and stays where it is: " + reason);
    reasons.push_back(std::move(reason));
  }
  throw RestoreError(Code::kDataLoss, "[B4034] none of the best checkpoints of " + single_quoted(run.path()) +
                                          " can be restored:\n  " + joined(reasons, "\n  "));
}

}  // namespace belay::runtime
