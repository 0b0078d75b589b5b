// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/watch/taken_away.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string folder_of(const std::string& file) { return std::filesystem::path(file).parent_path().string(); }

std::vector<std::string> libraries_of_others(const Registry& plugins) {
  const RegisteredPlugin* own = plugins.find(PluginKind::kHook, "stop_at_step");
  std::vector<std::string> files;
  for (const RegisteredPlugin& p : plugins.plugins()) {
    const std::string name = single_quoted(p.file);
    if (p.file.empty() || (own != nullptr && folder_of(p.file) == folder_of(own->file))) continue;
    if (std::find(files.begin(), files.end(), name) == files.end()) files.push_back(name);
  }
  return files;
}

bool is_removed(const std::string& directory) {
  std::error_code unknown;
  return !directory.empty() && !std::filesystem::exists(directory, unknown) && !unknown;
}

}  // namespace

TakenAway::TakenAway() noexcept : descriptor_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

TakenAway::~TakenAway() {
  if (descriptor_ >= 0 && !is_closed()) ::close(descriptor_);
}

// Another file may have its number now.
bool TakenAway::is_closed() const noexcept {
  struct stat now {};
  struct stat null {};
  if (::fstat(descriptor_, &now) != 0) return true;
  return ::stat("/dev/null", &null) == 0 && now.st_rdev != null.st_rdev;
}

void TakenAway::needs(const Registry& plugins, const std::string& directory, bool stays) {
  others_ = libraries_of_others(plugins);
  removed_ = is_removed(directory);
  if (removed_ || stays) directory_ = directory;
}

std::string TakenAway::text() const {
  std::vector<std::string> gone = limits_.changes();
  if (descriptor_ >= 0 && is_closed()) gone.emplace_back("open files of the host were closed");
  if (removed_ || is_removed(directory_))
    gone.push_back("the run directory " + single_quoted(directory_) + " was removed");
  if (gone.empty()) return "";
  return "a plugin changed this process: " + joined(gone) +
         (others_.empty() ? "" : "; plugins that are not Belay's own: " + joined(others_)) +
         "; `belay validate FILE` shows whether it is that one";
}

}  // namespace belay::runtime
