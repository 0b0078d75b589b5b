// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/leftovers.h"

#include <string>
#include <vector>

#include "belay/error.h"
#include "runtime/checkpoint/names.h"
#include "runtime/platform/text.h"

namespace belay::runtime {

void remove_leftovers(OpenDirectory& run, Logger& log) {
  std::vector<std::string> removed;
  bool changed = false;
  for (const std::string& name : run.entries()) {
    try {
      const FileKind kind = run.status(name).kind;
      const auto replaced = checkpoint_of_replaced(name);
      if (kind == FileKind::kFile && (name == kUnfinishedStateFileName || name == kUnfinishedBestName)) {
        run.remove(name);
      } else if (kind == FileKind::kDirectory && replaced && !run.exists(*replaced)) {
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
