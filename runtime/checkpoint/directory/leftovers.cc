// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/directory/leftovers.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "belay/error.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

namespace {

// The files of the run directory that OpenDirectory::replace writes. Each first has its name with this ending.
constexpr std::string_view kUnfinished = ".tmp";
constexpr std::string_view kReplacedFiles[] = {kStateFileName, kBestName,   kAttemptsName, kFinishedName,
                                               kManifestName,  kSchemaName, "evaluations"};

// Accepts "manifest-0012.toml".
bool is_kept_manifest(std::string_view name) {
  constexpr std::string_view kHead = "manifest-", kTail = ".toml";
  if (!name.starts_with(kHead) || !name.ends_with(kTail) || name.size() <= kHead.size() + kTail.size()) return false;
  const std::string_view number = name.substr(kHead.size(), name.size() - kHead.size() - kTail.size());
  return number.find_first_not_of("0123456789") == number.npos;
}

bool is_unfinished_file(std::string_view name) {
  if (!name.ends_with(kUnfinished)) return false;
  name.remove_suffix(kUnfinished.size());
  return std::find(std::begin(kReplacedFiles), std::end(kReplacedFiles), name) != std::end(kReplacedFiles) ||
         is_kept_manifest(name);
}

// True if its removal had not begun.
bool is_whole(const OpenDirectory& run, const std::string& name) {
  std::string reason;
  return open_if_whole(run, name, reason, CheckFiles::kWhenRead) != nullptr;
}

}  // namespace

void remove_leftovers(OpenDirectory& run, Logger& log) {
  std::vector<std::string> removed;
  bool changed = false;
  for (const std::string& name : run.entries()) {
    try {
      const FileKind kind = run.status(name).kind;
      const auto replaced = checkpoint_of_replaced(name);
      if (kind == FileKind::kFile && is_unfinished_file(name)) {
        run.remove(name);
      } else if (kind == FileKind::kDirectory && replaced && !run.exists(*replaced) && is_whole(run, name)) {
        run.rename(name, *replaced);
        log.info("checkpoint", "put " + *replaced + " back: the save that was to replace it did not finish");
        changed = true;
        continue;
      } else if (kind == FileKind::kDirectory && (replaced || checkpoint_of_temporary(name))) {
        run.remove_tree(name);
      } else {
        continue;
      }
      removed.push_back(name);
      changed = true;
    } catch (const Error& e) {
      log.warning("checkpoint", "cannot clean up after a save: " + std::string(e.message()));
    }
  }
  if (!removed.empty())
    log.info("checkpoint",
             "removed what an interrupted save left in '" + escaped(run.path()) + "': " + joined(removed));
  try {
    if (changed) run.sync();
  } catch (const Error& e) {
    log.warning("checkpoint", "cannot clean up after a save: " + std::string(e.message()));
  }
}

}  // namespace belay::runtime
