// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/problems/input_checks.h"

#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <utility>
#include <variant>

#include "runtime/manifest/toml_text.h"
#include "runtime/platform/files/path_pattern.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string variable_text(const NodeGraph& graph, const Port& port) {
  const auto& [dtype, shape] = graph.spec(port);
  return std::string(dtype_name(dtype)) + " " + shape.text();
}

// The port of which `port` is a cast or another shape.
Port same_values(const NodeGraph& graph, Port port) {
  static constexpr std::string_view kOps[] = {"Cast", "ExpandDims", "Identity", "Reshape", "Squeeze"};
  for (;;) {
    const Node& node = graph.node(port.node);
    if (std::find(std::begin(kOps), std::end(kOps), node.op->name) == std::end(kOps)) return port;
    port = node.inputs[0];
  }
}

// The classes of the softmax cross entropy with these labels; -1: there is none, or the number is not known.
std::int64_t classes_for(const NodeGraph& graph, Port labels) {
  for (std::uint32_t id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.op->name != "SparseSoftmaxCrossEntropyWithLogits" || same_values(graph, node.inputs[1]) != labels)
      continue;
    const Shape& logits = graph.spec(node.inputs[0]).second;
    return logits.rank() > 0 ? logits.dims().back() : -1;
  }
  return -1;
}

// A label without a class.
struct WrongLabel {
  double value = 0;
  std::string place;   // "in row 3 of the first batch"
  double largest = 0;  // of all labels that are known
};

std::optional<WrongLabel> wrong_in(const TensorView& labels, std::int64_t classes) {
  std::optional<WrongLabel> wrong;
  double largest = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const double label = labels.number(i);
    largest = std::max(largest, label);
    if (wrong || (label >= 0 && label < static_cast<double>(classes))) continue;
    wrong = {label, "in row " + std::to_string(i) + " of the first batch", 0};
  }
  if (wrong) wrong->largest = largest;
  return wrong;
}

std::string whole(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

// Looks at "label.range" of belay/label_facts.h. `file` is that of the labels.
std::optional<WrongLabel> wrong_in(const KeptValue& range, std::int64_t classes, const std::string& file) {
  const auto* values = std::get_if<std::vector<double>>(&range);
  if (values == nullptr || values->size() != 4) return std::nullopt;
  const double least = (*values)[0], largest = (*values)[2];
  const auto at = [&](std::size_t i) {
    return "in row " + whole((*values)[i]) + (file.empty() ? "" : " of " + single_quoted(file));
  };
  if (least < 0) return WrongLabel{least, at(1), largest};
  if (largest >= static_cast<double>(classes)) return WrongLabel{largest, at(3), largest};
  return std::nullopt;
}

void add_wrong_label(const InputComponent& label, const WrongLabel& wrong, std::int64_t classes, const PluginUse& model,
                     const PluginInfo& info, bool all_known, Diagnostics& problems) {
  const std::string needed = whole(std::max(static_cast<double>(label.classes), wrong.largest + 1));
  const std::string key = info.option("classes") != nullptr      ? "classes"
                          : info.option("vocabulary") != nullptr ? "vocabulary"
                                                                 : "";
  std::string help = "give the model's last layer " + needed + " values";
  if (!key.empty())
    help = "write " + key + " = " + needed +
           (all_known || label.classes > 0 ? "" : ", or more for the labels of other batches");
  if (wrong.value < 0) help = "labels count from 0: repair the data";
  const auto written =
      std::find_if(model.options.begin(), model.options.end(), [&](const auto& o) { return o.key == key; });
  problems.add(written == model.options.end() ? model.plugin_at : written->value_at,
               fmt::format("[B5028] the model has the classes 0 to {}, and the label {} of [input.train] is {} {}",
                           classes - 1, double_quoted(label.name), whole(wrong.value), wrong.place),
               help);
}

}  // namespace

bool never_ends(const ResolvedPlugin& input, const PluginUse& section) {
  const OptionInfo* epochs = input.info.option("epochs");
  if (epochs == nullptr || epochs->type != OptionType::kInt) return false;
  std::optional<OptionValue> value = epochs->default_value;
  for (const PluginOption& option : section.options)
    if (option.key == "epochs") value = option.value;
  const auto* number = value ? std::get_if<std::int64_t>(&*value) : nullptr;
  return number != nullptr && *number == 0;
}

