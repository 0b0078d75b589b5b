// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/run/plan_text.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/manifest/toml_text.h"
#include "runtime/ops/plugin/plugin_op.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string input_text(const std::string& name, const ResolvedPlugin& plugin, const RunInput* input) {
  std::string text = "input." + name + "  " + plugin.info.name;
  if (input != nullptr && input->feed != nullptr) {
    if (input->feed->size() >= 0) text += fmt::format(", {} examples", input->feed->size());
    for (const InputComponent& c : input->feed->components())
      text += std::string(c.label ? ", label " : ", feature ") + c.name + " " + dtype_name(c.dtype) + " " +
              dims_text(c.dims);
  }
  text += "\n";
  for (const PluginOption& o : plugin.inherited)
    text += "  " + o.key + " = " + toml_value(o.value) + ", as in the training; another value here gives a warning\n";
  return text;
}

// The columns and classes that the model's training learned, or will learn.
std::string schema_text(const PreparedRun& run) {
  std::string text;
  if (const Schema* schema = run.schema.learned().get())
    for (const auto& [what, words] : schema_rows(*schema)) text += "  " + what + "  " + words + "\n";
  return text;
}

std::string variables_text(const NodeGraph& graph) {
  std::string text;
  std::int64_t parameters = 0;
  for (const Port& p : graph.collection(collections::kTrainableVariables)) {
    const auto& [dtype, shape] = graph.spec(p);
    parameters += shape.elements();
    text += "  " + graph.node(p.node).name + "  " + dtype_name(dtype) + " " + shape.text() + "\n";
  }
  return fmt::format("{}  {} trainable parameters\n", text, parameters);
}

// Returns "default". It is "the model's" if the model brings the piece and the manifest names none.
std::string unnamed_piece(const ModelOutputs& outputs, const std::string& key) {
  const std::string name = key.ends_with("_op") ? key : key + "_op";
  const bool brought = std::find(outputs.pieces.begin(), outputs.pieces.end(), name) != outputs.pieces.end();
  return brought ? "the model's" : "default";
}

// Returns the session's pieces. Those without a name are found in the graph's collections, or made.
std::string scaffold_text(const PreparedRun& run) {
  const ResolvedPlugins& found = run.plugins.found();
  std::string text = "scaffold  saver " + found.saver->info.name;
  for (const ResolvedPlugin& p : found.init_fns) text += ", init_fn " + p.instance_name;
  for (const ScaffoldPiece& piece : scaffold_pieces()) {
    const std::string& name = run.manifest.scaffold.*piece.value;
    text += ", " + std::string(piece.key) + " " +
            (name.empty() ? unnamed_piece(run.model.outputs, piece.key) : escaped(name));
  }
  return text + "\n";
}

std::string mode_text(const PreparedRun& run) {
  const ResolvedPlugins& found = run.plugins.found();
  if (trains(run.manifest.run.mode))
    return "optimizer  " + found.optimizer->info.name +
           (found.schedule ? ", schedule " + found.schedule->info.name : "") + "\n" + scaffold_text(run);
  return "checkpoint  " + escaped(run.manifest.run.checkpoint) + ", read by " + found.saver->info.name + "\n";
}

}  // namespace

std::string plan_text(const PreparedRun& run) {
  const ResolvedPlugins& found = run.plugins.found();
  std::string text;
  for (const auto& [name, input] : found.inputs) text += input_text(name, input, run.input(name));
  text += schema_text(run);
  text += "model  " + found.model->info.name + "\n";
  text += variables_text(run.model.graph);
  text += mode_text(run);
  for (const ResolvedPlugin& p : found.hooks) text += "hook  " + p.instance_name + "\n";
  for (const ModelOutputs::Hook& h : run.model.outputs.hooks) text += "hook  " + h.use.name + ", of the model\n";
  for (const RegisteredPlugin& p : run.plugins.registry().plugins())
    if (p.info.kind == PluginKind::kOp) text += "op  " + operation_name(p.info.name) + "\n";
  text += "run directory  " +
          (run.manifest.run.dir.empty() ? std::string("none: nothing is kept") : run.manifest.run.dir) + "\n";
  return text;
}

}  // namespace belay::runtime
