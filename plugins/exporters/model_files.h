// SPDX-License-Identifier: Apache-2.0
// Writes and checks the files of several exporters: the weights as a .safetensors file, the signature as JSON.
#pragma once

#include <belay/plugin.h>

#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../savers/safetensors/header.h"

namespace belay_exporters {

using Json = nlohmann::ordered_json;

inline constexpr const char* kWeightsFile = "model.safetensors";
inline constexpr const char* kSignatureFile = "signature.json";

inline void write_file(const belay::Directory& directory, const char* name, const std::string& text) {
  belay::File file = directory.create(name);
  file.write(text.data(), text.size());
  file.close();
}
inline std::string read_file(const belay::Directory& directory, const char* name) {
  const belay::File file = directory.open(name);
  std::string text(file.size(), '\0');
  file.read_at(0, text.data(), text.size());
  return text;
}

using NamedViews = std::vector<std::pair<std::string, belay::TensorView>>;
inline NamedViews variables_of(const belay::ExportContext& model) {
  NamedViews all;
  for (std::uint64_t i = 0; i < model.variables().count(); ++i) {
    const auto [name, value] = model.variables().get(i);
    all.emplace_back(std::string(name), value);
  }
  return all;
}

// `schema`: the facts that the training learned of its data, as JSON. The header's metadata keeps it. Empty: not known.
inline void write_weights(const belay::Directory& directory, const NamedViews& tensors, std::string_view schema) {
  std::vector<belay_safetensors::Entry> entries;
  std::uint64_t at = 0;
  for (const auto& [name, value] : tensors) {
    entries.push_back({name, value.dtype(), value.dims(), at, at + value.bytes()});
    at += value.bytes();
  }
  belay_safetensors::Metadata metadata{{"format", "belay"}};
  if (!schema.empty()) metadata["belay.schema"] = std::string(schema);
  const std::string header = belay_safetensors::format_header(entries, metadata);
  belay::File file = directory.create(kWeightsFile);
  file.write(header.data(), header.size());
  for (const auto& [name, value] : tensors)
    if (value.bytes() != 0) file.write(value.data(), value.bytes());
  file.close();
}

// Checks that the header describes these tensors. The host compares the bytes.
inline void check_weights(const belay::Directory& directory, const NamedViews& tensors) {
  const std::string bytes = read_file(directory, kWeightsFile);
  std::uint64_t header = 0;
  const auto bad = [](const std::string& why) {
    belay::fail(belay::Code::kDataLoss, std::string(kWeightsFile) + ": " + why);
  };
  if (bytes.size() < sizeof(header)) bad("it is too short for a header");
  std::memcpy(&header, bytes.data(), sizeof(header));
  if (header > bytes.size() - sizeof(header)) bad("its header goes beyond the file");
  const std::vector<belay_safetensors::Entry> entries = belay_safetensors::parse_header(
      std::string_view(bytes).substr(sizeof(header), header), bytes.size() - sizeof(header) - header);
  if (entries.size() != tensors.size())
    bad("it has " + std::to_string(entries.size()) + " tensors, not " + std::to_string(tensors.size()));
  for (const auto& [name, value] : tensors) {
    bool found = false;
    for (const belay_safetensors::Entry& e : entries)
      found = found || (e.name == name && e.dtype == value.dtype() && e.dims == value.dims());
    if (!found) bad("it lacks '" + name + "'");
  }
}

// Returns [{"name": "image", "dtype": "float32", "shape": [-1, 784], "tensor": "input/image:0"}].
inline Json tensors_json(const std::vector<belay::NamedOutput>& outputs) {
  Json all = Json::array();
  for (const belay::NamedOutput& o : outputs)
    all.push_back({{"name", o.name},
                   {"dtype", belay::dtype_name(o.output.dtype())},
                   {"shape", o.output.rank() < 0 ? Json() : Json(o.output.dims())},
                   {"tensor", o.output.name()}});
  return all;
}
inline Json signature_json(const belay::ExportContext& model) {
  return {{"model", std::string(model.model())},         {"global_step", model.global_step()},
          {"signature", std::string(model.signature())}, {"method", std::string(model.method())},
          {"inputs", tensors_json(model.inputs())},      {"outputs", tensors_json(model.outputs())}};
}
inline std::string text_of(const Json& json) { return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n"; }

// Checks that the file has this JSON.
inline void check_json(const belay::Directory& directory, const char* name, const Json& wanted) {
  const Json found = Json::parse(read_file(directory, name), nullptr, false);
  if (found != wanted)
    belay::fail(belay::Code::kDataLoss,
                std::string(name) + (found.is_discarded() ? " is no JSON" : " does not match the model"));
}

}  // namespace belay_exporters
