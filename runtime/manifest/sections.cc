// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/sections.h"

#include <fmt/core.h>

#include <algorithm>

#include "belay/better.h"
#include "belay/nearest.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kMaxThreads = 1024;
constexpr std::int64_t kMaxPrefetch = 1024;
constexpr std::int64_t kMaxAccumulated = 1 << 20;
constexpr std::int64_t kMaxClasses = 4096;  // makes a matrix of 128 MiB
constexpr std::int64_t kMaxThresholds = 100000;
constexpr NumberRange kSeconds{.min = 0, .max = 1e9};      // about 30 years; as nanoseconds it fits into 64 bits
constexpr NumberRange kFactor{.min = 0, .float32 = true};  // for gradients and variables
constexpr NumberRange kLongerThanNoTime{.min = 0, .max = 1e9, .without_min = true};

std::vector<std::string> run_modes() {  // in RunMode's order
  return {"train", "evaluate", "predict", "train_and_evaluate", "continuous_eval", "export"};
}

void visit_learning_rate(Fields& f, LearningRate& rate) {
  f.text("schedule", rate.schedule, "");
  f.path("file", rate.file, "found by its name");
  f.check(rate.is_scheduled(), "schedule", "[B1033] the table of a learning rate needs a schedule",
          "write schedule = \"NAME\"; `belay plugins` lists the names");
  f.number("learning_rate", rate.learning_rate, kFactor, "0.001");
  f.integer("warmup_steps", rate.warmup_steps, {.min = 0});
  f.options(rate.options);
}

void visit_group(Fields& f, VariableGroup& group) {
  f.text("vars", group.vars, "");
  f.check(!group.vars.empty(), "vars", "[B1033] a group of variables needs vars",
          "give a pattern of their names: vars = \"conv*\"");
  f.number("learning_rate_scale", group.learning_rate_scale, kFactor);
  f.number("clip_norm", group.clip_norm, kFactor, "as in [optimizer]");
  f.integer("from_step", group.from_step, {.min = 0});
  f.check(!group.frozen() || group.from_step == 0, "from_step",
          "[B1032] from_step is for groups that are trained, and learning_rate_scale = 0 freezes this one for ever",
          "take one of the two away");
  f.options(group.options);
}

std::vector<std::string> metric_kinds() {
  return {"accuracy",
          "mean",
          "auc",
          "precision",
          "recall",
          "confusion_matrix",
          "mean_squared_error",
          "root_mean_squared_error",
          "mean_absolute_error",
          "in_top_k",
          "perplexity",
          "true_positives",
          "true_negatives",
          "false_positives",
          "false_negatives"};
}

// Returns "loss" for Keras's "val_loss".
std::string without_data(const std::string& metric) {
  for (const std::string_view data : {"val_", "valid_", "validation_", "eval_", "test_"})
    if (metric.starts_with(data)) return metric.substr(data.size());
  return metric;
}

// Visits the name of a tensor that metrics of these kinds need.
void visit_tensor(Fields& f, const char* key, TensorName& tensor, const std::string& kind, bool applies,
                  const char* owner) {
  f.only_for("kind", owner, applies);
  f.text(key, tensor.name, "");
  f.check(kind.empty() || !applies || !tensor.name.empty(), key,
          fmt::format("[B1033] kind = \"{}\" needs {}", kind, key),
          fmt::format("give the name of a tensor: {} = \"NAME\"; `belay graph` lists them", key));
}

}  // namespace

void visit(Fields& f, RunSettings& run) {
  f.choice("mode", run.mode, run_modes());
  f.text("checkpoint", run.checkpoint, "");
  f.path("dir", run.dir, "nothing is kept");
  f.integer("max_steps", run.max_steps, {.min = 1}, "until the input ends");
  f.integer("min_steps", run.min_steps, {.min = 0});
  f.check(
      !run.max_steps || run.min_steps <= *run.max_steps, "min_steps",
      fmt::format("[B1032] run.min_steps = {} is above run.max_steps = {}", run.min_steps, run.max_steps.value_or(0)),
      "lower it, or raise max_steps");
  std::int64_t seed = static_cast<std::int64_t>(run.seed);
  f.integer("seed", seed, {.min = 0});
  run.seed = static_cast<std::uint64_t>(seed);
  f.integer("threads", run.threads, {.min = 0, .max = kMaxThreads});
}

