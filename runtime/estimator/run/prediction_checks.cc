// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "runtime/estimator/problems/data_problem.h"
#include "runtime/estimator/problems/input_checks.h"
#include "runtime/estimator/problems/plugin_problem.h"
#include "runtime/estimator/run/build_scaffold.h"
#include "runtime/estimator/run/predict.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

void check_predictions_end(const PreparedRun& run, Diagnostics& problems) {
  const auto found = run.plugins.found().inputs.find("predict");
  if (found == run.plugins.found().inputs.end() || !run.manifest.predict.prompt.empty()) return;
  const InputSection& section = run.manifest.inputs.at("predict");
  if (never_ends(found->second, section))
    problems.add(section.plugin_at, "[B5025] [input.predict] never ends, so the predictions for it would not either",
                 "add epochs = 1");
}

void check_predict_keys(const PreparedRun& run, Diagnostics& problems) {
  if (!run.manifest.predict.prompt.empty()) return;  // sampled text has none to choose from
  std::vector<std::string> there;
  for (const NamedOutput& p : run.model.outputs.predictions) there.push_back(p.name);
  if (!run.schema.class_names().empty() && std::find(there.begin(), there.end(), "class") != there.end())
    there.emplace_back(kClassName);
  for (const std::string& key : run.manifest.predict.keys)
    if (std::find(there.begin(), there.end(), key) == there.end())
      problems.add(run.manifest.at("predict.keys"), "[B5032] the model has no prediction " + double_quoted(key),
                   "predict.keys (--keys) may name: " + joined(there));
}

namespace {

constexpr const char* kPredictNeeds = "predictions need the features of [input.train], with the same widths";

// Returns the path of an option that the error names, if that file does not exist. Empty: the error is about something
// else.
std::string missing_file_of(const Error& error, const ResolvedPlugin& input, const FileSystem& files) {
  if (error.code() != Code::kNotFound) return "";
  std::string missing;
  const auto look = [&](const std::string& path) {
    if (error.message().find(single_quoted(path)) != std::string_view::npos && !files.exists(path)) missing = path;
  };
  for (std::uint64_t i = 0; i < input.options.size(); ++i) {
    const belay_named_value& given = input.options.data()[i];
    const OptionInfo* option = input.info.option(std::string(given.name.data, given.name.size));
    if (option == nullptr || option->type != OptionType::kPath) continue;
    const OptionValue value = option_value(given.value);
    if (const auto* path = std::get_if<std::string>(&value)) look(*path);
    if (const auto* paths = std::get_if<std::vector<std::string>>(&value))
      for (const std::string& path : *paths) look(path);
  }
  return missing;
}

void check_components(const PreparedRun& run, const std::vector<InputComponent>& components, Diagnostics& problems) {
  const OtherInput input{run.inputs.at("predict").name, run.manifest.inputs.at("predict")};
  ModelGraph graph(*run.ops, Mode::kPredict);
  try {
    graph.build_over_placeholders(*run.model_instance, components, run.schema.labels());
  } catch (const Error& e) {
    if (!is_of_manifest(e)) throw;
    return problems.add(input.section.plugin_at, "[B5026] on [input.predict]: " + std::string(e.message()),
                        kPredictNeeds);
  }
  check_variables(input, graph.graph, run.model.graph, kPredictNeeds, problems);
}

}  // namespace

// The instance is destroyed after this, so its data takes no memory beside the training.
void check_predict_input(PreparedRun& run, Diagnostics& problems) {
  const auto found = run.plugins.found().inputs.find("predict");
  if (found == run.plugins.found().inputs.end()) return;
  check_predictions_end(run, problems);
  const InputSection& section = run.manifest.inputs.at("predict");
  try {
    PluginInstances once;
    const FoundUse use = run.plugins.loaded(found->second);
    RunInput& input = run.inputs.at("predict");
    PluginInstance& instance =
        once.create(use.plugin, use.use, run.host.services(), input.monitor, run.host.number_of(use.label()));
    input.schema = run.schema.options(InputUse::kPrediction, found->second);
    check_components(run, InputFeed::declaration_of(instance, input.options(run.manifest.run.seed)), problems);
  } catch (const SchemaMismatch& e) {
    add_schema_problems(section, e, problems);
  } catch (const Error& e) {
    if (add_data_problems(run.plugins.found().inputs, e, problems)) return;
    if (!is_of_input(e)) throw;
    if (const std::string missing = missing_file_of(e, found->second, run.host.files()); !missing.empty())
      return run.host.log().warning("", "[input.predict] is not compared with [input.train]: there is no file " +
                                            single_quoted(missing) + " yet");
    add_plugin_problem(section, e, problems);
  }
}

}  // namespace belay::runtime
