// SPDX-License-Identifier: Apache-2.0
#include "source_place.h"

#include <belay/error.h>
#include <belay/nearest.h>

#include <filesystem>
#include <system_error>
#include <vector>

namespace warm_start {
namespace {

namespace fs = std::filesystem;

using belay::Code;
using belay::fail;

constexpr char kWhatToName[] = "; name a run directory, a checkpoint in it, or a file of tensors";

bool is_there(const fs::path& path) {
  std::error_code unknown;
  return fs::exists(path, unknown);
}

// Returns the entries of a folder, as far as it can be listed.
std::vector<fs::path> entries_of(const fs::path& folder) {
  std::vector<fs::path> entries;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    entries.push_back(entry->path());
  return entries;
}

// True for a checkpoint, a run directory, or a training directory of TensorFlow.
bool holds_checkpoint(const fs::path& folder) {
  if (is_there(folder / "index") || is_there(folder / "checkpoint")) return true;
  for (const fs::path& entry : entries_of(folder))
    if (is_there(entry / "index")) return true;
  return false;
}

}  // namespace

void need_source(const std::string& path) {
  if (path.empty()) fail(Code::kInvalidArgument, std::string("from: the path is empty") + kWhatToName);
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none || is_there(path + ".index")) return;  // reading it will show other faults
  if (!fs::exists(status)) {
    const fs::path named = path.back() == '/' ? fs::path(path).parent_path() : fs::path(path);
    std::vector<std::string> beside;
    for (const fs::path& entry : entries_of(named.has_parent_path() ? named.parent_path() : fs::path(".")))
      beside.push_back(entry.filename().string());
    fail(Code::kNotFound, "from: there is no checkpoint '" + path + "'" +
                              belay::did_you_mean(named.filename().string(), beside) + kWhatToName);
  }
  if (fs::is_directory(status) && !holds_checkpoint(path))
    fail(Code::kNotFound, "from: the folder '" + path + "' holds no checkpoint" + kWhatToName);
}

}  // namespace warm_start
