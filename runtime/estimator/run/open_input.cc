// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/problems/data_problem.h"
#include "runtime/estimator/problems/input_checks.h"
#include "runtime/estimator/problems/plugin_problem.h"
#include "runtime/estimator/run/build_scaffold.h"

namespace belay::runtime {
namespace {

InputUse use_of(const std::string& input, RunMode mode) {
  if (mode == RunMode::kPredict || input == "predict") return InputUse::kPrediction;
  return input == "train" ? InputUse::kTraining : InputUse::kEvaluation;
}

// Adds the advice for a refused input.
void add_help(const PreparedRun& run, const RunInput& input, const Error& e, Diagnostics& problems) {
  if (input.name != "train") return;
  const PluginUse* start = run.schema.start();
  const bool of_data = e.code() == Code::kInvalidArgument || e.code() == Code::kNotFound;
  if (start == nullptr && run.schema.learned() != nullptr && of_data)
    problems.add(
        run.manifest.inputs.at("train").plugin_at,
        "[B5026] this training continues one, and needs its features, columns and classes, also with --resume=changed",
        "undo the change, or begin anew by --from-scratch");
  if (start != nullptr)
    problems.add(start->plugin_at, "[B5026] this training takes columns and classes from where its values come from",
                 "for a new last layer set schema = \"features\" here, and for data of another kind schema = \"none\"");
}

// False: the error is neither about the manifest nor about the data that it names.
bool add_input_problem(const PreparedRun& run, const RunInput& input, const Error& e, Diagnostics& problems) {
  if (!is_of_input(e)) return false;
  if (!add_data_problems(run.plugins.found().inputs, e, problems))
    add_plugin_problem(run.manifest.inputs.at(input.name), e, problems);
  return true;
}

}  // namespace

bool open_input(PreparedRun& run, RunInput& input, Diagnostics& problems) {
  try {
    input.schema =
        run.schema.options(use_of(input.name, run.manifest.run.mode), run.plugins.found().inputs.at(input.name));
    input.open(run.manifest.run.seed);
    for (const std::string& remark : input.feed->taken_by_place()) run.host.log().warning("", remark);
    return true;
  } catch (const SchemaMismatch& e) {
    add_schema_problems(run.manifest.inputs.at(input.name), e, problems);
    add_help(run, input, e, problems);
  } catch (const Error& e) {
    if (!add_input_problem(run, input, e, problems)) throw;
    add_help(run, input, e, problems);
  }
  return false;
}

bool read_first_batch(PreparedRun& run, RunInput& input, Diagnostics& problems) {
  try {
    input.feed->prime();
    return true;
  } catch (const Error& e) {
    if (!add_input_problem(run, input, e, problems)) throw;
    return false;
  }
}

}  // namespace belay::runtime
