// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/export/exported_model.h"

#include <fmt/core.h>

#include <algorithm>
#include <set>
#include <shared_mutex>
#include <utility>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/saver_directory.h"
#include "runtime/graph/call_with_graph.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/saving/averages.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// Returns the nodes that the ports depend on, in the order of their making, so each comes after its inputs. The search
// stops at the inputs of the signature.
std::vector<std::uint32_t> nodes_behind(const NodeGraph& graph, const std::vector<Port>& outputs,
                                        const std::vector<Port>& inputs) {
  std::set<std::uint32_t> seen;
  std::vector<Port> waiting = outputs;
  while (!waiting.empty()) {
    const Port port = waiting.back();
    waiting.pop_back();
    if (std::find(inputs.begin(), inputs.end(), port) != inputs.end() || !seen.insert(port.node).second) continue;
    for (const Port& in : graph.node(port.node).inputs) waiting.push_back(in);
  }
  return {seen.begin(), seen.end()};
}

std::vector<Port> ports_of(const NodeGraph& graph, const std::vector<NamedOutput>& outputs) {
  std::vector<Port> ports;
  for (const NamedOutput& o : outputs) ports.push_back(graph.resolve(o.output.raw()));
  return ports;
}

Signature of_predictions(const NodeGraph& graph, const std::vector<NamedOutput>& features,
                         const ModelOutputs& outputs) {
  Signature made;
  made.name = kDefaultSignature;
  made.method = "predict";
  made.outputs = outputs.predictions;
  const std::vector<std::uint32_t> needed = nodes_behind(graph, ports_of(graph, made.outputs), {});
  for (const NamedOutput& feature : features)
    if (std::binary_search(needed.begin(), needed.end(), graph.resolve(feature.output.raw()).node))
      made.inputs.push_back(feature);
  if (made.inputs.empty() || made.outputs.empty())
    fail(Code::kInvalidArgument,
         made.outputs.empty() ? "[B5040] the model has no predictions and no signature: there is nothing to export"
                              : "[B5040] the model's predictions depend on no feature of the input");
  return made;
}

std::vector<belay_named_output> named(const std::vector<NamedOutput>& outputs) {
  std::vector<belay_named_output> all;
  for (const NamedOutput& o : outputs) all.push_back({detail::str(o.name), o.output.raw()});
  return all;
}

// Checks that the files on the disk have the written bytes.
void check_bytes(const OpenDirectory& directory, const std::vector<FileEntry>& files) {
  std::vector<char> bytes(std::size_t{1} << 20);
  for (const FileEntry& entry : files) {
    const std::unique_ptr<OpenFile> file = directory.open(entry.name);
    std::uint32_t crc = 0;
    for (std::uint64_t at = 0; at < entry.length; at += bytes.size()) {
      const auto n = static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), entry.length - at));
      file->read_at(at, bytes.data(), n);
      crc = crc32c(bytes.data(), n, crc);
    }
    if (crc != entry.crc32c)
      fail(Code::kDataLoss,
           fmt::format("[B5041] {} does not have the bytes that were written", single_quoted(file->path())));
  }
}

FileEntry write_schema(OpenDirectory& directory, const std::string& schema) {
  const std::unique_ptr<OpenFile> file = directory.create(kSchemaName);
  file->write(schema.data(), schema.size());
  file->sync();
  file->close();
  return {std::string(kSchemaName), schema.size(), crc32c(schema)};
}

}  // namespace

Signature signature_to_export(const NodeGraph& graph, const std::vector<NamedOutput>& features,
                              const ModelOutputs& outputs, const std::string& name) {
  std::vector<std::string> names;
  for (const Signature& s : outputs.signatures) {
    if (s.name == name || (name.empty() && (s.name == kDefaultSignature || outputs.signatures.size() == 1))) return s;
    names.push_back(s.name);
  }
  if (names.empty() && (name.empty() || name == kDefaultSignature)) return of_predictions(graph, features, outputs);
  if (names.empty()) names.emplace_back(kDefaultSignature);
  if (name.empty())
    fail(Code::kInvalidArgument, "[B5040] the model has several signatures and none is " +
                                     std::string(kDefaultSignature) + "; name one: " + joined(names));
  fail(Code::kNotFound, "[B5040] the model has no signature " + double_quoted(name) + did_you_mean(name, names) +
                            "; it has: " + joined(names));
}

