// SPDX-License-Identifier: Apache-2.0
#include "runtime/manifest/read_manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <utility>

#include "runtime/manifest/other_names.h"
#include "runtime/manifest/read_plugin_use.h"
#include "runtime/manifest/sections.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::vector<std::string> section_names(const ReadContext& context) {
  for (const SectionKeys& section : context.known)
    if (section.section.empty()) return section.keys;
  return {};
}

class ManifestReader {
 public:
  ManifestReader(const TomlNode& root, const std::string& file, const ReadContext& context)
      : root_(std::get<TomlTable>(root.value)), file_(file), context_(context), sections_(section_names(context)) {}

  Manifest read() {
    for (const TomlEntry& entry : root_) note_places(entry.key, entry.node);
    refuse_unknown();
    read_plain("run", manifest_.run);
    read_plain("plugins", manifest_.plugins);
    read_inputs();
    if (const TomlNode* model = table("model"))
      manifest_.model = read_plugin_use(*model, "model", PluginTable::kModel, context_);
    read_plain("optimizer", manifest_.optimizer);
    read_scaffold();
    read_plain("checkpoint", manifest_.checkpoint);
    read_eval();
    check_best_metric();
    read_plain("predict", manifest_.predict);
    read_plain("session", manifest_.session);
    read_hooks();
    read_metrics();
    read_exporters();
    read_list("ops", "operation", PluginTable::kOp, manifest_.ops);
    if (const TomlNode* cluster = table("cluster")) manifest_.cluster = read_cluster(*cluster, "cluster", context_);
    refuse_missing();
    return std::move(manifest_);
  }

 private:
  // Returns the section if it is given and a table.
  const TomlNode* table(const char* name) {
    const TomlEntry* entry = find(root_, name);
    if (entry == nullptr) return nullptr;
    if (std::holds_alternative<TomlTable>(entry->node.value)) return &entry->node;
    const bool list = std::holds_alternative<TomlList>(entry->node.value);
    context_.problems.add(
        entry->at.location(), fmt::format("[B1012] {} must be a table, found {}", name, found_text(entry->node)),
        fmt::format("write {}[{}] and its keys below", list ? "it once, with single brackets: " : "", name));
    return nullptr;
  }

  template <class Section>
  void read_plain(const char* name, Section& section) {
    const TomlNode* node = table(name);
    if (node == nullptr) return;
    ReadFields fields(*node, name, context_);
    visit(fields, section);
    fields.refuse_unvisited();
  }

  void note_places(const std::string& name, const TomlNode& node) {
    manifest_.places[name] = node.at.location();
    if (const auto* table = std::get_if<TomlTable>(&node.value))
      for (const TomlEntry& entry : *table) note_places(name + "." + entry.key, entry.node);
    if (const auto* list = std::get_if<TomlList>(&node.value))
      for (std::size_t i = 0; i < list->size(); ++i) note_places(fmt::format("{}.{}", name, i), (*list)[i]);
  }

