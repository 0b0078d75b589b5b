// SPDX-License-Identifier: Apache-2.0
// Writes a folder for `belay predict DIR`: the manifest, the weights, and the list of its plugins.
//
//   belay.toml           the run's effective manifest
//   model.safetensors    the variables for predictions, and global_step
//   signature.json       its inputs and outputs
//   plugins.json         name, version and hash of each plugin: `belay predict` warns if one differs
#include <belay/plugin.h>

#include "../model_files.h"

namespace {

using namespace belay_exporters;
using belay::Code;
using belay::fail;

constexpr const char* kManifestFile = "belay.toml";
constexpr const char* kPluginsFile = "plugins.json";
constexpr const char* kGlobalStep = "global_step";

class Belay final : public belay::Exporter {
 public:
  static constexpr auto about = belay::about("belay", "Writes a folder that `belay predict DIR` runs");

  void write(const belay::ExportContext& model, belay::Directory& directory) override {
    if (model.manifest().empty())
      fail(Code::kFailedPrecondition, "the exporter 'belay' writes a run's manifest, and a program composed this one");
    const belay::Tensor step(model.global_step());
    write_file(directory, kManifestFile, std::string(model.manifest()));
    write_weights(directory, with_step(model, step), model.schema());
    write_file(directory, kSignatureFile, text_of(signature_json(model)));
    write_file(directory, kPluginsFile, text_of(plugins_json(model)));
  }
  void check(const belay::ExportContext& model, const belay::Directory& directory) override {
    const belay::Tensor step(model.global_step());
    if (read_file(directory, kManifestFile) != model.manifest())
      fail(Code::kDataLoss, std::string(kManifestFile) + " does not match the model");
    check_weights(directory, with_step(model, step));
    check_json(directory, kSignatureFile, signature_json(model));
    check_json(directory, kPluginsFile, plugins_json(model));
  }

 private:
  // A prediction also restores the step.
  static NamedViews with_step(const belay::ExportContext& model, const belay::Tensor& step) {
    NamedViews all = variables_of(model);
    for (const auto& [name, value] : all)
      if (name == kGlobalStep) return all;
    all.emplace(all.begin(), kGlobalStep, belay::TensorView(step.view()));  // in front, to align its 8 bytes
    return all;
  }
  static Json plugins_json(const belay::ExportContext& model) {
    Json all = Json::array();
    for (const belay::ExportPlugin& p : model.plugins())
      all.push_back({{"kind", std::string(belay::detail::kind_name(p.kind))},
                     {"name", std::string(p.name)},
                     {"version", std::string(p.version)},
                     {"hash", std::string(p.hash)}});
    return all;
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Belay)