void add_schema_problems(const PluginUse& section, const SchemaMismatch& mismatch, Diagnostics& problems) {
  for (const std::string& problem : mismatch.problems())
    problems.add(section.plugin_at, fmt::format("[B5026] {}", problem),
                 "an input of a trained model needs the features, columns, classes and scales of its training, in any "
                 "order; schema.json beside the checkpoints lists them");
}

namespace {

// The value of an option as written, else its default. None: it has no default.
std::optional<OptionValue> value_of(const ResolvedPlugin& plugin, std::string_view name) {
  for (std::uint64_t i = 0; i < plugin.options.size(); ++i)
    if (const belay_named_value& given = plugin.options.data()[i]; detail::view(given.name) == name)
      return option_value(given.value);
  const OptionInfo* option = plugin.info.option(std::string(name));
  return option == nullptr ? std::nullopt : option->default_value;
}

bool is_text(const std::optional<OptionValue>& value, std::string_view text) {
  const auto* found = value ? std::get_if<std::string>(&*value) : nullptr;
  return found != nullptr && *found == text;
}

// The files of a path option, for any spelling and through any links.
std::vector<std::filesystem::path> files_of(const std::optional<OptionValue>& value) {
  std::vector<std::string> paths;
  if (const auto* path = value ? std::get_if<std::string>(&*value) : nullptr) paths = {*path};
  if (const auto* list = value ? std::get_if<std::vector<std::string>>(&*value) : nullptr) paths = *list;
  std::vector<std::filesystem::path> files;
  for (const std::string& path : paths)
    for (const std::string& name : files_of_pattern(path)) {
      std::error_code unknown;
      std::filesystem::path file = std::filesystem::weakly_canonical(name, unknown);
      files.push_back(unknown ? std::filesystem::path(name) : std::move(file));
    }
  return files;
}

enum class SharedFiles { kNone, kSome, kAll };

bool intersect(const std::vector<std::filesystem::path>& a, const std::vector<std::filesystem::path>& b) {
  return std::any_of(a.begin(), a.end(),
                     [&](const auto& file) { return std::find(b.begin(), b.end(), file) != b.end(); });
}

// Compares the files with the rows of both. An optional file, such as that of the labels, decides nothing.
SharedFiles shared_files(const ResolvedPlugin& a, const ResolvedPlugin& b) {
  const std::vector<OptionInfo>& options = a.info.options;
  const bool some_required = std::any_of(options.begin(), options.end(), [](const OptionInfo& option) {
    return option.type == OptionType::kPath && option.required;
  });
  SharedFiles shared = SharedFiles::kNone;
  for (const OptionInfo& option : options) {
    if (option.type != OptionType::kPath || (some_required && !option.required)) continue;
    const std::vector<std::filesystem::path> of_a = files_of(value_of(a, option.name));
    const std::vector<std::filesystem::path> of_b = files_of(value_of(b, option.name));
    const bool same = of_a == of_b;
    if (!same && !(some_required && intersect(of_a, of_b))) return SharedFiles::kNone;
    if (!same) shared = SharedFiles::kSome;
    if (same && !of_a.empty() && shared == SharedFiles::kNone) shared = SharedFiles::kAll;
  }
  return shared;
}

// True if a row's number decides about its part. Otherwise a value of the row does, in any file.
bool numbers_rows(const ResolvedPlugin& plugin) {
  const std::optional<OptionValue> by = value_of(plugin, "split_by");
  return !is_text(by, "groups") && !is_text(by, "column");
}

// The options that decide about the part of a row. `same_files`: both inputs read the same ones.
std::vector<const char*> deciding_options(const ResolvedPlugin& plugin, bool same_files) {
  if (!same_files && numbers_rows(plugin)) return {};
  std::vector<const char*> options = {
      "split_by", "split_column", "split_seed", "eval_fraction", "test_fraction", "folds",
      "fold",     "every",        "at",         "train_values",  "eval_values",   "test_values"};
  if (numbers_rows(plugin)) options.insert(options.end(), {"skip_lines", "header"});
  return options;
}

// Returns the file that the option `labels` names; empty: the input has no such option.
std::string file_of_labels(const ResolvedPlugin& plugin) {
  const std::optional<OptionValue> value = value_of(plugin, "labels");
  const auto* path = value ? std::get_if<std::string>(&*value) : nullptr;
  return path == nullptr ? "" : *path;
}

// In TOML, for a message.
std::string shown_value(const ResolvedPlugin& plugin, const char* option) {
  const std::optional<OptionValue> value = value_of(plugin, option);
  return value ? toml_value(*value) : "none";
}

}  // namespace

