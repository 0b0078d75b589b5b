// SPDX-License-Identifier: Apache-2.0
// Writes the variables that the model predicts with as model.safetensors. signature.json lists its inputs and outputs.
// It is for programs that have the network themselves.
#include <belay/plugin.h>

#include "../model_files.h"

namespace {

using namespace belay_exporters;

class Safetensors final : public belay::Exporter {
 public:
  static constexpr auto about = belay::about(
      "safetensors", "Writes the weights as model.safetensors and describes inputs and outputs in signature.json");

  void write(const belay::ExportContext& model, belay::Directory& directory) override {
    write_weights(directory, variables_of(model), model.schema());
    write_file(directory, kSignatureFile, text_of(signature_json(model)));
  }
  void check(const belay::ExportContext& model, const belay::Directory& directory) override {
    check_weights(directory, variables_of(model));
    check_json(directory, kSignatureFile, signature_json(model));
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Safetensors)
