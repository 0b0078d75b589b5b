// SPDX-License-Identifier: Apache-2.0
// [input.predict] in a run that trains: what is wrong with it would otherwise show when the training is over.
#include "runtime/estimator/data_problem.h"
#include "runtime/estimator/input_checks.h"
#include "runtime/estimator/manifest_run.h"
#include "runtime/estimator/plugin_problem.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kPredictNeeds = "predictions need the features of [input.train], with the same widths";

// The file of an option that the error is about, if there is no such file; empty: it is about something else.
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

}  // namespace

void ManifestRun::check_predictions_end(Diagnostics& problems) const {
  const auto found = plugins_.found().inputs.find("predict");
  if (found == plugins_.found().inputs.end() || !manifest_.predict.prompt.empty()) return;
  const InputSection& section = manifest_.inputs.at("predict");
  if (never_ends(found->second, section))
    problems.add(section.plugin_at, "[input.predict] never ends, so the predictions for it would not either",
                 "add epochs = 1");
}

// The instance is gone again behind it: what it read is not to lie in memory beside the training. A file that is not
// there may come until somebody predicts.
void ManifestRun::check_predict_input(Diagnostics& problems) {
  const auto found = plugins_.found().inputs.find("predict");
  if (found == plugins_.found().inputs.end()) return;
  check_predictions_end(problems);
  const InputSection& section = manifest_.inputs.at("predict");
  try {
    PluginInstances once;
    const FoundUse use = plugins_.loaded(found->second);
    RunInput& input = inputs_.at("predict");
    PluginInstance& instance =
        once.create(use.plugin, use.use, host_.services(), input.monitor, host_.number_of(use.label()));
    input.schema = schema_.options(InputUse::kPrediction, found->second);
    check_predict_components(InputFeed::declaration_of(instance, input.options(manifest_.run.seed)), problems);
  } catch (const SchemaMismatch& e) {
    add_schema_problems(section, e, problems);
  } catch (const Error& e) {
    if (add_data_problems(plugins_.found().inputs, e, problems)) return;
    if (!is_of_manifest(e)) throw;
    if (const std::string missing = missing_file_of(e, found->second, host_.files()); !missing.empty())
      return host_.log().warning("", "[input.predict] is not compared with [input.train]: there is no file " +
                                         single_quoted(missing) + " yet");
    add_plugin_problem(section, e, problems);
  }
}

void ManifestRun::check_predict_components(const std::vector<InputComponent>& components, Diagnostics& problems) {
  const OtherInput input{inputs_.at("predict").name, manifest_.inputs.at("predict")};
  ModelGraph graph(*ops_, Mode::kPredict);
  try {
    graph.build_over_placeholders(*model_instance_, components, schema_.labels());
  } catch (const Error& e) {
    if (!is_of_manifest(e)) throw;
    return problems.add(input.section.plugin_at, "on [input.predict]: " + std::string(e.message()), kPredictNeeds);
  }
  check_variables(input, graph.graph, model_.graph, kPredictNeeds, problems);
}

}  // namespace belay::runtime
