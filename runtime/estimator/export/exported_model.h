// SPDX-License-Identifier: Apache-2.0
// An exporter gets this (belay/abi/exporter.h): one signature of a prediction's graph, the nodes that compute it, and
// the values of its variables.
//
//   ExportedModel model(graph.graph, graph.tensors.features, graph.outputs, "");    // once for a graph and a signature
//   model.use_plugins(registry);
//   model.take(store, 2000);                                  // a copy of the variables, under the shared gate
//   std::vector<FileEntry> files = model.write(exporter, directory);
//
// [session]
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "belay/model.h"
#include "runtime/checkpoint/format/content.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/graph/node_graph.h"
#include "runtime/loader/instance/instance.h"
#include "runtime/loader/library/registry.h"
#include "runtime/monitored/model/model_outputs.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

// The signature for a client that names none.
inline constexpr std::string_view kDefaultSignature = "serving_default";

// Returns the model's signature of this name. An empty name is kDefaultSignature, else the only signature. If the model
// sets none, the signature has its predictions and the features that they depend on. NOT_FOUND lists the names.
// INVALID_ARGUMENT: there are several, or nothing to export.
Signature signature_to_export(const NodeGraph& graph, const std::vector<NamedOutput>& features,
                              const ModelOutputs& outputs, const std::string& name);

class ExportedModel {
 public:
  // `graph` is borrowed. INVALID_ARGUMENT as above, and if an output depends on no input.
  ExportedModel(NodeGraph& graph, const std::vector<NamedOutput>& features, const ModelOutputs& outputs,
                const std::string& signature);
  ExportedModel(const ExportedModel&) = delete;
  ExportedModel& operator=(const ExportedModel&) = delete;

  void set_model(std::string plugin) { model_ = std::move(plugin); }
  void set_manifest(std::string manifest) { manifest_ = std::move(manifest); }
  // Sets the content of each export's file schema.json. Empty: there is none.
  void set_schema(std::string schema) { schema_ = std::move(schema); }
  // Borrowed.
  void use_plugins(const Registry& plugins);

  // Takes the values to write, until the next call. FAILED_PRECONDITION: a variable has no value, or the store is
  // dirty. NOT_FOUND: the store has no such variable. `checkpoint`: the path that the store was read from; empty: a
  // training's store.
  void take(VariableStore& store, std::int64_t step, const std::string& checkpoint = {});

  // Calls write and, with the directory read-only, check. INTERNAL: the exporter broke its contract.
  std::vector<FileEntry> write(PluginInstance& exporter, OpenDirectory& directory);
  // Calls check alone, with those files in the directory.
  void check(PluginInstance& exporter, const OpenDirectory& directory, std::vector<std::string> files);

  const std::vector<std::uint32_t>& nodes() const noexcept { return nodes_; }
  const Signature& signature() const noexcept { return signature_; }

 private:
  belay_export_args args(TensorsToWrite& variables) const;

  NodeGraph& graph_;
  const Signature signature_;
  std::vector<std::uint32_t> nodes_;
  std::vector<belay_named_output> inputs_, outputs_;
  std::vector<std::string> variable_names_;
  Snapshot snapshot_;
  std::vector<NamedTensor> variables_;
  std::int64_t step_ = 0;
  std::string model_, manifest_, schema_;
  std::deque<belay_export_plugin> plugins_;
  std::vector<const belay_export_plugin*> plugin_pointers_;
};

}  // namespace belay::runtime