  void check_best_metric() {
    const CheckpointSettings& checkpoint = manifest_.checkpoint;
    const std::string input = evaluation_input_of(checkpoint.best_metric);
    if (checkpoint.keep_best == 0 || input.empty() || manifest_.inputs.contains(input)) return;
    const char* key =
        manifest_.places.count("checkpoint.best_metric") != 0 ? "checkpoint.best_metric" : "checkpoint.keep_best";
    context_.problems.add(manifest_.at(key),
                          fmt::format("[B1029] the best checkpoints are those by \"{}\", and there is no [input.{}]",
                                      checkpoint.best_metric, input),
                          fmt::format("add [input.{}] and plugin = \"NAME\" below", input));
  }
  void read_eval() {
    read_plain("eval", manifest_.eval);
    std::vector<std::string> there;
    for (const auto& [name, input] : manifest_.inputs)
      if (is_eval_input(name)) there.push_back(name);
    if (const TomlNode* inputs = value_in("eval", "inputs")) check_eval_inputs(*inputs, there);
    EvalSettings& eval = manifest_.eval;
    const bool periodic = eval.every_steps.value_or(0) > 0 || eval.every_secs.value_or(0) > 0;
    if (manifest_.run.mode == RunMode::kTrainAndEvaluate && !periodic && value_in("eval", "at_checkpoint") == nullptr)
      eval.at_checkpoint = true;
    const std::string period = eval.every_steps.value_or(0) > 0  ? "every_steps"
                               : eval.every_secs.value_or(0) > 0 ? "every_secs"
                               : eval.at_checkpoint              ? "at_checkpoint"
                                                                 : "";
    if (!period.empty() && there.empty() && manifest_.run.mode != RunMode::kTrainAndEvaluate && !is_meant("eval"))
      context_.problems.add(manifest_.at("eval." + period),
                            fmt::format("[B1029] eval.{} asks for evaluations, and there is no input for them", period),
                            "add [input.eval] and plugin = \"NAME\" below");
  }
  // A value that is no list of strings was refused when it was read.
  void check_eval_inputs(const TomlNode& inputs, const std::vector<std::string>& there) {
    const auto* list = std::get_if<TomlList>(&inputs.value);
    if (list == nullptr) return;
    std::set<std::string> seen;
    for (const TomlNode& node : *list) {
      const auto* name = std::get_if<std::string>(&node.value);
      if (name == nullptr) continue;
      const bool known = std::find(there.begin(), there.end(), *name) != there.end();
      if (known && seen.insert(*name).second) continue;
      const std::string near = known ? "" : nearest(*name, there);
      context_.problems.add(node.at.location(),
                            known ? fmt::format("[B1025] eval.inputs names {} twice", single_quoted(*name))
                                  : fmt::format("[B1030] eval.inputs names {}, which is no input of an evaluation in "
                                                "this manifest",
                                                single_quoted(*name)),
                            !near.empty() ? fmt::format("did you mean \"{}\"?", near)
                            : known       ? "name it once"
                                          : "those are [input.eval] and [input.eval_NAME]");
    }
  }

  // Returns the value of a key; null: it is not given.
  const TomlNode* value_in(const char* section, const char* key) const {
    const TomlEntry* at = find(root_, section);
    if (at == nullptr || !std::holds_alternative<TomlTable>(at->node.value)) return nullptr;
    const TomlEntry* entry = find(std::get<TomlTable>(at->node.value), key);
    return entry == nullptr ? nullptr : &entry->node;
  }

  void read_inputs() {
    const TomlNode* inputs = table("input");
    if (inputs == nullptr) return;
    for (const TomlEntry& entry : std::get<TomlTable>(inputs->value)) {
      if (!is_instance_name(entry.key))
        context_.problems.add(entry.at.location(),
                              "[B1024] the name of an input has letters, digits, '_', '-' and '.', at most 63",
                              "give it another name");
      const auto* table = std::get_if<TomlTable>(&entry.node.value);
      if (table == nullptr) {
        context_.problems.add(entry.at.location(),
                              fmt::format("[B1028] \"{}\" is in [input], which holds named inputs", entry.key),
                              "write [input.train] above it");
      } else if (refuse_unclaimed(entry) && find(*table, "plugin") == nullptr && find(*table, "file") == nullptr) {
        manifest_.inputs[entry.key];  // the keys of another input below a misspelt header are one mistake
      } else {
        manifest_.inputs[entry.key] = read_input(entry.node, "input." + entry.key, context_);
      }
    }
  }

  // Returns the input that an unknown name means; empty: none.
  static std::string input_meant(const std::string& name) {
    if (std::string near = nearest(name, std::vector<std::string>{"train", "eval", "predict"}); !near.empty())
      return near;
    for (const char* eval :
         {"val", "valid", "validation", "evaluation", "evaluate", "test", "testing", "dev", "holdout"})
      if (equal_but_for_case(name, eval)) return "eval";
    for (const char* train : {"training", "fit", "data", "dataset"})
      if (equal_but_for_case(name, train)) return "train";
    return equal_but_for_case(name, "prediction") || equal_but_for_case(name, "inference") ? "predict" : "";
  }