void visit(Fields& f, PluginsSection& plugins) { f.paths("path", plugins.path); }

void visit(Fields& f, OptimizerSettings& optimizer) {
  LearningRate& rate = optimizer.learning_rate;
  const std::string otherwise = optimizer.file.empty() ? "sgd" : "";
  std::string name = optimizer.name.empty() ? otherwise : optimizer.name;
  f.text("name", name, "that of the file");
  if (name != otherwise) optimizer.name = name;
  f.path("file", optimizer.file, "found by its name");
  bool is_scheduled = rate.is_scheduled();
  double number = rate.number();
  f.number_or_table("learning_rate", number, kFactor, is_scheduled,
                    [&](Fields& members) { visit_learning_rate(members, rate); });
  if (!is_scheduled && number != rate.number()) rate.learning_rate = number;
  f.number("clip_norm", optimizer.clip_norm, kFactor);
  f.number("clip_value", optimizer.clip_value, kFactor);
  f.integer("accumulate", optimizer.accumulate, {.min = 1, .max = kMaxAccumulated});
  f.tables("groups", optimizer.groups.size(), [&](Fields& members, std::size_t i) {
    if (i >= optimizer.groups.size()) optimizer.groups.resize(i + 1);
    visit_group(members, optimizer.groups[i]);
  });
  f.options(optimizer.options);
}

void visit(Fields& f, CheckpointSettings& checkpoint) {
  f.number("save_secs", checkpoint.save_secs, kSeconds, "600 where save_steps is not set either");
  f.integer("save_steps", checkpoint.save_steps, {.min = 0}, "off");
  f.choice("save", checkpoint.save, {"async", "sync"});
  f.text("basename", checkpoint.basename, "");
  f.check(is_checkpoint_basename(checkpoint.basename), "basename",
          fmt::format("[B1034] checkpoint.basename = \"{}\" cannot be a checkpoint's name", checkpoint.basename),
          "take one part of a path, of at most 200 bytes and other than \"before\"");
  f.integer("max_to_keep", checkpoint.max_to_keep, {.min = 0});
  f.number("keep_every_hours", checkpoint.keep_every_hours, {.min = 0});
  f.integer("keep_every_steps", checkpoint.keep_every_steps, {.min = 0});
  f.choice("on_save_error", checkpoint.on_save_error, {"continue", "pause", "stop"});
  f.integer("save_failures", checkpoint.save_failures, {.min = 1});
  f.boolean("save_on_exception", checkpoint.save_on_exception);
  f.boolean("refuse_non_finite", checkpoint.refuse_non_finite);
  f.integer("keep_best", checkpoint.keep_best, {.min = 0});
  const std::string& metric = checkpoint.best_metric;
  f.text("best_metric", checkpoint.best_metric, "");
  f.choice("best_mode", checkpoint.best_mode, {"auto", "min", "max"});
  f.check(!evaluation_input_of(metric).empty(), "best_metric",
          fmt::format("[B1035] checkpoint.best_metric is a metric of an evaluation, found \"{}\"", metric),
          metric.find('/') == metric.npos ? fmt::format("did you mean \"eval/{}\"?", without_data(metric))
                                          : "it begins with the input's name: \"eval/loss\", \"eval_NAME/accuracy\"");
  const std::string known =
      nearest(metric.substr(metric.find('/') + 1),
              std::vector<std::string>{"loss", "accuracy", "auc", "precision", "recall", "perplexity"});
  f.check(
      checkpoint.best_mode != BestMode::kAuto || better_by_name(metric).has_value(), "best_metric",
      fmt::format("[B1036] checkpoint.best_metric = \"{}\" does not show by its name which values are better", metric),
      known.empty() ? "add best_mode = \"min\" or best_mode = \"max\""
                    : fmt::format("did you mean \"{}{}\"? Else add best_mode = \"min\" or \"max\"",
                                  metric.substr(0, metric.find('/') + 1), known));
}