ExportedModel::ExportedModel(NodeGraph& graph, const std::vector<NamedOutput>& features, const ModelOutputs& outputs,
                             const std::string& signature)
    : graph_(graph),
      signature_(signature_to_export(graph, features, outputs, signature)),
      nodes_(nodes_behind(graph, ports_of(graph, signature_.outputs), ports_of(graph, signature_.inputs))),
      inputs_(named(signature_.inputs)),
      outputs_(named(signature_.outputs)) {
  for (const std::uint32_t id : nodes_)
    if (graph_.node(id).op->effect == Effect::kVariable) variable_names_.push_back(graph_.node(id).name);
  std::sort(variable_names_.begin(), variable_names_.end());
}

void ExportedModel::use_plugins(const Registry& plugins) {
  plugins_.clear();
  plugin_pointers_.clear();
  for (const RegisteredPlugin& p : plugins.plugins()) {
    auto& to = plugins_.emplace_back(detail::sized<belay_export_plugin>());
    to.kind = static_cast<std::int32_t>(p.info.kind);
    to.name = detail::str(p.info.name);
    to.version = detail::str(p.version);
    to.file = detail::str(p.file);
    to.hash = detail::str(p.build_id);
    plugin_pointers_.push_back(&to);
  }
}

void ExportedModel::take(VariableStore& store, std::int64_t step, const std::string& checkpoint) {
  std::vector<Variable*> found;
  {
    const std::shared_lock reading(store.gate());
    const bool averages = takes_averages(store);
    for (const std::string& name : variable_names_) {
      found.push_back(find_evaluated(store, name, averages));
      if (found.back() != nullptr) continue;
      std::vector<std::string> there;
      for (const Variable* v : store.all()) there.push_back(v->name);
      const std::string from = checkpoint.empty() ? fmt::format("of step {}", step) : single_quoted(checkpoint);
      fail(Code::kNotFound, "[B5040] the checkpoint " + from + " has no variable " + single_quoted(name) +
                                did_you_mean(name, there) + ", which the model predicts with");
    }
  }
  store.snapshot(found, snapshot_);
  variables_.clear();
  for (std::size_t i = 0; i < variable_names_.size(); ++i)
    variables_.push_back({variable_names_[i], snapshot_.values[i].view(), true});
  step_ = step;
}

belay_export_args ExportedModel::args(TensorsToWrite& variables) const {
  auto args = detail::sized<belay_export_args>();
  args.graph = to_handle(&graph_);
  args.nodes = nodes_.data(), args.n_nodes = nodes_.size();
  args.signature = detail::str(signature_.name);
  args.method = detail::str(signature_.method);
  args.inputs = inputs_.data(), args.n_inputs = inputs_.size();
  args.outputs = outputs_.data(), args.n_outputs = outputs_.size();
  args.variables = variables.handle();
  args.global_step = step_;
  args.model = detail::str(model_);
  args.manifest = detail::str(manifest_);
  args.schema = detail::str(schema_);
  args.plugins = plugin_pointers_.data(), args.n_plugins = plugin_pointers_.size();
  return args;
}

std::vector<FileEntry> ExportedModel::write(PluginInstance& exporter, OpenDirectory& directory) {
  TensorsToWrite tensors(variables_);
  const belay_export_args given = args(tensors);
  SaverDirectory writing = SaverDirectory::for_writing(directory);
  call_with_graph_and_take(
      graph_, exporter, "write", &belay_exporter_api::write, [&] { tensors.check_guards(); }, &given, writing.handle());
  std::vector<FileEntry> files;
  try {
    files = writing.written();
    check_left(directory, files);
  } catch (const Error& e) {
    exporter.refuse("write", e);
  }
  check_bytes(directory, files);
  std::vector<std::string> names;
  for (const FileEntry& f : files) names.push_back(f.name);
  check(exporter, directory, std::move(names));
  if (!schema_.empty()) files.push_back(write_schema(directory, schema_));
  return files;
}

void ExportedModel::check(PluginInstance& exporter, const OpenDirectory& directory, std::vector<std::string> files) {
  TensorsToWrite tensors(variables_);
  const belay_export_args given = args(tensors);
  SaverDirectory reading = SaverDirectory::for_reading(directory, std::move(files));
  call_with_graph_and_take(
      graph_, exporter, "check", &belay_exporter_api::check, [&] { tensors.check_guards(); }, &given, reading.handle());
}

}  // namespace belay::runtime
