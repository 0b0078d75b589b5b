// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/write/pinned.h"

#include "belay/error.h"
#include "runtime/checkpoint/format/names.h"

namespace belay::runtime {

bool is_pinned(const OpenDirectory& run, const std::string& name) noexcept {
  try {
    return run.exists(name) && run.status(name).kind == FileKind::kDirectory &&
           run.open_directory(name)->exists(kPinnedName);
  } catch (const std::exception&) {
    return true;
  }
}

bool pin(OpenDirectory& checkpoint) {
  if (checkpoint.exists(kPinnedName)) return false;
  checkpoint.create(kPinnedName)->close();
  checkpoint.sync();
  return true;
}

bool unpin(OpenDirectory& checkpoint) {
  if (!checkpoint.exists(kPinnedName)) return false;
  checkpoint.remove(kPinnedName);
  checkpoint.sync();
  return true;
}

}  // namespace belay::runtime