  // True if a missing input exists under a similar name, since that was reported.
  bool is_meant(const std::string& input) const {
    return std::any_of(manifest_.inputs.begin(), manifest_.inputs.end(), [&](const auto& given) {
      return given.first != "train" && given.first != "predict" && !is_eval_input(given.first) &&
             input_meant(given.first) == input;
    });
  }

  // Nothing would read an input with a misspelt name; returns true then. If it means a missing input, the message names
  // that.
  bool refuse_unclaimed(const TomlEntry& entry) {
    if (!is_instance_name(entry.key) || entry.key == "train" || entry.key == "predict" || is_eval_input(entry.key))
      return false;
    const std::string near = input_meant(entry.key);
    context_.problems.add(
        entry.at.location(), fmt::format("[B1027] nothing reads [input.{}]", toml_key(entry.key)),
        near.empty() ? "inputs are train, predict, eval and eval_NAME" : fmt::format("did you mean \"{}\"?", near));
    return true;
  }

  void read_scaffold() {
    const TomlNode* node = table("scaffold");
    if (node == nullptr) return;
    for (const TomlEntry& entry : std::get<TomlTable>(node->value)) {
      if (entry.key == "saver") {
        manifest_.scaffold.saver = read_plugin_use(entry.node, "scaffold.saver", PluginTable::kSaver, context_);
      } else if (entry.key == "init_fn") {
        read_uses("scaffold.init_fn", entry.node, PluginTable::kInitFn, manifest_.scaffold.init_fn);
      } else if (!read_piece(entry)) {
        const std::string near = nearest(entry.key, scaffold_keys());
        context_.problems.add(
            entry.at.location(), fmt::format("[B1003] unknown key \"{}\" in [scaffold]", entry.key),
            near.empty() ? "[scaffold] has " + joined(scaffold_keys()) : fmt::format("did you mean \"{}\"?", near));
      }
    }
  }

  // Reads a piece of the graph by its name; false: the key is no piece.
  bool read_piece(const TomlEntry& entry) {
    for (const ScaffoldPiece& piece : scaffold_pieces()) {
      if (entry.key != piece.key) continue;
      manifest_.places["scaffold." + entry.key] = entry.node.at.location();
      const auto* name = std::get_if<std::string>(&entry.node.value);
      if (name != nullptr && !name->empty()) {
        manifest_.scaffold.*piece.value = *name;
      } else {
        context_.problems.add(entry.node.at.location(),
                              fmt::format("[B1012] scaffold.{} must be the name of a node or a collection of the "
                                          "graph, found {}",
                                          entry.key, name != nullptr ? "an empty string" : found_text(entry.node)),
                              "`belay graph` lists the names");
      }
      return true;
    }
    return false;
  }

  // Reads a table, or a list of tables.
  void read_uses(const std::string& name, const TomlNode& node, PluginTable table, std::vector<PluginUse>& uses) {
    const auto* list = std::get_if<TomlList>(&node.value);
    if (list == nullptr) {
      uses.push_back(read_plugin_use(node, name, table, context_));
      return;
    }
    for (std::size_t i = 0; i < list->size(); ++i)
      uses.push_back(read_plugin_use((*list)[i], fmt::format("{}.{}", name, i), table, context_));
  }

  // Returns a section that is written once for each element. Null: it is not given, or is no list.
  const TomlNode* list_of_tables(const std::string& name, const std::string& what) {
    const TomlEntry* entry = find(root_, name);
    if (entry == nullptr) return nullptr;
    if (std::holds_alternative<TomlList>(entry->node.value)) return &entry->node;
    context_.problems.add(entry->at.location(),
                          fmt::format("[B1012] {} must be a list of tables, found {}", name, found_text(entry->node)),
                          fmt::format("begin each {} with [[{}]]", what, name));
    return nullptr;
  }
  void read_list(const std::string& name, const std::string& what, PluginTable table, std::vector<PluginUse>& uses) {
    if (const TomlNode* list = list_of_tables(name, what)) read_uses(name, *list, table, uses);
  }

