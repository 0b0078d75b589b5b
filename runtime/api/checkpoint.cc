// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/checkpoint.h"

#include <algorithm>
#include <utility>

#include "belay/nearest.h"
#include "runtime/api/log.h"
#include "runtime/api/plugin_parts.h"
#include "runtime/checkpoint/read/checkpoint_reader.h"
#include "runtime/estimator/resume/checkpoint_choice.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/files/absolute_path.h"
#include "runtime/platform/files/file_system.h"

namespace belay {

std::string latest_checkpoint(const std::string& directory) {
  const std::unique_ptr<runtime::Logger> log = runtime::make_log({});
  const runtime::CheckpointPlace place{runtime::posix_file_system(), *log, runtime::absolute_path(directory)};
  const runtime::CheckpointChoice newest;
  if (!runtime::has_checkpoint(place, newest)) return {};
  return runtime::with_checkpoint(place, newest, [](const runtime::CheckpointReader&) {}).path;
}

struct CheckpointReader::Insides {
  Insides(const std::string& path, const std::vector<const belay_module*>& plugins, const std::string& name)
      : parts(plugins),
        saver(runtime::saver_use(parts.create(runtime::PluginKind::kSaver, name))),
        stored(runtime::open_stored_tensors(runtime::posix_file_system(), runtime::absolute_path(path), saver,
                                            parts.log())) {
    for (runtime::TensorInfo& t : stored->tensors()) entries.push_back({std::move(t.name), t.dtype, std::move(t.dims)});
    if (const auto* own = dynamic_cast<const runtime::CheckpointReader*>(stored.get()))
      global_step = own->index().global_step;
  }

  runtime::PluginParts parts;
  const runtime::SaverUse saver;
  const std::unique_ptr<runtime::StoredTensors> stored;
  std::vector<Checkpoint::Entry> entries;
  std::int64_t global_step = -1;
};

CheckpointReader::CheckpointReader(const std::string& path, const std::vector<const belay_module*>& plugins,
                                   const std::string& saver)
    : insides_(std::make_unique<Insides>(path, plugins, saver)) {}

CheckpointReader::~CheckpointReader() = default;

const std::string& CheckpointReader::path() const noexcept { return insides_->stored->path(); }

std::int64_t CheckpointReader::global_step() const noexcept { return insides_->global_step; }

const std::vector<Checkpoint::Entry>& CheckpointReader::entries() const noexcept { return insides_->entries; }

const Checkpoint::Entry* CheckpointReader::find(std::string_view name) const noexcept {
  const auto found = std::find_if(insides_->entries.begin(), insides_->entries.end(),
                                  [&](const Checkpoint::Entry& e) { return e.name == name; });
  return found == insides_->entries.end() ? nullptr : &*found;
}

Tensor CheckpointReader::read(const std::string& name) const {
  const Checkpoint::Entry* entry = find(name);
  if (entry == nullptr) {
    std::vector<std::string> names;
    for (const Checkpoint::Entry& e : entries()) names.push_back(e.name);
    fail(Code::kNotFound, "[B4022] '" + path() + "' has no tensor '" + name + "'" + did_you_mean(name, names));
  }
  Tensor value(entry->dtype, entry->dims);
  insides_->stored->read(insides_->saver, {{name, value.view()}});
  return value;
}

}  // namespace belay
