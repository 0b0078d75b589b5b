// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/exporter_driver.h"

#include <optional>
#include <utility>

#include "belay/testing/temporary_folder.h"
#include "runtime/estimator/export/exported_model.h"
#include "runtime/ops/registry.h"
#include "runtime/session/direct_session.h"
#include "runtime/testing/module_instance.h"

namespace belay {
inline namespace v0 {
namespace testing {

struct ExporterDriver::Engine {
  Engine(const belay_module& module, const std::string& plugin, const OptionValues& options)
      : exporter(runtime::PluginKind::kExporter, module, plugin, options),
        ops(runtime::make_op_registry()),
        graph(*ops) {}

  runtime::ExportedModel& ready() {
    if (!exported) fail(Code::kFailedPrecondition, "the driver has no model: call model() first");
    return *exported;
  }
  std::unique_ptr<runtime::OpenDirectory> directory() {
    folder.emplace();
    return runtime::posix_file_system().open_directory(folder->path());
  }

  runtime::ModuleInstance exporter;
  std::unique_ptr<runtime::OpRegistry> ops;
  runtime::NodeGraph graph;
  std::shared_ptr<runtime::VariableStore> store = std::make_shared<runtime::VariableStore>();
  std::shared_ptr<runtime::DirectSession> session;
  std::string manifest, schema;
  std::optional<runtime::ExportedModel> exported;
  std::optional<TemporaryFolder> folder;
};

ExporterDriver::ExporterDriver(const belay_module& module, const OptionValues& options, const std::string& plugin)
    : engine_(std::make_unique<Engine>(module, plugin, options)) {}

ExporterDriver::~ExporterDriver() = default;

void ExporterDriver::model(const std::function<Signature(const Graph&)>& build) {
  if (engine_->session != nullptr) fail(Code::kFailedPrecondition, "the driver has a model already");
  runtime::ModelOutputs outputs;
  outputs.signatures.push_back(build(engine_->graph.handle()));
  engine_->graph.finalize();
  engine_->session =
      std::make_shared<runtime::DirectSession>(engine_->graph, engine_->store, runtime::DirectSessionOptions{});
  engine_->session->run_once(engine_->graph.collection("variable_init"));
  engine_->exported.emplace(engine_->graph, std::vector<NamedOutput>{}, outputs, "");
  engine_->exported->set_model("model");
  engine_->exported->set_manifest(engine_->manifest);
  engine_->exported->set_schema(engine_->schema);
  engine_->exported->take(*engine_->store, 0);
}

void ExporterDriver::manifest(std::string text) {
  engine_->manifest = std::move(text);
  if (engine_->exported) engine_->exported->set_manifest(engine_->manifest);
}

void ExporterDriver::schema(std::string text) {
  engine_->schema = std::move(text);
  if (engine_->exported) engine_->exported->set_schema(engine_->schema);
}

ExporterDriver::Files ExporterDriver::write() {
  runtime::ExportedModel& exported = engine_->ready();
  const std::unique_ptr<runtime::OpenDirectory> directory = engine_->directory();
  Files files;
  for (const runtime::FileEntry& entry : exported.write(*engine_->exporter, *directory))
    files[entry.name] = directory->read(entry.name, entry.length);
  return files;
}

void ExporterDriver::check(const Files& files) {
  runtime::ExportedModel& exported = engine_->ready();
  const std::unique_ptr<runtime::OpenDirectory> directory = engine_->directory();
  std::vector<std::string> names;
  for (const auto& [name, content] : files) {
    const std::unique_ptr<runtime::OpenFile> file = directory->create(name);
    file->write(content.data(), content.size());
    file->close();
    names.push_back(name);
  }
  exported.check(*engine_->exporter, *directory, std::move(names));
}

std::vector<Tensor> ExporterDriver::run(const std::vector<Tensor>& inputs) {
  const Signature& signature = engine_->ready().signature();
  std::vector<std::pair<Output, Tensor>> feeds;
  for (std::size_t i = 0; i < inputs.size(); ++i) feeds.emplace_back(signature.inputs.at(i).output, inputs[i]);
  std::vector<FetchRef> fetches;
  for (const NamedOutput& o : signature.outputs) fetches.emplace_back(o.output);
  const RunResult result = engine_->session->handle().run(fetches, feeds);
  std::vector<Tensor> values;
  for (std::size_t i = 0; i < fetches.size(); ++i) values.emplace_back(TensorView(result[i]));
  return values;
}

std::map<std::string, Tensor> ExporterDriver::variables() {
  std::map<std::string, Tensor> values;
  for (const runtime::Variable* v : engine_->store->all()) values.emplace(v->name, Tensor(TensorView(v->value.view())));
  return values;
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