  void read_metrics() {
    const TomlNode* list = list_of_tables("metrics", "metric");
    if (list == nullptr) return;
    for (const TomlNode& node : std::get<TomlList>(list->value)) {
      const std::string name = fmt::format("metrics.{}", manifest_.metrics.size());
      if (std::holds_alternative<TomlTable>(node.value)) {
        manifest_.metrics.push_back(read_metric(node, name));
      } else {
        context_.problems.add(node.at.location(),
                              fmt::format("[B1012] {} must be a table, found {}", name, found_text(node)),
                              "begin each metric with [[metrics]]");
        manifest_.metrics.emplace_back();
      }
    }
    std::set<std::string> roles;
    for (std::size_t i = 0; i < manifest_.metrics.size(); ++i) {
      const MetricSection& metric = manifest_.metrics[i];
      if (!metric.role().empty() && !roles.insert(metric.role()).second)
        context_.problems.add(metric.name_at,
                              fmt::format("[B1025] metrics.{} has the name \"{}\" of an earlier one", i, metric.role()),
                              "a metric is known by its name: give it another");
    }
  }
  MetricSection read_metric(const TomlNode& node, const std::string& name) {
    MetricSection metric;
    ReadFields fields(node, name, context_);
    visit(fields, metric);
    fields.refuse_unvisited();
    metric.at = node.at.location();
    metric.name_at = fields.place_of("name");
    metric.labels.at = fields.place_of("labels");
    metric.predictions.at = fields.place_of("predictions");
    metric.values.at = fields.place_of("values");
    metric.weights.at = fields.place_of("weights");
    return metric;
  }

  void read_hooks() {
    read_list("hooks", "hook", PluginTable::kHook, manifest_.hooks);
    std::set<std::string> names;
    for (std::size_t i = 0; i < manifest_.hooks.size(); ++i) {
      const PluginUse& hook = manifest_.hooks[i];
      if (!hook.name.empty() && !names.insert(hook.name).second)
        context_.problems.add(hook.at,
                              fmt::format("[B1025] hooks.{} has the name \"{}\" of an earlier hook", i, hook.name),
                              "a hook's state is kept under its name: give it another");
    }
  }

  void read_exporters() {
    const TomlNode* list = list_of_tables("exporters", "exporter");
    if (list == nullptr) return;
    for (const TomlNode& node : std::get<TomlList>(list->value))
      manifest_.exporters.push_back(
          read_exporter(node, fmt::format("exporters.{}", manifest_.exporters.size()), context_));
    for (const ExporterSection& e : manifest_.exporters)
      if (e.when == ExportWhen::kBest && eval_inputs(manifest_).empty())
        context_.problems.add(e.at, "[B1029] evaluations decide about when = \"best\", and there is no input for them",
                              "add [input.eval] and plugin = \"NAME\" below");
    if (!manifest_.exporters.empty() && manifest_.run.dir.empty())
      context_.problems.add(manifest_.exporters[0].at,
                            "[B1031] [[exporters]] write below the run directory, and there is none",
                            "set dir in [run]");
  }

  void check_version(const TomlNode& version) {
    const auto* number = std::get_if<std::int64_t>(&version.value);
    if (number != nullptr && *number == kManifestVersion) return;
    const std::int64_t known = kManifestVersion;
    const bool newer = number != nullptr && *number > kManifestVersion;
    context_.problems.add(
        version.at.location(),
        newer ? fmt::format("[B1026] this manifest is of version {}, and this belay reads version {}", *number, known)
              : fmt::format("[B1026] version must be {}, found {}", known, found_text(version)),
        newer ? "use the belay that it was written for, or a newer one" : fmt::format("write version = {}", known));
  }

  void refuse_unknown() {
    for (const TomlEntry& entry : root_) {
      if (entry.key == "version") {
        check_version(entry.node);
        continue;
      }
      if (std::find(sections_.begin(), sections_.end(), entry.key) != sections_.end()) continue;
      const bool section = std::holds_alternative<TomlTable>(entry.node.value);
      context_.problems.add(entry.at.location(),
                            section ? fmt::format("[B1004] unknown section [{}]", entry.key)
                            : is_list_of_tables(entry)
                                ? fmt::format("[B1004] unknown section [[{}]]", entry.key)
                                : fmt::format("[B1003] unknown key \"{}\" above the sections", entry.key),
                            help_for_unknown(entry));
    }
  }