void visit(Fields& f, EvalSettings& eval) {
  f.integer("every_steps", eval.every_steps, {.min = 0}, "off");
  f.number("every_secs", eval.every_secs, kSeconds, "off");
  f.boolean("at_checkpoint", eval.at_checkpoint);
  f.names("inputs", eval.inputs);
  f.integer("batches", eval.batches, {.min = 0});
  f.number("start_delay_secs", eval.start_delay_secs, kSeconds);
  f.number("throttle_secs", eval.throttle_secs, kSeconds);
  f.number("timeout_secs", eval.timeout_secs, kSeconds, "as long as it takes");
  f.boolean("at_start", eval.at_start);
  f.choice("on_error", eval.on_error, {"stop", "continue"});
}

void visit(Fields& f, PredictSettings& predict) {
  f.names("keys", predict.keys);
  f.word("format", predict.format, {"auto", "jsonl", "csv", "npy"});
  f.path("output", predict.output, "stdout");
  f.text("prompt", predict.prompt, "no text is sampled");
  f.integer("length", predict.length, {.min = 1});
  f.number("temperature", predict.temperature, {.min = 0});
  f.integer("seed", predict.seed, {.min = 0});
}

void visit(Fields& f, SessionSettings& session) {
  f.integer("save_summaries_steps", session.save_summaries_steps, {.min = 0},
            "100 where save_summaries_secs is not set either");
  f.number("save_summaries_secs", session.save_summaries_secs, kSeconds, "off");
  f.number("events_flush_secs", session.events_flush_secs, kSeconds);
  f.integer("log_step_count_steps", session.log_step_count_steps, {.min = 0});
  f.number("stop_grace_period_secs", session.stop_grace_period_secs, kSeconds);
  f.number("signal_grace_secs", session.signal_grace_secs, kSeconds);
  f.number("no_progress_secs", session.no_progress_secs, kSeconds);
  f.integer("max_recoveries", session.max_recoveries, {.min = 0});
  f.number("recovery_backoff_secs", session.recovery_backoff_secs, kSeconds);
  f.names("hooks_on_all_ranks", session.hooks_on_all_ranks);
  f.choice("precision", session.precision, {"float32", "bf16"});
}

void visit(Fields& f, MetricSection& metric) {
  f.word("kind", metric.kind, metric_kinds());
  f.check(!metric.kind.empty(), "kind", "[B1033] a metric needs a kind", "give one of " + joined(metric_kinds()));
  f.text("name", metric.name, "the kind");
  f.check(metric.name.empty() || is_instance_name(metric.name), "name",
          "[B1024] the name of a metric has letters, digits, '_', '-' and '.', at most 63", "give it another name");
  f.check(metric.name != "loss" && metric.name != "global_step", "name",
          fmt::format("[B1025] every evaluation reports {} already", metric.name), "give the metric another name");
  // Without a kind all keys pass, so that one problem does not cause many.
  const auto is = [&](const char* kind) { return metric.kind.empty() || metric.kind == kind; };
  const bool of_values = is("mean") || is("perplexity"), of_labels = metric.kind.empty() || !of_values;
  visit_tensor(f, "labels", metric.labels, metric.kind, of_labels, "the kinds that compare labels with predictions");
  visit_tensor(f, "predictions", metric.predictions, metric.kind, of_labels,
               "the kinds that compare labels with predictions");
  visit_tensor(f, "values", metric.values, metric.kind, of_values, "mean and perplexity");
  f.only_for("", "", true);
  f.text("weights", metric.weights.name, "each element counts 1");
  const bool booleans = is("auc") || is("precision") || is("recall") || is("true_positives") || is("true_negatives") ||
                        is("false_positives") || is("false_negatives");
  f.only_for("kind", "auc, precision, recall and the counts of positives and negatives", booleans);
  f.integer("class_id", metric.class_id, {.min = 0}, "what is not 0 is true");
  f.only_for("kind", "kind = \"in_top_k\"", is("in_top_k"));
  f.integer("k", metric.k, {.min = 1});
  f.only_for("kind", "kind = \"confusion_matrix\"", is("confusion_matrix"));
  f.integer("classes", metric.classes, {.min = 1, .max = kMaxClasses}, "");
  f.check(metric.kind != "confusion_matrix" || metric.classes, "classes", "[B1033] a confusion_matrix needs classes",
          "give their number: classes = 10");
  f.only_for("kind", "kind = \"auc\"", is("auc"));
  f.integer("num_thresholds", metric.num_thresholds, {.min = 2, .max = kMaxThresholds});
  f.word("curve", metric.curve, {"roc", "pr"});
  f.only_for("", "", true);
}