void check_held_out(const OtherInput& input, const ResolvedPlugin& plugin, const ResolvedPlugin& training,
                    Diagnostics& problems) {
  if (plugin.info.name != training.info.name || plugin.info.option("split") == nullptr) return;
  const std::optional<OptionValue> part = value_of(plugin, "split"), trained = value_of(training, "split");
  if (!is_text(part, "eval") && !is_text(part, "test")) return;
  const SharedFiles shared = shared_files(plugin, training);
  if (shared == SharedFiles::kNone) return;
  const std::string name = "[input." + input.name + "]", what = name + " evaluates rows that [input.train] trains on: ";
  if (is_text(trained, "all"))
    problems.add(
        input.section.plugin_at, fmt::format("[B5024] {}it takes all rows of the file", what),
        "set split = \"train\" in [input.train]; to measure on the training's rows, set split = \"all\" in " + name);
  else if (trained == part)
    problems.add(input.section.plugin_at, fmt::format("[B5024] {}both have split = {}", what, toml_value(*part)),
                 "set split = \"train\" in [input.train]");
  if (is_text(trained, "all") || trained == part) return;
  for (const char* option : deciding_options(plugin, shared == SharedFiles::kAll))
    if (value_of(plugin, option) != value_of(training, option))
      problems.add(input.section.plugin_at,
                   fmt::format("[B5024] {}they have another {}, {} in {} and {} in [input.train]", what, option,
                               shown_value(plugin, option), name, shown_value(training, option)),
                   "give both the same " + std::string(option) + ", or set it in [input.train] alone");
  // Most splits choose among the numbers of all rows, and another list of files changes these numbers.
  if (shared == SharedFiles::kSome && plugin.info.option("split_seed") != nullptr && numbers_rows(plugin))
    problems.add(input.section.plugin_at,
                 fmt::format("[B5024] {}they share a file and have other lists of files", what),
                 "give both the same files in the same order");
}

void check_variables(const OtherInput& input, const NodeGraph& graph, const NodeGraph& training,
                     const std::string& help, Diagnostics& problems) {
  for (const Port& p : graph.collection(collections::kGlobalVariables)) {
    const std::string& name = graph.node(p.node).name;
    const Node* trained = training.find_node(name);
    const std::string here = variable_text(graph, p);
    const std::string there = trained == nullptr ? "" : variable_text(training, {trained->id, 0});
    if (here == there) continue;
    problems.add(input.section.plugin_at,
                 "[B5027] on [input." + input.name + "] the model's variable " + double_quoted(name) + " is " + here +
                     (there.empty() ? ", and the training has no such variable" : ", in the training it is " + there),
                 help);
    return;
  }
}

void check_labels(const InputFeed& feed, const ResolvedPlugin& input, const std::vector<NamedOutput>& labels,
                  const NodeGraph& graph, const PluginUse& model, const PluginInfo& info, Diagnostics& problems) {
  const Schema schema = feed.schema();
  for (const NamedOutput& label : labels) {
    const std::int64_t classes = classes_for(graph, same_values(graph, graph.resolve(label.output.raw())));
    for (std::size_t i = 0; classes > 0 && i < feed.components().size(); ++i) {
      const InputComponent& c = feed.components()[i];
      if (!c.label || c.name != label.name) continue;
      const auto range = schema.kept.find(c.name + ".range");
      std::optional<WrongLabel> wrong;
      if (range != schema.kept.end()) wrong = wrong_in(range->second, classes, file_of_labels(input));
      const bool all_known = wrong.has_value();
      if (!wrong && feed.first_batch() != nullptr)
        wrong = wrong_in(TensorView((*feed.first_batch())[i].view()), classes);
      if (wrong) add_wrong_label(c, *wrong, classes, model, info, all_known, problems);
    }
  }
}

}  // namespace belay::runtime
