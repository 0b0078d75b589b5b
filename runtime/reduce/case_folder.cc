// SPDX-License-Identifier: Apache-2.0
#include "runtime/reduce/case_folder.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include "runtime/checkpoint/stored/convert_stored.h"
#include "runtime/manifest/toml_document.h"

namespace belay::runtime {
namespace {

constexpr const char* kDataFile = "data.npz";

// Returns the name of the input npy for the array.
std::string array_of(const InputComponent& component) { return component.label ? "label" : "features"; }

bool is_array(const InputComponent& c) {
  switch (c.dtype) {
    case DType::kFloat32:
    case DType::kFloat64:
    case DType::kInt64: return true;
    case DType::kInt32:
    case DType::kUInt8:
    case DType::kBool: return !c.label;
    default: return false;
  }
}

TomlTable& section(TomlTable& table, const std::string& key) {
  if (TomlEntry* known = find(table, key)) {
    if (!std::holds_alternative<TomlTable>(known->node.value)) known->node.value = TomlTable();
    return std::get<TomlTable>(known->node.value);
  }
  table.push_back({key, {}, {{}, TomlTable()}});
  return std::get<TomlTable>(table.back().node.value);
}
template <class T>
void set(TomlTable& table, const std::string& key, T value) {
  if (TomlEntry* known = find(table, key))
    known->node.value = std::move(value);
  else
    table.push_back({key, {}, {{}, std::move(value)}});
}

std::int64_t accumulated(const TomlTable& manifest) {
  const TomlEntry* optimizer = find(manifest, "optimizer");
  if (optimizer == nullptr) return 1;
  const auto* table = std::get_if<TomlTable>(&optimizer->node.value);
  const TomlEntry* accumulate = table == nullptr ? nullptr : find(*table, "accumulate");
  const auto* value = accumulate == nullptr ? nullptr : std::get_if<std::int64_t>(&accumulate->node.value);
  return value == nullptr ? 1 : std::max<std::int64_t>(*value, 1);
}

}  // namespace

std::size_t CapturedBatches::rows() const {
  std::size_t least = batches.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  for (const std::vector<DenseTensor>& batch : batches)
    least = std::min(least, batch.empty() ? 0 : static_cast<std::size_t>(batch.front().dims().at(0)));
  return least;
}

bool can_capture(const std::vector<InputComponent>& components) {
  const auto labels = std::count_if(components.begin(), components.end(), [](const auto& c) { return c.label; });
  return std::all_of(components.begin(), components.end(), is_array) && labels <= 1 &&
         components.size() == static_cast<std::size_t>(labels) + 1;
}

TomlTable written_manifest(const FailingCase& failing, const CapturedBatches& captured) {
  TomlTable manifest = failing.manifest;
  TomlTable& run = section(manifest, "run");
  set(run, "dir", std::string("run"));
  if (!captured.batches.empty()) {
    std::erase_if(run, [](const TomlEntry& entry) { return entry.key == "min_steps"; });
    set(run, "max_steps",
        std::max<std::int64_t>(static_cast<std::int64_t>(failing.batches.size()) / accumulated(manifest), 1));
    TomlTable& train = section(section(manifest, "input"), "train");
    train.clear();
    set(train, "plugin", std::string("npy"));
    for (const InputComponent& c : captured.components) {
      set(train, c.label ? "labels" : "features", std::string(kDataFile) + ":" + array_of(c));
      if (c.label && c.classes > 0) set(train, "classes", c.classes);
    }
    set(train, "batch_size", static_cast<std::int64_t>(failing.rows.size()));
  }
  if (failing.warm_start) {
    TomlTable use;
    set(use, "plugin", std::string("warm_start"));
    set(use, "from", std::string("start"));
    set(use, "schema", std::string("none"));  // the batches are those that the model got
    TomlTable& scaffold = section(manifest, "scaffold");
    set(scaffold, "init_fn", TomlList{{{}, std::move(use)}});
  }
  return manifest;
}

void CaseFolder::write(const FailingCase& failing) {
  if (!captured_.batches.empty() && (batches_ != failing.batches || rows_ != failing.rows)) write_data(failing);
  std::ofstream out(path_ + "/manifest.toml", std::ios::trunc);
  out << toml_document(written_manifest(failing, captured_));
  if (!out.flush()) fail(Code::kInternal, "'" + path_ + "/manifest.toml' cannot be written");
}

void CaseFolder::write_data(const FailingCase& failing) {
  std::vector<TensorInfo> infos;
  for (std::size_t c = 0; c < captured_.components.size(); ++c) {
    const DenseTensor& sample = captured_.batches.front()[c];
    Dims dims = sample.dims();
    dims[0] = static_cast<std::int64_t>(failing.batches.size() * failing.rows.size());
    infos.push_back({array_of(captured_.components[c]), sample.dtype(), dims});
  }
  StoredCopy copy{.tensors = std::make_unique<TensorMemory>(infos)};
  for (std::size_t c = 0; c < infos.size(); ++c) {
    auto* to = static_cast<char*>(TensorView(copy.tensors->tensors()[c].tensor).mutable_data());
    for (const std::size_t b : failing.batches) {
      const DenseTensor& batch = captured_.batches[b][c];
      const std::size_t row = batch.bytes() / static_cast<std::size_t>(batch.dims()[0]);
      for (const std::size_t r : failing.rows) {
        std::memcpy(to, static_cast<const char*>(batch.data()) + r * row, row);
        to += row;
      }
    }
  }
  std::error_code ignored;
  std::filesystem::remove(path_ + "/" + kDataFile, ignored);
  write_copy(services_.files, copy, path_ + "/" + kDataFile, services_.npz, services_.clock, services_.log);
  batches_ = failing.batches, rows_ = failing.rows;
}

}  // namespace belay::runtime