  static bool is_list_of_tables(const TomlEntry& entry) {
    const auto* list = std::get_if<TomlList>(&entry.node.value);
    return list != nullptr && !list->empty() && std::holds_alternative<TomlTable>(list->front().value);
  }

  std::string help_for_unknown(const TomlEntry& entry) const {
    const std::string& key = entry.key;
    if (context_.problems.full()) return "";
    // [train] with a plugin is an input, else the settings of a run.
    const auto* table = std::get_if<TomlTable>(&entry.node.value);
    const bool input = table != nullptr && find(*table, "plugin") != nullptr;
    if (const std::string role = input_meant(key); input && !role.empty()) return "did you mean [input." + role + "]?";
    if (const std::string near = nearest(key, sections_); !near.empty())
      return "did you mean " + section_header(near) + "?";
    if (!nearest(key, std::vector<std::string>{"version"}).empty()) return "did you mean \"version\"?";
    if (std::string other = help_for_other_key(key); !other.empty()) return other;
    for (const SectionKeys& section : context_.known)
      if (std::find(section.keys.begin(), section.keys.end(), key) != section.keys.end())
        return "this key belongs to " + section_header(section.section);
    return "a manifest has " + joined(sections_);
  }

  // True if a missing section was misspelt, since that was reported.
  bool was_misspelt(const std::string& section) const {
    return std::any_of(root_.begin(), root_.end(),
                       [&](const TomlEntry& entry) { return nearest(entry.key, sections_) == section; });
  }

  void refuse_missing() {
    if (find(root_, "model") == nullptr && !was_misspelt("model"))
      context_.problems.add({file_, 0, 0}, "[B1020] [model] is missing", "add [model] and plugin = \"NAME\" below");
    if (find(root_, "input") == nullptr && was_misspelt("input")) return;
    switch (manifest_.run.mode) {
      case RunMode::kContinuousEval:
        if (manifest_.run.dir.empty())
          context_.problems.add(manifest_.at("run.mode"),
                                "[B1031] run.mode = \"continuous_eval\" evaluates the checkpoints of a run directory, "
                                "and there is none",
                                "set dir in [run] to the directory that the training has");
        [[fallthrough]];
      case RunMode::kEvaluate:
        if (eval_inputs(manifest_).empty()) refuse_missing_input("eval");
        break;
      case RunMode::kPredict:
        if (predict_input(manifest_).empty()) refuse_missing_input("predict");
        break;
      case RunMode::kExport:
        if (export_input(manifest_).empty()) refuse_missing_input("train");
        if (manifest_.exporters.empty())
          context_.problems.add({file_, 0, 0}, "[B1020] run.mode = \"export\" needs an exporter",
                                "add [[exporters]] and plugin = \"NAME\" below; `belay plugins` lists the names");
        break;
      case RunMode::kTrainAndEvaluate:
        if (eval_inputs(manifest_).empty()) refuse_missing_input("eval");
        [[fallthrough]];
      default:
        if (manifest_.inputs.count("train") == 0) refuse_missing_input("train");
    }
  }

  void refuse_missing_input(const std::string& name) {
    if (is_meant(name)) return;
    const std::string place = "[input." + name + "]";
    context_.problems.add({file_, 0, 0}, fmt::format("[B1020] {} is missing", place),
                          fmt::format("add {} and plugin = \"NAME\" below", place));
  }

  const TomlTable& root_;
  const std::string& file_;
  const ReadContext& context_;
  const std::vector<std::string> sections_;
  Manifest manifest_;
};

}  // namespace

Manifest read_manifest_tree(const TomlNode& root, const std::string& file, const ReadContext& context) {
  return ManifestReader(root, file, context).read();
}

}  // namespace belay::runtime