void visit(Fields& f, PluginUse& use, PluginTable table) {
  f.text("plugin", use.plugin, "");
  f.path("file", use.file, "");
  f.text("name", use.name, "");
  f.check(use.name.empty() || is_instance_name(use.name), "name",
          "[B1024] the name of an instance has letters, digits, '_', '-' and '.', at most 63", "give it another name");
  f.check(use.name != "." && use.name != "..", "name",
          "[B1024] an instance cannot have the name of a folder, \".\" or \"..\"", "give it another name");
  if (table == PluginTable::kExporter) return;  // its on_error has other words
  f.only_for("", "[[hooks]] and [[exporters]]", table == PluginTable::kHook);
  f.choice("on_error", use.on_error, {"stop", "disable"});
  f.only_for("", "", true);
}

void visit(Fields& f, InputSection& input) {
  visit(f, input, PluginTable::kInput);
  f.integer("prefetch", input.prefetch, {.min = 1, .max = kMaxPrefetch});
}

void visit(Fields& f, ExporterSection& exporter) {
  visit(f, exporter, PluginTable::kExporter);
  f.choice("when", exporter.when, {"final", "latest", "best"});
  f.integer("keep", exporter.keep, {.min = 1});
  f.choice("on_error", exporter.on_export_error, {"continue", "stop"});
  f.text("signature", exporter.signature, "the model's default");
}

void visit(Fields& f, ClusterSection& cluster) {
  visit(f, cluster, PluginTable::kCluster);
  f.number("max_wait_secs", cluster.max_wait_secs, kLongerThanNoTime);
  f.number("timeout_secs", cluster.timeout_secs, kLongerThanNoTime);
  f.choice("wire", cluster.wire, {"float32", "bf16"});
  f.number("bucket_mib", cluster.bucket_mib, {.min = 0, .max = 1024, .without_min = true});
  f.choice("on_lost_rank", cluster.on_lost_rank, {"stop", "continue", "wait"});
  f.only_for("on_lost_rank", "on_lost_rank = \"continue\"", cluster.on_lost_rank == LostRank::kContinue);
  f.integer("min_ranks", cluster.min_ranks, {.min = 1}, "1");
  f.only_for("", "", true);
}

void visit_reserved(Fields& f, PluginTable table) {
  InputSection input;
  ExporterSection exporter;
  ClusterSection cluster;
  switch (table) {
    case PluginTable::kInput: return visit(f, input);
    case PluginTable::kExporter: return visit(f, exporter);
    case PluginTable::kCluster: return visit(f, cluster);
    default: return visit(f, input, table);
  }
}

std::string section_header(const std::string& section) {
  const bool list = section == "hooks" || section == "metrics" || section == "exporters" || section == "ops";
  return list ? "[[" + section + "]]" : "[" + section + "]";
}

std::string evaluation_input_of(const std::string& metric) {
  const std::size_t slash = metric.find('/');
  if (slash == metric.npos || slash + 1 == metric.size()) return "";
  const std::string input = metric.substr(0, slash);
  return input == "eval" || input.starts_with("eval_") ? input : "";
}

bool is_instance_name(const std::string& name) {
  return !name.empty() && name.size() <= 63 && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

}  // namespace belay::runtime
